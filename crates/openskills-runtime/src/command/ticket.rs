//! Tickets: what the hook of an agent decided about one call, for the program that the call then starts.
//!
//! A ticket binds session, call, folder, command line and the active skills. It is used once. Its file also records
//! how the call went, so that the hook that runs after the call notices if the call ran in another way.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sandbox::ProcessId;
use serde::{Deserialize, Serialize};
use skill::Digest;
use skill_fs::{AbsPath, FsError, make_private_folder};

use crate::record::log::redact;
use crate::run::own_folders;
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::state::own_files::{read_json, remove_old};
use crate::{CommandUnconfined, Event, RuntimeError};

/// The folder of tickets, in the state folder.
const FOLDER: &str = "tickets";
/// Tickets are removed after this time. A question may wait for the user's answer for long.
const MAX_AGE: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// How long a command in the background may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of random bytes in a ticket.
const SECRET: usize = 16;
/// The maximum size of a ticket's file.
const MAX_BYTES: u64 = 1 << 20;

/// How far a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketState {
    /// The call was rewritten and may start once.
    Issued,
    /// It has started.
    Started,
    /// It has ended.
    Done,
    /// The call was not rewritten, because no skill was active.
    Unrestricted,
    /// The call was not rewritten, because it needs the user's keys or services; the user was asked.
    Unconfined,
    /// The call was denied.
    Denied,
}

impl TicketState {
    /// All states, the one that is furthest along first.
    const ALL: [Self; 6] = [
        Self::Done,
        Self::Started,
        Self::Issued,
        Self::Unconfined,
        Self::Unrestricted,
        Self::Denied,
    ];

    fn suffix(self) -> &'static str {
        match self {
            Self::Issued => "issued",
            Self::Started => "started",
            Self::Done => "done",
            Self::Unrestricted => "unrestricted",
            Self::Unconfined => "unconfined",
            Self::Denied => "denied",
        }
    }
}

/// How far a command line went that runs without the sandbox if the user allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnconfinedState {
    /// The user is asked.
    Asked,
    /// It has run.
    HasRun,
}

/// What is known about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TicketRecord {
    /// Session ID.
    pub session_id: String,
    /// ID of the agent's tool call.
    pub tool_use_id: String,
    /// The agent's folder.
    pub caller: PathBuf,
    /// The folder that the command line starts in.
    pub cwd: PathBuf,
    /// The project.
    pub project: Option<PathBuf>,
    /// Digest of the command line.
    pub line_sha256: String,
    /// The command line, if it is not on the rewritten one.
    pub line: Option<String>,
    /// IDs and content digests of the active skills.
    pub skills: Vec<(String, String)>,
    /// Whether the agent does not wait for the command.
    pub is_background: bool,
    /// The agent's process.
    pub owner: Option<ProcessId>,
    /// Digest of the ticket's secret part; empty if no ticket was issued.
    pub secret_sha256: String,
    /// What the user should know about the call after it has ended.
    pub notes: Vec<String>,
}

/// The text of a ticket on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket(String);

impl Ticket {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A redeemed ticket, which records the end of its call.
#[derive(Debug)]
pub struct RedeemedTicket {
    /// What the hook decided.
    pub record: TicketRecord,
    folder: AbsPath,
    key: String,
}

impl RedeemedTicket {
    /// Records that the call has ended.
    pub fn finish(self, notes: Vec<String>) -> Result<(), RuntimeError> {
        let record = TicketRecord { notes, ..self.record };
        write(&self.folder, &self.key, TicketState::Done, &record)?;
        // The end is recorded, so this file no longer matters.
        let _ = fs::remove_file(path(&self.folder, &self.key, TicketState::Started).as_path());
        Ok(())
    }
}

impl OpenSkillRuntime {
    /// Issues a ticket for a call. `record` contains everything but the secret.
    pub fn issue_ticket(&self, record: TicketRecord) -> Result<Ticket, RuntimeError> {
        let mut random = [0; SECRET];
        getrandom::fill(&mut random).map_err(|error| RuntimeError::Setup {
            message: format!("cannot generate a random ticket: {error}"),
            hint: None,
        })?;
        let secret: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let key = key(&record.session_id, &record.tool_use_id);
        let secret_sha256 = Digest::of(secret.as_bytes()).to_string();
        let record = TicketRecord { secret_sha256, ..record };
        self.record_tool_call(TicketState::Issued, &record)?;
        Ok(Ticket(format!("{key}-{secret}")))
    }

    /// Records a call that is not rewritten.
    pub fn record_tool_call(
        &self,
        state: TicketState,
        record: &TicketRecord,
    ) -> Result<(), RuntimeError> {
        let folder = self.tickets()?;
        make_private_folder(&folder)?;
        // Tickets of calls that ended long ago, and that no hook asked about.
        remove_old(folder.as_path(), MAX_AGE, |ticket| fs::remove_file(ticket));
        let key = key(&record.session_id, &record.tool_use_id);
        Ok(write(&folder, &key, state, record)?)
    }

