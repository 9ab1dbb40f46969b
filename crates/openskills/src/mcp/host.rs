//! The other side: asks other MCP servers for their skills. Nothing that a server answers is believed here; the runtime holds it to what was listed and approved.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment of servers")]

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openskills_runtime::{Fetcher, MAX_SERVED, ServerAddress, SkillServer, Wanted};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, Implementation,
    ProtocolVersion, ReadResourceRequestParams, ResourceContents, ServerResult,
};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, Command};

use super::server::EXTENSION;

/// How long a server may take to be there.
const CONNECT: Duration = Duration::from_secs(60);
/// How long it may take for one answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long everything together may take.
const IN_ALL: Duration = Duration::from_secs(5 * 60);
/// How much an answer may make this process grow.
const MOST_MEMORY: u64 = 512 << 20;
/// How many pages a list may have.
const MOST_PAGES: usize = 2_000;
/// How much of what a server complains of is told.
const COMPLAINT: usize = 600;
/// What every program needs of the environment; a server is given nothing else but what the user named.
const ENVIRONMENT: [&str; 12] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
    "SYSTEMROOT",
];

/// Returns what fetches files of servers.
pub(crate) fn fetcher() -> Fetcher {
    Fetcher::new(|server, wanted| {
        let (server, all) = (server.clone(), wanted.to_vec());
        on_thread(async move { read(&server, &all).await })
            .unwrap_or_else(|why| wanted.iter().map(|_| Err(why.clone())).collect())
    })
}

/// Returns what a server lists, as it says it.
pub(crate) fn list(server: &SkillServer) -> Result<Vec<Value>, String> {
    let server = server.clone();
    on_thread(async move { skills(&server).await })
}

/// Does work that waits, on a thread of its own: who asks may be one of another runtime.
fn on_thread<T: Send + 'static>(
    work: impl Future<Output = Result<T, String>> + Send + 'static,
) -> Result<T, String> {
    let done = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let done = runtime.block_on(async {
            tokio::select! {
                done = work => done,
                why = too_much() => Err(why),
                () = tokio::time::sleep(IN_ALL) => Err("it takes too long".to_owned()),
            }
        });
        runtime.shutdown_background();
        done
    });
    done.join().unwrap_or_else(|_| Err("the work was not finished".to_owned()))
}

type Client = RunningService<RoleClient, ClientConfig>;

/// A server that was connected to, and what it complains of.
struct Connected {
    client: Client,
    complaint: Complaint,
}

/// The end of what a program wrote to standard error.
#[derive(Clone, Default)]
struct Complaint(Arc<Mutex<Vec<u8>>>);

impl Complaint {
    fn listen(&self, mut stderr: ChildStderr) {
        let kept = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..count]);
                let excess = kept.len().saturating_sub(COMPLAINT);
                kept.drain(..excess);
            }
        });
    }

    /// Returns why something failed, with what the server says about it.
    fn with(&self, why: &str) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match String::from_utf8_lossy(&kept).trim() {
            "" => why.to_owned(),
            said => format!("{why}; it says: {said}"),
        }
    }
}

fn info() -> ClientConfig {
    let implementation = Implementation::new("openskills", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), implementation)
}

async fn connect(server: &SkillServer) -> Result<Connected, String> {
    let complaint = Complaint::default();
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    let connecting = async {
        match &server.address {
            ServerAddress::Command { command, env } => {
                let (process, stderr) = start(command, env)?;
                if let Some(stderr) = stderr {
                    complaint.listen(stderr);
                }
                let connected = info().serve_with_lifecycle(process, lifecycle).await;
                connected.map_err(|error| plain(&error))
            }
            ServerAddress::Url { url, token_env } => {
                let transport = reach(url, token_env.as_deref())?;
                let connected = info().serve_with_lifecycle(transport, lifecycle).await;
                connected.map_err(|error| plain(&error))
            }
        }
    };
    let connected = tokio::time::timeout(CONNECT, connecting).await;
    match connected.unwrap_or_else(|_| Err(format!("no answer in {} seconds", CONNECT.as_secs()))) {
        Ok(client) => Ok(Connected { client, complaint }),
        Err(why) => {
            // What it says may come a little after its end.
            tokio::time::sleep(Duration::from_millis(100)).await;
            Err(complaint.with(&format!("it cannot be connected to: {why}")))
        }
    }
}

fn start(
    command: &[String],
    env: &[String],
) -> Result<(TokioChildProcess, Option<ChildStderr>), String> {
    let (program, args) = command.split_first().ok_or("its command is empty")?;
    let names = ENVIRONMENT.into_iter().chain(env.iter().map(String::as_str));
    let given = names.filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(given);
    TokioChildProcess::builder(command)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start `{program}`: {error}"))
}

