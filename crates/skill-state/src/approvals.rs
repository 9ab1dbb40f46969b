//! Approvals by the user: each covers one skill with one origin and one digest, and the permissions granted to it.
//!
//! An approval is bound to the digest of the whole bundle, so any change in the skill needs a new one. The bundle includes
//! what the skill declares; an approval stores only what the user granted: files, hosts, variables, direct writes and
//! deletions.

use std::collections::BTreeSet;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use skill::capabilities::{
    Anchor, AnchoredFolder, CapabilityExtents, CapabilityKind, Extent, Host, Permission, Reach,
};
use skill::json::{self as reader, Object, Text, UnknownKeys};
use skill::{Code, Diagnostic, Digest};
use skill_fs::{AbsPath, FsError, read_text, write_file};

use crate::PackageSet;

/// Why a state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Files(#[from] FsError),
    /// The file is malformed. It is never treated as empty.
    #[error("`{file}` is malformed")]
    Malformed {
        /// The file.
        file: String,
        /// Every problem in it.
        diagnostics: Vec<Diagnostic>,
    },
}

/// What the user grants beyond the defaults of the sandbox. A declaration of the skill never grants any of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Readable files and folders outside the skill and the workspace: absolute, or below the home folder.
    pub read: BTreeSet<AnchoredFolder>,
    /// Those that the user named explicitly. The others were confirmed at a prompt, which is enough only as long as they
    /// contain nothing that must be named explicitly.
    pub named: BTreeSet<AnchoredFolder>,
    /// Hosts that may be contacted.
    pub network: Reach<Host>,
    /// Environment variables that may be read.
    pub env: BTreeSet<String>,
    /// Whether workspace files may be written directly, without reviewing the changes first.
    pub direct_writes: bool,
    /// Whether workspace files may be deleted.
    pub deletions: bool,
    /// The packages that scripts may use.
    pub packages: BTreeSet<PackageSet>,
}

impl Default for Grant {
    fn default() -> Self {
        Self {
            read: BTreeSet::new(),
            named: BTreeSet::new(),
            network: Reach::nothing(),
            env: BTreeSet::new(),
            direct_writes: false,
            deletions: false,
            packages: BTreeSet::new(),
        }
    }
}

impl Grant {
    /// Returns true if nothing is granted.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the granted permissions.
    pub fn permissions(&self) -> Vec<Permission> {
        CapabilityKind::ALL.into_iter().flat_map(|kind| self.of(kind)).collect()
    }

    /// Returns the granted permissions, one per line.
    pub fn lines(&self) -> Vec<String> {
        let permissions = self.permissions();
        let permissions = permissions.iter().map(ToString::to_string);
        let packages = self.packages.iter().map(|set| format!("packages: {}", set.summary()));
        permissions.chain(packages).collect()
    }

    fn of(&self, kind: CapabilityKind) -> Vec<Permission> {
        let permission = |item: &dyn fmt::Display| Permission::new(kind, item);
        match kind {
            CapabilityKind::Read => self.read.iter().map(|folder| permission(folder)).collect(),
            CapabilityKind::Write => {
                let options = [(self.direct_writes, DIRECT_WRITES), (self.deletions, DELETIONS)];
                options
                    .iter()
                    .filter(|(is_granted, _)| *is_granted)
                    .map(|(_, item)| permission(item))
                    .collect()
            }
            CapabilityKind::Network => match &self.network {
                Reach::Everything => vec![permission(&ANY_HOST)],
                Reach::Only(hosts) => hosts.iter().map(|host| permission(host)).collect(),
            },
            CapabilityKind::Env => self.env.iter().map(|name| permission(name)).collect(),
            // The policy decides about programs and tools for each call, and there are no secrets to grant.
            CapabilityKind::Exec | CapabilityKind::Secrets | CapabilityKind::Tools => Vec::new(),
        }
    }
}

/// The label for direct writes, in output and logs.
pub const DIRECT_WRITES: &str = "the workspace, directly";
/// The label for deletions, in output and logs.
pub const DELETIONS: &str = "deletions in the workspace";
/// The label for unrestricted network access, in output and logs.
pub const ANY_HOST: &str = "any host";

/// One approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The origin of the skill: the URL of its repository, or its folder.
    pub origin: String,
    /// Its name.
    pub skill: String,
    /// Its ID when it was approved.
    pub skill_id: String,
    /// The digest of the bundle.
    pub bundle: Digest,
    /// What was granted.
    pub grant: Grant,
    /// What it declared, to show the differences in a later version.
    pub capabilities: CapabilityExtents,
    /// When it was approved.
    pub approved_at: Timestamp,
    /// When it expires; `None` means when it is revoked.
    pub expires_at: Option<Timestamp>,
    /// The session it is limited to; `None` means all sessions.
    pub session: Option<String>,
}

