//! What the user approved: a skill from one origin with one content, and how far it may go.
//!
//! An approval binds to the digest of the whole bundle, so whatever changes in a skill asks again. What the skill declares
//! is part of that content; what is kept here is the user's own word: hosts, variables, direct writes, deletions.

use std::collections::BTreeSet;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use skill::capabilities::{
    Anchor, CapabilityExtents, CapabilityKind, Extent, Host, Permission, Place, Reach,
};
use skill::json::{self as reader, Object, Text, Unknown};
use skill::{Code, Diagnostic, Digest};
use skill_fs::{AbsPath, FsError, read_text, write_file};

/// Why the approvals cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Files(#[from] FsError),
    /// The file is not what it should be. It is never taken for an empty one.
    #[error("{file} is malformed")]
    Malformed {
        /// The file.
        file: String,
        /// Every problem of it.
        diagnostics: Vec<Diagnostic>,
    },
}

/// What the user grants beyond what the sandbox allows by itself. Nothing in it follows from a declaration alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Files and folders beyond the skill and the workspace that may be read: absolute, or below the home.
    pub read: BTreeSet<Place>,
    /// Those of them that the user typed. The others were confirmed by an answer, which counts only while nothing in them has to be named.
    pub named: BTreeSet<Place>,
    /// Hosts that may be reached.
    pub network: Reach<Host>,
    /// Variables of the environment that may be read.
    pub env: BTreeSet<String>,
    /// Whether files of the workspace may be written directly, without a look at the changes first.
    pub direct_writes: bool,
    /// Whether files of the workspace may be deleted.
    pub deletions: bool,
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
        }
    }
}

impl Grant {
    /// Returns true if nothing is granted.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what is granted, one by one.
    pub fn permissions(&self) -> Vec<Permission> {
        CapabilityKind::ALL.into_iter().flat_map(|kind| self.of(kind)).collect()
    }

    /// Returns what is granted, one line each.
    pub fn lines(&self) -> Vec<String> {
        self.permissions().iter().map(ToString::to_string).collect()
    }

    fn of(&self, kind: CapabilityKind) -> Vec<Permission> {
        let permission = |what: &dyn fmt::Display| Permission::new(kind, what);
        match kind {
            CapabilityKind::Read => self.read.iter().map(|place| permission(place)).collect(),
            CapabilityKind::Write => {
                let switches = [(self.direct_writes, DIRECT_WRITES), (self.deletions, DELETIONS)];
                switches
                    .iter()
                    .filter(|(is_on, _)| *is_on)
                    .map(|(_, what)| permission(what))
                    .collect()
            }
            CapabilityKind::Network => match &self.network {
                Reach::Everything => vec![permission(&ANY_HOST)],
                Reach::Only(hosts) => hosts.iter().map(|host| permission(host)).collect(),
            },
            CapabilityKind::Env => self.env.iter().map(|name| permission(name)).collect(),
            // Programs and tools are decided by policy, call by call, and there are no secrets to hand out.
            CapabilityKind::Exec | CapabilityKind::Secrets | CapabilityKind::Tools => Vec::new(),
        }
    }
}

/// What is shown and logged for writes while a script runs, without a look at the changes first.
pub const DIRECT_WRITES: &str = "the workspace, directly";
/// What is shown and logged for files of the workspace that may be deleted.
pub const DELETIONS: &str = "deletions in the workspace";
/// What is shown and logged for a network without limits.
pub const ANY_HOST: &str = "any host";

/// One approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Where the skill comes from: the address of its repository, or its folder.
    pub origin: String,
    /// Its name.
    pub skill: String,
    /// Its id when it was approved.
    pub skill_id: String,
    /// The digest of everything that it is.
    pub bundle: Digest,
    /// What was granted.
    pub grant: Grant,
    /// What it declared, to show what is different in a later version.
    pub capabilities: CapabilityExtents,
    /// When.
    pub approved_at: Timestamp,
    /// Until when; absent means until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// The session that it holds for; absent means every one.
    pub session: Option<String>,
}

impl Approval {
    /// Returns what an approval is called by.
    pub fn id(&self) -> String {
        let session = self.session.as_deref().unwrap_or_default();
        let bundle = self.bundle.to_string();
        let parts = [self.origin.as_str(), &self.skill, &bundle, session];
        let all: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
        Digest::of(all.as_bytes()).short()[..12].to_owned()
    }

    /// Returns true if it holds at that moment, in that session.
    pub fn holds(&self, now: Timestamp, session: &str) -> bool {
        // One from the future was not made by this program, or by a clock that was wrong.
        let is_past = self.approved_at.duration_since(now) < SignedDuration::from_mins(5);
        is_past
            && self.expires_at.is_none_or(|end| now < end)
            && self.session.as_deref().is_none_or(|own| own == session)
    }
}

/// What an approval is of: one content from one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalKey<'a> {
    /// Where the skill comes from.
    pub origin: &'a str,
    /// Its name.
    pub skill: &'a str,
    /// The digest of everything that it is.
    pub bundle: &'a Digest,
}

/// Everything that the user approved, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    all: Vec<Approval>,
}

impl Approvals {
    /// The name of the file in the state folder.
    pub const FILE: &'static str = "approvals.json";

    /// Reads them. A file that cannot be understood is an error, not an empty list.
    pub fn load(state: &AbsPath) -> Result<Self, StateError> {
        let path = state.join(Self::FILE);
        // A link to nothing would look like no decision at all.
        if path.as_path().is_symlink() {
            return Err(FsError::NotRegular { path: path.to_string(), kind: "a link" }.into());
        }
        let Some(text) = read_text(&path)? else { return Ok(Self::default()) };
        let (all, diagnostics) = reader::read(path.as_str(), &text, |object| {
            object.unknown_keys(Unknown::Refused);
            crate::schema_version(object)?;
            Some(object.required_objects("approvals", approval))
        });
        match all {
            Some(all) => Ok(Self { all }),
            None => Err(StateError::Malformed { file: path.to_string(), diagnostics }),
        }
    }