fn reach(
    url: &str,
    token_env: Option<&str>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    // Whoever was first has chosen; there is only one choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        // Who is asked answers, and nobody else: a token goes with every question.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(ANSWER)
        .build()
        .map_err(|error| error.to_string())?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    if let Some(name) = token_env {
        let token = std::env::var(name).map_err(|_| format!("the variable `{name}` is not set"))?;
        config = config.auth_header(token);
    }
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

impl Connected {
    async fn ask<T>(
        &self,
        answer: impl Future<Output = Result<T, rmcp::ServiceError>>,
    ) -> Result<T, String> {
        match tokio::time::timeout(ANSWER, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.complaint.with(&error.to_string())),
            Err(_) => Err(format!("no answer in {} seconds", ANSWER.as_secs())),
        }
    }

    async fn leave(self) {
        // It is told to go; if it does not, it is ended.
        let _ = self.client.cancel().await;
    }
}

async fn skills(server: &SkillServer) -> Result<Vec<Value>, String> {
    let connected = connect(server).await?;
    let listed = pages(&connected).await;
    connected.leave().await;
    listed
}

async fn pages(connected: &Connected) -> Result<Vec<Value>, String> {
    let info = connected.client.peer_info();
    let extensions = info.as_ref().and_then(|info| info.capabilities.extensions.as_ref());
    if !extensions.is_some_and(|all| all.contains_key(EXTENSION)) {
        return Err(format!("it serves no skills: it does not know `{EXTENSION}`"));
    }
    let (mut skills, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..MOST_PAGES {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let request = ClientRequest::CustomRequest(CustomRequest::new("skills/list", Some(params)));
        let answer = connected.ask(connected.client.send_request(request)).await?;
        let ServerResult::CustomResult(page) = answer else {
            return Err("its list of skills is none".to_owned());
        };
        let Some(listed) = page.0.get("skills").and_then(Value::as_array) else {
            return Err("its list of skills is none".to_owned());
        };
        skills.extend(listed.iter().cloned());
        let next = page.0.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        if next.is_none() {
            return Ok(skills);
        }
        if next == cursor || skills.len() > MAX_SERVED {
            break;
        }
        cursor = next;
    }
    Err(format!("its list of skills does not end; {} were read", skills.len()))
}

/// Reads files over one connection.
async fn read(
    server: &SkillServer,
    wanted: &[Wanted],
) -> Result<Vec<Result<Vec<u8>, String>>, String> {
    let connected = connect(server).await?;
    let mut answers = Vec::new();
    for file in wanted {
        answers.push(read_one(&connected, &file.uri).await);
    }
    connected.leave().await;
    Ok(answers)
}

async fn read_one(connected: &Connected, uri: &str) -> Result<Vec<u8>, String> {
    let params = ReadResourceRequestParams::new(uri);
    let contents = connected.ask(connected.client.read_resource(params)).await?.contents;
    let [contents] = contents.as_slice() else {
        return Err(format!("it answers with {} files in place of one", contents.len()));
    };
    match contents {
        ResourceContents::TextResourceContents { uri: of, text, .. } if of == uri => {
            Ok(text.clone().into_bytes())
        }
        ResourceContents::BlobResourceContents { uri: of, blob, .. } if of == uri => {
            use base64::Engine;
            let bytes = base64::engine::general_purpose::STANDARD.decode(blob);
            bytes.map_err(|error| format!("its answer is no base64: {error}"))
        }
        _ => Err("it answers with another file".to_owned()),
    }
}

/// Returns why a server cannot be connected to, without the names of types.
fn plain(error: &ClientInitializeError) -> String {
    let told = error.to_string();
    let cause = told.rsplit("] error: ").next().unwrap_or(&told);
    let cause = cause.split(", when ").next().unwrap_or(cause);
    let is_end = matches!(error, ClientInitializeError::ConnectionClosed(_));
    if is_end || cause.contains("Broken pipe") {
        return "it ended before it answered".to_owned();
    }
    cause.to_owned()
}

/// Waits until this process has grown by more than any answer is worth. A server that sends without end is noticed by nothing else.
async fn too_much() -> String {
    let start = resident();
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if resident().saturating_sub(start) > MOST_MEMORY {
            return format!("it sends more than {} MiB", MOST_MEMORY >> 20);
        }
    }
}

/// Returns how much memory this process has; nothing where that is not told.
fn resident() -> u64 {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = told.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}