impl Approval {
    /// Returns the ID of the approval.
    pub fn id(&self) -> String {
        let session = self.session.as_deref().unwrap_or_default();
        let bundle = self.bundle.to_string();
        let parts = [self.origin.as_str(), &self.skill, &bundle, session];
        let all: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
        Digest::of(all.as_bytes()).short()[..12].to_owned()
    }

    /// Returns true if the approval is valid at `now` in `session`.
    pub fn is_active(&self, now: Timestamp, session: &str) -> bool {
        // An approval from the future is forged, or was made with a wrong clock.
        let is_past = self.approved_at.duration_since(now) < SignedDuration::from_mins(5);
        is_past
            && self.expires_at.is_none_or(|end| now < end)
            && self.session.as_deref().is_none_or(|own| own == session)
    }
}

/// What an approval covers: one bundle from one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalKey<'a> {
    /// The origin of the skill.
    pub origin: &'a str,
    /// Its name.
    pub skill: &'a str,
    /// The digest of the bundle.
    pub bundle: &'a Digest,
}

/// All approvals of the user, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    all: Vec<Approval>,
}

impl Approvals {
    /// The name of the file in the state folder.
    pub const FILE: &'static str = "approvals.json";

    /// Reads the file. A malformed file is an error, not an empty list.
    pub fn load(state: &AbsPath) -> Result<Self, StateError> {
        let path = state.join(Self::FILE);
        // A broken link would look like an empty list.
        if path.as_path().is_symlink() {
            return Err(FsError::NotRegular { path: path.to_string(), kind: "a symlink" }.into());
        }
        let Some(text) = read_text(&path)? else { return Ok(Self::default()) };
        let (all, diagnostics) = reader::read(path.as_str(), &text, |object| {
            object.unknown_keys(UnknownKeys::Refused);
            crate::schema_version(object)?;
            Some(object.required_objects("approvals", approval))
        });
        match all {
            Some(all) => Ok(Self { all }),
            None => Err(StateError::Malformed { file: path.to_string(), diagnostics }),
        }
    }

    /// Writes the file.
    pub fn save(&self, state: &AbsPath) -> Result<(), StateError> {
        let all: Vec<Value> = self.all.iter().map(to_json).collect();
        let value = json!({ "schema_version": 1, "approvals": all });
        write_file(&state.join(Self::FILE), format!("{value:#}\n").as_bytes())?;
        Ok(())
    }

    /// Returns all approvals, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Approval> {
        self.all.iter()
    }

    /// Returns the active approval for exactly this bundle.
    pub fn find(&self, key: ApprovalKey<'_>, now: Timestamp, session: &str) -> Option<&Approval> {
        self.all.iter().rev().find(|approval| {
            approval.origin == key.origin
                && approval.skill == key.skill
                && approval.bundle == *key.bundle
                && approval.is_active(now, session)
        })
    }

    /// Returns the latest approval of any version of a skill, active or not.
    pub fn last_of(&self, origin: &str, skill: &str) -> Option<&Approval> {
        self.all.iter().rev().find(|approval| approval.origin == origin && approval.skill == skill)
    }

    /// Adds an approval, replacing the one for the same bundle.
    pub fn add(&mut self, approval: Approval) {
        let id = approval.id();
        self.all.retain(|other| other.id() != id);
        self.all.push(approval);
    }

    /// Removes and returns the approvals for which `matches` returns true.
    pub fn remove(&mut self, matches: impl Fn(&Approval) -> bool) -> Vec<Approval> {
        let (removed, kept) = std::mem::take(&mut self.all).into_iter().partition(matches);
        self.all = kept;
        removed
    }
}

fn to_json(approval: &Approval) -> Value {
    let Grant { read, named, network, env, direct_writes, deletions, packages } = &approval.grant;
    let [read, named] =
        [read, named].map(|folders| folders.iter().map(ToString::to_string).collect::<Vec<_>>());
    let network = match network {
        Reach::Everything => json!("any"),
        Reach::Only(hosts) => json!(hosts.iter().map(ToString::to_string).collect::<Vec<_>>()),
    };
    let capabilities: Map<String, Value> = approval
        .capabilities
        .iter()
        .filter_map(|(kind, extent)| {
            let value = match extent {
                Extent::Undeclared => return None,
                Extent::Anything => json!("any"),
                Extent::Only(items) => json!(items),
            };
            Some((kind.as_str().to_owned(), value))
        })
        .collect();
    let mut value = json!({
        "id": approval.id(),
        "origin": approval.origin,
        "skill": approval.skill,
        "skill_id": approval.skill_id,
        "bundle_sha256": approval.bundle.to_string(),
        "read": read,
        "read_named": named,
        "network": network,
        "env": env,
        "direct_writes": direct_writes,
        "deletions": deletions,
        "capabilities": capabilities,
        "approved_at": approval.approved_at.to_string(),
    });
    if !packages.is_empty() {
        value["packages"] = packages.iter().map(PackageSet::to_json).collect();
    }
    if let Some(end) = approval.expires_at {
        value["expires_at"] = json!(end.to_string());
    }
    if let Some(session) = &approval.session {
        value["session"] = json!(session);
    }
    value
}

