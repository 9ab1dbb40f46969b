//! `csk config`: shows the configuration.

use csk_core::output::{ConfigJson, VERSION};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Purpose: prints where the config is and what counts, from all layers: the environment over the user's file over the system's \
(/etc/cocoaskills/config.json), which can lock keys.

Reads:  /etc/cocoaskills/config.json, config.json (CSK_CONFIG names another; CSK_HOME moves csk's own state)
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("there is no config, or it is malformed"),
    ],
    examples: &[
        "csk config show",
        "csk config show --json",
        "CSK_CONFIG=./test.json csk config show",
    ],
};

const GROUP: HelpText = HelpText {
    text: "\
Purpose: shows the configuration. It is a file to be edited by hand; `csk bootstrap` makes the first one.

Keys of config.json:
  schema_version          1
  skills_root             the folder of the skills' git repositories
  preferred_locale        the locale of projects that choose none
  default_agents          the agents of projects that choose none
  adapter_mode            auto, symlink or copy: how agents get their entries
  audit                   off, advisory or strict: what an audit decides about installs; flags can only tighten it
  allow_local_sources     true: file:// and path URLs may be cloned
  commands_first          true: commands of skills come before your own programs on PATH
  worktree_alias_pattern  a regular expression for task ids in branch names
  agents                  {ID: {project_path, user_path}}: agents of your own, or other folders for known ones
  projects                {ALIAS: {path, agents, project_alias, checkout_alias}}

/etc/cocoaskills/config.json has the same keys but `projects`, for everybody on the machine, and one more:
  locked                  keys that neither the user, the environment nor a project can set otherwise
`audit` and `allow_local_sources` can only be tightened below it.

CSK_SKILLS_ROOT, CSK_LOCALE, CSK_AGENTS (with commas), CSK_ADAPTER_MODE and CSK_AUDIT stand over the user's file.",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("there is no config, or it is malformed"),
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
    /// Print where the config is and what it holds
    #[command(after_help = HELP)]
    Show {
        /// Write it as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn config(context: &mut Context, args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        ConfigCommand::Show { json } => {
            let config = context.config()?;
            if json {
                let told = ConfigJson {
                    version: VERSION,
                    file: context.config_path.to_string(),
                    home: context.home.to_string(),
                    locked: config.locked.iter().cloned().collect(),
                    config: serde_json::from_str(&config.to_json()).unwrap_or_default(),
                };
                context.ui.json(&told)?;
                return Ok(ExitCode::Done);
            }
            let path = safe_line(context.config_path.as_str()).into_owned();
            context
                .ui
                .error(&format!("config: {path}\nhome: {}\n", safe_line(context.home.as_str())))?;
            context.ui.out(&config.to_json())?;
            Ok(ExitCode::Done)
        }
    }
}
