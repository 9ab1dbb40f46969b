//! Audits commits, folders, and skills that are about to be installed.

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
    AuditMode, AuditPolicy, AuditSubject, Clearance, ClearanceInputs, ConfirmationRequest,
    Decision, MAX_AUDITED_BYTES, Verdicts, clear, decide,
};

use skill_state::audit::Bundle;

use crate::{Content, File, FileKind, Snapshot, SourceError};

/// Reads the files of a commit. A symlink counts as its target under its own name, since that is how it is run.
pub fn read_snapshot(name: &str, snapshot: &Snapshot) -> Result<Bundle, SourceError> {
    let files = snapshot.files().iter().filter_map(|file| {
        let held = snapshot.followed(file)?;
        let is_executable = held.kind == FileKind::Executable;
        Some((file.path.to_string(), content(&held.content), is_executable))
    });
    let (files, digest) = (files.collect(), snapshot.bundle_digest()?);
    Ok(Bundle { name: name.to_owned(), files, digest })
}

/// Reads a skill's folder, without the git repository that it may be in.
pub fn read_folder(path: &AbsPath) -> Result<Bundle, FsError> {
    let name = path.as_path().file_name().map(|name| name.to_string_lossy().into_owned());
    Bundle::read(&name.unwrap_or_default(), &Root::open(path)?.as_skill())
}

/// Audits several skills in parallel, in order.
pub fn audit_all(
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
            // Stops as soon as there is enough.
            let _ = content.feed(|bytes| {
                start.extend_from_slice(&bytes[..bytes.len().min(MAX_AUDITED_BYTES - start.len())]);
                if start.len() >= MAX_AUDITED_BYTES {
                    Err(io::Error::other("enough"))
                } else {
                    Ok(())
                }
            });
            Arc::from(start)
        }
    }
}

/// Stores the report on a commit for the next run. Failing to do so is not an error.
pub fn store_verdict(verdicts: &Verdicts, found: &BundleReport) {
    if verdicts.get(&found.bundle).is_none() {
        let _ = verdicts.put(found);
    }
}

/// Asks whether to install a skill despite a blocking verdict.
#[derive(Clone)]
pub struct AuditPrompt(Arc<dyn Fn(&ConfirmationRequest) -> bool + Send + Sync>);

impl AuditPrompt {
    /// Returns a prompt that calls `ask`.
    pub fn new(ask: impl Fn(&ConfirmationRequest) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }
}

impl fmt::Debug for AuditPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditPrompt")
    }
}

/// How installs are audited.
#[derive(Debug, Clone)]
pub struct Auditor {
    /// How strictly installs are audited.
    pub mode: AuditMode,
    policy: AuditPolicy,
    verdicts: Verdicts,
    now: Timestamp,
    /// `None` if csk cannot prompt.
    prompt: Option<AuditPrompt>,
    /// Earlier answers: the same question is request only once.
    answers: Arc<Mutex<Vec<(ConfirmationRequest, bool)>>>,
}

/// The decision about a skill that is about to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// Install it.
    Allow,
    /// Install it with this warning.
    Warn(String),
    /// Do not install it.
    Refuse {
        /// The reason.
        reason: String,
        /// How to proceed.
        hint: String,
    },
}

impl Auditor {
    /// Loads the user's audit policy. A malformed policy is an error.
    pub fn new(
        home: &AbsPath,
        mode: AuditMode,
        now: Timestamp,
        prompt: Option<AuditPrompt>,
    ) -> Result<Self, StateError> {
        let policy = AuditPolicy::load(home)?;
        let verdicts = Verdicts::new(home, &policy, now);
        Ok(Self { mode, policy, verdicts, now, prompt, answers: Arc::default() })
    }

    /// Returns a disabled auditor.
    pub fn disabled(home: &AbsPath, now: Timestamp) -> Self {
        let policy = AuditPolicy::default();
        let verdicts = Verdicts::new(home, &policy, now);
        Self { mode: AuditMode::Off, policy, verdicts, now, prompt: None, answers: Arc::default() }
    }

