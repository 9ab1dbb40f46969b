//! Tells clients that skills came, went or changed.

#![expect(clippy::disallowed_methods, reason = "the edge: a thread that waits")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, Watching};
use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, SubscriptionSink};
use tokio::sync::watch;

/// Watching begins after the first questions are answered: it looks at every folder.
const LATER: Duration = Duration::from_millis(500);

/// How often skills changed. The watch begins with the first that wants to know, and ends with this.
#[derive(Clone)]
pub(super) struct Changes(Arc<Inner>);

struct Inner {
    config: RuntimeConfig,
    count: watch::Sender<u64>,
    is_watched: OnceLock<()>,
    is_over: Arc<AtomicBool>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Changes {
    pub(super) fn new(config: RuntimeConfig) -> Self {
        let (is_watched, is_over) = (OnceLock::new(), Arc::default());
        Self(Arc::new(Inner { config, count: watch::Sender::new(0), is_watched, is_over }))
    }

    /// Returns how many there were.
    pub(super) fn count(&self) -> u64 {
        *self.0.count.borrow()
    }

    /// Has somebody wait for the next one.
    fn wait_for(&self) -> watch::Receiver<u64> {
        self.0.is_watched.get_or_init(|| {
            let (config, count) = (self.0.config.clone(), self.0.count.clone());
            let is_over = Arc::clone(&self.0.is_over);
            std::thread::spawn(move || watch_skills(config, &count, &is_over));
        });
        self.0.count.subscribe()
    }

    /// Tells a client of the older revisions, as long as it is there.
    pub(super) async fn tell(&self, peer: Peer<RoleServer>) {
        let mut changes = self.wait_for();
        while changes.changed().await.is_ok()
            && peer.notify_tool_list_changed().await.is_ok()
            && peer.notify_prompt_list_changed().await.is_ok()
            && peer.notify_resource_list_changed().await.is_ok()
        {}
    }

    /// Tells a client that asked to be told, of what it asked for.
    pub(super) async fn tell_of(&self, accepted: &SubscriptionFilter, sink: &SubscriptionSink) {
        let is_off = |wanted: Option<bool>| wanted != Some(true);
        let mut changes = self.wait_for();
        while changes.changed().await.is_ok()
            && (is_off(accepted.tools_list_changed)
                || sink.notify_tool_list_changed().await.is_ok())
            && (is_off(accepted.prompts_list_changed)
                || sink.notify_prompt_list_changed().await.is_ok())
            && (is_off(accepted.resources_list_changed)
                || sink.notify_resource_list_changed().await.is_ok())
        {}
    }
}

fn watch_skills(config: RuntimeConfig, count: &watch::Sender<u64>, is_over: &AtomicBool) {
    std::thread::sleep(LATER);
    let mut runtime = OpenSkillRuntime::with_config(config);
    // A client that is told of nothing still sees what is new: every answer looks again.
    let _ = runtime.watch(|_, news| {
        if matches!(news, Watching::News(events) if !events.is_empty()) {
            count.send_modify(|count| *count += 1);
        }
        if is_over.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
}
