//! Checkpoints: how far the log was at a moment, written to a second place that the user names.
//!
//! A folder proves nothing about what it does not hold: an older copy of it, put back as a whole, is a log as good as any.
//! A checkpoint that lies elsewhere shows that the log was longer, or another one.

#![expect(clippy::disallowed_methods, reason = "the edge to files, sockets and other programs")]

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use skill_fs::AbsPath;

use super::LogError;
use super::chain::{Chain, Hex, text};
use super::head::{Head, open_regular, private};

/// The version of the format.
const VERSION: u32 = 1;
/// How a checkpoint begins, wherever in a line it stands.
const BEGIN: &str = "{\"openskills_checkpoint\":";
/// The same inside a text of JSON, as collectors write it.
const BEGIN_ESCAPED: &str = "{\\\"openskills_checkpoint\\\":";
/// The most that is read of a file of checkpoints.
const MAX_FILE: u64 = 256 << 20;

/// How far the log was at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The version of this format.
    pub openskills_checkpoint: u32,
    /// The id of the log.
    pub log: String,
    /// The id of the log that was archived for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The number of its last event.
    pub events: u64,
    /// The digest of that event's line, which covers all lines before it: `sha256:` or `hmac-sha256:` and 64 digits.
    pub head: String,
    /// When, RFC 3339.
    pub time: String,
    /// Which key signed it; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// The HMAC of all that; absent without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
}

impl Checkpoint {
    pub(super) fn new(chain: &Chain, head: &Head, link: &Hex, time: &str) -> Self {
        let mut checkpoint = Self {
            openskills_checkpoint: VERSION,
            log: head.id.clone(),
            previous: Some(head.previous.clone()).filter(|id| !id.is_empty()),
            events: head.events,
            head: format!("{}:{}", chain.name(), text(link)),
            time: time.to_owned(),
            key_id: chain.key_id(),
            mac: None,
        };
        checkpoint.mac = chain.sign(&checkpoint.said()).map(|mac| text(&mac).to_owned());
        checkpoint
    }

    /// Returns it as a line of JSON, without a line break.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }

    /// Returns true if it was signed with the key of a chain, or if there is no key.
    pub(super) fn is_signed(&self, chain: &Chain) -> bool {
        chain.sign(&self.said()).is_none_or(|mac| self.mac.as_deref() == Some(text(&mac)))
    }

    fn said(&self) -> String {
        let Self { openskills_checkpoint, log, previous, events, head, time, key_id, mac: _ } =
            self;
        let previous = previous.as_deref().unwrap_or_default();
        let key_id = key_id.as_deref().unwrap_or_default();
        format!("{openskills_checkpoint}\n{log}\n{previous}\n{events}\n{head}\n{time}\n{key_id}\n")
    }
}

/// A second place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointPlace {
    /// A line at the end of a file.
    File(AbsPath),
    /// A message to the system's log.
    Syslog {
        /// Its socket.
        socket: AbsPath,
        /// The number of the facility.
        facility: u8,
    },
    /// A record for an OpenTelemetry collector. The host sends it: see [`send_checkpoints_by`].
    Otlp {
        /// The address of the collector.
        endpoint: String,
        /// The variable that holds a token for it.
        token_env: Option<String>,
    },
}

/// Where checkpoints go, and what happens if they cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// Every place gets every checkpoint.
    pub places: Vec<CheckpointPlace>,
    /// Whether an append fails if a checkpoint cannot be written. Otherwise that is a warning and an event.
    pub required: bool,
}

/// Sends a checkpoint to a collector.
#[derive(Debug, Clone, Copy)]
pub struct CheckpointDelivery<'a> {
    /// The address of the collector.
    pub endpoint: &'a str,
    /// The variable that holds a token for it.
    pub token_env: Option<&'a str>,
    /// What to send. A later checkpoint of the same log covers an earlier one.
    pub checkpoint: &'a Checkpoint,
    /// Whether it has to be there when the call returns; otherwise it may be kept until the command ends.
    pub is_urgent: bool,
}

