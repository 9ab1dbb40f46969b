//! `openskills mcp` itself: a server of the Model Context Protocol.

#![expect(clippy::disallowed_methods, reason = "the edge: the file of the token")]

use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use openskills_runtime::RuntimeError;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::mcp::{Http, Listed, Served, ToolNames, serve_http, serve_stdio};

pub(super) const HELP: HelpText = HelpText {
    text: "\
Serves skills to clients of the Model Context Protocol: as tools (list, read, read a file, run
a script), as resources (skill://...), as prompts, and by the extension
io.modelcontextprotocol/skills. On standard input and output a client starts this program by
itself (`openskills mcp install CLIENT` tells it to); with --http any number of clients reach
it.

What is read and run goes through the same policy, approvals, sandbox and log as everything
else. What needs your word is asked through a client that can ask, and refused elsewhere with
the command that approves it. Scripts work in an empty folder unless a workspace is named here
and the client asks for it. They end when the client goes.

Over HTTP other machines reach it only with a token of 16 characters or more: in the file of
--token-file, or in OPENSKILLS_MCP_TOKEN. Without a token nobody is asked through a client,
since it may be anybody's. Web pages reach it only from its own address, or one of
--allow-origin.

Reads:  skills, approvals.json, the policy of the organisation, the file of the token
Writes: the log; the workspace, by scripts that were approved

Whatever ends the server ends scripts first, and the log has how.",
    exit_codes: &[
        ExitCode::Done.when("the client went, or ended the server by TERM"),
        ExitCode::signals("129, 130", "the server got HUP or INT"),
        ExitCode::Usage.usual(),
    ],
    examples: &[
        "openskills mcp",
        "openskills mcp --dir ./skills --tool-names underscore",
        "openskills mcp --workspace .",
        "openskills mcp --http",
        "openskills mcp --http 0.0.0.0:8750 --token-file token --allow-host skills.example.com",
    ],
};

/// Where a server listens unless somebody says otherwise.
const ADDRESS: &str = "127.0.0.1:8750";
/// The largest file of a token.
const MAX_TOKEN: u64 = 4096;

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// The folder that scripts may work in, if the client asks for that
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// How the names of tools are written; some clients refuse dots
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    tool_names: ToolNames,
    /// Serve by HTTP, at this address; 127.0.0.1:8750 if none is named
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = ADDRESS, value_parser = address)]
    http: Option<SocketAddr>,
    /// A file with the token that clients must know
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// A name that clients may call this machine by; may be given several times
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,
    /// A web page's origin that may reach it, such as https://app.example.com:443; may be given several times
    #[arg(long, value_name = "ORIGIN", requires = "http", value_parser = origin)]
    allow_origin: Vec<String>,
    /// List skills whose frontmatter does not fit the standard, too; strict clients then refuse the whole list
    #[arg(long)]
    list_nonstandard: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Reads an address; a port alone is one of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = match text.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.replacen("localhost:", "127.0.0.1:", 1),
    };
    whole.parse().map_err(|_| {
        format!("`{text}` is no address; write it as 127.0.0.1:8750, [::1]:8750 or 8750")
    })
}

fn origin(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let is_one =
        matches!(scheme, "http" | "https") && !rest.is_empty() && !rest.contains(['/', '*']);
    if is_one {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is no origin; write it as https://app.example.com:443"))
}

pub(super) fn serve(context: &mut Context, args: &ServeArgs) -> anyhow::Result<ExitCode> {
    if let Some(workspace) = args.workspace.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(RuntimeError::Setup {
            message: format!("{} is no folder that scripts could work in", workspace.display()),
            hint: Some("name one that is there by --workspace".to_owned()),
        }
        .into());
    }
    let mut random = [0_u8; 4];
    getrandom::fill(&mut random)
        .map_err(|error| anyhow::anyhow!("there is no chance here: {error}"))?;
    let served = Served {
        config: args.discovery.config(context)?,
        workspace: args.workspace.clone(),
        names: args.tool_names,
        look: args.discovery.words(),
        listed: if args.list_nonstandard { Listed::All } else { Listed::Standard },
        session: random.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    let http = args.http.map(|address| http(address, args)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no threads can be made")?;
    let done = match http {
        None => runtime.block_on(serve_stdio(served)),
        Some(http) => runtime.block_on(serve_http(served, http, |address| {
            let _ = context.ui.error(&format!("serving skills at {}\n", safe_line(address)));
        })),
    };
    // Whatever still runs belongs to a client that is gone.
    runtime.shutdown_background();
    done?;
    Ok(ExitCode::Done)
}

fn http(address: SocketAddr, args: &ServeArgs) -> Result<Http, RuntimeError> {
    let wrong = |message: String| RuntimeError::Setup {
        message,
        hint: Some("name a file of it by --token-file, or set OPENSKILLS_MCP_TOKEN".to_owned()),
    };
    let token = match &args.token_file {
        Some(file) => {
            let unread = |error| wrong(format!("cannot read {}: {error}", file.display()));
            let mut text = String::new();
            let open = std::fs::File::open(file).map_err(unread)?;
            open.take(MAX_TOKEN + 1).read_to_string(&mut text).map_err(unread)?;
            Some(text)
        }
        None => std::env::var("OPENSKILLS_MCP_TOKEN").ok().filter(|token| !token.is_empty()),
    };
    if token.as_ref().is_some_and(|token| token.len() as u64 > MAX_TOKEN) {
        return Err(wrong(format!("the token is longer than {MAX_TOKEN} characters")));
    }
    let token = token.map(|token| token.trim().to_owned());
    let (hosts, origins) = (args.allow_host.clone(), args.allow_origin.clone());
    let http = Http { address, token, hosts, origins };
    http.check().map_err(wrong)?;
    Ok(http)
}
