//! What each client's session knows of skills. A client is told apart by its name, which is also in the log.

#![expect(clippy::disallowed_methods, reason = "the edge: how old what is known of skills is")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use openskills_runtime::{Approver, OpenSkillRuntime, RuntimeConfig, RuntimeError};

use super::Served;

/// How many clients are told apart; more share a session.
const MOST: usize = 64;
/// How long what was discovered is taken for what there is.
const FRESH: Duration = Duration::from_secs(2);

/// What a client's session knows of skills, and since when.
struct Known {
    runtime: OpenSkillRuntime,
    since: Instant,
    /// How many changes of skills had been noticed then.
    changes: u64,
}

type Shared = Arc<Mutex<Known>>;

/// Every client, by its name.
#[derive(Clone)]
pub(super) struct Clients {
    served: Arc<Served>,
    known: Arc<Mutex<HashMap<String, Shared>>>,
}

impl Clients {
    pub(super) fn new(served: Arc<Served>) -> Self {
        Self { served, known: Arc::default() }
    }

    pub(super) fn served(&self) -> &Served {
        &self.served
    }

    /// Does work with the runtime of a client. What was discovered is looked at again if it is old, or if there were
    /// `changes` since.
    pub(super) fn with<T>(
        &self,
        client: &str,
        changes: u64,
        work: impl FnOnce(&mut OpenSkillRuntime) -> T,
    ) -> Result<T, RuntimeError> {
        let known = self.known(client, changes)?;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.since.elapsed() > FRESH || known.changes < changes {
            known.runtime.rediscover()?;
            (known.since, known.changes) = (Instant::now(), changes);
        }
        Ok(work(&mut known.runtime))
    }

    /// The same for work that takes long: it has a runtime of its own, so that nobody waits for it.
    pub(super) fn alone<T>(
        &self,
        client: &str,
        approver: Option<Approver>,
        work: impl FnOnce(&mut OpenSkillRuntime, &Served) -> T,
    ) -> Result<T, RuntimeError> {
        let config = RuntimeConfig { approver, ..self.config(client) };
        let mut runtime = OpenSkillRuntime::with_config(config);
        runtime.discover_skills()?;
        Ok(work(&mut runtime, &self.served))
    }

    fn known(&self, client: &str, changes: u64) -> Result<Shared, RuntimeError> {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_room = all.len() < MOST || all.contains_key(client);
        let name = if is_room { client } else { "others" };
        if let Some(known) = all.get(name) {
            return Ok(Arc::clone(known));
        }
        let mut runtime = OpenSkillRuntime::with_config(self.config(name));
        runtime.discover_skills()?;
        let known = Arc::new(Mutex::new(Known { runtime, since: Instant::now(), changes }));
        all.insert(name.to_owned(), Arc::clone(&known));
        Ok(known)
    }

    /// Returns what the runtime of a client is to be like: its session bears the client's name.
    fn config(&self, client: &str) -> RuntimeConfig {
        let session_id = Some(format!("mcp-{client}-{}", self.served.session));
        RuntimeConfig { session_id, ..self.served.config.clone() }
    }
}