fn approval(object: &mut Object<'_, '_, '_>) -> Option<Approval> {
    object.unknown_keys(UnknownKeys::Refused);
    // Derived from the other fields; stored only for readers of the file.
    object.text("id");
    let origin = object.required("origin");
    let skill = object.required("skill");
    let skill_id = object.required("skill_id");
    let bundle = object.required("bundle_sha256");
    let bundle = bundle.and_then(|text| parsed(object, text, |text| text.parse().ok(), "a digest"));
    let read_folders = folders(object, "read");
    // Older versions did not write this key: all their folders were confirmed at a prompt.
    let named = folders(object, "read_named");
    let network = network(object);
    let env = object.texts("env").into_iter().map(|text| text.value).collect();
    let direct_writes = object.boolean("direct_writes");
    let deletions = object.boolean("deletions");
    let packages = match object.has("packages") {
        true => object.required_objects("packages", PackageSet::read).into_iter().collect(),
        false => BTreeSet::new(),
    };
    let declared = object.object("capabilities", capabilities);
    // The former name of the key. A file with both is rejected, because the old one then counts as unknown.
    let capabilities = match declared {
        Some(declared) => Some(declared),
        None => object.object("powers", capabilities),
    };
    let approved_at = object.required("approved_at").and_then(|text| time(object, text));
    let expires_at = match object.text("expires_at") {
        // An unreadable expiry must not become "never expires".
        Some(text) => Some(time(object, text)?),
        None => None,
    };
    let session = object.text("session").map(|text| text.value);
    let grant = Grant {
        read: read_folders?,
        named: named?,
        network: network?,
        env,
        direct_writes: direct_writes == Some(true),
        deletions: deletions == Some(true),
        packages,
    };
    Some(Approval {
        origin: origin?.value,
        skill: skill?.value,
        skill_id: skill_id?.value,
        bundle: bundle?,
        grant,
        capabilities: match capabilities {
            Some(declared) => declared?,
            None => CapabilityExtents::new(|_| Extent::Undeclared),
        },
        approved_at: approved_at?,
        expires_at,
        session,
    })
}

/// Reads granted folders. This program never writes one inside the workspace or the skill.
fn folders(object: &mut Object<'_, '_, '_>, key: &'static str) -> Option<BTreeSet<AnchoredFolder>> {
    let outside = |text: &str| {
        AnchoredFolder::parse(text)
            .filter(|folder| matches!(folder.anchor(), Anchor::Home | Anchor::Root))
    };
    let texts = object.texts(key);
    texts.into_iter().map(|text| parsed(object, text, outside, "an absolute path")).collect()
}

fn network(object: &mut Object<'_, '_, '_>) -> Option<Reach<Host>> {
    let Some(network) = object.one_or_many("network") else {
        let range = object.opening_brace();
        object.problem(Code::MissingKey, range, "`network` is missing; expected a list of hosts");
        return None;
    };
    match network {
        reader::OneOrMany::One(text) if text.value == "any" => Some(Reach::Everything),
        reader::OneOrMany::One(text) => {
            parsed(object, text, |_| None::<Reach<Host>>, "`any` or a list of hosts")
        }
        reader::OneOrMany::Many(texts) => {
            let hosts: Option<Vec<Host>> =
                texts.into_iter().map(|text| parsed(object, text, Host::parse, "a host")).collect();
            hosts.map(Reach::only)
        }
    }
}

/// Reads the declared capabilities. An unknown value must not become "no limit".
fn capabilities(object: &mut Object<'_, '_, '_>) -> Option<CapabilityExtents> {
    object.unknown_keys(UnknownKeys::Refused);
    let mut is_complete = true;
    let extents = CapabilityExtents::new(|kind| match object.one_or_many(kind.as_str()) {
        None => Extent::Undeclared,
        Some(reader::OneOrMany::One(text)) if text.value == "any" => Extent::Anything,
        Some(reader::OneOrMany::One(text)) => {
            is_complete = parsed(object, text, |_| None::<bool>, "`any` or a list").is_some();
            Extent::Undeclared
        }
        Some(reader::OneOrMany::Many(texts)) => {
            Extent::Only(texts.into_iter().map(|text| text.value).collect())
        }
    });
    is_complete.then_some(extents)
}

fn time(object: &mut Object<'_, '_, '_>, text: Text) -> Option<Timestamp> {
    parsed(object, text, |text| text.parse().ok(), "a timestamp such as `2026-01-31T12:00:00Z`")
}

/// Parses a string with `read`, or reports what was expected.
fn parsed<T>(
    object: &mut Object<'_, '_, '_>,
    text: Text,
    read: impl FnOnce(&str) -> Option<T>,
    expected: &str,
) -> Option<T> {
    let value = read(&text.value);
    if value.is_none() {
        let message = format!("`{}` is not {expected}", text.value);
        object.problem(Code::BadValue, text.range, message);
    }
    value
}
