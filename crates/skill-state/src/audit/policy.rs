//! `audit/policy.json`: the user's pins, revocations and suppressions, each with a reason. Nothing in a skill can add to
//! it.

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use skill::json::{Object, UnknownKeys, read};
use skill_audit::Finding;
use skill_fs::{AbsPath, FsError, read_text, write_file};

use crate::StateError;
use crate::origin::is_same_origin;

/// A reviewed bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The digest of the bundle.
    pub bundle: String,
    /// Why it is acceptable.
    pub reason: String,
    /// When it was pinned.
    pub created_at: String,
}

/// The target of a revocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// The digest of a bundle.
    Bundle(String),
    /// Everything from a source.
    Source(String),
}

/// A bundle or source that must not be installed or used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The bundle or source.
    pub target: Revoked,
    /// Why it was revoked.
    pub reason: String,
    /// When it was revoked.
    pub created_at: String,
}

/// A finding that the user accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The rule.
    pub rule: String,
    /// The file.
    pub path: String,
    /// The fingerprint of the finding.
    pub evidence: String,
    /// Why it is acceptable.
    pub reason: String,
    /// Who accepted it.
    pub author: String,
    /// When the suppression expires.
    pub expires_at: Option<String>,
}

/// All audit decisions of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPolicy {
    /// Reviewed bundles.
    pub pins: Vec<Pin>,
    /// Bundles and sources that must not be installed or used.
    pub revoked: Vec<Revocation>,
    /// Accepted findings.
    pub suppressions: Vec<Suppression>,
}

impl AuditPolicy {
    fn file(home: &AbsPath) -> AbsPath {
        super::audit_folder(home).join("policy.json")
    }

    /// Reads the file. A malformed file is an error, never treated as empty.
    pub fn load(home: &AbsPath) -> Result<Self, StateError> {
        let path = Self::file(home);
        let Some(text) = read_text(&path)? else {
            // A broken link would look like an empty policy.
            for part in [&path, &super::audit_folder(home), home] {
                if part.as_path().is_symlink() && !part.as_path().exists() {
                    let path = part.to_string();
                    return Err(FsError::NotRegular { path, kind: "a broken symlink" }.into());
                }
            }
            return Ok(Self::default());
        };
        let (policy, diagnostics) = read(path.as_str(), &text, |object| {
            crate::schema_version(object)?;
            object.unknown_keys(UnknownKeys::Refused);
            Some(Self {
                pins: object.required_objects("pins", pin),
                revoked: object.required_objects("revoked", revocation),
                suppressions: object.required_objects("suppressions", suppression),
            })
        });
        policy.ok_or(StateError::Malformed { file: path.to_string(), diagnostics })
    }

    /// Writes the file.
    pub fn save(&self, home: &AbsPath) -> Result<(), StateError> {
        let path = Self::file(home);
        let mut text = serde_json::to_string_pretty(&self.to_json()).unwrap_or_default();
        text.push('\n');
        skill_fs::make_private_folder(&super::audit_folder(home))?;
        write_file(&path, text.as_bytes())?;
        Ok(())
    }

    fn to_json(&self) -> Value {
        let pins = self
            .pins
            .iter()
            .map(|pin| json!({ "bundle_sha256": pin.bundle, "reason": pin.reason, "created_at": pin.created_at }));
        let revoked = self.revoked.iter().map(|one| {
            let (key, value) = match &one.target {
                Revoked::Bundle(bundle) => ("bundle_sha256", bundle),
                Revoked::Source(source) => ("source", source),
            };
            json!({ key: value, "reason": one.reason, "created_at": one.created_at })
        });
        let suppressions = self.suppressions.iter().map(|one| {
            let mut value = json!({ "rule": one.rule, "path": one.path, "evidence": one.evidence, "reason": one.reason, "author": one.author });
            if let Some(end) = &one.expires_at {
                value["expires_at"] = json!(end);
            }
            value
        });
        json!({
            "schema_version": 1,
            "pins": pins.collect::<Vec<_>>(),
            "revoked": revoked.collect::<Vec<_>>(),
            "suppressions": suppressions.collect::<Vec<_>>(),
        })
    }

