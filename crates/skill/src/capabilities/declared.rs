//! What a skill says of itself, in all its files, as capabilities.

use super::{Anchor, Capabilities, Host, Place, Reach, ToolLimits};
use crate::programs::{RuleMeaning, meaning};
use crate::{
    AllowedTools, DeclaredCapabilities, DeclaredFilesystem, DeclaredList, Frontmatter, SideEffect,
    ToolRule,
};

/// What a skill declares. What it does not declare is unknown: shown to people as "may do anything", and granted as
/// little as can be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// Files it reads.
    pub read: Option<Reach<Place>>,
    /// Files it writes.
    pub write: Option<Reach<Place>>,
    /// Hosts it reaches.
    pub network: Option<Reach<Host>>,
    /// Programs it starts.
    pub exec: Option<Reach<String>>,
    /// Variables it reads.
    pub env: Option<Reach<String>>,
    /// Services whose secrets it uses.
    pub secrets: Option<Reach<String>>,
    /// Tools it calls.
    pub tools: ToolLimits,
}

/// Tools whose meaning for the machine is known.
const WRITING: &[&str] = &["Write", "Edit", "MultiEdit", "NotebookEdit"];
const SHELLS: &[&str] = &["Bash", "Terminal", "PowerShell"];
const READING: &[&str] = &["Read", "Grep", "Glob", "LS"];
const WEB: &[&str] = &["WebFetch", "Fetch", "WebSearch"];

impl Declared {
    /// Reads everything that a skill declares: `allowed-tools`, `disallowed-tools`, `tools`, `side_effects`, and the
    /// `capabilities` of its manifest. Several declarations narrow each other.
    pub fn of(frontmatter: &Frontmatter, manifest: Option<&DeclaredCapabilities>) -> Self {
        let tools = frontmatter.corteza.tools.as_ref();
        let parts = [
            frontmatter.allowed_tools.as_ref().map(Self::of_allowed_tools),
            tools.and_then(|tools| tools.allow.as_ref()).map(Self::of_host_tools),
            tools.map(|tools| Self::of_denied_tools(&tools.deny)),
            frontmatter.claude.disallowed_tools.as_ref().map(Self::of_denied_tools),
            frontmatter.corteza.side_effects.as_deref().map(Self::of_side_effects),
            manifest.map(Self::of_manifest),
        ];
        parts.into_iter().flatten().fold(Self::default(), |all, part| all.meet(&part))
    }

    /// What a list of tools of the host's registry means. One that nobody here knows, of a package or of the host's own, says nothing about files, programs and hosts; then only calls are held to the
    /// list.
    fn of_host_tools(tools: &AllowedTools) -> Self {
        let is_known = |rule: &ToolRule| match rule {
            ToolRule::Rule { tool, .. } => {
                [WRITING, SHELLS, READING, WEB].concat().contains(&tool.as_str())
            }
            ToolRule::Malformed(_) => true,
        };
        if tools.rules.iter().all(is_known) {
            return Self::of_allowed_tools(tools);
        }
        Self { tools: ToolLimits::allowing(tools), ..Self::default() }
    }

    /// What a list of tools means for the machine below: reading, writing, programs and hosts.
    fn of_allowed_tools(tools: &AllowedTools) -> Self {
        let rules = || {
            tools.rules.iter().filter_map(|rule| match rule {
                ToolRule::Rule { tool, specifier } => Some((tool.as_str(), specifier.as_deref())),
                ToolRule::Malformed(_) => None,
            })
        };
        let has = |names: &[&str]| rules().any(|(tool, _)| names.contains(&tool));
        let (writes, shell, reads) = (has(WRITING), has(SHELLS), has(READING));
        Self {
            read: Some(Reach::all_if(reads || writes || shell)),
            write: Some(Reach::all_if(writes || shell)),
            // What a shell reaches is not said by naming it.
            network: Some(hosts(rules())).filter(|hosts| !shell || !hosts.is_nothing()),
            exec: Some(programs(rules())),
            tools: ToolLimits::allowing(tools),
            ..Self::default()
        }
    }

    fn of_denied_tools(tools: &AllowedTools) -> Self {
        Self { tools: ToolLimits::denying(tools), ..Self::default() }
    }

    /// Reading is no effect; what is not named does not happen.
    fn of_side_effects(effects: &[SideEffect]) -> Self {
        let has = |effect: SideEffect| effects.contains(&effect);
        let writes = has(SideEffect::Filesystem) || has(SideEffect::External);
        let talks = has(SideEffect::Network) || has(SideEffect::External);
        Self {
            write: Some(Reach::all_if(writes)),
            network: Some(Reach::all_if(talks)),
            ..Self::default()
        }
    }

