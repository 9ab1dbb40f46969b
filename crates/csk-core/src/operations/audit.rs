//! Audits of what csk knows: commits of repositories, folders, and what is about to be installed.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rayon::prelude::*;
use skill::Digest;
use skill_audit::BundleReport;
use skill_fs::{AbsPath, FsError, Root};
use skill_state::StateError;
use skill_state::audit::{
    Asked, AuditMode, AuditPolicy, Decision, MOST_OF_A_FILE as MOST, Subject, Verdicts, decide,
};

use skill_state::audit::Bundle;

use crate::{Content, File, FileKind, Snapshot, SourceError};

/// Reads a commit's files. A link counts as what it leads to, under its own name: that is how it is run.
pub fn of_snapshot(name: &str, snapshot: &Snapshot) -> Result<Bundle, SourceError> {
    let files = snapshot.files().iter().filter_map(|file| {
        let held = snapshot.followed(file)?;
        let is_executable = held.kind == FileKind::Executable;
        Some((file.path.to_string(), content(&held.content), is_executable))
    });
    let (files, digest) = (files.collect(), snapshot.bundle_digest()?);
    Ok(Bundle { name: name.to_owned(), files, digest })
}

/// Reads a folder, without the repository that the skill may be written in.
pub fn of_folder(path: &AbsPath) -> Result<Bundle, FsError> {
    let name = path.as_path().file_name().map(|name| name.to_string_lossy().into_owned());
    Bundle::read(&name.unwrap_or_default(), &Root::open(path)?.as_skill())
}

/// Looks at several skills at once; the order stays.
pub fn look_all(
    bundles: Vec<(Bundle, String)>,
    policy: &AuditPolicy,
    now: Timestamp,
) -> Vec<(Bundle, String, BundleReport)> {
    bundles
        .into_par_iter()
        .map(|(bundle, base)| {
            let found = bundle.audit(policy, now);
            (bundle, base, found)
        })
        .collect()
}

fn content(content: &Content) -> Arc<[u8]> {
    match content {
        Content::Memory(bytes) => Arc::clone(bytes),
        Content::Large(_) => {
            let mut start = Vec::new();
            // It ends as soon as there is enough.
            let _ = content.feed(|bytes| {
                start.extend_from_slice(&bytes[..bytes.len().min(MOST - start.len())]);
                if start.len() >= MOST { Err(io::Error::other("enough")) } else { Ok(()) }
            });
            Arc::from(start)
        }
    }
}

/// Keeps what was found about a commit, for the next time. That it cannot be kept stops nothing.
pub fn keep(verdicts: &Verdicts, found: &BundleReport) {
    if verdicts.get(&found.bundle).is_none() {
        let _ = verdicts.put(found);
    }
}

/// Asks whether something bad is to be installed all the same.
#[derive(Clone)]
pub struct Asker(Arc<dyn Fn(&Asked) -> bool + Send + Sync>);

impl Asker {
    /// Returns one that asks by `ask`.
    pub fn new(ask: impl Fn(&Asked) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asker")
    }
}

/// How installs are audited.
#[derive(Debug, Clone)]
pub struct Auditor {
    /// How much an audit decides.
    pub mode: AuditMode,
    policy: AuditPolicy,
    verdicts: Verdicts,
    now: Timestamp,
    /// Where somebody can be asked.
    asker: Option<Asker>,
    /// What was answered: the same question is asked once.
    answers: Arc<Mutex<Vec<(Asked, bool)>>>,
}

/// What follows for a skill that is about to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It is installed.
    Go,
    /// It is installed, and this is told.
    Warn(String),
    /// It is not.
    Refuse {
        /// Why.
        reason: String,
        /// What to do.
        hint: String,
    },
}

impl Auditor {
    /// Reads what the user said about audits. What is malformed stops everything.
    pub fn new(
        home: &AbsPath,
        mode: AuditMode,
        now: Timestamp,
        asker: Option<Asker>,
    ) -> Result<Self, StateError> {
        let policy = AuditPolicy::load(home)?;
        let verdicts = Verdicts::new(home, &policy, now);
        Ok(Self { mode, policy, verdicts, now, asker, answers: Arc::default() })
    }

