//! `csk config`: shows the configuration.

use csk_core::output::{ConfigJson, VERSION};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Prints the config file path and the effective settings. Environment variables override your config file, which \
overrides the system config (/etc/cocoaskills/config.json). Keys that the system config lists in `locked` cannot be \
overridden, and the strictest `audit` value always applies.

Reads:  /etc/cocoaskills/config.json, ~/.cocoaskills/config.json (or the file in CSK_CONFIG)
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or the config is malformed, or CSK_CONFIG names a missing file"),
    ],
    examples: &[
        "csk config show",
        "csk config show --json",
        "CSK_CONFIG=./test.json csk config show",
    ],
};

const GROUP: HelpText = HelpText {
    text: "\
Shows the configuration. No config file is needed: `csk bootstrap` creates one with your preferences.

Reads:  /etc/cocoaskills/config.json, ~/.cocoaskills/config.json (or the file in CSK_CONFIG)
Writes: nothing

Keys of config.json:
  schema_version          1
  skills_root             folder that contains the skill repositories (default: repositories/ in csk's home folder)
  preferred_locale        locale for projects that do not set one
  default_agents          agents for projects that do not set any (default, without skills_root: those on this machine)
  adapter_mode            auto, symlink or copy: how skills are added to agent folders
  audit                   off, advisory or strict: how strictly installs are audited (default: off; without \
skills_root: advisory); flags and CSK_AUDIT can only make it stricter
  allow_local_sources     true: allow cloning from file:// and path URLs
  commands_first          true: skill commands come before your own programs on PATH
  worktree_alias_pattern  regular expression for task IDs in branch names
  agents                  {ID: {project_path, user_path}}: custom agents, or different folders for built-in agents
  skill_indexes           index files that `csk find` searches
  projects                {ALIAS: {path, agents, project_alias, checkout_alias}}

/etc/cocoaskills/config.json applies to all users of this machine. It supports the same keys except `projects`, plus:
  locked                  keys that users, environment variables and projects cannot override
Users can make `audit` and `allow_local_sources` stricter, but not looser.

CSK_SKILLS_ROOT, CSK_LOCALE, CSK_AGENTS (comma-separated) and CSK_ADAPTER_MODE override your config file; \
CSK_AUDIT can only make `audit` stricter.",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or the config is malformed, or CSK_CONFIG names a missing file"),
    ],
    examples: &[
        "csk config show",
    ],
};

/// Show the configuration
#[derive(Debug, clap::Args)]
#[command(after_help = GROUP)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    /// Print the config file path and the effective settings
    #[command(after_help = HELP)]
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn config(context: &mut Context, args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        ConfigCommand::Show { json } => {
            let config = context.config()?;
            if json {
                let output = ConfigJson {
                    version: VERSION,
                    file: context.config_path.to_string(),
                    home: context.home.to_string(),
                    locked: config.locked.iter().cloned().collect(),
                    config: serde_json::from_str(&config.effective_json()).unwrap_or_default(),
                };
                context.ui.json(&output)?;
                return Ok(ExitCode::Done);
            }
            let path = safe_line(context.config_path.as_str()).into_owned();
            context
                .ui
                .error(&format!("config: {path}\nhome: {}\n", safe_line(context.home.as_str())))?;
            context.ui.out(&config.effective_json())?;
            Ok(ExitCode::Done)
        }
    }
}
