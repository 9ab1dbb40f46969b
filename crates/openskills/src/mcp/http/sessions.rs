//! The sessions of clients of older revisions.

#![expect(clippy::disallowed_methods, reason = "the edge: how long a session was idle")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::Value;

/// The maximum number of sessions. To make room for another one, the session that was idle for longest is ended.
const MAX_SESSIONS: usize = 256;
/// How long a session may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_hours(1);

#[derive(Clone)]
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    usage: Arc<Mutex<HashMap<String, Usage>>>,
}

/// How a session is used.
#[derive(Debug, Default)]
struct Usage {
    /// The time when the last request or stream ended.
    last_used: Option<Instant>,
    /// The number of unanswered requests.
    requests: usize,
    /// The number of event streams opened with GET.
    streams: usize,
    /// The ids of unanswered requests.
    pending_ids: HashSet<String>,
}

/// Whether the client has an event stream open. Only then can a client of an older revision receive requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) struct IsListening(pub(in crate::mcp) bool);

/// The two ways to use a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseKind {
    Request,
    Stream,
}

/// An unanswered request or an open stream of a session.
pub(super) struct SessionUse {
    sessions: Sessions,
    session: String,
    kind: UseKind,
    id: Option<String>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE_TIMEOUT);
        manager.session_config.sse_retry = None;
        Self { manager: Arc::new(manager), usage: Arc::default() }
    }

    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    /// Records a request or a stream, and adds [`IsListening`] to the request. Fails with the id if another unanswered
    /// request has the same id. Requests without a session are not tracked.
    pub(super) fn begin_use(
        &self,
        head: &mut Parts,
        kind: UseKind,
        id: Option<&Value>,
    ) -> Result<Option<SessionUse>, Value> {
        let Some(session) = session_id(&head.headers) else { return Ok(None) };
        let mut all = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = all.entry(session.clone()).or_default();
        if let Some(id) = id
            && !usage.pending_ids.insert(id.to_string())
        {
            return Err(id.clone());
        }
        match kind {
            UseKind::Request => usage.requests += 1,
            UseKind::Stream => usage.streams += 1,
        }
        head.extensions.insert(IsListening(usage.streams > 0));
        let id = id.map(Value::to_string);
        Ok(Some(SessionUse { sessions: self.clone(), session, kind, id }))
    }

    /// Ends sessions until there is room for another one.
    pub(super) async fn evict_oldest(&self) {
        loop {
            let ids: Vec<_> = self.manager.sessions.read().await.keys().cloned().collect();
            let oldest = {
                let mut all = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
                all.retain(|session, usage| {
                    usage.requests > 0 || ids.iter().any(|id| **id == **session)
                });
                if ids.len() < MAX_SESSIONS {
                    return;
                }
                // A session that was never used after its first request comes first, one with unanswered requests last.
                let age = |id: &str| {
                    all.get(id).map_or((0, None), |usage| (usage.requests, usage.last_used))
                };
                ids.into_iter().min_by_key(|id| age(id))
            };
            let Some(oldest) = oldest else { return };
            if self.manager.close_session(&oldest).await.is_err() {
                return;
            }
        }
    }
}

fn session_id(headers: &HeaderMap) -> Option<String> {
    headers.get("mcp-session-id").and_then(|session| session.to_str().ok()).map(str::to_owned)
}

impl Drop for SessionUse {
    fn drop(&mut self) {
        let mut all = self.sessions.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(usage) = all.get_mut(&self.session) else { return };
        match self.kind {
            UseKind::Request => usage.requests = usage.requests.saturating_sub(1),
            UseKind::Stream => usage.streams = usage.streams.saturating_sub(1),
        }
        if let Some(id) = &self.id {
            usage.pending_ids.remove(id);
        }
        usage.last_used = Some(Instant::now());
    }
}
