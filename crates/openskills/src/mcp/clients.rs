//! What each client's session knows of skills.
//!
//! A client is told apart by what it cannot choose: that it started this process, the session that this server gave it, the token that it knows, or its
//! connection. The name that it gives itself stands in the log, and opens nothing.

#![expect(clippy::disallowed_methods, reason = "the edge: how old what is known of skills is")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::http::request::Parts;
use openskills_runtime::{Approver, OpenSkillRuntime, RuntimeConfig, RuntimeError};
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::Served;
use super::ask::ClientProof;

/// How many clients are kept in mind. The one that was quiet for longest is forgotten, and starts anew if it comes again.
const MOST: usize = 64;
/// How long what was discovered is taken for what there is.
const FRESH: Duration = Duration::from_secs(2);

/// The connection that a request came by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection(pub(super) u64);

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Client {
    key: Key,
    /// What it calls itself, fit for a name.
    name: String,
}

/// What tells a client from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// It started this process, or it knows the token: there is one user.
    User,
    /// The session that this server gave it.
    Session(String),
    /// It has neither: its connection.
    Connection(u64),
}

impl Client {
    /// Returns who makes a request.
    pub(super) fn of(context: &RequestContext<RoleServer>, proof: ClientProof) -> Self {
        let name = context.client_info().map(|info| info.name).unwrap_or_default();
        let plain =
            |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
        let name: String = name.chars().take(48).map(plain).collect();
        let name = if name.is_empty() { "unnamed".to_owned() } else { name };
        let parts = context.extensions.get::<Parts>();
        let session = parts
            .and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok())
            .map(str::to_owned);
        let connection = parts.and_then(|parts| parts.extensions.get::<Connection>());
        let key = match (session, connection, proof) {
            (Some(session), _, _) => Key::Session(session),
            (None, None, _) | (None, _, ClientProof::Proven) => Key::User,
            (None, Some(Connection(number)), ClientProof::Anybody) => Key::Connection(*number),
        };
        Self { key, name }
    }

    /// Returns what tells it from others, as text.
    pub(super) fn key(&self) -> String {
        format!("{:?}", self.key)
    }
}

/// What a client's session knows of skills, and since when.
struct Known {
    runtime: OpenSkillRuntime,
    since: Instant,
    /// How many changes of skills had been noticed then.
    changes: u64,
}

/// What a client knows; nothing before its first question.
type Shared = Arc<Mutex<Option<Known>>>;

/// A client that is kept in mind.
struct Kept {
    known: Shared,
    session_id: String,
    used: Instant,
}

/// Every client.
#[derive(Clone)]
pub(super) struct Clients {
    served: Arc<Served>,
    all: Arc<Mutex<All>>,
}

#[derive(Default)]
struct All {
    clients: HashMap<Client, Kept>,
    count: u64,
}

impl Clients {
    pub(super) fn new(served: Arc<Served>) -> Self {
        Self { served, all: Arc::default() }
    }

    pub(super) fn served(&self) -> &Served {
        &self.served
    }

    /// Does work with the runtime of a client. What was discovered is looked at again if it is old, or if there were
    /// `changes` since.
    pub(super) fn with<T>(
        &self,
        client: &Client,
        changes: u64,
        work: impl FnOnce(&mut OpenSkillRuntime) -> T,
    ) -> Result<T, RuntimeError> {
        let (shared, session_id) = self.kept(client);
        // Discovery blocks this client only.
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match shared.take() {
            Some(mut known) => {
                if known.since.elapsed() > FRESH || known.changes < changes {
                    known.runtime.rediscover()?;
                    (known.since, known.changes) = (Instant::now(), changes);
                }
                known
            }
            None => {
                let mut runtime = OpenSkillRuntime::with_config(self.config(session_id));
                runtime.discover_skills()?;
                Known { runtime, since: Instant::now(), changes }
            }
        };
        Ok(work(&mut shared.insert(known).runtime))
    }

    /// The same for work that takes long: it has a runtime of its own, so that nobody waits for it.
    pub(super) fn alone<T>(
        &self,
        client: &Client,
        approver: Option<Approver>,
        work: impl FnOnce(&mut OpenSkillRuntime, &Served) -> T,
    ) -> Result<T, RuntimeError> {
        let (_, session_id) = self.kept(client);
        let config = RuntimeConfig { approver, ..self.config(session_id) };
        let mut runtime = OpenSkillRuntime::with_config(config);
        runtime.discover_skills()?;
        Ok(work(&mut runtime, &self.served))
    }

    /// Returns what a client knows, and its session in the log.
    fn kept(&self, client: &Client) -> (Shared, String) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = all.clients.get_mut(client) {
            kept.used = Instant::now();
            return (Arc::clone(&kept.known), kept.session_id.clone());
        }
        while all.clients.len() >= MOST {
            let quiet = all.clients.iter().min_by_key(|(_, kept)| kept.used);
            let Some(quiet) = quiet.map(|(client, _)| client.clone()) else { break };
            all.clients.remove(&quiet);
        }
        all.count += 1;
        // The number makes it this client's own, whatever others call themselves.
        let session_id = match (all.count, &self.served.session) {
            (1, session) => format!("mcp-{}-{session}", client.name),
            (count, session) => format!("mcp-{}-{session}-{count}", client.name),
        };
        let known = Shared::default();
        let kept = Kept {
            known: Arc::clone(&known),
            session_id: session_id.clone(),
            used: Instant::now(),
        };
        all.clients.insert(client.clone(), kept);
        (known, session_id)
    }

    fn config(&self, session_id: String) -> RuntimeConfig {
        RuntimeConfig { session_id: Some(session_id), ..self.served.config.clone() }
    }
}
