//! `openskills hook`: lets an agent ask openskills before each tool call.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the path of this program and the agent's variables"
)]

use std::path::Path;

use clap::Subcommand;
use openskills_runtime::{Places, RuntimeError};
use skill_fs::{AbsPath, FsError, read_text, real_path};
use term::HelpText;

use crate::config_edit::{ConfigEdit, EditFlags, Edited};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::hook::{with_hooks, without_hooks};
use crate::output::{HookJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
The hooks make an agent ask openskills before each tool call. While a skill is active in a session,

* calls that its rules deny are stopped,
* command lines run in the sandbox, restricted to what every active skill is allowed to do
  (`openskills exec`),
* for command lines that need your keys or services (git push, ssh, docker), the agent asks you
  first; they run without the sandbox, and only if you allow them,
* the agent's settings and openskills' own files cannot be changed.

Your own permission rules still apply: openskills checks them against the original command line. A
skill becomes active when the agent loads it with the `Skill` tool, loads it with a slash command,
or reads its SKILL.md. Calls are unrestricted as long as no skill is active.

`install` also adds one permission rule, for the command lines that openskills has rewritten.

Reads:  ~/.claude/settings.json (CLAUDE_CONFIG_DIR is respected); with --managed,
        /etc/claude-code/managed-settings.json
Writes: that file, after showing the change",
    exit_codes: &[
        ExitCode::Done.when("written, or nothing to change"),
        ExitCode::Usage.when("usage error, or the file cannot be edited; nothing was written"),
        ExitCode::NotAllowed.when("you declined"),
        ExitCode::NeedsApproval
            .when("confirmation required, but stdin is not a terminal or --json is given"),
    ],
    examples: &[
        "openskills hook install claude-code",
        "openskills hook install claude-code --dry-run",
        "sudo openskills hook install claude-code --managed",
        "openskills hook remove claude-code",
    ],
};

/// Restrict an agent's tool calls while a skill is active
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    command: HookCommand,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    /// Add the hooks to an agent's settings
    #[command(after_help = HELP)]
    Install(EditArgs),
    /// Remove the hooks from an agent's settings
    #[command(after_help = HELP)]
    Remove(EditArgs),
}

#[derive(Debug, clap::Args)]
struct EditArgs {
    /// Agent to configure
    #[arg(value_name = "AGENT", value_enum)]
    agent: Agent,
    /// Write the settings that an administrator manages for all users
    #[arg(long)]
    managed: bool,
    /// Show the change without writing it
    #[arg(long)]
    dry_run: bool,
    /// Write the change without asking
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// An agent whose hooks are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Agent {
    /// Claude Code
    ClaudeCode,
}

/// The settings of all users on Linux.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";
const CONFIG_VARIABLE: &str = "CLAUDE_CONFIG_DIR";

pub(crate) fn hook(context: &mut Context, args: &HookArgs) -> anyhow::Result<ExitCode> {
    let (edit, is_install) = match &args.command {
        HookCommand::Install(edit) => (edit, true),
        HookCommand::Remove(edit) => (edit, false),
    };
    let Agent::ClaudeCode = edit.agent;
    let file = settings_file(edit)?;
    let before = read_text(&file)?;
    let after = if is_install {
        with_hooks(before.as_deref(), &program()?)
    } else {
        without_hooks(before.as_deref())
    };
    let after = after.map_err(|reason| RuntimeError::Setup {
        message: format!("cannot edit `{file}`: {reason}"),
        hint: Some("fix the file; nothing was written".to_owned()),
    })?;
    let change = ConfigEdit { file, before, after };
    let flags = EditFlags { dry_run: edit.dry_run, yes: edit.yes, json: edit.json };
    let Edited { diff, written, is_declined } = change.carry_out(context, flags)?;
    if is_declined {
        return Ok(ExitCode::NotAllowed);
    }
    if edit.json {
        let (agent, file) = ("claude-code".to_owned(), change.file.to_string());
        context.ui.json(&HookJson { version: VERSION, agent, file, diff, written })?;
    } else if is_install && written {
        context.ui.note("note: restart running agent sessions to use the hooks\n")?;
    }
    Ok(ExitCode::Done)
}

/// Returns the settings file. Config files are often symlinks into a dotfiles folder.
fn settings_file(args: &EditArgs) -> Result<AbsPath, RuntimeError> {
    let wrong =
        |message: String, hint: &str| RuntimeError::Setup { message, hint: Some(hint.to_owned()) };
    let file = if args.managed {
        AbsPath::new(MANAGED).map_err(|error| wrong(error.to_string(), "use Linux"))?
    } else {
        let folder = match std::env::var(CONFIG_VARIABLE) {
            Ok(folder) if !folder.is_empty() => AbsPath::new(folder).map_err(|_| {
                wrong(
                    format!("`{CONFIG_VARIABLE}` is not an absolute path"),
                    &format!("set {CONFIG_VARIABLE} to an absolute path, or unset it"),
                )
            })?,
            Ok(_) | Err(_) => {
                let home = Places::from_environment()?.home.ok_or_else(|| {
                    let message = "cannot find the agent's settings: HOME is not set".to_owned();
                    wrong(message, "set HOME")
                })?;
                home.join(".claude")
            }
        };
        folder.join("settings.json")
    };
    match real_path(&file) {
        Ok(real) => Ok(real),
        Err(FsError::NotFound { .. }) => Ok(file),
        Err(error) => Err(error.into()),
    }
}

/// Returns the path of this program. The hook names it in full, because the agent's PATH may change.
fn program() -> Result<String, RuntimeError> {
    let own = std::env::current_exe().and_then(std::fs::canonicalize);
    let own = own.ok().filter(|own| own != Path::new(""));
    own.and_then(|own| own.to_str().map(str::to_owned)).ok_or_else(|| RuntimeError::Setup {
        message: "cannot determine the path of this program".to_owned(),
        hint: None,
    })
}
