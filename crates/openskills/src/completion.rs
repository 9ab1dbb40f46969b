//! Names that can be typed, for shells that complete. What cannot be read completes nothing.

use openskills_runtime::{
    Logging, OpenSkillRuntime, Places, RuntimeConfig, SkillServers, one_line,
};

/// Returns the names of the skills that are found here.
pub(crate) fn skills() -> Vec<String> {
    let names = |runtime: &OpenSkillRuntime| {
        runtime.list_skills().iter().map(|skill| skill.name.to_string()).collect()
    };
    discovered().as_ref().map(names).map(sorted).unwrap_or_default()
}

/// Returns the names of the skills that are switched off.
pub(crate) fn disabled_skills() -> Vec<String> {
    let names = |runtime: &OpenSkillRuntime| {
        let off = runtime.all_skills().iter().filter(|skill| !skill.is_enabled);
        off.map(|skill| skill.name.to_string()).collect()
    };
    discovered().as_ref().map(names).map(sorted).unwrap_or_default()
}

/// Returns the ids of approvals, and the names of the skills that they are of.
pub(crate) fn approvals() -> Vec<String> {
    let all = quiet().approvals().unwrap_or_default();
    sorted(all.iter().flat_map(|approval| [approval.id(), approval.skill.clone()]).collect())
}

/// Returns the names of the skills that were installed.
pub(crate) fn installed() -> Vec<String> {
    let all = quiet().installed().unwrap_or_default();
    sorted(all.into_iter().map(|(_, installed, _)| installed.name).collect())
}

/// Returns the labels of the MCP servers whose skills are listed.
pub(crate) fn servers() -> Vec<String> {
    let servers = Places::from_environment().and_then(|places| SkillServers::load(&places));
    let labels = servers.map(|servers| servers.iter().map(|server| server.label).collect());
    sorted(labels.unwrap_or_default())
}

/// Returns the URIs of the skills that servers are asked for one by one.
pub(crate) fn server_skills() -> Vec<String> {
    let servers = Places::from_environment().and_then(|places| SkillServers::load(&places));
    let uris = servers.map(|servers| servers.iter().flat_map(|server| server.skills).collect());
    sorted(uris.unwrap_or_default())
}

fn discovered() -> Option<OpenSkillRuntime> {
    let mut runtime = quiet();
    runtime.discover_skills().ok()?;
    Some(runtime)
}

/// A runtime that leaves nothing in the log: to complete a word is to do nothing.
fn quiet() -> OpenSkillRuntime {
    let config = RuntimeConfig { logging: Logging::Off, ..RuntimeConfig::default() };
    OpenSkillRuntime::with_config(config)
}

/// A shell takes each line for a name: no skill brings another one's.
fn sorted(names: Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().map(|name| one_line(&name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
