//! `openskills mcp install`: adds this server to the config file of an MCP client.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the paths of this program and of the config files"
)]

use clap::Parser;
use openskills_runtime::{Places, RuntimeError};
use skill_fs::{AbsPath, FsError, read_text, real_path};
use term::HelpText;

use crate::config_edit::{ConfigEdit, EditFlags, Edited};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::mcp::{ClientKind, ConfigScope, NoConfigFile, ServerCommand};
use crate::output::{McpInstallJson, VERSION};

pub(super) const HELP: HelpText = HelpText {
    text: "\
Configures an MCP client to start `openskills mcp`. Shows the change to the client's config file
before writing it. Everything else in the file stays as it is, including comments.

  client          user file                                       with --project
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

On macOS, the user files of claude-desktop and vscode are in ~/Library/Application Support. The
clients' environment variables are respected: CLAUDE_CONFIG_DIR, CODEX_HOME, COPILOT_HOME and
GEMINI_CLI_HOME. If XDG_CONFIG_HOME is set, it replaces ~/.config.

The server is configured to use underscores in tool names, because some clients reject dots.
Arguments after -- are passed to `openskills mcp`. In a terminal, openskills asks you to confirm the
change; if stdin is not a terminal, or with --json, --yes is required.

Reads:  the client's config file, the variables above
Writes: the client's config file",
    exit_codes: &[
        ExitCode::Done.when("written, or nothing to change"),
        ExitCode::Usage.when("usage error, or the file cannot be edited; nothing was written"),
        ExitCode::NotAllowed.when("you declined"),
        ExitCode::NeedsApproval
            .when("confirmation required, but stdin is not a terminal or --json is given"),
    ],
    examples: &[
        "openskills mcp install claude-code",
        "openskills mcp install vscode --project --yes",
        "openskills mcp install cursor --project -- --workspace .",
        "openskills mcp install opencode --dry-run",
        "openskills mcp install codex --remove",
    ],
};

/// Configure an MCP client to start this server
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct InstallArgs {
    /// Client to configure
    #[arg(value_name = "CLIENT", value_enum)]
    client: ClientKind,
    /// Write the project's file in the current directory instead of your user file
    #[arg(long)]
    project: bool,
    /// Server name in the client
    #[arg(long, value_name = "NAME", default_value = "skills", value_parser = parse_name)]
    name: String,
    /// Remove the server from the file
    #[arg(long)]
    remove: bool,
    /// Show the change without writing it
    #[arg(long)]
    dry_run: bool,
    /// Write the change without asking
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Arguments for `openskills mcp`, after --
    #[arg(last = true, value_name = "ARGS", conflicts_with = "remove")]
    args: Vec<String>,
}

/// The maximum length of a server name.
const MAX_NAME: usize = 64;

fn parse_name(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_valid = !text.is_empty() && text.len() <= MAX_NAME && text.chars().all(is_allowed);
    if is_valid {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not a valid server name; use 1 to {MAX_NAME} letters, digits, - and _"
    ))
}

pub(super) fn install(context: &mut Context, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let file = config_file(args, &places)?;
    check_arguments(&args.args)?;
    let before = read_text(&file)?;
    let command = (!args.remove).then(|| server_command(args));
    let after = args.client.edit(before.as_deref(), &args.name, command.as_ref());
    let after = after.map_err(|reason| RuntimeError::Setup {
        message: format!("cannot edit `{file}`: {reason}"),
        hint: Some(
            "fix the file, or edit it by hand as shown in docs/mcp.md; nothing was written"
                .to_owned(),
        ),
    })?;
    let edit = ConfigEdit { file, before, after };
    let flags = EditFlags { dry_run: args.dry_run, yes: args.yes, json: args.json };
    let Edited { diff, written, is_declined } = edit.carry_out(context, flags)?;
    if is_declined {
        return Ok(ExitCode::NotAllowed);
    }
    if args.json {
        let (client, file) = (args.client.name(), edit.file.to_string());
        context.ui.json(&McpInstallJson { version: VERSION, client, file, diff, written })?;
    }
    Ok(ExitCode::Done)
}

/// Returns the client's config file: the one that exists, or else the one that the client itself would create.
fn config_file(args: &InstallArgs, places: &Places) -> Result<AbsPath, RuntimeError> {
    let scope = if args.project { ConfigScope::Project } else { ConfigScope::User };
    let variable = |name: &str| std::env::var(name).ok();
    let files = args.client.files(scope, places, variable).map_err(|reason| {
        let client = args.client.name();
        let (message, hint) = match reason {
            NoConfigFile::NotInProjects => (
                format!("`{client}` does not read project config files"),
                format!("run `openskills mcp install {client}` to write your user file"),
            ),
            NoConfigFile::NoHome => (
                "cannot find your user config file: HOME is not set".to_owned(),
                "set HOME, or pass --project to write the project's file".to_owned(),
            ),
            NoConfigFile::RelativePath(name) => (
                format!("`{name}` is not an absolute path"),
                format!("set {name} to an absolute path, or unset it"),
            ),
        };
        RuntimeError::Setup { message, hint: Some(hint) }
    })?;
    // Config files are often symbolic links into a dotfiles folder.
    for file in &files {
        match real_path(file) {
            Ok(real) => return Ok(real),
            Err(FsError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(files[0].clone())
}

/// Rejects arguments with which the server would not start.
fn check_arguments(args: &[String]) -> Result<(), RuntimeError> {
    let command_line = ["openskills", "mcp"].into_iter().chain(args.iter().map(String::as_str));
    match crate::cli::Cli::try_parse_from(command_line) {
        Ok(_) => Ok(()),
        Err(error) => {
            let error = error.to_string();
            let error = error.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let hint = Some("run `openskills mcp --help`".to_owned());
            let message = format!("`openskills mcp` does not accept these arguments: {error}");
            Err(RuntimeError::Setup { message, hint })
        }
    }
}

fn server_command(args: &InstallArgs) -> ServerCommand {
    let default_args = ["mcp", "--tool-names", "underscore"].map(str::to_owned);
    let has_tool_names = args.args.iter().any(|arg| arg.starts_with("--tool-names"));
    let default_args = default_args.into_iter().take(if has_tool_names { 1 } else { 3 });
    let program = if args.client.needs_path() { program_path() } else { program() };
    ServerCommand { program, args: default_args.chain(args.args.iter().cloned()).collect() }
}

const PROGRAM: &str = "openskills";

/// Returns the path of this program.
fn program_path() -> String {
    let own = std::env::current_exe().and_then(std::fs::canonicalize);
    own.map_or_else(|_| PROGRAM.to_owned(), |own| own.to_string_lossy().into_owned())
}

/// Returns the name of this program if the name is found on PATH, and its path otherwise.
fn program() -> String {
    let real = |path: &std::path::Path| std::fs::canonicalize(path).ok();
    let own = std::env::current_exe().ok().and_then(|path| real(&path));
    let found = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).find_map(|folder| real(&folder.join(PROGRAM)))
    });
    match own {
        Some(own) if found.as_ref() != Some(&own) => own.to_string_lossy().into_owned(),
        _ => PROGRAM.to_owned(),
    }
}