    /// What the `capabilities` of a manifest mean.
    pub fn of_manifest(manifest: &DeclaredCapabilities) -> Self {
        let names = |list: &DeclaredList| match list {
            DeclaredList::None => Reach::nothing(),
            DeclaredList::Only(names) => Reach::only(names.iter().cloned()),
        };
        let network = manifest.network.as_ref().map(|list| match list {
            DeclaredList::None => Reach::nothing(),
            // What is no host reaches none.
            DeclaredList::Only(hosts) => {
                Reach::only(hosts.iter().filter_map(|host| Host::parse(host)))
            }
        });
        let files = manifest.filesystem.as_ref().map(|filesystem| match filesystem {
            DeclaredFilesystem::Repo => Reach::only([Place::at(Anchor::Workspace)]),
            DeclaredFilesystem::HomeConfig => Reach::only([Place::at(Anchor::HomeConfig)]),
            DeclaredFilesystem::Paths(paths) => {
                Reach::only(paths.iter().filter_map(|path| Place::parse(path)))
            }
        });
        Self {
            // A skill can always read itself.
            read: files.as_ref().map(|files| match files {
                Reach::Everything => Reach::Everything,
                Reach::Only(places) => {
                    Reach::only(places.iter().cloned().chain([Place::at(Anchor::Skill)]))
                }
            }),
            write: files,
            network,
            exec: manifest.exec.as_ref().map(names),
            env: manifest.env_read.as_ref().map(|names| Reach::only(names.iter().cloned())),
            secrets: manifest.secrets.as_ref().map(names),
            tools: ToolLimits::default(),
        }
    }

    /// Returns what both say. What only one of them says holds.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        fn both<T: super::Cover>(
            one: Option<&Reach<T>>,
            other: Option<&Reach<T>>,
        ) -> Option<Reach<T>> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one.meet(other)),
                (known, None) | (None, known) => known.cloned(),
            }
        }
        Self {
            read: both(self.read.as_ref(), other.read.as_ref()),
            write: both(self.write.as_ref(), other.write.as_ref()),
            network: both(self.network.as_ref(), other.network.as_ref()),
            exec: both(self.exec.as_ref(), other.exec.as_ref()),
            env: both(self.env.as_ref(), other.env.as_ref()),
            secrets: both(self.secrets.as_ref(), other.secrets.as_ref()),
            tools: self.tools.meet(&other.tools),
        }
    }

    /// Returns what is granted at most without a word of the user: what is declared; where nothing is, reading the skill
    /// and working in the workspace, and no more.
    pub fn ceiling(&self) -> Capabilities {
        let own = || Reach::only([Place::at(Anchor::Skill), Place::at(Anchor::Workspace)]);
        let work = || Reach::only([Place::at(Anchor::Workspace)]);
        Capabilities {
            read: self.read.clone().unwrap_or_else(own),
            write: self.write.clone().unwrap_or_else(work),
            network: self.network.clone().unwrap_or_else(Reach::nothing),
            exec: self.exec.clone().unwrap_or_else(Reach::nothing),
            env: self.env.clone().unwrap_or_else(Reach::nothing),
            secrets: self.secrets.clone().unwrap_or_else(Reach::nothing),
            tools: self.tools.clone(),
        }
    }
}

/// Returns the programs that rules about shell commands name. A rule that means arbitrary code means any program.
fn programs<'a>(rules: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Reach<String> {
    let mut only = Vec::new();
    for (_, specifier) in rules.filter(|(tool, _)| SHELLS.contains(tool)) {
        match meaning(specifier) {
            RuleMeaning::AnyCode(_) => return Reach::Everything,
            RuleMeaning::Program(name) => only.push(name),
        }
    }
    Reach::only(only)
}

/// Returns the hosts that tools may reach. One that is asked for by a domain reaches that domain.
fn hosts<'a>(rules: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Reach<Host> {
    let mut only = Vec::new();
    for (tool, specifier) in rules {
        match (tool, specifier) {
            ("WebFetch" | "Fetch", Some(specifier)) => {
                let host = specifier.strip_prefix("domain:").unwrap_or(specifier);
                only.extend(Host::parse(host));
            }
            ("WebFetch" | "Fetch" | "WebSearch", _) => return Reach::Everything,
            _ => {}
        }
    }
    Reach::only(only)
}
