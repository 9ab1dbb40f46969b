//! `openskills mcp`: skills for clients of the Model Context Protocol, and skills of its servers.

mod add;
mod install;
mod remove;
mod serve;
mod servers;

use std::process::ExitCode;

use crate::context::Context;

/// Serve skills to clients of the Model Context Protocol, and use those of its servers
#[derive(Debug, clap::Args)]
#[command(after_help = serve::AFTER, args_conflicts_with_subcommands = true)]
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

impl McpArgs {
    /// Returns whether a failure is told as JSON.
    pub(crate) fn is_json(&self) -> bool {
        match &self.command {
            Some(McpCommand::Install(args)) => args.json,
            Some(McpCommand::List(args)) => args.json,
            Some(McpCommand::Sync(args)) => args.json,
            Some(McpCommand::Add(_) | McpCommand::Remove(_)) | None => false,
        }
    }
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
