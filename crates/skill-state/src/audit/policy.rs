//! `audit/policy.json`: pins, revocations and suppressions, each with a reason. It is the user's; nothing in a skill is read as part of it.

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use skill::json::{Object, Unknown, read};
use skill_audit::Finding;
use skill_fs::{AbsPath, FsError, read_text, write_file};

use crate::StateError;
use crate::origin::is_same_origin;

/// Somebody looked at exactly this bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The digest of the bundle.
    pub bundle: String,
    /// Why it is fine.
    pub reason: String,
    /// When that was said.
    pub at: String,
}

/// What is revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// A bundle, by its digest.
    Bundle(String),
    /// Everything from a source.
    Source(String),
}

/// Something that is never to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// What.
    pub what: Revoked,
    /// Why.
    pub reason: String,
    /// When that was said.
    pub at: String,
}

/// One finding of which somebody said that it is fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The rule.
    pub rule: String,
    /// The file.
    pub path: String,
    /// What was found there, as a fingerprint.
    pub evidence: String,
    /// Why it is fine.
    pub reason: String,
    /// Who said so.
    pub author: String,
    /// When that ends.
    pub expires_at: Option<String>,
}

/// Everything that the user said about audits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPolicy {
    /// Bundles that somebody looked at.
    pub pins: Vec<Pin>,
    /// What is never to be installed.
    pub revoked: Vec<Revocation>,
    /// Findings that are fine.
    pub suppressions: Vec<Suppression>,
}

impl AuditPolicy {
    fn file(home: &AbsPath) -> AbsPath {
        super::audit_folder(home).join("policy.json")
    }

    /// Reads the file. One that is malformed is never taken for an empty one.
    pub fn load(home: &AbsPath) -> Result<Self, StateError> {
        let path = Self::file(home);
        let Some(text) = read_text(&path)? else {
            // A link to nothing would look like no decision at all.
            for part in [&path, &super::audit_folder(home), home] {
                if part.as_path().is_symlink() && !part.as_path().exists() {
                    let path = part.to_string();
                    return Err(FsError::NotRegular { path, kind: "a link to nothing" }.into());
                }
            }
            return Ok(Self::default());
        };
        let (policy, diagnostics) = read(path.as_str(), &text, |object| {
            crate::schema_version(object)?;
            object.unknown_keys(Unknown::Refused);
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
            .map(|pin| json!({ "bundle_sha256": pin.bundle, "reason": pin.reason, "at": pin.at }));
        let revoked = self.revoked.iter().map(|one| {
            let (key, what) = match &one.what {
                Revoked::Bundle(bundle) => ("bundle_sha256", bundle),
                Revoked::Source(source) => ("source", source),
            };
            json!({ key: what, "reason": one.reason, "at": one.at })
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

    /// Returns the digest of what decides about verdicts: suppressions. A verdict is as old as they are.
    pub fn digest(&self, now: Timestamp) -> String {
        let mut hash = Sha256::new();
        for one in self.suppressions.iter().filter(|one| one.holds(now)) {
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

    /// Returns what revokes a bundle or where it comes from.
    pub fn revocation(&self, bundle: &str, sources: &[String]) -> Option<&Revocation> {
        self.revoked.iter().find(|one| match &one.what {
            Revoked::Bundle(known) => known == bundle,
            Revoked::Source(known) => sources.iter().any(|source| is_same_origin(source, known)),
        })
    }

    /// Returns true if something is revoked by where it comes from.
    pub fn revokes_sources(&self) -> bool {
        self.revoked.iter().any(|one| matches!(one.what, Revoked::Source(_)))
    }

    /// Returns why a finding is fine, if somebody said so and that holds.
    pub fn suppression(&self, finding: &Finding, now: Timestamp) -> Option<String> {
        let fits = |one: &&Suppression| {
            one.rule == finding.rule.id.as_str()
                && one.path == finding.file
                && one.evidence == finding.fingerprint()
                && one.holds(now)
        };
        self.suppressions.iter().find(fits).map(|one| format!("{} ({})", one.reason, one.author))
    }

    /// Adds a pin, in place of one for the same bundle.
    #[must_use]
    pub fn with_pin(mut self, bundle: &str, reason: &str, at: &str) -> Self {
        self.pins.retain(|pin| pin.bundle != bundle);
        self.pins.push(Pin {
            bundle: bundle.to_owned(),
            reason: reason.to_owned(),
            at: at.to_owned(),
        });
        self
    }

    /// Adds a revocation; a pin for the same bundle is gone with that.
    #[must_use]
    pub fn with_revocation(mut self, what: Revoked, reason: &str, at: &str) -> Self {
        if let Revoked::Bundle(bundle) = &what {
            self.pins.retain(|pin| pin.bundle != *bundle);
        }
        self.revoked.retain(|one| one.what != what);
        self.revoked.push(Revocation { what, reason: reason.to_owned(), at: at.to_owned() });
        self
    }
}

impl Suppression {
    /// Returns true if it has not ended. An end that cannot be read has passed.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.expires_at
            .as_ref()
            .is_none_or(|end| end.parse::<Timestamp>().is_ok_and(|end| now < end))
    }
}

fn pin(object: &mut Object<'_, '_, '_>) -> Option<Pin> {
    object.unknown_keys(Unknown::Refused);
    Some(Pin {
        bundle: object.required("bundle_sha256")?.value,
        reason: object.required("reason")?.value,
        at: object.required("at")?.value,
    })
}

fn revocation(object: &mut Object<'_, '_, '_>) -> Option<Revocation> {
    object.unknown_keys(Unknown::Refused);
    let what = match object.text("source") {
        Some(source) => Revoked::Source(source.value),
        None => Revoked::Bundle(object.required("bundle_sha256")?.value),
    };
    Some(Revocation {
        what,
        reason: object.required("reason")?.value,
        at: object.required("at")?.value,
    })
}

fn suppression(object: &mut Object<'_, '_, '_>) -> Option<Suppression> {
    object.unknown_keys(Unknown::Refused);
    Some(Suppression {
        rule: object.required("rule")?.value,
        path: object.required("path")?.value,
        evidence: object.required("evidence")?.value,
        reason: object.required("reason")?.value,
        author: object.required("author")?.value,
        expires_at: object.text("expires_at").map(|text| text.value),
    })
}
