//! `csk shell-init`: the hook that puts a project's commands on PATH.

#![expect(clippy::disallowed_methods, reason = "writes the file that a shell reads at its start")]

use std::fs;

use csk_core::{CommandOrder, with_block};
use skill_fs::{AbsPath, read_text, write_file};
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Purpose: prints a hook that puts the commands of the project you are in on PATH, and takes them away when you leave. \
They are links that csk made below its own home, so a checkout cannot put a program on PATH. Your own entries come \
first, then the project's commands, then those of the global scope, which are on PATH everywhere; `commands_first` in \
config.json puts the commands of skills first. The hook starts no process. CSK_AUTO_ENV=0 turns it off. Agents that \
start without a shell use `csk exec` instead.

Reads:  csk's home
Writes: nothing; with --install the file that the shell reads at its start, at its end and only once",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage, or the file cannot be written"),
    ],
    examples: &[
        "eval \"$(csk shell-init bash)\"",
        "csk shell-init zsh --install",
        "csk shell-init fish | source",
    ],
};

/// Print the hook that puts a project's commands on PATH
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ShellInitArgs {
    /// The shell; the one that SHELL names, or bash, if you name none
    shell: Option<Shell>,
    /// Add it to the file that the shell reads at its start
    #[arg(long)]
    install: bool,
}

/// The shells with a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shell {
    Zsh,
    Bash,
    Fish,
    Powershell,
}

impl Shell {
    /// Returns the shell that a path like `/bin/zsh` is of.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        match path.rsplit('/').next()? {
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

    /// Returns the line that brings the hook, and the file that the shell reads at its start.
    pub(crate) fn start(self) -> (&'static str, Option<&'static str>) {
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

/// Returns a text for between single quotes of sh.
fn sh_quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

pub(crate) fn shell_init(context: &mut Context, args: &ShellInitArgs) -> anyhow::Result<ExitCode> {
    let own = || context.shell.as_deref().and_then(Shell::of_path).unwrap_or(Shell::Bash);
    let shell = args.shell.unwrap_or_else(own);
    if args.install {
        install(context, shell)?;
    } else {
        let hook = shell.hook(&context.home, context.command_order());
        context.ui.out(&hook)?;
    }
    Ok(ExitCode::Done)
}

/// Adds the line to the file that the shell reads at its start, unless it is there.
pub(crate) fn install(context: &mut Context, shell: Shell) -> anyhow::Result<()> {
    let (line, file) = shell.start();
    let (Some(file), Some(home)) = (file, context.user_home.clone()) else {
        return Err(Failure::usage("it is not known which file this shell reads at its start")
            .with_hint(format!("put this line into it: {line}"))
            .into());
    };
    let folder = match shell {
        Shell::Zsh => context.zdotdir.clone().unwrap_or_else(|| home.clone()),
        Shell::Bash | Shell::Fish | Shell::Powershell => home,
    };
    // A file that is a link into the user's own collection is written where it is.
    let path = folder.join(file);
    let real = fs::canonicalize(path.as_path()).ok().and_then(|path| AbsPath::new(path).ok());
    let path = real.unwrap_or(path);
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Failure::files(format!("cannot write {path}"), error)
    };
    let old = read_text(&path).map_err(|error| failed(error.into()))?.unwrap_or_default();
    let shown = safe_line(path.as_str()).into_owned();
    if old.lines().any(|found| found.trim() == line) {
        context.ui.done(&format!("{shown} has the hook already\n"))?;
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