    /// Redeems a ticket for a command line. It fails for a ticket that was not issued, was already used, or was issued
    /// for another command line.
    pub fn redeem_ticket(
        &self,
        text: &str,
        line: Option<&str>,
    ) -> Result<RedeemedTicket, RuntimeError> {
        let refused = |what: &str| RuntimeError::PermissionDenied {
            message: format!("the ticket is not valid: {what}"),
            hint: Some(
                "repeat the tool call; do not run `openskills exec --ticket` yourself".to_owned(),
            ),
        };
        let is_key =
            |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (key, secret) = text
            .split_once('-')
            .filter(|(key, _)| is_key(key))
            .ok_or_else(|| refused("it is malformed"))?;
        let folder = self.tickets()?;
        let issued = path(&folder, key, TicketState::Issued);
        let record = read_json::<TicketRecord>(&issued, MAX_BYTES)?
            .ok_or_else(|| refused("it was not issued, or it was already used"))?;
        if record.secret_sha256 != Digest::of(secret.as_bytes()).to_string() {
            return Err(refused("it was not issued, or it was already used"));
        }
        let line = line.or(record.line.as_deref()).unwrap_or_default();
        if record.line_sha256 != Digest::of(line.as_bytes()).to_string() {
            return Err(refused("it was issued for another command line"));
        }
        let started = path(&folder, key, TicketState::Started);
        match fs::rename(issued.as_path(), started.as_path()) {
            Ok(()) => Ok(RedeemedTicket { record, folder, key: key.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(refused("it was already used"))
            }
            Err(source) => Err(FsError::Io { path: issued.to_string(), source }.into()),
        }
    }

    /// Records that a command line needs the user's keys or services.
    pub fn record_unconfined(
        &mut self,
        record: &TicketRecord,
        state: UnconfinedState,
    ) -> Result<(), RuntimeError> {
        self.record(&Event::CommandUnconfined(CommandUnconfined {
            session_id: record.session_id.clone(),
            tool_use_id: Some(record.tool_use_id.clone()),
            command: redact(record.line.as_deref().unwrap_or_default()).into_owned(),
            reason: record.notes.join("; "),
            has_run: state == UnconfinedState::HasRun,
        }))
    }

    /// Refuses every further call of this session, because an earlier one was not restricted as decided.
    pub fn stop_session(&self, reason: &str) -> Result<(), RuntimeError> {
        Ok(self.session.stop(reason)?)
    }

    /// Fails if the session was stopped.
    pub fn check_not_stopped(&self) -> Result<(), RuntimeError> {
        match self.session.stopped()? {
            None => Ok(()),
            Some(reason) => Err(RuntimeError::PermissionDenied {
                message: reason,
                hint: Some("start a new session of the agent".to_owned()),
            }),
        }
    }

    /// Returns the folders of openskills, csk and the agent, whose files control what may run.
    pub fn own_folders(&self) -> Result<Vec<PathBuf>, RuntimeError> {
        Ok(own_folders(self.places()?))
    }

    /// Returns the IDs and content digests of the skills that are active in this session.
    pub fn active_skills(&self) -> Result<Vec<(String, String)>, RuntimeError> {
        Ok(self.session.active()?)
    }

    /// Refuses a ticket if other skills are active now than when the call was checked.
    pub fn check_ticket_skills(&self, record: &TicketRecord) -> Result<(), RuntimeError> {
        if self.active_skills()? == record.skills {
            return Ok(());
        }
        Err(RuntimeError::PermissionDenied {
            message: "the active skills have changed since the call was checked".to_owned(),
            hint: Some("repeat the tool call".to_owned()),
        })
    }

    /// Returns how far a call went, and forgets it. `None` if nothing is known about it. A call that the agent does not
    /// wait for may be about to start, so this waits for it for a moment.
    pub fn take_call(
        &self,
        session_id: &str,
        tool_use_id: &str,
    ) -> Result<Option<(TicketState, TicketRecord)>, RuntimeError> {
        let folder = self.tickets()?;
        let key = key(session_id, tool_use_id);
        let begun = Instant::now();
        let found = loop {
            let found = find_call(&folder, &key)?;
            let is_starting = matches!(
                &found,
                Some((TicketState::Issued, record)) if record.is_background
            );
            if !is_starting || begun.elapsed() > START_TIMEOUT {
                break found;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        // A call in the background records its own end later.
        if !matches!(found, Some((TicketState::Started, _))) {
            for state in TicketState::ALL {
                let _ = fs::remove_file(path(&folder, &key, state).as_path());
            }
        }
        Ok(found)
    }

    fn tickets(&self) -> Result<AbsPath, RuntimeError> {
        Ok(self.places()?.state.as_ref().ok_or_else(no_state_folder)?.join(FOLDER))
    }
}

/// Finds how far a call went: the state that is furthest along counts.
fn find_call(folder: &AbsPath, key: &str) -> Result<Option<(TicketState, TicketRecord)>, FsError> {
    for state in TicketState::ALL {
        if let Some(record) = read_json(&path(folder, key, state), MAX_BYTES)? {
            return Ok(Some((state, record)));
        }
    }
    Ok(None)
}

/// Returns the key of a call: neither a session nor a call can choose the name of a file.
fn key(session_id: &str, tool_use_id: &str) -> String {
    let digest = Digest::of(format!("{session_id}\0{tool_use_id}").as_bytes());
    digest.as_bytes()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn path(folder: &AbsPath, key: &str, state: TicketState) -> AbsPath {
    folder.join(format!("{key}.{}.json", state.suffix()))
}

fn write(
    folder: &AbsPath,
    key: &str,
    state: TicketState,
    record: &TicketRecord,
) -> Result<(), FsError> {
    let path = path(folder, key, state);
    let failed = |source| FsError::Io { path: path.to_string(), source };
    let text = serde_json::to_string(record).map_err(|error| failed(error.into()))?;
    let mut file = tempfile::NamedTempFile::new_in(folder.as_path()).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path.as_path()).map_err(|error| failed(error.error))?;
    Ok(())
}
