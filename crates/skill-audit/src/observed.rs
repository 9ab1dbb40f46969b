//! The capabilities that a skill uses, as observed by the audit.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use skill::capabilities::CapabilityKind;

use crate::artifact::FileKind;
use crate::contents::{Contents, contents};
use crate::evidence::{self, Familiarity};
use crate::hosts::HostClass;
use crate::inspect::InspectedFile;
use crate::op::{Action, Op, Role};
use crate::paths::PathClass;
use crate::programs::{package_name, registry};

/// Stands for any file in the workspace.
pub(crate) const WORKSPACE: &str = "the workspace";

const DYNAMIC_HOST: &str = "dynamic host";
const DYNAMIC_COMMAND: &str = "dynamic command";
const DYNAMIC_CODE: &str = "code built at run time";
const REMOTE_SHELL: &str = "remote shell";

/// How rule sets before version 4 spelled these items in stored reports. Without the translation, an update would seem
/// to gain them.
const FORMER_ITEMS: [(&str, &str); 4] = [
    ("a host that is not written out", DYNAMIC_HOST),
    ("a program that is not written out", DYNAMIC_COMMAND),
    ("code that is made while it runs", DYNAMIC_CODE),
    ("a shell for somebody elsewhere", REMOTE_SHELL),
];

/// Returns an item of a stored report as it is spelled now.
pub(crate) fn current_item(item: &str) -> String {
    if let Some((_, current)) = FORMER_ITEMS.iter().find(|(former, _)| *former == item) {
        return (*current).to_owned();
    }
    // Before version 5, packages were listed by the program that installs them, with their versions.
    let registry = item.split_once(": ").and_then(|(by, what)| Some((registry(by)?, what)));
    registry.map_or_else(
        || item.to_owned(),
        |(registry, what)| format!("{registry}: {}", package_name(registry, what)),
    )
}

/// A kind of observed use: a capability, or something that cannot be declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObservedKind {
    /// A capability, which a skill can declare.
    Capability(CapabilityKind),
    /// Something runs later, without the skill.
    Persistence,
    /// The agent's permanent instructions or settings change.
    AgentMemory,
    /// Package installs.
    Install,
    /// Content that cannot be analyzed.
    Opaque,
}

impl ObservedKind {
    /// Every kind, in display order.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [Self::Persistence, Self::AgentMemory, Self::Install, Self::Opaque];
        CapabilityKind::ALL.into_iter().map(Self::Capability).chain(others)
    }

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Capability(kind) => kind.as_str(),
            Self::Persistence => "persistence",
            Self::AgentMemory => "agent-memory",
            Self::Install => "install",
            Self::Opaque => "opaque",
        }
    }

    /// Parses the name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for ObservedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a skill uses: for each kind the hosts, programs, paths or names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// Used by scripts.
    pub scripts: BTreeMap<ObservedKind, BTreeSet<String>>,
    /// Used by the agent when it follows the skill's instructions.
    pub instructions: BTreeMap<ObservedKind, BTreeSet<String>>,
}

/// The changes of one kind between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedChange {
    /// The kind.
    pub kind: ObservedKind,
    /// Items that only the newer version uses.
    pub gained: Vec<String>,
    /// Items that only the older version used.
    pub lost: Vec<String>,
}

impl Observed {
    /// Returns everything of a kind, from scripts and instructions.
    pub fn of(&self, kind: ObservedKind) -> BTreeSet<&str> {
        let both = [&self.scripts, &self.instructions];
        both.iter().filter_map(|map| map.get(&kind)).flatten().map(String::as_str).collect()
    }

    /// Returns every kind in use, with its items.
    pub fn used(&self) -> impl Iterator<Item = (ObservedKind, BTreeSet<&str>)> {
        ObservedKind::all().map(|kind| (kind, self.of(kind))).filter(|(_, items)| !items.is_empty())
    }

    /// Returns what people want to know first, with a verb for each kind: `runs`, `installs`, `reaches`. Utilities that
    /// every system has, and what is only known at run time, are left to [`Self::of`].
    pub fn summary(&self) -> Vec<(&'static str, Vec<String>)> {
        let is_common = |item: &&str| evidence::familiarity(item) == Some(Familiarity::Common);
        let is_dynamic = |item: &&str| [DYNAMIC_HOST, DYNAMIC_COMMAND, DYNAMIC_CODE].contains(item);
        let of = |kind: ObservedKind| -> Vec<String> {
            let items = self.of(kind).into_iter().filter(|item| !is_dynamic(item));
            match kind {
                ObservedKind::Capability(CapabilityKind::Exec) => {
                    items.filter(|item| !is_common(item)).map(str::to_owned).collect()
                }
                ObservedKind::Install => items.map(|item| item.replacen(": ", " ", 1)).collect(),
                _ => items.map(str::to_owned).collect(),
            }
        };
        let all = [
            ("runs", of(ObservedKind::Capability(CapabilityKind::Exec))),
            ("installs", of(ObservedKind::Install)),
            ("reaches", of(ObservedKind::Capability(CapabilityKind::Network))),
        ];
        all.into_iter().filter(|(_, items)| !items.is_empty()).collect()
    }

