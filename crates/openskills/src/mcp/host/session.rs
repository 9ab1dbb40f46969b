//! A conversation with a server: the handshake of the newest revision, else that of older ones; then requests and their answers.
//!
//! Answers are read as they are. A library that sorts answers into kinds takes one with a `_meta` for the answer of a tool, and drops the rest.

use std::time::Duration;

use openskills_runtime::{ServerAddress, SkillServer};
use serde_json::{Map, Value, json};

use super::program::Program;
use super::web::Web;
use super::{ANSWER, CONNECT};

/// The newest revision, in which every request says who asks.
const NEWEST: &str = "2026-07-28";
/// What older servers are asked for; they answer with what they know.
const OLDER: &str = "2025-11-25";
/// The revisions before the newest, the oldest first.
const OLD: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", OLDER];
/// How long a program may take to answer the question of the newest revision. Some older ones answer nothing at all.
const PROBE: Duration = Duration::from_secs(10);
/// The error of a server that does not know the revision of a request.
const UNSUPPORTED_VERSION: i64 = -32022;

/// The codes by which servers say that they have no such thing: invalid parameters, an unknown resource of older revisions, an unknown method.
const NOT_THERE: [i64; 3] = [-32602, -32002, -32601];

/// A server that was connected to.
pub(super) struct Session {
    wire: Wire,
    next: u64,
    is_newest: bool,
    /// What the server says that it can do.
    pub(super) capabilities: Value,
}

enum Wire {
    Program(Box<Program>),
    Web(Web),
}

/// Why a request has no answer.
enum Failure {
    /// The server says so, by an error of the protocol.
    Said(Refusal),
    /// There was none in time.
    Late(Duration),
    /// It cannot be talked to.
    Broken(String),
}

/// An error of the protocol.
struct Refusal {
    code: i64,
    words: String,
    /// The revisions that the server knows, if it says that it does not know the one that was asked for.
    supported: Option<Vec<String>>,
}

impl Refusal {
    fn read(error: &Value) -> Self {
        let words = error["message"].as_str().unwrap_or("it refuses, and does not say why");
        let code = error["code"].as_i64().unwrap_or_default();
        let is_version = code == UNSUPPORTED_VERSION;
        let supported = error["data"]["supported"]
            .as_array()
            .filter(|_| is_version)
            .map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>());
        Self { code, words: words.to_owned(), supported }
    }
}

impl Session {
    /// Connects to a server.
    pub(super) async fn open(server: &SkillServer) -> Result<Self, String> {
        let wire = match &server.address {
            ServerAddress::Command { command, env } => {
                Program::start(command, env).map(|program| Wire::Program(Box::new(program)))
            }
            ServerAddress::Url { url, token_env } => {
                Web::reach(url, token_env.as_deref()).map(Wire::Web)
            }
        };
        let failed = |why: String| format!("it cannot be connected to: {why}");
        let wire = wire.map_err(failed)?;
        let mut session = Self { wire, next: 0, is_newest: true, capabilities: Value::Null };
        match session.greet().await {
            Ok(()) => Ok(session),
            Err(why) => {
                session.leave().await;
                Err(failed(why))
            }
        }
    }

    async fn greet(&mut self) -> Result<(), String> {
        self.name_version(NEWEST);
        let patience = if matches!(self.wire, Wire::Program(_)) { PROBE } else { ANSWER };
        let mut found = self.ask("server/discover", json!({}), patience).await;
        let mut older = OLDER;
        if let Err(Failure::Said(Refusal { supported: Some(supported), .. })) = &found {
            let knows = |version: &&str| supported.iter().any(|known| known == version);
            if knows(&NEWEST) {
                found = self.ask("server/discover", json!({}), patience).await;
            } else {
                older = OLD.into_iter().rev().find(knows).unwrap_or(OLDER);
            }
        }
        match found {
            Ok(found) => {
                let versions = found["supportedVersions"].as_array();
                if versions.is_some_and(|all| all.contains(&json!(NEWEST))) {
                    self.capabilities = found["capabilities"].clone();
                    return Ok(());
                }
            }
            Err(Failure::Said(..) | Failure::Late(_)) => {}
            // Older servers refuse a request before the handshake by the status alone.
            Err(Failure::Broken(why)) if matches!(self.wire, Wire::Program(_)) => return Err(why),
            Err(Failure::Broken(_)) => {}
        }
        self.is_newest = false;
        self.name_version("");
        let params = json!({"protocolVersion": older, "capabilities": {}, "clientInfo": client()});
        let found = self.ask("initialize", params, CONNECT).await.map_err(Failure::words)?;
        self.capabilities = found["capabilities"].clone();
        let agreed = found["protocolVersion"].as_str().unwrap_or(older);
        self.name_version(known_version(agreed));
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        match &mut self.wire {
            Wire::Program(program) => program.send(&message).await,
            Wire::Web(web) => web.exchange(&message, None).await.map(|_| ()),
        }
    }

