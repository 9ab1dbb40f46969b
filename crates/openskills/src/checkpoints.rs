//! Sends checkpoints of the log to a collector: the newest one, when the command ends or much has happened since the last.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the clock and a variable that the user named"
)]

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use openskills_runtime::log::{
    Checkpoint, CheckpointDelivery, redact, send_checkpoints_by, take_checkpoint_failure,
};
use openskills_runtime::{OpenSkillRuntime, Places};
use term::{Ui, safe_line};

use crate::commands::log::otlp;
use crate::http;

/// How long a collector may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// After so many events, or so long, a process that goes on sends the newest checkpoint.
const MAX_EVENTS: u64 = 100;
const MAX_AGE: Duration = Duration::from_secs(60);

/// A checkpoint that is still to be sent.
struct Waiting {
    endpoint: String,
    token_env: Option<String>,
    checkpoint: Checkpoint,
    /// The first event, and the moment, that none was sent for.
    since: (u64, Instant),
}

static WAITING: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());

/// Has the runtime send checkpoints by this program.
pub(crate) fn init() {
    send_checkpoints_by(deliver);
}

fn deliver(delivery: &CheckpointDelivery<'_>) -> Result<(), String> {
    let CheckpointDelivery { endpoint, token_env, checkpoint, is_urgent } = *delivery;
    if is_urgent {
        return send(endpoint, token_env, checkpoint);
    }
    let due = {
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        let known = waiting.iter_mut().find(|one| one.endpoint == endpoint);
        match known {
            // A later one of the same log covers it; of another log both are sent.
            Some(one) if one.checkpoint.log == checkpoint.log => {
                if one.checkpoint.events < checkpoint.events {
                    one.checkpoint = checkpoint.clone();
                }
            }
            Some(_) | None => waiting.push(Waiting {
                endpoint: endpoint.to_owned(),
                token_env: token_env.map(str::to_owned),
                checkpoint: checkpoint.clone(),
                since: (checkpoint.events, Instant::now()),
            }),
        }
        waiting.iter().any(|one| {
            let (first, begun) = one.since;
            one.checkpoint.events.saturating_sub(first) >= MAX_EVENTS || begun.elapsed() >= MAX_AGE
        })
    };
    if due { send_waiting() } else { Ok(()) }
}

fn send_waiting() -> Result<(), String> {
    let waiting = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    for one in &waiting {
        send(&one.endpoint, one.token_env.as_deref(), &one.checkpoint)?;
    }
    Ok(())
}

fn send(endpoint: &str, token_env: Option<&str>, checkpoint: &Checkpoint) -> Result<(), String> {
    let token = match token_env {
        Some(name) => {
            let value =
                std::env::var(name).map_err(|_| format!("the variable {name} is not set"))?;
            Some(format!("Bearer {value}"))
        }
        None => None,
    };
    let headers: Vec<(&str, &str)> =
        token.iter().map(|token| ("authorization", token.as_str())).collect();
    let body = serde_json::to_vec(&otlp::checkpoint_request(checkpoint))
        .map_err(|error| error.to_string())?;
    http::post_json(&otlp::logs_address(endpoint), &headers, &body, TIMEOUT)
        .map_err(|error| redact(&format!("{error:#}")).into_owned())
}

/// Sends what is still to be sent, at the end of a command. Warns of checkpoints that could not be written.
pub(crate) fn flush(ui: &mut Ui) {
    if let Err(reason) = send_waiting() {
        note(&reason);
        let told = format!("cannot send a checkpoint of the log: {reason}");
        let _ = ui.error(&format!("warning: {}\n", safe_line(&told)));
    }
    if let Some(failure) = take_checkpoint_failure() {
        let _ = ui.error(&format!("warning: {}\n", safe_line(&failure)));
    }
}

/// The same where nobody reads what is said.
pub(crate) fn flush_quietly() {
    if let Err(reason) = send_waiting() {
        note(&reason);
    }
}

/// Notes a failure in the log. The user is warned either way.
fn note(reason: &str) {
    let log = Places::from_environment().and_then(|places| OpenSkillRuntime::open_log(&places));
    if let Ok(log) = log {
        let _ = log.note_failure("the collector", reason, Timestamp::now());
    }
}