type Sender = fn(&CheckpointDelivery<'_>) -> Result<(), String>;

static SENDER: OnceLock<Sender> = OnceLock::new();
static FAILURE: Mutex<Option<String>> = Mutex::new(None);

/// Names what sends checkpoints to collectors: this library does not talk to the network.
pub fn send_checkpoints_by(sender: Sender) {
    let _ = SENDER.set(sender);
}

/// Returns why a checkpoint was not written since the last call, for a warning.
pub fn take_checkpoint_failure() -> Option<String> {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl CheckpointPlace {
    /// Returns it in words.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::File(path) => path.to_string(),
            Self::Syslog { socket, .. } => socket.to_string(),
            Self::Otlp { endpoint, .. } => endpoint.clone(),
        }
    }

    /// Returns true if it lies in a folder, whichever way it is written.
    pub(crate) fn is_below(&self, folder: &AbsPath) -> bool {
        let path = match self {
            Self::File(path) => path.as_path(),
            Self::Syslog { .. } | Self::Otlp { .. } => return false,
        };
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let parent = path.parent().unwrap_or(path);
        path.starts_with(folder.as_path()) || real(parent).starts_with(real(folder.as_path()))
    }

    fn write(&self, checkpoint: &Checkpoint, options: &CheckpointOptions) -> Result<(), String> {
        match self {
            Self::File(path) => append(path, &checkpoint.line()).map_err(|error| error.to_string()),
            Self::Syslog { socket, facility } => syslog(socket, *facility, &checkpoint.line()),
            Self::Otlp { endpoint, token_env } => {
                let sender = SENDER.get().ok_or("this program cannot send to a collector")?;
                let (token_env, is_urgent) = (token_env.as_deref(), options.required);
                sender(&CheckpointDelivery { endpoint, token_env, checkpoint, is_urgent })
            }
        }
    }
}

/// Writes a checkpoint to every place. Returns the first that failed.
pub(super) fn write_to(
    options: &CheckpointOptions,
    checkpoint: &Checkpoint,
) -> Result<(), (String, String)> {
    let mut failed = None;
    for place in &options.places {
        if let Err(reason) = place.write(checkpoint, options) {
            let told =
                format!("cannot write a checkpoint of the log to {}: {reason}", place.shown());
            *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
            failed.get_or_insert((place.shown(), reason));
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Writes a line at the end of a regular file, in one call.
fn append(path: &AbsPath, line: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    private(&mut options);
    let mut file = options.open(path.as_path())?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    file.write_all(format!("{line}\n").as_bytes())
}

#[cfg(unix)]
fn syslog(socket: &AbsPath, facility: u8, line: &str) -> Result<(), String> {
    const NOTICE: u32 = 5;
    let send = || {
        let from = std::os::unix::net::UnixDatagram::unbound()?;
        from.set_nonblocking(true)?;
        let priority = u32::from(facility) * 8 + NOTICE;
        let message = format!("<{priority}>openskills[{}]: {line}", std::process::id());
        from.send_to(message.as_bytes(), socket.as_path())
    };
    send().map(|_| ()).map_err(|error: std::io::Error| error.to_string())
}

#[cfg(not(unix))]
fn syslog(_: &AbsPath, _: u8, _: &str) -> Result<(), String> {
    Err("there is no syslog on this system".to_owned())
}

/// Checkpoints that a log is compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file that they were read from.
    pub file: String,
    /// The number of the line of each.
    pub all: Vec<(u64, Checkpoint)>,
    /// Lines that hold a checkpoint which cannot be read.
    pub malformed: Vec<u64>,
}

impl Checkpoints {
    /// Reads a file: one that checkpoints were written to, a syslog, or what a collector wrote. Other lines are passed over.
    pub fn load(path: &AbsPath) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let missing = || failed(std::io::ErrorKind::NotFound.into());
        let file = open_regular(path)?.ok_or_else(missing)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(failed(std::io::Error::other(format!(
                "it has more than {MAX_FILE} bytes"
            ))));
        }
        let mut found = Self { file: path.to_string(), ..Self::default() };
        for (number, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
            match checkpoint_in(line) {
                Some(Some(checkpoint)) => found.all.push((number, checkpoint)),
                Some(None) => found.malformed.push(number),
                None => {}
            }
        }
        Ok(found)
    }
}

/// Finds the checkpoint in a line: absent if there is none, empty if it cannot be read.
fn checkpoint_in(line: &str) -> Option<Option<Checkpoint>> {
    let unescaped;
    let text = match (line.find(BEGIN), line.find(BEGIN_ESCAPED)) {
        (Some(at), _) => &line[at..],
        (None, Some(at)) => {
            // No value of a checkpoint has a backslash of its own.
            unescaped = line[at..].replace('\\', "");
            &unescaped
        }
        (None, None) => return None,
    };
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Checkpoint>();
    let read = values.next().and_then(Result::ok);
    Some(read.filter(|checkpoint| checkpoint.openskills_checkpoint == VERSION))
}
