//! `openskills mcp` without a subcommand: the MCP server.

#![expect(clippy::disallowed_methods, reason = "the edge: the token file")]

use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use openskills_runtime::RuntimeError;
use skill::ByteSize;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::mcp::{HttpOptions, ListFilter, ServeConfig, ToolNames, serve_http, serve_stdio};

pub(super) const HELP: HelpText = HelpText {
    text: "\
Serves skills over the Model Context Protocol: as tools (list skills, read a skill, read a file,
run a script), as resources (skill://...), as prompts, and through the extension
io.modelcontextprotocol/skills. Over stdio, the client starts this program itself (to configure
that, run `openskills mcp install CLIENT`). With --http, any number of clients can connect.

The same policy, approvals, sandbox and log apply as for all other commands. If approval is needed,
openskills asks you through the client if the client supports that (elicitation); otherwise it
refuses the call and returns the command that approves it. Scripts run in an empty folder, unless
you pass --workspace and the client requests the workspace. They are stopped when the client
disconnects.

Over HTTP, other machines can connect only with a token of at least 16 characters, from --token-file
or OPENSKILLS_MCP_TOKEN. Without a token, openskills never asks through a client, because anyone on
this machine could be the client. Web pages can connect only from the server's own origin or from an
origin passed with --allow-origin.

Reads:  skills, approvals.json, the organization's policy, the token file
Writes: the log; approved scripts can also write to the workspace

When the server is terminated, it first stops all running scripts and logs how each one ended.",
    exit_codes: &[
        ExitCode::Done.when("the client disconnected, or the server received TERM"),
        ExitCode::signals("129, 130", "the server received HUP or INT"),
        ExitCode::Usage.usual(),
    ],
    examples: &[
        "openskills mcp",
        "openskills mcp --dir ./skills --tool-names underscore",
        "openskills mcp --workspace .",
        "openskills mcp --workspace . --run-commands",
        "openskills mcp --http",
        "openskills mcp --http 0.0.0.0:8750 --token-file token --allow-host skills.example.com",
    ],
};

const DEFAULT_ADDRESS: &str = "127.0.0.1:8750";
/// The maximum size of a token, in bytes.
const MAX_TOKEN: u64 = 4096;

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// Folder that scripts may work in if the client requests it
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Also offer a tool that runs command lines in the workspace, in the sandbox (`openskills exec`)
    #[arg(long, requires = "workspace")]
    run_commands: bool,
    /// Tool name style; some clients reject dots
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    tool_names: ToolNames,
    /// Serve over HTTP on ADDRESS, or on 127.0.0.1:8750 if it is omitted
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = DEFAULT_ADDRESS,
        value_parser = parse_address
    )]
    http: Option<SocketAddr>,
    /// File containing the token that clients must send
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Additional host name that clients may use for this server; can be repeated
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,
    /// Origin of web pages that may connect, such as https://app.example.com:443; can be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http", value_parser = parse_origin)]
    allow_origin: Vec<String>,
    /// Also list skills whose frontmatter violates the standard; strict clients then reject the whole list
    #[arg(long)]
    list_nonstandard: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Parses an address. A port alone means this machine.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let full = match text.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.replacen("localhost:", "127.0.0.1:", 1),
    };
    full.parse().map_err(|_| {
        format!("`{text}` is not a valid address; use the form 127.0.0.1:8750, [::1]:8750 or 8750")
    })
}

fn parse_origin(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let is_valid =
        matches!(scheme, "http" | "https") && !rest.is_empty() && !rest.contains(['/', '*']);
    if is_valid {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a valid origin; use the form https://app.example.com:443"))
}

pub(super) fn serve(context: &mut Context, args: &ServeArgs) -> anyhow::Result<ExitCode> {
    if let Some(workspace) = args.workspace.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(RuntimeError::Setup {
            message: format!("`{}` is not a folder", workspace.display()),
            hint: Some("pass an existing folder to --workspace".to_owned()),
        }
        .into());
    }
    let mut random = [0_u8; 4];
    getrandom::fill(&mut random)
        .map_err(|error| anyhow::anyhow!("cannot get random bytes: {error}"))?;
    let config = ServeConfig {
        runtime: args.discovery.config(context)?,
        workspace: args.workspace.clone(),
        runs_commands: args.run_commands,
        tool_names: args.tool_names,
        discovery_flags: args.discovery.flags(),
        list_filter: if args.list_nonstandard { ListFilter::All } else { ListFilter::Standard },
        session_suffix: random.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    let http = args.http.map(|address| http_options(address, args)).transpose()?;
    if args.run_commands && http.as_ref().is_some_and(|http| http.token.is_none()) {
        return Err(RuntimeError::Setup {
            message: "--run-commands over HTTP needs a token: without one, any program on this machine could run commands".to_owned(),
            hint: Some("pass --token-file, or set OPENSKILLS_MCP_TOKEN".to_owned()),
        }
        .into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let result = match http {
        None => runtime.block_on(serve_stdio(config)),
        Some(http) => runtime.block_on(serve_http(config, http, |address| {
            let _ = context.ui.error(&format!("serving skills at {}\n", safe_line(address)));
        })),
    };
    // Whatever still runs belongs to a client that has disconnected.
    runtime.shutdown_background();
    result?;
    Ok(ExitCode::Done)
}

fn http_options(address: SocketAddr, args: &ServeArgs) -> Result<HttpOptions, RuntimeError> {
    let token_error = |message: String| RuntimeError::Setup {
        message,
        hint: Some(
            "pass a file with the token to --token-file, or set OPENSKILLS_MCP_TOKEN".to_owned(),
        ),
    };
    let token = match &args.token_file {
        Some(file) => {
            let unreadable =
                |error| token_error(format!("cannot read `{}`: {error}", file.display()));
            let mut text = String::new();
            let open = std::fs::File::open(file).map_err(unreadable)?;
            open.take(MAX_TOKEN + 1).read_to_string(&mut text).map_err(unreadable)?;
            Some(text)
        }
        None => std::env::var("OPENSKILLS_MCP_TOKEN").ok().filter(|token| !token.is_empty()),
    };
    if token.as_ref().is_some_and(|token| token.len() as u64 > MAX_TOKEN) {
        let limit = ByteSize(MAX_TOKEN);
        return Err(token_error(format!("the token is longer than {limit}")));
    }
    let token = token.map(|token| token.trim().to_owned());
    let (hosts, origins) = (args.allow_host.clone(), args.allow_origin.clone());
    let options = HttpOptions { address, token, hosts, origins };
    options.check().map_err(token_error)?;
    Ok(options)
}
