//! The capabilities that a skill declares, collected from all its files.

use super::{Anchor, AnchoredFolder, Capabilities, Host, Reach, ToolLimits};
use crate::programs::{RuleMeaning, meaning};
use crate::{
    AllowedTools, DeclaredCapabilities, DeclaredFilesystem, DeclaredList, Frontmatter, SideEffect,
    ToolRule,
};

/// What a skill declares. A kind that is not declared is shown to people as "not declared", and gets only the minimum
/// grant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// Files the skill reads.
    pub read: Option<Reach<AnchoredFolder>>,
    /// Files the skill writes.
    pub write: Option<Reach<AnchoredFolder>>,
    /// Hosts the skill contacts.
    pub network: Option<Reach<Host>>,
    /// Programs the skill starts.
    pub exec: Option<Reach<String>>,
    /// Environment variables the skill reads.
    pub env: Option<Reach<String>>,
    /// Services whose secrets the skill uses.
    pub secrets: Option<Reach<String>>,
    /// Tools the skill calls.
    pub tools: ToolLimits,
}

/// Tools whose effect on the machine is known.
const WRITING: &[&str] = &["Write", "Edit", "MultiEdit", "NotebookEdit"];
const SHELLS: &[&str] = &["Bash", "Terminal", "PowerShell"];
const READING: &[&str] = &["Read", "Grep", "Glob", "LS"];
const WEB: &[&str] = &["WebFetch", "Fetch", "WebSearch"];

impl Declared {
    /// Collects everything a skill declares: `allowed-tools`, `disallowed-tools`, `tools`, `side_effects` and the
    /// `capabilities` of its manifest. Multiple declarations narrow each other.
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

    /// Interprets a list of tools from the host's registry. A tool that openskills does not know (from a package, or
    /// the host's own) implies nothing about files, programs or hosts; in that case the list restricts only tool
    /// calls.
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

    /// Derives reading, writing, programs and hosts from a list of tools.
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
            // Naming a shell does not say what it accesses.
            network: Some(hosts(rules())).filter(|hosts| !shell || !hosts.is_nothing()),
            exec: Some(programs(rules())),
            tools: ToolLimits::allowing(tools),
            ..Self::default()
        }
    }

    fn of_denied_tools(tools: &AllowedTools) -> Self {
        Self { tools: ToolLimits::denying(tools), ..Self::default() }
    }

    /// Derives limits from `side_effects`. Reading is not a side effect; an effect that is not listed is not allowed.
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

    /// Converts the `capabilities` of a manifest.
    pub fn of_manifest(manifest: &DeclaredCapabilities) -> Self {
        let names = |list: &DeclaredList| match list {
            DeclaredList::None => Reach::nothing(),
            DeclaredList::Only(names) => Reach::only(names.iter().cloned()),
        };
        let network = manifest.network.as_ref().map(|list| match list {
            DeclaredList::None => Reach::nothing(),
            // An entry that is not a valid host is dropped, so it matches no host.
            DeclaredList::Only(hosts) => {
                Reach::only(hosts.iter().filter_map(|host| Host::parse(host)))
            }
        });
        let files = manifest.filesystem.as_ref().map(|filesystem| match filesystem {
            DeclaredFilesystem::Repo => Reach::only([AnchoredFolder::at(Anchor::Workspace)]),
            DeclaredFilesystem::HomeConfig => Reach::only([AnchoredFolder::at(Anchor::HomeConfig)]),
            DeclaredFilesystem::Paths(paths) => {
                Reach::only(paths.iter().filter_map(|path| AnchoredFolder::parse(path)))
            }
        });
        Self {
            // A skill can always read itself.
            read: files.as_ref().map(|files| match files {
                Reach::Everything => Reach::Everything,
                Reach::Only(places) => {
                    Reach::only(places.iter().cloned().chain([AnchoredFolder::at(Anchor::Skill)]))
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

    /// Combines two declarations. A kind that only one of them declares is taken from that one.
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

    /// Returns the maximum that is granted without asking the user: the declared capabilities; if nothing is declared,
    /// only reading the skill and working in the workspace.
    pub fn ceiling(&self) -> Capabilities {
        let own = || {
            Reach::only([AnchoredFolder::at(Anchor::Skill), AnchoredFolder::at(Anchor::Workspace)])
        };
        let work = || Reach::only([AnchoredFolder::at(Anchor::Workspace)]);
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

/// Returns the programs named by rules about shell commands. A rule that permits arbitrary code permits any program.
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

/// Returns the hosts that tools may contact. A rule with a domain is limited to that domain.
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
