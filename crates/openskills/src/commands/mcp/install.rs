//! `openskills mcp install`: tells a client of this server.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: where this program and files of clients are"
)]

use clap::Parser;
use openskills_runtime::{Places, RuntimeError};
use similar::TextDiff;
use skill_fs::{AbsPath, FsError, make_private_folder, read_text, real_path, write_file};
use term::{HelpText, safe_line};

use crate::ask::{Consent, ConsentFlags};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::mcp::{ClientKind, Entry, NoFile, Reach};
use crate::output::{McpInstallJson, VERSION};

pub(super) const HELP: HelpText = HelpText {
    text: "\
Writes into the file of a client that it starts `openskills mcp`, and shows the change first.
Everything else in the file stays as it is, comments included.

  client          your own file                                   with --project
  claude-code     ~/.claude.json                                  .mcp.json
  claude-desktop  ~/.config/Claude/claude_desktop_config.json     -
  codex           ~/.codex/config.toml                            .codex/config.toml
  copilot-cli     ~/.copilot/mcp-config.json                      .github/mcp.json
  cursor          ~/.cursor/mcp.json                              .cursor/mcp.json
  gemini          ~/.gemini/settings.json                         .gemini/settings.json
  opencode        ~/.config/opencode/opencode.json (or .jsonc)    opencode.json (or .jsonc)
  vscode          ~/.config/Code/User/mcp.json                    .vscode/mcp.json
  windsurf        ~/.codeium/windsurf/mcp_config.json             -
  zed             ~/.config/zed/settings.json                     .zed/settings.json

On macOS, the files of claude-desktop and vscode are in ~/Library/Application Support. The
variables of the clients are honoured: CLAUDE_CONFIG_DIR, CODEX_HOME, COPILOT_HOME,
GEMINI_CLI_HOME, and XDG_CONFIG_HOME in place of ~/.config.

Tools are named with underscores, which every client takes. Arguments after -- go to
`openskills mcp`. On a terminal it asks before it writes. Elsewhere, and with --json, it needs
--yes.

Reads:  the file of the client, and the variables above
Writes: the file of the client",
    exit_codes: &[
        ExitCode::Done.when("written, or there was nothing to change"),
        ExitCode::Usage
            .when("the call is wrong, or the file cannot be understood; nothing was written"),
        ExitCode::NotAllowed.when("the answer is no"),
        ExitCode::NeedsApproval.when("confirmation required, but stdin is not a terminal"),
    ],
    examples: &[
        "openskills mcp install claude-code",
        "openskills mcp install vscode --project --yes",
        "openskills mcp install cursor --project -- --workspace .",
        "openskills mcp install opencode --dry-run",
        "openskills mcp install codex --remove",
    ],
};

/// Tell a client to start this server
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct InstallArgs {
    /// The client
    #[arg(value_name = "CLIENT", value_enum)]
    client: ClientKind,
    /// Write the project's file, in the working folder, in place of your own
    #[arg(long)]
    project: bool,
    /// What the client calls the server
    #[arg(long, value_name = "NAME", default_value = "skills", value_parser = name)]
    name: String,
    /// Take the server out of the file
    #[arg(long)]
    remove: bool,
    /// Show the change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Write it as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Arguments of `openskills mcp`
    #[arg(last = true, value_name = "ARGS", conflicts_with = "remove")]
    args: Vec<String>,
}

fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_good = !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain);
    if is_good {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is no name of a server; it takes letters, digits, - and _"))
}

