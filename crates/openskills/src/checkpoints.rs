//! Sends checkpoints of the log to a collector: the newest one when the command ends, or earlier when many events
//! have been logged since the last one.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the clock and an environment variable that the user configured"
)]

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use openskills_runtime::log::{
    Checkpoint, CheckpointDelivery, redact, set_checkpoint_sender, take_checkpoint_failure,
};
use openskills_runtime::{OpenSkillRuntime, Places};
use term::{Ui, safe_line};

use crate::commands::log::otlp;
use crate::http;

/// How long to wait for the collector.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A long-running process sends the newest checkpoint after this many events or this much time.
const MAX_EVENTS: u64 = 100;
const MAX_AGE: Duration = Duration::from_secs(60);

/// A checkpoint that has not been sent yet.
struct PendingCheckpoint {
    endpoint: String,
    token_env: Option<String>,
    checkpoint: Checkpoint,
    /// The first event without a sent checkpoint, and when it was queued.
    since: (u64, Instant),
}

static PENDING: Mutex<Vec<PendingCheckpoint>> = Mutex::new(Vec::new());

/// Makes the runtime send checkpoints through this program.
pub(crate) fn init() {
    set_checkpoint_sender(deliver);
}

fn deliver(delivery: &CheckpointDelivery<'_>) -> Result<(), String> {
    let CheckpointDelivery { endpoint, token_env, checkpoint, is_urgent } = *delivery;
    if is_urgent {
        return send(endpoint, token_env, checkpoint);
    }
    let due = {
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        let queued = pending.iter_mut().find(|queued| queued.endpoint == endpoint);
        match queued {
            // A later checkpoint of the same log replaces the queued one. Checkpoints of different logs are all sent.
            Some(queued) if queued.checkpoint.log == checkpoint.log => {
                if queued.checkpoint.events < checkpoint.events {
                    queued.checkpoint = checkpoint.clone();
                }
            }
            Some(_) | None => pending.push(PendingCheckpoint {
                endpoint: endpoint.to_owned(),
                token_env: token_env.map(str::to_owned),
                checkpoint: checkpoint.clone(),
                since: (checkpoint.events, Instant::now()),
            }),
        }
        pending.iter().any(|queued| {
            let (first, queued_at) = queued.since;
            queued.checkpoint.events.saturating_sub(first) >= MAX_EVENTS
                || queued_at.elapsed() >= MAX_AGE
        })
    };
    if due { send_pending() } else { Ok(()) }
}

fn send_pending() -> Result<(), String> {
    let pending = std::mem::take(&mut *PENDING.lock().unwrap_or_else(PoisonError::into_inner));
    for queued in &pending {
        send(&queued.endpoint, queued.token_env.as_deref(), &queued.checkpoint)?;
    }
    Ok(())
}

fn send(endpoint: &str, token_env: Option<&str>, checkpoint: &Checkpoint) -> Result<(), String> {
    let token = match token_env {
        Some(name) => {
            let value = std::env::var(name)
                .map_err(|_| format!("environment variable `{name}` is not set"))?;
            Some(format!("Bearer {value}"))
        }
        None => None,
    };
    let headers: Vec<(&str, &str)> =
        token.iter().map(|token| ("authorization", token.as_str())).collect();
    let body = serde_json::to_vec(&otlp::checkpoint_request(checkpoint))
        .map_err(|error| error.to_string())?;
    http::post_json(&otlp::logs_url(endpoint), &headers, &body, TIMEOUT)
        .map_err(|error| redact(&format!("{error:#}")).into_owned())
}

/// Sends pending checkpoints at the end of a command. Warns about checkpoints that could not be sent or written.
pub(crate) fn flush(ui: &mut Ui) {
    if let Err(reason) = send_pending() {
        log_failure(&reason);
        let warning = format!("cannot send a checkpoint of the log: {reason}");
        let _ = ui.error(&format!("warning: {}\n", safe_line(&warning)));
    }
    if let Some(failure) = take_checkpoint_failure() {
        let _ = ui.error(&format!("warning: {}\n", safe_line(&failure)));
    }
}

/// Sends pending checkpoints without printing warnings: for processes whose stderr nobody reads.
pub(crate) fn flush_quietly() {
    if let Err(reason) = send_pending() {
        log_failure(&reason);
    }
}

/// Records a failure in the log.
fn log_failure(reason: &str) {
    let log = Places::from_environment().and_then(|places| OpenSkillRuntime::open_log(&places));
    if let Ok(log) = log {
        let _ = log.note_failure("the collector", reason, Timestamp::now());
    }
}