    /// Writes them.
    pub fn save(&self, state: &AbsPath) -> Result<(), StateError> {
        let all: Vec<Value> = self.all.iter().map(to_json).collect();
        let value = json!({ "schema_version": 1, "approvals": all });
        write_file(&state.join(Self::FILE), format!("{value:#}\n").as_bytes())?;
        Ok(())
    }

    /// Returns all of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Approval> {
        self.all.iter()
    }

    /// Returns the one for exactly this content that holds.
    pub fn find(&self, key: ApprovalKey<'_>, now: Timestamp, session: &str) -> Option<&Approval> {
        self.all.iter().rev().find(|approval| {
            approval.origin == key.origin
                && approval.skill == key.skill
                && approval.bundle == *key.bundle
                && approval.holds(now, session)
        })
    }

    /// Returns the last one for any content of a skill, whether it holds or not.
    pub fn last_of(&self, origin: &str, skill: &str) -> Option<&Approval> {
        self.all.iter().rev().find(|approval| approval.origin == origin && approval.skill == skill)
    }

    /// Adds one; it replaces the one for the same content.
    pub fn add(&mut self, approval: Approval) {
        let id = approval.id();
        self.all.retain(|other| other.id() != id);
        self.all.push(approval);
    }

    /// Removes those for which `is_meant` holds, and returns them.
    pub fn remove(&mut self, is_meant: impl Fn(&Approval) -> bool) -> Vec<Approval> {
        let (gone, kept) = std::mem::take(&mut self.all).into_iter().partition(is_meant);
        self.all = kept;
        gone
    }
}

fn to_json(approval: &Approval) -> Value {
    let Grant { read, named, network, env, direct_writes, deletions } = &approval.grant;
    let [read, named] =
        [read, named].map(|places| places.iter().map(ToString::to_string).collect::<Vec<_>>());
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
    if let Some(end) = approval.expires_at {
        value["expires_at"] = json!(end.to_string());
    }
    if let Some(session) = &approval.session {
        value["session"] = json!(session);
    }
    value
}

fn approval(object: &mut Object<'_, '_, '_>) -> Option<Approval> {
    object.unknown_keys(Unknown::Refused);
    // It follows from the rest; it stands in the file for people.
    object.text("id");
    let origin = object.required("origin");
    let skill = object.required("skill");
    let skill_id = object.required("skill_id");
    let bundle = object.required("bundle_sha256");
    let bundle = bundle.and_then(|text| parsed(object, text, |text| text.parse().ok(), "a digest"));
    let read_places = places(object, "read");
    // Without it, as older versions wrote approvals, all of them were confirmed by an answer.
    let named = places(object, "read_named");
    let network = network(object);
    let env = object.texts("env").into_iter().map(|text| text.value).collect();
    let direct_writes = object.boolean("direct_writes");
    let deletions = object.boolean("deletions");
    let declared = object.object("capabilities", capabilities);
    // As it was called before; a file with both is refused, since the older one stays unread.
    let capabilities = match declared {
        Some(declared) => Some(declared),
        None => object.object("powers", capabilities),
    };
    let approved_at = object.required("approved_at").and_then(|text| time(object, text));
    let expires_at = match object.text("expires_at") {
        // An end that cannot be read must not become no end.
        Some(text) => Some(time(object, text)?),
        None => None,
    };
    let session = object.text("session").map(|text| text.value);
    let grant = Grant {
        read: read_places?,
        named: named?,
        network: network?,
        env,
        direct_writes: direct_writes == Some(true),
        deletions: deletions == Some(true),
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

/// Reads granted places. One in the workspace or without an anchor was not written by this program.
fn places(object: &mut Object<'_, '_, '_>, key: &'static str) -> Option<BTreeSet<Place>> {
    let outside = |text: &str| {
        Place::parse(text).filter(|place| matches!(place.anchor(), Anchor::Home | Anchor::Root))
    };
    let texts = object.texts(key);
    texts.into_iter().map(|text| parsed(object, text, outside, "an absolute path")).collect()
}

fn network(object: &mut Object<'_, '_, '_>) -> Option<Reach<Host>> {
    let Some(network) = object.one_or_many("network") else {
        let place = object.place();
        object.problem(Code::MissingKey, place, "`network` is missing; expected a list of hosts");
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

/// Reads what was declared. A word that is not known must not become no limit.
fn capabilities(object: &mut Object<'_, '_, '_>) -> Option<CapabilityExtents> {
    object.unknown_keys(Unknown::Refused);
    let mut is_whole = true;
    let extents = CapabilityExtents::new(|kind| match object.one_or_many(kind.as_str()) {
        None => Extent::Undeclared,
        Some(reader::OneOrMany::One(text)) if text.value == "any" => Extent::Anything,
        Some(reader::OneOrMany::One(text)) => {
            is_whole = parsed(object, text, |_| None::<bool>, "`any` or a list").is_some();
            Extent::Undeclared
        }
        Some(reader::OneOrMany::Many(texts)) => {
            Extent::Only(texts.into_iter().map(|text| text.value).collect())
        }
    });
    is_whole.then_some(extents)
}

fn time(object: &mut Object<'_, '_, '_>, text: Text) -> Option<Timestamp> {
    parsed(object, text, |text| text.parse().ok(), "a time")
}

/// Reads a text by `read`, or says what was expected.
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
