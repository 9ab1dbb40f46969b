//! The capabilities that a skill uses, as observed by the audit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use skill::capabilities::CapabilityKind;

use crate::artifact::FileKind;
use crate::hosts::HostClass;
use crate::inspect::InspectedFile;
use crate::op::{Action, Op, Role};
use crate::paths::PathClass;

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
    let renamed = FORMER_ITEMS.iter().find(|(former, _)| *former == item);
    renamed.map_or(item, |(_, current)| current).to_owned()
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
    for file in files {
        for op in &file.ops {
            if let Some((kind, what)) = used(op) {
                let is_code = op.location.role == Role::Script;
                let map = if is_code { &mut observed.scripts } else { &mut observed.instructions };
                map.entry(kind).or_default().insert(what);
            }
        }
        if matches!(
            file.kind,
            FileKind::Native | FileKind::Bytecode | FileKind::Archive | FileKind::Binary
        ) || file.incomplete.is_some()
        {
            observed
                .scripts
                .entry(ObservedKind::Opaque)
                .or_default()
                .insert(file.file.path.to_owned());
        }
    }
    observed
}

fn used(op: &Op) -> Option<(ObservedKind, String)> {
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
        Action::Run { program } if is_builtin(program) => return None,
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
        Action::Install { by, what } => (ObservedKind::Install, format!("{by}: {what}")),
        Action::RemoteShell { .. } => {
            (Capability(CapabilityKind::Network), REMOTE_SHELL.to_owned())
        }
        Action::RunDecoded { .. } | Action::Evaluate { .. } | Action::Disguise { .. } => {
            (Capability(CapabilityKind::Exec), DYNAMIC_CODE.to_owned())
        }
        Action::Destroy { .. } | Action::Weaken { .. } | Action::Mine { .. } => return None,
    })
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

/// Returns true for shell builtins and common text and file utilities.
fn is_builtin(program: &str) -> bool {
    const COMMON: [&str; 64] = [
        "echo", "printf", "cd", "export", "set", "unset", "read", "test", "[", "[[", "true",
        "false", "exit", "return", "local", "declare", "source", ".", "shift", "trap", "wait",
        "eval", "exec", "alias", "cat", "ls", "mkdir", "rm", "cp", "mv", "touch", "grep", "sed",
        "awk", "head", "tail", "sort", "uniq", "wc", "cut", "tr", "tee", "xargs", "find",
        "dirname", "basename", "pwd", "date", "sleep", "chmod", "which", "command", "env",
        "printenv", "seq", "diff", "kill", "ps", "type", "let", "break", "continue", "pushd",
        "popd",
    ];
    COMMON.contains(&program)
}
