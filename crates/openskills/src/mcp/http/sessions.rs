//! The sessions of clients of older revisions.

#![expect(clippy::disallowed_methods, reason = "the edge: how long a session was quiet")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// How many there may be. For one more the one that was quiet for longest ends.
const MOST: usize = 256;
/// How long one may be quiet.
const IDLE: Duration = Duration::from_hours(1);

#[derive(Clone)]
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    used: Arc<Mutex<HashMap<String, Instant>>>,
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

    /// Notes that a session is in use.
    pub(super) fn note(&self, headers: &HeaderMap) {
        let session = headers.get("mcp-session-id").and_then(|session| session.to_str().ok());
        if let Some(session) = session {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.insert(session.to_owned(), Instant::now());
        }
    }

    /// Makes room for one more.
    pub(super) async fn make_room(&self) {
        loop {
            let ids: Vec<_> = self.manager.sessions.read().await.keys().cloned().collect();
            let quiet = {
                let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                used.retain(|session, _| ids.iter().any(|id| **id == **session));
                if ids.len() < MOST {
                    return;
                }
                // One that never came again after its first request is the quietest.
                ids.into_iter().min_by_key(|id| used.get(&**id).copied())
            };
            let Some(quiet) = quiet else { return };
            if self.manager.close_session(&quiet).await.is_err() {
                return;
            }
        }
    }
}
