//! The powers that a skill is seen to use.

use std::collections::{BTreeMap, BTreeSet};

use crate::artifact::Kind;
use crate::hosts::HostClass;
use crate::inspect::Inspected;
use crate::op::{Action, Op, Role};
use crate::paths::PathClass;

/// A kind of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Power {
    /// Files are read.
    Read,
    /// Files are written.
    Write,
    /// Hosts are reached.
    Network,
    /// Programs are started.
    Exec,
    /// Variables of the environment are read.
    Env,
    /// Credentials are read.
    Secrets,
    /// Something is made to run later.
    Persistence,
    /// What the agent is told in every session is changed.
    AgentMemory,
    /// Packages are installed.
    Install,
    /// Something cannot be looked into.
    Opaque,
}

impl Power {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::Read,
        Self::Write,
        Self::Network,
        Self::Exec,
        Self::Env,
        Self::Secrets,
        Self::Persistence,
        Self::AgentMemory,
        Self::Install,
        Self::Opaque,
    ];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Network => "network",
            Self::Exec => "exec",
            Self::Env => "env",
            Self::Secrets => "secrets",
            Self::Persistence => "persistence",
            Self::AgentMemory => "agent-memory",
            Self::Install => "install",
            Self::Opaque => "opaque",
        }
    }
}

/// What a skill is seen to use, each kind with what of it: hosts, programs, paths, names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// What its scripts use.
    pub code: BTreeMap<Power, BTreeSet<String>>,
    /// What its text has the agent use.
    pub told: BTreeMap<Power, BTreeSet<String>>,
}

impl Observed {
    /// Returns everything of a kind, used by scripts or told.
    pub fn of(&self, power: Power) -> BTreeSet<&str> {
        let both = [&self.code, &self.told];
        both.iter().filter_map(|map| map.get(&power)).flatten().map(String::as_str).collect()
    }
}

pub(crate) fn observed(files: &[Inspected<'_>]) -> Observed {
    let mut observed = Observed::default();
    for file in files {
        for op in &file.ops {
            if let Some((power, what)) = power(op) {
                let is_code = op.at.role == Role::Script;
                let map = if is_code { &mut observed.code } else { &mut observed.told };
                map.entry(power).or_default().insert(what);
            }
        }
        if matches!(file.kind, Kind::Native | Kind::Bytecode | Kind::Archive | Kind::Binary)
            || file.unread.is_some()
        {
            observed.code.entry(Power::Opaque).or_default().insert(file.file.path.to_owned());
        }
    }
    observed
}

fn power(op: &Op) -> Option<(Power, String)> {
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
            (Power::Network, host.to_owned())
        }
        Action::Run { program } if program.is_empty() => {
            (Power::Exec, "a program that is not written out".to_owned())
        }
        Action::Run { program } if is_builtin(program) => return None,
        Action::Run { program } => (Power::Exec, program.clone()),
        Action::Read(path) if PathClass::of(path).is_secret() => (Power::Secrets, path.clone()),
        Action::Read(path) => (Power::Read, place(path)?),
        Action::Write { path, .. } => match PathClass::of(path) {
            PathClass::Startup | PathClass::GitHook => (Power::Persistence, path.clone()),
            PathClass::AgentMemory | PathClass::AgentSettings => (Power::AgentMemory, path.clone()),
            _ => (Power::Write, place(path)?),
        },
        Action::Variable(Some(name)) => (Power::Env, name.clone()),
        Action::Variable(None) => (Power::Env, "all variables".to_owned()),
        Action::Install { by, what } => (Power::Install, format!("{by}: {what}")),
        Action::RemoteShell { .. } => (Power::Network, "a shell for somebody elsewhere".to_owned()),
        Action::RunDecoded { .. } | Action::Evaluate { .. } | Action::Disguise { .. } => {
            (Power::Exec, "code that is made while it runs".to_owned())
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
        PathClass::Other => Some("the workspace".to_owned()),
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