    /// Returns the differences from an earlier version.
    pub fn changes_since(&self, previous: &Self) -> Vec<ObservedChange> {
        let only = |these: &BTreeSet<&str>, those: &BTreeSet<&str>| -> Vec<String> {
            these.difference(those).map(|item| (*item).to_owned()).collect()
        };
        let all = ObservedKind::all().map(|kind| {
            let (new, old) = (self.of(kind), previous.of(kind));
            ObservedChange { kind, gained: only(&new, &old), lost: only(&old, &new) }
        });
        all.filter(|change| !change.gained.is_empty() || !change.lost.is_empty()).collect()
    }
}

pub(crate) fn observed(files: &[InspectedFile<'_>]) -> Observed {
    let mut observed = Observed::default();
    let own: HashSet<&str> = files.iter().map(|file| name_of(file.file.path)).collect();
    for file in files {
        for op in file.ops.iter().filter(|op| op.is_certain || is_sensitive(&op.action)) {
            if let Some((kind, what)) = used(op, &own) {
                let is_code = op.location.role == Role::Script;
                let map = if is_code { &mut observed.scripts } else { &mut observed.instructions };
                map.entry(kind).or_default().insert(what);
            }
        }
        let is_opaque = match file.kind {
            FileKind::Native | FileKind::Bytecode | FileKind::Binary => true,
            FileKind::Archive => contents(file.file.bytes) != Contents::Assets,
            _ => false,
        };
        if is_opaque || file.incomplete.is_some() {
            observed
                .scripts
                .entry(ObservedKind::Opaque)
                .or_default()
                .insert(file.file.path.to_owned());
        }
    }
    observed
}

fn used(op: &Op, own: &HashSet<&str>) -> Option<(ObservedKind, String)> {
    use ObservedKind::Capability;

    Some(match &op.action {
        Action::Fetch(remote)
        | Action::Send { to: remote, .. }
        | Action::RunFetched { from: remote, .. } => {
            if remote.class == HostClass::Local {
                return None;
            }
            let host = if remote.host.is_empty() { DYNAMIC_HOST } else { &remote.host };
            (Capability(CapabilityKind::Network), host.to_owned())
        }
        Action::Run { program } if program.is_empty() => {
            (Capability(CapabilityKind::Exec), DYNAMIC_COMMAND.to_owned())
        }
        Action::Run { program } if !is_program(program, own) => return None,
        Action::Run { program } => (Capability(CapabilityKind::Exec), program.clone()),
        Action::Read(path) if PathClass::of(path).is_secret() => {
            (Capability(CapabilityKind::Secrets), path.clone())
        }
        Action::Read(path) => (Capability(CapabilityKind::Read), shown_path(path)?),
        Action::Write { path, .. } => match PathClass::of(path) {
            PathClass::Startup | PathClass::GitHook => (ObservedKind::Persistence, path.clone()),
            PathClass::AgentMemory | PathClass::AgentSettings => {
                (ObservedKind::AgentMemory, path.clone())
            }
            _ => (Capability(CapabilityKind::Write), shown_path(path)?),
        },
        Action::Variable(Some(name)) => (Capability(CapabilityKind::Env), name.clone()),
        Action::Variable(None) => (Capability(CapabilityKind::Env), "all variables".to_owned()),
        Action::Install { registry, what, .. } => {
            (ObservedKind::Install, format!("{registry}: {}", package_name(registry, what)))
        }
        Action::RemoteShell { .. } => {
            (Capability(CapabilityKind::Network), REMOTE_SHELL.to_owned())
        }
        Action::RunDecoded { .. } | Action::Evaluate { .. } | Action::Disguise { .. } => {
            (Capability(CapabilityKind::Exec), DYNAMIC_CODE.to_owned())
        }
        Action::Destroy { .. }
        | Action::Weaken { .. }
        | Action::Mine { .. }
        | Action::Save { .. }
        | Action::Execute { .. } => return None,
    })
}

/// Returns true for actions that count even if the text may not be a command: an update must not gain them unnoticed.
fn is_sensitive(action: &Action) -> bool {
    match action {
        Action::Read(path) | Action::Write { path, .. } => {
            PathClass::of(path).is_secret() || PathClass::of(path).is_persistent()
        }
        Action::Send { secrets, .. } => !secrets.is_empty(),
        Action::RunFetched { .. } | Action::RemoteShell { .. } => true,
        _ => false,
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns true for programs of the machine, as opposed to shell builtins, files of the skill, and scripts.
fn is_program(program: &str, own: &HashSet<&str>) -> bool {
    const SCRIPTS: [&str; 14] = [
        ".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".ps1", ".bat", ".cmd", ".txt",
        ".md", ".json",
    ];
    evidence::is_name(program)
        && evidence::familiarity(program) != Some(Familiarity::Builtin)
        && !own.contains(program)
        && !SCRIPTS.iter().any(|end| program.ends_with(end))
}

/// Returns a path for display. Single workspace files are not listed.
fn shown_path(path: &str) -> Option<String> {
    let path = path.trim();
    if path.is_empty() || path.contains(crate::hosts::UNKNOWN) {
        return None;
    }
    match PathClass::of(path) {
        PathClass::Temporary => None,
        PathClass::Other => Some(WORKSPACE.to_owned()),
        _ => Some(path.to_owned()),
    }
}
