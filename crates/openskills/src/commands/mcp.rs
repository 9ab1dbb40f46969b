//! `openskills mcp`: a server of the Model Context Protocol.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use openskills_runtime::RuntimeConfig;

use crate::context::Context;
use crate::look::Look;
use crate::mcp::{Served, ToolNames, serve_stdio};

const AFTER: &str = "\
Serves skills on standard input and output to a client of the Model Context Protocol: as tools
(list, read, read a file, run a script), as resources (skill://...), as prompts, and by the
extension io.modelcontextprotocol/skills. A client starts this program by itself; see docs/mcp.md
for how each is told to.

What is read and run goes through the same policy, approvals, sandbox and log as everything else.
What needs your word is refused with the command that approves it. Scripts work in an empty folder
unless a workspace is named here and the client asks for it. They end when the client goes.

Reads:  skills, approvals.json, the policy of the organisation
Writes: the log; the workspace, by scripts that were approved

Exit codes:
  0  the client went
  2  the call or the configuration is wrong

Examples:
  openskills mcp
  openskills mcp --dir ./skills --tool-names underscore
  openskills mcp --workspace .";

/// Serve skills to clients of the Model Context Protocol
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct McpArgs {
    /// The folder that scripts may work in, if the client asks for that
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// How the names of tools are written; some clients refuse dots
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    tool_names: ToolNames,
    #[command(flatten)]
    look: Look,
}

pub(crate) fn mcp(context: &mut Context, args: &McpArgs) -> anyhow::Result<ExitCode> {
    let config: RuntimeConfig = args.look.config(context)?;
    let served = Served {
        config,
        workspace: args.workspace.clone(),
        names: args.tool_names,
        session: format!("{:x}", std::process::id()),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no threads can be made")?;
    let done = runtime.block_on(serve_stdio(served));
    // Whatever still runs belongs to a client that is gone.
    runtime.shutdown_background();
    done?;
    Ok(ExitCode::SUCCESS)
}