pub(super) fn install(context: &mut Context, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let file = file(args, &places)?;
    check(&args.args)?;
    let before = read_text(&file)?;
    let entry = (!args.remove).then(|| entry(args));
    let after = args.client.edited(before.as_deref(), &args.name, entry.as_ref());
    let after = after.map_err(|why| RuntimeError::Setup {
        message: format!("{file} cannot be understood: {why}"),
        hint: Some(
            "nothing was written; fix the file, or edit it by hand as docs/mcp.md shows".to_owned(),
        ),
    })?;
    let text = before.clone().unwrap_or_default();
    let diff = TextDiff::from_lines(text.as_str(), after.as_str());
    let diff = diff.unified_diff().header(file.as_str(), file.as_str()).to_string();
    let mut told = McpInstallJson {
        version: VERSION,
        client: args.client.word(),
        file: file.to_string(),
        written: false,
        diff,
    };
    if !args.json {
        for line in told.diff.lines() {
            context.ui.out(&format!("{}\n", safe_line(line)))?;
        }
    }
    if !told.diff.is_empty() && !args.dry_run {
        let consent = Consent::of(ConsentFlags { yes: args.yes, json: args.json });
        if !consent.agreed(&mut context.ui, "Write it?", "nothing was written")? {
            return Ok(ExitCode::NotAllowed);
        }
        // Whoever wrote to it meanwhile is not written over.
        if read_text(&file)? != before {
            let message = format!("{file} was changed meanwhile");
            let hint = Some("try again".to_owned());
            return Err(RuntimeError::Setup { message, hint }.into());
        }
        if let Some(folder) = file.parent().filter(|folder| !folder.as_path().is_dir()) {
            make_private_folder(&folder)?;
        }
        write_file(&file, after.as_bytes())?;
        told.written = true;
    }
    if args.json {
        context.ui.json(&told)?;
    } else {
        let done = match (told.diff.is_empty(), told.written) {
            (true, _) => "nothing to change in",
            (false, true) => "wrote",
            (false, false) => "would write",
        };
        context.ui.note(&format!("{done} {}\n", safe_line(file.as_str())))?;
    }
    Ok(ExitCode::Done)
}

/// Returns the file of the client: the one that is there, else the one that it makes itself.
fn file(args: &InstallArgs, places: &Places) -> Result<AbsPath, RuntimeError> {
    let reach = if args.project { Reach::Project } else { Reach::User };
    let variable = |name: &str| std::env::var(name).ok();
    let files = args.client.files(reach, places, variable).map_err(|why| {
        let client = args.client.word();
        let (message, hint) = match why {
            NoFile::InProject => (
                format!("`{client}` has no configuration file in projects"),
                format!("run `openskills mcp install {client}` to write your own file"),
            ),
            NoFile::Homeless => (
                "there is no file of the user: HOME is not set".to_owned(),
                "set HOME, or write the project's file with --project".to_owned(),
            ),
            NoFile::Variable(name) => (
                format!("`{name}` is not an absolute path"),
                format!("set {name} to an absolute path, or unset it"),
            ),
        };
        RuntimeError::Setup { message, hint: Some(hint) }
    })?;
    // Files of clients are often links into a folder of dotfiles.
    for file in &files {
        match real_path(file) {
            Ok(real) => return Ok(real),
            Err(FsError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(files[0].clone())
}

/// Refuses arguments that the server would refuse when the client starts it.
fn check(args: &[String]) -> Result<(), RuntimeError> {
    let words = ["openskills", "mcp"].into_iter().chain(args.iter().map(String::as_str));
    match crate::cli::Cli::try_parse_from(words) {
        Ok(_) => Ok(()),
        Err(error) => {
            let told = error.to_string();
            let told = told.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let hint = Some("`openskills mcp --help` shows what it takes".to_owned());
            let message = format!("`openskills mcp` would not start so: {told}");
            Err(RuntimeError::Setup { message, hint })
        }
    }
}

fn entry(args: &InstallArgs) -> Entry {
    let own = ["mcp", "--tool-names", "underscore"].map(str::to_owned);
    let is_named = args.args.iter().any(|word| word.starts_with("--tool-names"));
    let own = own.into_iter().take(if is_named { 1 } else { 3 });
    let command = if args.client.needs_path() { own_path() } else { command() };
    Entry { command, args: own.chain(args.args.iter().cloned()).collect() }
}

const NAME: &str = "openskills";

/// Returns where this program is.
fn own_path() -> String {
    let own = std::env::current_exe().and_then(std::fs::canonicalize);
    own.map_or_else(|_| NAME.to_owned(), |own| own.to_string_lossy().into_owned())
}

/// Returns how this program is started: by its name where that finds it, else by where it is.
fn command() -> String {
    let real = |path: &std::path::Path| std::fs::canonicalize(path).ok();
    let own = std::env::current_exe().ok().and_then(|path| real(&path));
    let found = std::env::var_os("PATH")
        .and_then(|path| std::env::split_paths(&path).find_map(|folder| real(&folder.join(NAME))));
    match own {
        Some(own) if found.as_ref() != Some(&own) => own.to_string_lossy().into_owned(),
        _ => NAME.to_owned(),
    }
}
