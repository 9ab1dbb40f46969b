//! The MCP host: requests skills from other MCP servers. Responses are not trusted here: the runtime checks them
//! against what was listed and approved.

mod http;
mod session;
mod stdio;

use std::time::Duration;

use openskills_runtime::{FetchRequest, Fetcher, Listing, MAX_SERVED, SkillServer};
use serde_json::{Value, json};
use session::Session;

use super::server::EXTENSION;

/// How long connecting to a server may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a server may take to respond to a request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long all requests together may take.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// The maximum size of a response.
const MAX_MESSAGE: usize = 64 << 20;
/// The maximum number of pages of a list.
const MAX_PAGES: usize = 2_000;

/// Returns the fetcher for files of servers.
pub(crate) fn fetcher() -> Fetcher {
    Fetcher::new(|server, requests| {
        let (server, files) = (server.clone(), requests.to_vec());
        block_on(async move { read_files(&server, &files).await })
            .unwrap_or_else(|error| requests.iter().map(|_| Err(error.clone())).collect())
    })
}

/// Returns a server's list of skills, and its response for each skill that the user added by URI. Nothing is checked.
pub(crate) fn list(server: &SkillServer) -> Result<Listing, String> {
    let server = server.clone();
    block_on(async move { connect_and_list(&server).await })
}

/// Runs a future on its own thread, because the caller may be a thread of another async runtime.
fn block_on<T: Send + 'static>(
    future: impl Future<Output = Result<T, String>> + Send + 'static,
) -> Result<T, String> {
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let result = runtime.block_on(async {
            tokio::select! {
                result = future => result,
                () = tokio::time::sleep(TOTAL_TIMEOUT) => Err("timed out".to_owned()),
            }
        });
        runtime.shutdown_background();
        result
    });
    thread.join().unwrap_or_else(|_| Err("the operation did not finish".to_owned()))
}

async fn connect_and_list(server: &SkillServer) -> Result<Listing, String> {
    let mut session = Session::open(server).await?;
    let listing = list_all(&mut session, server).await;
    session.close().await;
    listing
}

async fn list_all(session: &mut Session, server: &SkillServer) -> Result<Listing, String> {
    let listed = list_pages(session).await?;
    let mut requested = Vec::new();
    for uri in &server.skills {
        // The list already contains this skill.
        if !listed.iter().any(|skill| skill["uri"] == *uri) {
            requested.push((uri.clone(), request_skill(session, uri).await?));
        }
    }
    Ok(Listing { listed, requested })
}

/// Returns the skill with a URI, or the server's reason for not having it; an error if the server fails.
async fn request_skill(session: &mut Session, uri: &str) -> Result<Result<Value, String>, String> {
    let response = session.request_optional("skills/get", json!({"uri": uri})).await?;
    Ok(response.and_then(|mut result| match result["skill"].take() {
        skill @ Value::Object(_) => Ok(skill),
        _ => Err("the server's response has no `skill`".to_owned()),
    }))
}

async fn list_pages(session: &mut Session) -> Result<Vec<Value>, String> {
    if !session.capabilities["extensions"][EXTENSION].is_object() {
        return Err(format!("it serves no skills: it does not support `{EXTENSION}`"));
    }
    let (mut skills, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..MAX_PAGES {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = session.request("skills/list", params).await?;
        let Some(listed) = page["skills"].as_array() else {
            return Err("its list of skills has no `skills` field".to_owned());
        };
        skills.extend(listed.iter().cloned());
        let next = page["nextCursor"].as_str().map(str::to_owned);
        if next.is_none() {
            return Ok(skills);
        }
        if next == cursor || skills.len() > MAX_SERVED {
            break;
        }
        cursor = next;
    }
    Err(format!("its list of skills does not end; stopped after {} skills", skills.len()))
}

/// Reads files over one connection.
async fn read_files(
    server: &SkillServer,
    requests: &[FetchRequest],
) -> Result<Vec<Result<Vec<u8>, String>>, String> {
    let mut session = Session::open(server).await?;
    let mut results = Vec::new();
    for file in requests {
        results.push(read_file(&mut session, &file.uri).await);
    }
    session.close().await;
    Ok(results)
}

async fn read_file(session: &mut Session, uri: &str) -> Result<Vec<u8>, String> {
    let mut result = session.request("resources/read", json!({"uri": uri})).await?;
    let Value::Array(contents) = result["contents"].take() else {
        return Err("its response has no `contents`".to_owned());
    };
    let [contents] = contents.as_slice() else {
        return Err(format!("it returned {} files instead of one", contents.len()));
    };
    if contents["uri"] != uri {
        return Err("it returned a different file".to_owned());
    }
    match (contents["text"].as_str(), contents["blob"].as_str()) {
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(blob)) => {
            use base64::Engine;
            let bytes = base64::engine::general_purpose::STANDARD.decode(blob);
            bytes.map_err(|error| format!("its response is not valid base64: {error}"))
        }
        _ => Err("its response must have either `text` or `blob`".to_owned()),
    }
}
