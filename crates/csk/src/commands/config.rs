//! `csk config`: shows the configuration.

use term::safe_line;

use crate::context::Context;
use crate::failure::Failure;

const AFTER: &str = "\
Purpose: prints where the config is and what it holds, as csk understands it. Works without skills_root.

Reads:  config.json (CSK_CONFIG names another; CSK_HOME moves csk's own state)
Writes: nothing

Exit codes:
  0  done
  2  there is no config, or it is malformed

Examples:
  csk config show
  CSK_CONFIG=./test.json csk config show";

const GROUP: &str = "\
Purpose: shows the configuration. It is a file to be edited by hand; `csk bootstrap` makes the first one.

Keys of config.json:
  schema_version          1
  skills_root             the folder of the skills' git repositories
  preferred_locale        the locale of projects that choose none
  default_agents          the agents of projects that choose none
  adapter_mode            auto, symlink or copy: how agents get their entries
  audit                   off, advisory or strict: what an audit decides about installs; flags can only tighten it
  allow_local_sources     true: file:// and path URLs may be cloned
  worktree_alias_pattern  a regular expression for task ids in branch names
  agents                  {ID: {project_path, user_path}}: agents of your own, or other folders for known ones
  projects                {ALIAS: {path, agents, project_alias, checkout_alias}}

Exit codes: 0 done, 2 there is no config, or it is malformed.

Examples:
  csk config show";

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
    #[command(after_help = AFTER)]
    Show,
}

pub(crate) fn config(context: &mut Context, args: &ConfigArgs) -> Result<u8, Failure> {
    match args.command {
        ConfigCommand::Show => {
            let config = context.config()?;
            let path = safe_line(context.config_path.as_str()).into_owned();
            context
                .ui
                .error(&format!("config: {path}\nhome: {}\n", safe_line(context.home.as_str())))?;
            context.ui.out(&config.to_json())?;
            Ok(0)
        }
    }
}
