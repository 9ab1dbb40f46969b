//! Checkpoints: the state of the log at one moment, written to a second destination chosen by the user.
//!
//! A folder proves nothing about what is missing from it: an older copy, restored as a whole, is a valid log. A
//! checkpoint stored elsewhere shows that the log was longer, or a different one.

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
use skill::ByteSize;

/// Version of the format.
const VERSION: u32 = 1;
/// How a checkpoint starts, anywhere in a line.
const BEGIN: &str = "{\"openskills_checkpoint\":";
/// The same, escaped in a JSON string, as collectors write it.
const BEGIN_ESCAPED: &str = "{\\\"openskills_checkpoint\\\":";
/// Maximum size of a checkpoint file.
const MAX_FILE: u64 = 256 << 20;

/// The state of a log at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Version of this format.
    pub openskills_checkpoint: u32,
    /// ID of the log.
    pub log: String,
    /// ID of the archived log that it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Number of its last event.
    pub events: u64,
    /// Digest of that event's line, which covers all earlier lines: `sha256:` or `hmac-sha256:` and 64 hexadecimal
    /// digits.
    pub head: String,
    /// When it was written, RFC 3339.
    pub time: String,
    /// ID of the key that signed it; absent without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// HMAC of all other fields; absent without a key.
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
        checkpoint.mac = chain.sign(&checkpoint.signed_text()).map(|mac| text(&mac).to_owned());
        checkpoint
    }

    /// Returns the checkpoint as a line of JSON, without a line break.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers can be serialized")
    }

    /// Returns true if the checkpoint is signed with the key of a chain, or if there is no key.
    pub(super) fn is_signed(&self, chain: &Chain) -> bool {
        chain.sign(&self.signed_text()).is_none_or(|mac| self.mac.as_deref() == Some(text(&mac)))
    }

    fn signed_text(&self) -> String {
        let Self { openskills_checkpoint, log, previous, events, head, time, key_id, mac: _ } =
            self;
        let previous = previous.as_deref().unwrap_or_default();
        let key_id = key_id.as_deref().unwrap_or_default();
        format!("{openskills_checkpoint}\n{log}\n{previous}\n{events}\n{head}\n{time}\n{key_id}\n")
    }
}

/// Where a checkpoint is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointDestination {
    /// A file, as a line at its end.
    File(AbsPath),
    /// The system log.
    Syslog {
        /// Path of its socket.
        socket: AbsPath,
        /// Facility number.
        facility: u8,
    },
    /// An OpenTelemetry collector. The host sends the record: see [`set_checkpoint_sender`].
    Otlp {
        /// URL of the collector.
        endpoint: String,
        /// Environment variable that contains a token for it.
        token_env: Option<String>,
    },
}

/// Where checkpoints go, and what happens if they cannot be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// Every checkpoint goes to every destination.
    pub destinations: Vec<CheckpointDestination>,
    /// Whether an append fails if a checkpoint cannot be written. Otherwise that is a warning and an event.
    pub required: bool,
}

/// A checkpoint to send to a collector.
#[derive(Debug, Clone, Copy)]
pub struct CheckpointDelivery<'a> {
    /// URL of the collector.
    pub endpoint: &'a str,
    /// Environment variable that contains a token for it.
    pub token_env: Option<&'a str>,
    /// The checkpoint. A later one of the same log supersedes an earlier one.
    pub checkpoint: &'a Checkpoint,
    /// Whether it must be delivered before the call returns. Otherwise it may be held until the command ends.
    pub is_urgent: bool,
}

type Sender = fn(&CheckpointDelivery<'_>) -> Result<(), String>;

static SENDER: OnceLock<Sender> = OnceLock::new();
static FAILURE: Mutex<Option<String>> = Mutex::new(None);

/// Sets the function that sends checkpoints to collectors. This library does not use the network.
pub fn set_checkpoint_sender(sender: Sender) {
    let _ = SENDER.set(sender);
}

/// Returns why a checkpoint could not be written since the last call, for a warning.
pub fn take_checkpoint_failure() -> Option<String> {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl CheckpointDestination {
    /// Returns the destination as shown to users.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::File(path) => path.to_string(),
            Self::Syslog { socket, .. } => socket.to_string(),
            Self::Otlp { endpoint, .. } => endpoint.clone(),
        }
    }

    /// Returns true if the destination is inside a folder, even through a symbolic link.
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
                let sender =
                    SENDER.get().ok_or("this program cannot send checkpoints to a collector")?;
                let (token_env, is_urgent) = (token_env.as_deref(), options.required);
                sender(&CheckpointDelivery { endpoint, token_env, checkpoint, is_urgent })
            }
        }
    }
}

/// Writes a checkpoint to every destination. Returns the first failure.
pub(super) fn write_to(
    options: &CheckpointOptions,
    checkpoint: &Checkpoint,
) -> Result<(), (String, String)> {
    let mut failed = None;
    for destination in &options.destinations {
        if let Err(reason) = destination.write(checkpoint, options) {
            let warning =
                format!("cannot write a log checkpoint to `{}`: {reason}", destination.shown());
            *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = Some(warning);
            failed.get_or_insert((destination.shown(), reason));
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Appends a line to a regular file, in one write.
fn append(path: &AbsPath, line: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    private(&mut options);
    let mut file = options.open(path.as_path())?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
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
    Err("this system has no syslog".to_owned())
}

/// Checkpoints to compare a log with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file that they were read from.
    pub file: String,
    /// Line number and checkpoint.
    pub all: Vec<(u64, Checkpoint)>,
    /// Lines with a checkpoint that cannot be parsed.
    pub malformed: Vec<u64>,
}

impl Checkpoints {
    /// Reads a checkpoint file, a syslog file or the output of a collector. Other lines are ignored.
    pub fn load(path: &AbsPath) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let missing = || failed(std::io::ErrorKind::NotFound.into());
        let file = open_regular(path)?.ok_or_else(missing)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(failed(std::io::Error::other(format!(
                "it is larger than {}",
                ByteSize(MAX_FILE)
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

/// Finds the checkpoint in a line. Returns `None` if there is none and `Some(None)` if it cannot be parsed.
fn checkpoint_in(line: &str) -> Option<Option<Checkpoint>> {
    let unescaped;
    let text = match (line.find(BEGIN), line.find(BEGIN_ESCAPED)) {
        (Some(at), _) => &line[at..],
        (None, Some(at)) => {
            // The values of a checkpoint contain no backslashes of their own.
            unescaped = line[at..].replace('\\', "");
            &unescaped
        }
        (None, None) => return None,
    };
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Checkpoint>();
    let read = values.next().and_then(Result::ok);
    Some(read.filter(|checkpoint| checkpoint.openskills_checkpoint == VERSION))
}
