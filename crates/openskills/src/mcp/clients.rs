//! The runtime and the log session of each client.
//!
//! A client is identified by what it cannot choose: that it started this process, the session ID that this server gave
//! it, the token that it sends, or its connection. The name that it gives itself appears in the log, but grants
//! nothing.

#![expect(clippy::disallowed_methods, reason = "the edge: the age of discovered skills")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::http::request::Parts;
use openskills_runtime::{Approver, OpenSkillRuntime, RuntimeConfig, RuntimeError};
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::ServeConfig;
use super::ask::ClientProof;

/// The maximum number of clients whose state is kept. Beyond it, the state of the client that was idle for longest is
/// dropped.
const MAX_CLIENTS: usize = 64;
/// After this time, skills are discovered again.
const MAX_AGE: Duration = Duration::from_secs(2);

/// The number of the connection of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection(pub(super) u64);

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Client {
    identity: Identity,
    /// The name that it gives itself, made safe for a session ID.
    name: String,
}

/// What identifies a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Identity {
    /// It started this process, or sends the token. All such clients belong to the same user.
    User,
    /// The ID of the session that this server gave it.
    Session(String),
    /// The number of its connection, if it has neither.
    Connection(u64),
}

impl Client {
    /// Returns the sender of a request.
    pub(super) fn of(context: &RequestContext<RoleServer>, proof: ClientProof) -> Self {
        let name = context.client_info().map(|info| info.name).unwrap_or_default();
        let to_plain =
            |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
        let name: String = name.chars().take(48).map(to_plain).collect();
        let name = if name.is_empty() { "unnamed".to_owned() } else { name };
        let parts = context.extensions.get::<Parts>();
        let session = parts
            .and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok())
            .map(str::to_owned);
        let connection = parts.and_then(|parts| parts.extensions.get::<Connection>());
        let identity = match (session, connection, proof) {
            (Some(session), _, _) => Identity::Session(session),
            (None, None, _) | (None, _, ClientProof::Proven) => Identity::User,
            (None, Some(Connection(number)), ClientProof::Unproven) => {
                Identity::Connection(*number)
            }
        };
        Self { identity, name }
    }

    /// Returns its identity as text.
    pub(super) fn key(&self) -> String {
        format!("{:?}", self.identity)
    }
}

/// A runtime that has discovered the skills.
struct Discovery {
    runtime: OpenSkillRuntime,
    discovered_at: Instant,
    /// The number of change notifications up to then.
    changes: u64,
}

/// The runtime of a client; `None` before its first request.
type SharedDiscovery = Arc<Mutex<Option<Discovery>>>;

/// The state of a client.
struct ClientState {
    discovery: SharedDiscovery,
    /// Its session in the log.
    session_id: String,
    last_used: Instant,
}

/// All clients.
#[derive(Clone)]
pub(super) struct Clients {
    config: Arc<ServeConfig>,
    table: Arc<Mutex<ClientTable>>,
}

#[derive(Default)]
struct ClientTable {
    clients: HashMap<Client, ClientState>,
    /// The number of clients so far.
    count: u64,
}

impl Clients {
    pub(super) fn new(config: Arc<ServeConfig>) -> Self {
        Self { config, table: Arc::default() }
    }

    pub(super) fn config(&self) -> &ServeConfig {
        &self.config
    }

    /// Calls `work` with the runtime of a client. Discovers the skills again if the last discovery is old, or if there
    /// were more `changes` since.
    pub(super) fn with_runtime<T>(
        &self,
        client: &Client,
        changes: u64,
        work: impl FnOnce(&mut OpenSkillRuntime) -> T,
    ) -> Result<T, RuntimeError> {
        let (discovery, session_id) = self.state(client);
        // The lock belongs to this client, so discovery does not block others.
        let mut shared = discovery.lock().unwrap_or_else(PoisonError::into_inner);
        let discovery = match shared.take() {
            Some(mut discovery) => {
                if discovery.discovered_at.elapsed() > MAX_AGE || discovery.changes < changes {
                    discovery.runtime.rediscover()?;
                    (discovery.discovered_at, discovery.changes) = (Instant::now(), changes);
                }
                discovery
            }
            None => {
                let mut runtime = OpenSkillRuntime::with_config(self.runtime_config(session_id));
                runtime.discover_skills()?;
                Discovery { runtime, discovered_at: Instant::now(), changes }
            }
        };
        Ok(work(&mut shared.insert(discovery).runtime))
    }

    /// Like [`Self::with_runtime`], for long operations: uses a separate runtime, so that other requests of the client
    /// are not blocked.
    pub(super) fn with_own_runtime<T>(
        &self,
        client: &Client,
        approver: Option<Approver>,
        work: impl FnOnce(&mut OpenSkillRuntime, &ServeConfig) -> T,
    ) -> Result<T, RuntimeError> {
        let (_, session_id) = self.state(client);
        let config = RuntimeConfig { approver, ..self.runtime_config(session_id) };
        let mut runtime = OpenSkillRuntime::with_config(config);
        runtime.discover_skills()?;
        Ok(work(&mut runtime, &self.config))
    }

    /// Ends what command lines of all clients left running, and applies what they wrote since.
    pub(super) fn end_sessions(&self) {
        if !self.config.runs_commands {
            return;
        }
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        for state in table.clients.values() {
            let config = self.runtime_config(state.session_id.clone());
            // If it fails, the processes end with this one, whose children they are.
            let _ = OpenSkillRuntime::with_config(config).end_session();
        }
    }

    /// Returns the runtime of a client and its session ID. Adds the client if it is new.
    fn state(&self, client: &Client) -> (SharedDiscovery, String) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = table.clients.get_mut(client) {
            state.last_used = Instant::now();
            return (Arc::clone(&state.discovery), state.session_id.clone());
        }
        while table.clients.len() >= MAX_CLIENTS {
            let oldest = table.clients.iter().min_by_key(|(_, state)| state.last_used);
            let Some(oldest) = oldest.map(|(client, _)| client.clone()) else { break };
            table.clients.remove(&oldest);
        }
        table.count += 1;
        // The number makes the ID unique, even if several clients give themselves the same name.
        let session_id = match (table.count, &self.config.session_suffix) {
            (1, suffix) => format!("mcp-{}-{suffix}", client.name),
            (count, suffix) => format!("mcp-{}-{suffix}-{count}", client.name),
        };
        let discovery = SharedDiscovery::default();
        let state = ClientState {
            discovery: Arc::clone(&discovery),
            session_id: session_id.clone(),
            last_used: Instant::now(),
        };
        table.clients.insert(client.clone(), state);
        (discovery, session_id)
    }

    fn runtime_config(&self, session_id: String) -> RuntimeConfig {
        RuntimeConfig { session_id: Some(session_id), ..self.config.runtime.clone() }
    }
}