    /// Returns true if audits can affect an install.
    pub(crate) fn is_active(&self) -> bool {
        self.mode != AuditMode::Off || !self.policy.revoked.is_empty()
    }

    /// Audits a snapshot in which a project's locale has changed some files.
    pub(crate) fn audit_rendered(
        &self,
        name: &str,
        snapshot: &Snapshot,
        rendered: &[File],
    ) -> Result<BundleReport, SourceError> {
        let mut bundle = read_snapshot(name, snapshot)?;
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

    /// Returns why a bundle or one of its sources is revoked.
    pub(crate) fn revoked(&self, bundle: &str, sources: &[String]) -> Option<&str> {
        self.policy.revocation(bundle, sources).map(|revoked| revoked.reason.as_str())
    }

    /// Returns whether the audit allows a skill that is about to be added: a blocked or revoked one never, and one that
    /// needs review only after confirmation.
    pub(crate) fn clearance(&self, found: &BundleReport, sources: &[String]) -> Clearance {
        let mode = self.mode.max(AuditMode::Advisory);
        let inputs = ClearanceInputs {
            reports: std::slice::from_ref(found),
            bundles: &[found.bundle.to_string()],
            sources,
        };
        clear(mode, &self.policy, &inputs)
    }

    /// Returns true if any source is revoked.
    pub(crate) fn needs_sources(&self) -> bool {
        self.policy.revokes_sources()
    }

    /// Returns the report on a snapshot, cached or new.
    pub(crate) fn audit(
        &self,
        name: &str,
        snapshot: &Snapshot,
        bundle: Digest,
    ) -> Result<BundleReport, SourceError> {
        match self.verdicts.get(&bundle) {
            Some(known) => Ok(known),
            None => Ok(read_snapshot(name, snapshot)?.audit(&self.policy, self.now)),
        }
    }

    /// Stores the report for the next run.
    pub(crate) fn store(&self, found: &BundleReport) {
        store_verdict(&self.verdicts, found);
    }

    /// Decides about a skill; prompts if needed and possible.
    pub(crate) fn decide(
        &self,
        found: &BundleReport,
        sources: &[String],
        installed: Option<Digest>,
    ) -> Ruling {
        let previous = installed.and_then(|bundle| self.verdicts.previously_observed(&bundle));
        let subject = AuditSubject { found, sources, previous: previous.as_ref() };
        match decide(self.mode, &self.policy, &subject) {
            Decision::Go => Ruling::Allow,
            Decision::Warn(reason) => Ruling::Warn(reason),
            Decision::Refuse { reason, hint } => Ruling::Refuse { reason, hint },
            Decision::Ask(request) => match self.ask(&request) {
                Some(true) => Ruling::Warn(
                    "audit verdict BLOCK; installed because you confirmed it".to_owned(),
                ),
                answer => Ruling::Refuse {
                    reason: format!("audit verdict BLOCK: {}", request.reasons.join("; ")),
                    hint: match answer {
                        Some(_) => "run `csk audit` for details".to_owned(),
                        None => {
                            "run `csk audit` for details; in a terminal, csk asks for confirmation"
                                .to_owned()
                        }
                    },
                },
            },
        }
    }

    /// Asks each question once; returns `None` if csk cannot prompt. Another locale of the same commit may be another
    /// question.
    fn ask(&self, request: &ConfirmationRequest) -> Option<bool> {
        let prompt = self.prompt.as_ref()?;
        // A poisoned lock does not count as a yes.
        let mut answers = self.answers.lock().ok()?;
        if let Some((_, answer)) = answers.iter().find(|(earlier, _)| earlier == request) {
            return Some(*answer);
        }
        let answer = (prompt.0)(request);
        answers.push((request.clone(), answer));
        Some(answer)
    }
}
