//! Notifies clients when skills are added, removed or changed.

#![expect(clippy::disallowed_methods, reason = "the edge: a thread that sleeps")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, WatchUpdate};
use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, SubscriptionSink};
use tokio::sync::watch;

/// Watching starts after this time. It scans every folder, which would slow down the first requests.
const WATCH_DELAY: Duration = Duration::from_millis(500);

/// Counts changes of skills. Watching starts with the first subscriber and stops when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Changes(Arc<WatchState>);

struct WatchState {
    config: RuntimeConfig,
    count: watch::Sender<u64>,
    is_watching: OnceLock<()>,
    should_stop: Arc<AtomicBool>,
}

impl Drop for WatchState {
    fn drop(&mut self) {
        self.should_stop.store(true, Ordering::Relaxed);
    }
}

impl Changes {
    pub(super) fn new(config: RuntimeConfig) -> Self {
        let count = watch::Sender::new(0);
        let (is_watching, should_stop) = (OnceLock::new(), Arc::default());
        Self(Arc::new(WatchState { config, count, is_watching, should_stop }))
    }

    /// Returns the number of changes so far.
    pub(super) fn count(&self) -> u64 {
        *self.0.count.borrow()
    }

    /// Returns a receiver that is notified of each change.
    fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.is_watching.get_or_init(|| {
            let (config, count) = (self.0.config.clone(), self.0.count.clone());
            let should_stop = Arc::clone(&self.0.should_stop);
            std::thread::spawn(move || watch_skills(config, &count, &should_stop));
        });
        self.0.count.subscribe()
    }

    /// Notifies a client of an older revision of all changes until it disconnects.
    pub(super) async fn notify_peer(&self, peer: Peer<RoleServer>) {
        let mut changes = self.subscribe();
        while changes.changed().await.is_ok()
            && peer.notify_tool_list_changed().await.is_ok()
            && peer.notify_prompt_list_changed().await.is_ok()
            && peer.notify_resource_list_changed().await.is_ok()
        {}
    }

    /// Notifies a client of the changes that it subscribed to.
    pub(super) async fn notify_subscriber(
        &self,
        accepted: &SubscriptionFilter,
        sink: &SubscriptionSink,
    ) {
        let is_unwanted = |wanted: Option<bool>| wanted != Some(true);
        let mut changes = self.subscribe();
        while changes.changed().await.is_ok()
            && (is_unwanted(accepted.tools_list_changed)
                || sink.notify_tool_list_changed().await.is_ok())
            && (is_unwanted(accepted.prompts_list_changed)
                || sink.notify_prompt_list_changed().await.is_ok())
            && (is_unwanted(accepted.resources_list_changed)
                || sink.notify_resource_list_changed().await.is_ok())
        {}
    }
}

fn watch_skills(config: RuntimeConfig, count: &watch::Sender<u64>, should_stop: &AtomicBool) {
    std::thread::sleep(WATCH_DELAY);
    let mut runtime = OpenSkillRuntime::with_config(config);
    // If watching fails, clients get no notifications, but still see new skills: requests discover skills again.
    let _ = runtime.watch(|_, update| {
        if matches!(update, WatchUpdate::Changed(events) if !events.is_empty()) {
            count.send_modify(|count| *count += 1);
        }
        if should_stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
}
