//! The sessions of clients of older revisions.

#![expect(clippy::disallowed_methods, reason = "the edge: how long a session was quiet")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::Value;

/// How many there may be. For one more the one that was quiet for longest ends.
const MOST: usize = 256;
/// How long one may be quiet.
const IDLE: Duration = Duration::from_hours(1);

#[derive(Clone)]
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    used: Arc<Mutex<HashMap<String, Use>>>,
}

/// What is known of the use of a session.
#[derive(Debug, Default)]
struct Use {
    /// When the last answer ended.
    last: Option<Instant>,
    /// How many answers are waited for.
    waiting: usize,
    /// How many streams are open for what the server says by itself.
    streams: usize,
    /// The ids of requests that are not answered.
    flying: HashSet<String>,
}

/// Whether a client of an older revision can be asked something: it listens to what the server says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) struct Listens(pub(in crate::mcp) bool);

/// What an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Answer,
    Stream,
}

/// An answer of a session that is waited for.
pub(super) struct InUse {
    sessions: Sessions,
    session: String,
    kind: Kind,
    id: Option<String>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE);
        manager.session_config.sse_retry = None;
        Self { manager: Arc::new(manager), used: Arc::default() }
    }

    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    /// Notes that a session is in use, and tells the server whether its client listens. Refuses an id that is still in progress. Requests
    /// without a session are not tracked.
    pub(super) fn begin(
        &self,
        head: &mut Parts,
        kind: Kind,
        id: Option<&Value>,
    ) -> Result<Option<InUse>, Value> {
        let Some(session) = named(&head.headers) else { return Ok(None) };
        let mut all = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = all.entry(session.clone()).or_default();
        if let Some(id) = id
            && !used.flying.insert(id.to_string())
        {
            return Err(id.clone());
        }
        match kind {
            Kind::Answer => used.waiting += 1,
            Kind::Stream => used.streams += 1,
        }
        head.extensions.insert(Listens(used.streams > 0));
        let id = id.map(Value::to_string);
        Ok(Some(InUse { sessions: self.clone(), session, kind, id }))
    }

    /// Makes room for one more.
    pub(super) async fn make_room(&self) {
        loop {
            let ids: Vec<_> = self.manager.sessions.read().await.keys().cloned().collect();
            let quiet = {
                let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                used.retain(|session, used| {
                    used.waiting > 0 || ids.iter().any(|id| **id == **session)
                });
                if ids.len() < MOST {
                    return;
                }
                // One that never came again after its first request is the quietest; one that waits for an answer is not quiet.
                let quiet =
                    |id: &str| used.get(id).map_or((0, None), |used| (used.waiting, used.last));
                ids.into_iter().min_by_key(|id| quiet(id))
            };
            let Some(quiet) = quiet else { return };
            if self.manager.close_session(&quiet).await.is_err() {
                return;
            }
        }
    }
}

fn named(headers: &HeaderMap) -> Option<String> {
    headers.get("mcp-session-id").and_then(|session| session.to_str().ok()).map(str::to_owned)
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut all = self.sessions.used.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(used) = all.get_mut(&self.session) else { return };
        match self.kind {
            Kind::Answer => used.waiting = used.waiting.saturating_sub(1),
            Kind::Stream => used.streams = used.streams.saturating_sub(1),
        }
        if let Some(id) = &self.id {
            used.flying.remove(id);
        }
        used.last = Some(Instant::now());
    }
}
