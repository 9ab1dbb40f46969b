//! `csk shell-init`: prints or installs the shell hook that adds skill commands to PATH.

#![expect(clippy::disallowed_methods, reason = "writes the startup file of a shell")]

use std::fs;

use csk_core::{CommandOrder, with_block};
use skill_fs::{AbsPath, read_text, write_file};
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Prints a shell hook that adds the skill commands of the current project to PATH, and removes them when you leave the \
project. The commands are links in csk's home folder, so a checkout cannot put its own programs on PATH. The order on \
PATH is: your own entries, the project's commands, then global skill commands, which are available everywhere. Set `commands_first` in \
config.json to put skill commands first. The hook starts no processes. Set CSK_AUTO_ENV=0 to disable it. For agents that \
start without a shell, use `csk exec`.

Reads:  csk's home folder
Writes: nothing; with --install, the shell's startup file (one line, appended once)",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or the startup file cannot be written"),
    ],
    examples: &[
        "eval \"$(csk shell-init bash)\"",
        "csk shell-init zsh --install",
        "csk shell-init fish | source",
    ],
};

/// Print or install the shell hook that adds skill commands to PATH
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ShellInitArgs {
    /// Shell to generate the hook for [default: the shell in $SHELL, else bash]
    shell: Option<Shell>,
    /// Add the hook to the shell's startup file
    #[arg(long)]
    install: bool,
}

/// The supported shells. Doc comments on the variants would show up in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shell {
    Zsh,
    Bash,
    Fish,
    Powershell,
}

impl Shell {
    /// The shell of a user whose environment does not name one.
    const DEFAULT: Self = if cfg!(windows) { Self::Powershell } else { Self::Bash };

    /// Returns the shell for a path like `/bin/zsh`.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        match path.rsplit(['/', '\\']).next()?.trim_end_matches(".exe") {
            "zsh" => Some(Self::Zsh),
            "bash" => Some(Self::Bash),
            "fish" => Some(Self::Fish),
            "pwsh" | "powershell" => Some(Self::Powershell),
            _ => None,
        }
    }

    fn hook(self, home: &AbsPath, order: CommandOrder) -> String {
        let (text, quoted) = match self {
            Self::Zsh => (include_str!("../shell/zsh.sh"), sh_quoted(home.as_str())),
            Self::Bash => (include_str!("../shell/bash.sh"), sh_quoted(home.as_str())),
            Self::Fish => (
                include_str!("../shell/fish.fish"),
                home.as_str().replace('\\', "\\\\").replace('\'', "\\'"),
            ),
            Self::Powershell => {
                (include_str!("../shell/powershell.ps1"), home.as_str().replace('\'', "''"))
            }
        };
        let first = match order {
            CommandOrder::Last => "0",
            CommandOrder::First => "1",
        };
        text.replace("@FIRST@", first).replace("@HOME@", &quoted)
    }

    /// Returns the line that activates the hook, and the startup file relative to the home folder, if it is known.
    pub(crate) fn startup_line(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Zsh => ("eval \"$(csk shell-init zsh)\"", Some(".zshrc")),
            Self::Bash => ("eval \"$(csk shell-init bash)\"", Some(".bashrc")),
            Self::Fish => ("csk shell-init fish | source", Some(".config/fish/config.fish")),
            Self::Powershell => {
                ("csk shell-init powershell | Out-String | Invoke-Expression", None)
            }
        }
    }
}

/// Escapes text for use inside single quotes in sh.
fn sh_quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

pub(crate) fn shell_init(context: &mut Context, args: &ShellInitArgs) -> anyhow::Result<ExitCode> {
    let current = || context.shell.as_deref().and_then(Shell::of_path).unwrap_or(Shell::DEFAULT);
    let shell = args.shell.unwrap_or_else(current);
    if args.install {
        install(context, shell)?;
    } else {
        let hook = shell.hook(&context.home, context.command_order());
        context.ui.out(&hook)?;
    }
    Ok(ExitCode::Done)
}

/// Appends the hook to the startup file of the shell, unless it is there already.
pub(crate) fn install(context: &mut Context, shell: Shell) -> anyhow::Result<()> {
    let (line, file) = shell.startup_line();
    let (Some(file), Some(home)) = (file, context.user_home.clone()) else {
        return Err(Failure::usage("cannot determine this shell's startup file")
            .with_hint(format!("add this line to it: {line}"))
            .into());
    };
    let folder = match shell {
        Shell::Zsh => context.zdotdir.clone().unwrap_or_else(|| home.clone()),
        Shell::Bash | Shell::Fish | Shell::Powershell => home,
    };
    // If the file is a symlink, for example into a dotfiles repository, write to its target.
    let path = folder.join(file);
    let real = fs::canonicalize(path.as_path()).ok().and_then(|path| AbsPath::new(path).ok());
    let path = real.unwrap_or(path);
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Failure::files(format!("cannot write `{path}`"), error)
    };
    let old = read_text(&path).map_err(|error| failed(error.into()))?.unwrap_or_default();
    let shown = safe_line(path.as_str()).into_owned();
    if old.lines().any(|found| found.trim() == line) {
        context.ui.done(&format!("{shown} already has the hook\n"))?;
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder.as_path()).map_err(|error| failed(error.into()))?;
    }
    let text = with_block(&old, line);
    write_file(&path, text.as_bytes()).map_err(|error| failed(error.into()))?;
    context.ui.done(&format!("added the hook to {shown}; start a new shell to use it\n"))?;
    Ok(())
}