    fn name_version(&mut self, version: &'static str) {
        if let Wire::Web(web) = &mut self.wire {
            web.version = version;
        }
    }

    /// Asks for something; returns the result as the server says it.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let result = self.ask(method, params, ANSWER).await;
        complete(result.map_err(|failure| self.words(failure))?)
    }

    /// Asks for something that the server may not have: that is an answer, too, and not an error.
    pub(super) async fn request_if_there(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, String>, String> {
        match self.ask(method, params, ANSWER).await {
            Ok(result) => complete(result).map(Ok),
            Err(Failure::Said(why)) if NOT_THERE.contains(&why.code) => Ok(Err(why.words)),
            Err(failure) => Err(self.words(failure)),
        }
    }

    /// Returns why something failed, with what a program wrote about it.
    fn words(&self, failure: Failure) -> String {
        match (&self.wire, failure) {
            (Wire::Program(program), Failure::Said(why)) => program.complains(&why.words),
            (_, failure) => failure.words(),
        }
    }

    async fn ask(
        &mut self,
        method: &str,
        mut params: Value,
        patience: Duration,
    ) -> Result<Value, Failure> {
        self.next += 1;
        let id = self.next;
        if let (true, Value::Object(params)) = (self.is_newest, &mut params) {
            params.insert("_meta".to_owned(), Value::Object(meta()));
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answering = async {
            match &mut self.wire {
                Wire::Program(program) => {
                    program.send(&message).await?;
                    program.answer(id).await.map(Some)
                }
                Wire::Web(web) => web.exchange(&message, Some(id)).await,
            }
        };
        let answer = tokio::time::timeout(patience, answering).await;
        let answer = answer.map_err(|_| Failure::Late(patience))?.map_err(Failure::Broken)?;
        let mut answer = answer.unwrap_or_default();
        match answer.get("error") {
            None => Ok(answer["result"].take()),
            Some(error) => Err(Failure::Said(Refusal::read(error))),
        }
    }

    /// Ends the conversation.
    pub(super) async fn leave(self) {
        match self.wire {
            Wire::Program(program) => program.leave().await,
            Wire::Web(web) => web.leave().await,
        }
    }
}

impl Failure {
    fn words(self) -> String {
        match self {
            Self::Said(why) => why.words,
            Self::Broken(why) => why,
            Self::Late(patience) => format!("no answer in {} seconds", patience.as_secs()),
        }
    }
}

/// Returns a result that is whole.
fn complete(result: Value) -> Result<Value, String> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => Ok(result),
        Some(other) => Err(format!("its answer is of the kind `{other}`; expected `complete`")),
    }
}

fn client() -> Value {
    json!({"name": "openskills", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns what every request of the newest revision carries.
fn meta() -> Map<String, Value> {
    let named = |name: &str| format!("io.modelcontextprotocol/{name}");
    let all = [
        (named("protocolVersion"), json!(NEWEST)),
        (named("clientInfo"), client()),
        (named("clientCapabilities"), json!({})),
    ];
    all.into_iter().collect()
}

/// Returns an older revision by its name; one that is not known is taken for the last of them.
fn known_version(name: &str) -> &'static str {
    OLD.into_iter().find(|known| *known == name).unwrap_or(OLDER)
}
