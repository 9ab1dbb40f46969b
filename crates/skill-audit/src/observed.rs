//! The capabilities that a skill is seen to use.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use skill::capabilities::CapabilityKind;

use crate::artifact::Kind;
use crate::hosts::HostClass;
use crate::inspect::Inspected;
use crate::op::{Action, Op, Role};
use crate::paths::PathClass;

/// What is shown for a file of the workspace.
pub(crate) const WORKSPACE: &str = "the workspace";

/// What a skill can be seen to use: a capability, or something that no declaration covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObservedKind {
    /// A capability, which it can declare.
    Capability(CapabilityKind),
    /// Something is made to run later.
    Persistence,
    /// What the agent is told in every session is changed.
    AgentMemory,
    /// Packages are installed.
    Install,
    /// Something cannot be looked into.
    Opaque,
}

impl ObservedKind {
    /// Every kind, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [Self::Persistence, Self::AgentMemory, Self::Install, Self::Opaque];
        CapabilityKind::ALL.into_iter().map(Self::Capability).chain(others)
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Capability(kind) => kind.as_str(),
            Self::Persistence => "persistence",
            Self::AgentMemory => "agent-memory",
            Self::Install => "install",
            Self::Opaque => "opaque",
        }
    }

    /// Reads the word for it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for ObservedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a skill is seen to use, each kind with what of it: hosts, programs, paths, names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// What its scripts use.
    pub code: BTreeMap<ObservedKind, BTreeSet<String>>,
    /// What its text has the agent use.
    pub told: BTreeMap<ObservedKind, BTreeSet<String>>,
}

/// What is different about one kind between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedChange {
    /// The kind.
    pub kind: ObservedKind,
    /// What is new.
    pub gained: Vec<String>,
    /// What is gone.
    pub lost: Vec<String>,
}

impl Observed {
    /// Returns everything of a kind, used by scripts or told.
    pub fn of(&self, kind: ObservedKind) -> BTreeSet<&str> {
        let both = [&self.code, &self.told];
        both.iter().filter_map(|map| map.get(&kind)).flatten().map(String::as_str).collect()
    }

    /// Returns every kind of which something is used, with all of it.
    pub fn used(&self) -> impl Iterator<Item = (ObservedKind, BTreeSet<&str>)> {
        ObservedKind::all().map(|kind| (kind, self.of(kind))).filter(|(_, items)| !items.is_empty())
    }

    /// Returns what is used here and was not in `before`, and the other way around.
    pub fn changes_since(&self, before: &Self) -> Vec<ObservedChange> {
        let only = |these: &BTreeSet<&str>, those: &BTreeSet<&str>| -> Vec<String> {
            these.difference(those).map(|item| (*item).to_owned()).collect()
        };
        let all = ObservedKind::all().map(|kind| {
            let (new, old) = (self.of(kind), before.of(kind));
            ObservedChange { kind, gained: only(&new, &old), lost: only(&old, &new) }
        });
        all.filter(|change| !change.gained.is_empty() || !change.lost.is_empty()).collect()
    }
}

pub(crate) fn observed(files: &[Inspected<'_>]) -> Observed {
    let mut observed = Observed::default();
    for file in files {
        for op in &file.ops {
            if let Some((kind, what)) = used(op) {
                let is_code = op.at.role == Role::Script;
                let map = if is_code { &mut observed.code } else { &mut observed.told };
                map.entry(kind).or_default().insert(what);
            }
        }
        if matches!(file.kind, Kind::Native | Kind::Bytecode | Kind::Archive | Kind::Binary)
            || file.unread.is_some()
        {
            observed
                .code
                .entry(ObservedKind::Opaque)
                .or_default()
                .insert(file.file.path.to_owned());
        }
    }
    observed
}

fn used(op: &Op) -> Option<(ObservedKind, String)> {
    use ObservedKind::Capability;

    Some(match &op.does {
        Action::Fetch(remote)
        | Action::Send { to: remote, .. }
        | Action::RunFetched { from: remote, .. } => {
            if remote.class == HostClass::Local {
                return None;
            }
            let host = if remote.host.is_empty() {
                "a host that is not written out"
            } else {
                &remote.host
            };
            (Capability(CapabilityKind::Network), host.to_owned())
        }
        Action::Run { program } if program.is_empty() => {
            (Capability(CapabilityKind::Exec), "a program that is not written out".to_owned())
        }
        Action::Run { program } if is_builtin(program) => return None,
        Action::Run { program } => (Capability(CapabilityKind::Exec), program.clone()),
        Action::Read(path) if PathClass::of(path).is_secret() => {
            (Capability(CapabilityKind::Secrets), path.clone())
        }
        Action::Read(path) => (Capability(CapabilityKind::Read), place(path)?),
        Action::Write { path, .. } => match PathClass::of(path) {
            PathClass::Startup | PathClass::GitHook => (ObservedKind::Persistence, path.clone()),
            PathClass::AgentMemory | PathClass::AgentSettings => {
                (ObservedKind::AgentMemory, path.clone())
            }
            _ => (Capability(CapabilityKind::Write), place(path)?),
        },
        Action::Variable(Some(name)) => (Capability(CapabilityKind::Env), name.clone()),
        Action::Variable(None) => (Capability(CapabilityKind::Env), "all variables".to_owned()),
        Action::Install { by, what } => (ObservedKind::Install, format!("{by}: {what}")),
        Action::RemoteShell { .. } => {
            (Capability(CapabilityKind::Network), "a shell for somebody elsewhere".to_owned())
        }
        Action::RunDecoded { .. } | Action::Evaluate { .. } | Action::Disguise { .. } => {
            (Capability(CapabilityKind::Exec), "code that is made while it runs".to_owned())
        }
        Action::Destroy { .. } | Action::Weaken { .. } | Action::Mine { .. } => return None,
    })
}

/// Where a path is, as people are told: single files of the workspace are not listed.
fn place(path: &str) -> Option<String> {
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

/// Words of the shell, and what every system has to handle text.
fn is_builtin(program: &str) -> bool {
    const USUAL: [&str; 64] = [
        "echo", "printf", "cd", "export", "set", "unset", "read", "test", "[", "[[", "true",
        "false", "exit", "return", "local", "declare", "source", ".", "shift", "trap", "wait",
        "eval", "exec", "alias", "cat", "ls", "mkdir", "rm", "cp", "mv", "touch", "grep", "sed",
        "awk", "head", "tail", "sort", "uniq", "wc", "cut", "tr", "tee", "xargs", "find",
        "dirname", "basename", "pwd", "date", "sleep", "chmod", "which", "command", "env",
        "printenv", "seq", "diff", "kill", "ps", "type", "let", "break", "continue", "pushd",
        "popd",
    ];
    USUAL.contains(&program)
}
