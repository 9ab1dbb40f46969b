//! The other side: asks other MCP servers for their skills. Nothing that a server answers is believed here; the runtime holds it to what was listed and approved.

mod program;
mod session;
mod web;

use std::time::Duration;

use openskills_runtime::{Fetcher, Listing, MAX_SERVED, SkillServer, Wanted};
use serde_json::{Value, json};
use session::Session;

use super::server::EXTENSION;

/// How long a server may take to be there.
const CONNECT: Duration = Duration::from_secs(60);
/// How long it may take for one answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long everything together may take.
const IN_ALL: Duration = Duration::from_secs(5 * 60);
/// The largest answer.
const MAX_MESSAGE: usize = 64 << 20;
/// How many pages a list may have.
const MAX_PAGES: usize = 2_000;

/// Returns what fetches files of servers.
pub(crate) fn fetcher() -> Fetcher {
    Fetcher::new(|server, wanted| {
        let (server, all) = (server.clone(), wanted.to_vec());
        on_thread(async move { read(&server, &all).await })
            .unwrap_or_else(|why| wanted.iter().map(|_| Err(why.clone())).collect())
    })
}

/// Returns what a server lists, and what it answers about each skill that the user asks for by URI, as it says it.
pub(crate) fn list(server: &SkillServer) -> Result<Listing, String> {
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
                () = tokio::time::sleep(IN_ALL) => Err("it takes too long".to_owned()),
            }
        });
        runtime.shutdown_background();
        done
    });
    done.join().unwrap_or_else(|_| Err("the work was not finished".to_owned()))
}

async fn skills(server: &SkillServer) -> Result<Listing, String> {
    let mut session = Session::open(server).await?;
    let listing = listing(&mut session, server).await;
    session.leave().await;
    listing
}

async fn listing(session: &mut Session, server: &SkillServer) -> Result<Listing, String> {
    let listed = pages(session).await?;
    let mut asked = Vec::new();
    for uri in &server.skills {
        // A skill that is listed comes with the list.
        if !listed.iter().any(|skill| skill["uri"] == *uri) {
            asked.push((uri.clone(), one_skill(session, uri).await?));
        }
    }
    Ok(Listing { listed, asked })
}

/// Returns a skill by its URI, or why the server has none; an error if it does not answer.
async fn one_skill(session: &mut Session, uri: &str) -> Result<Result<Value, String>, String> {
    let answer = session.request_if_there("skills/get", json!({"uri": uri})).await?;
    Ok(answer.and_then(|mut answer| match answer["skill"].take() {
        skill @ Value::Object(_) => Ok(skill),
        _ => Err("the server's answer has no `skill`".to_owned()),
    }))
}

async fn pages(session: &mut Session) -> Result<Vec<Value>, String> {
    if !session.capabilities["extensions"][EXTENSION].is_object() {
        return Err(format!("it serves no skills: it does not know `{EXTENSION}`"));
    }
    let (mut skills, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..MAX_PAGES {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = session.request("skills/list", params).await?;
        let Some(listed) = page["skills"].as_array() else {
            return Err("its list of skills has no `skills`".to_owned());
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
    Err(format!("its list of skills does not end; {} were read", skills.len()))
}

/// Reads files over one connection.
async fn read(
    server: &SkillServer,
    wanted: &[Wanted],
) -> Result<Vec<Result<Vec<u8>, String>>, String> {
    let mut session = Session::open(server).await?;
    let mut answers = Vec::new();
    for file in wanted {
        answers.push(read_one(&mut session, &file.uri).await);
    }
    session.leave().await;
    Ok(answers)
}

async fn read_one(session: &mut Session, uri: &str) -> Result<Vec<u8>, String> {
    let mut result = session.request("resources/read", json!({"uri": uri})).await?;
    let Value::Array(contents) = result["contents"].take() else {
        return Err("its answer has no `contents`".to_owned());
    };
    let [contents] = contents.as_slice() else {
        return Err(format!("it answers with {} files in place of one", contents.len()));
    };
    if contents["uri"] != uri {
        return Err("it answers with another file".to_owned());
    }
    match (contents["text"].as_str(), contents["blob"].as_str()) {
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(blob)) => {
            use base64::Engine;
            let bytes = base64::engine::general_purpose::STANDARD.decode(blob);
            bytes.map_err(|error| format!("its answer is not base64: {error}"))
        }
        _ => Err("its answer has neither a text nor a blob".to_owned()),
    }
}
