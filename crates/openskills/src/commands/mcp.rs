//! `openskills mcp`: serves skills over MCP and manages the MCP servers whose skills are used.

mod add;
mod install;
mod remove;
mod serve;
mod servers;

use crate::context::Context;
use crate::exit_code::ExitCode;

/// Serve skills over MCP, and use skills from other MCP servers
#[derive(Debug, clap::Args)]
#[command(after_help = serve::HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    #[command(flatten)]
    serve: serve::ServeArgs,
}

#[derive(Debug, clap::Subcommand)]
enum McpCommand {
    Install(install::InstallArgs),
    Add(add::AddArgs),
    List(servers::ListArgs),
    Remove(remove::RemoveArgs),
    Sync(servers::SyncArgs),
}

pub(crate) fn mcp(context: &mut Context, args: &McpArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => serve::serve(context, &args.serve),
        Some(McpCommand::Install(args)) => install::install(context, args),
        Some(McpCommand::Add(args)) => add::add(context, args),
        Some(McpCommand::List(args)) => servers::list(context, args),
        Some(McpCommand::Remove(args)) => remove::remove(context, args),
        Some(McpCommand::Sync(args)) => servers::sync(context, args),
    }
}