    /// Returns the digest of the active suppressions. A stored verdict is valid only for the same suppressions.
    pub fn digest(&self, now: Timestamp) -> String {
        let mut hash = Sha256::new();
        for one in self.suppressions.iter().filter(|one| one.is_active(now)) {
            for part in [&one.rule, &one.path, &one.evidence, &one.reason] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part.as_bytes());
            }
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the pin of a bundle.
    pub fn pin(&self, bundle: &str) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.bundle == bundle)
    }

    /// Returns the revocation of a bundle or of one of its sources.
    pub fn revocation(&self, bundle: &str, sources: &[String]) -> Option<&Revocation> {
        self.revoked.iter().find(|one| match &one.target {
            Revoked::Bundle(known) => known == bundle,
            Revoked::Source(known) => sources.iter().any(|source| is_same_origin(source, known)),
        })
    }

    /// Returns true if any source is revoked.
    pub fn revokes_sources(&self) -> bool {
        self.revoked.iter().any(|one| matches!(one.target, Revoked::Source(_)))
    }

    /// Returns the reason of the active suppression for a finding, if there is one.
    pub fn suppression(&self, finding: &Finding, now: Timestamp) -> Option<String> {
        let matches = |one: &&Suppression| {
            one.rule == finding.rule.id.as_str()
                && one.path == finding.file
                && one.evidence == finding.fingerprint()
                && one.is_active(now)
        };
        self.suppressions.iter().find(matches).map(|one| format!("{} ({})", one.reason, one.author))
    }

    /// Adds a pin, replacing the one for the same bundle.
    #[must_use]
    pub fn with_pin(mut self, bundle: &str, reason: &str, created_at: &str) -> Self {
        self.pins.retain(|pin| pin.bundle != bundle);
        self.pins.push(Pin {
            bundle: bundle.to_owned(),
            reason: reason.to_owned(),
            created_at: created_at.to_owned(),
        });
        self
    }

    /// Adds a revocation, and removes a pin for the same bundle.
    #[must_use]
    pub fn with_revocation(mut self, target: Revoked, reason: &str, created_at: &str) -> Self {
        if let Revoked::Bundle(bundle) = &target {
            self.pins.retain(|pin| pin.bundle != *bundle);
        }
        self.revoked.retain(|one| one.target != target);
        self.revoked.push(Revocation {
            target,
            reason: reason.to_owned(),
            created_at: created_at.to_owned(),
        });
        self
    }
}

impl Suppression {
    /// Returns true if the suppression has not expired. An unreadable expiry counts as expired.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.expires_at
            .as_ref()
            .is_none_or(|end| end.parse::<Timestamp>().is_ok_and(|end| now < end))
    }
}

/// Reads `created_at`, or `at`, as older versions wrote it.
fn created_at(object: &mut Object<'_, '_, '_>) -> Option<String> {
    let key = if object.has("created_at") { "created_at" } else { "at" };
    match object.text(key) {
        Some(text) => Some(text.value),
        None => Some(object.required("created_at")?.value),
    }
}

fn pin(object: &mut Object<'_, '_, '_>) -> Option<Pin> {
    object.unknown_keys(UnknownKeys::Refused);
    Some(Pin {
        bundle: object.required("bundle_sha256")?.value,
        reason: object.required("reason")?.value,
        created_at: created_at(object)?,
    })
}

fn revocation(object: &mut Object<'_, '_, '_>) -> Option<Revocation> {
    object.unknown_keys(UnknownKeys::Refused);
    let target = match object.text("source") {
        Some(source) => Revoked::Source(source.value),
        None => Revoked::Bundle(object.required("bundle_sha256")?.value),
    };
    Some(Revocation {
        target,
        reason: object.required("reason")?.value,
        created_at: created_at(object)?,
    })
}

fn suppression(object: &mut Object<'_, '_, '_>) -> Option<Suppression> {
    object.unknown_keys(UnknownKeys::Refused);
    Some(Suppression {
        rule: object.required("rule")?.value,
        path: object.required("path")?.value,
        evidence: object.required("evidence")?.value,
        reason: object.required("reason")?.value,
        author: object.required("author")?.value,
        expires_at: object.text("expires_at").map(|text| text.value),
    })
}