    /// Returns one that looks at nothing.
    pub fn off(home: &AbsPath, now: Timestamp) -> Self {
        let policy = AuditPolicy::default();
        let verdicts = Verdicts::new(home, &policy, now);
        Self { mode: AuditMode::Off, policy, verdicts, now, asker: None, answers: Arc::default() }
    }

    /// Returns true if a look at files decides about anything.
    pub(crate) fn looks(&self) -> bool {
        self.mode != AuditMode::Off || !self.policy.revoked.is_empty()
    }

    /// Returns what was found about a snapshot of which some files are written in other words: in a language of the project's.
    pub(crate) fn look_rendered(
        &self,
        name: &str,
        snapshot: &Snapshot,
        rendered: &[File],
    ) -> Result<BundleReport, SourceError> {
        let mut bundle = of_snapshot(name, snapshot)?;
        for file in rendered.iter().filter(|file| file.kind != FileKind::Link) {
            let is_executable = file.kind == FileKind::Executable;
            let (path, bytes) = (file.path.to_string(), content(&file.content));
            match bundle.files.iter_mut().find(|(known, ..)| *known == path) {
                Some(known) => known.1 = bytes,
                None => bundle.files.push((path, bytes, is_executable)),
            }
        }
        Ok(bundle.audit(&self.policy, self.now))
    }

    /// Returns why a bundle, or where it comes from, is revoked.
    pub(crate) fn revoked(&self, bundle: &str, sources: &[String]) -> Option<&str> {
        self.policy.revocation(bundle, sources).map(|revoked| revoked.reason.as_str())
    }

    /// Returns true if something is revoked by where it comes from.
    pub(crate) fn asks_for_sources(&self) -> bool {
        self.policy.revokes_sources()
    }

    /// Returns what was found about a snapshot, now or before.
    pub(crate) fn look(
        &self,
        name: &str,
        snapshot: &Snapshot,
        bundle: Digest,
    ) -> Result<BundleReport, SourceError> {
        match self.verdicts.get(&bundle) {
            Some(known) => Ok(known),
            None => Ok(of_snapshot(name, snapshot)?.audit(&self.policy, self.now)),
        }
    }

    /// Keeps what was found, for the next time.
    pub(crate) fn keep(&self, found: &BundleReport) {
        keep(&self.verdicts, found);
    }

    /// Says what follows; asks where that is needed and somebody is there.
    pub(crate) fn rule(
        &self,
        found: &BundleReport,
        sources: &[String],
        installed: Option<Digest>,
    ) -> Ruling {
        let before = installed.and_then(|bundle| self.verdicts.observed_before(&bundle));
        let subject = Subject { found, sources, before: before.as_ref() };
        match decide(self.mode, &self.policy, &subject) {
            Decision::Go => Ruling::Go,
            Decision::Warn(reason) => Ruling::Warn(reason),
            Decision::Refuse { reason, hint } => Ruling::Refuse { reason, hint },
            Decision::Ask(asked) => match self.ask(&asked) {
                Some(true) => Ruling::Warn("the audit says BLOCK, and you said yes".to_owned()),
                answer => Ruling::Refuse {
                    reason: format!("the audit says BLOCK: {}", asked.reasons.join("; ")),
                    hint: match answer {
                        Some(_) => "`csk audit` shows all of it".to_owned(),
                        None => {
                            "`csk audit` shows all of it; on a terminal you are asked".to_owned()
                        }
                    },
                },
            },
        }
    }

    /// Asks the same question once; `None` where nobody can be asked. Another language of the same commit may be another question.
    fn ask(&self, asked: &Asked) -> Option<bool> {
        let asker = self.asker.as_ref()?;
        // A question that went wrong was not answered with yes.
        let mut answers = self.answers.lock().ok()?;
        if let Some((_, answer)) = answers.iter().find(|(before, _)| before == asked) {
            return Some(*answer);
        }
        let answer = (asker.0)(asked);
        answers.push((asked.clone(), answer));
        Some(answer)
    }
}
