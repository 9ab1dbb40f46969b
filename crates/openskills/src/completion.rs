//! Dynamic shell completion: names of skills, approvals and servers. Errors yield no completions.

use openskills_runtime::{
    Logging, OpenSkillRuntime, Places, RuntimeConfig, SkillServers, one_line,
};

/// Returns the names of all discovered skills.
pub(crate) fn skills() -> Vec<String> {
    let names = |runtime: &OpenSkillRuntime| {
        runtime.list_skills().iter().map(|skill| skill.name.to_string()).collect()
    };
    discovered().as_ref().map(names).map(sorted).unwrap_or_default()
}

/// Returns the names of disabled skills.
pub(crate) fn disabled_skills() -> Vec<String> {
    let names = |runtime: &OpenSkillRuntime| {
        let disabled = runtime.all_skills().iter().filter(|skill| !skill.is_enabled);
        disabled.map(|skill| skill.name.to_string()).collect()
    };
    discovered().as_ref().map(names).map(sorted).unwrap_or_default()
}

/// Returns the IDs of all approvals and the names of their skills.
pub(crate) fn approvals() -> Vec<String> {
    let all = unlogged_runtime().approvals().unwrap_or_default();
    sorted(all.iter().flat_map(|approval| [approval.id(), approval.skill.clone()]).collect())
}

/// Returns the names of skills installed by `openskills install`.
pub(crate) fn installed() -> Vec<String> {
    let all = unlogged_runtime().installed().unwrap_or_default();
    sorted(all.into_iter().map(|(_, installed, _)| installed.name).collect())
}

/// Returns the labels of the configured MCP servers.
pub(crate) fn servers() -> Vec<String> {
    let servers = Places::from_environment().and_then(|places| SkillServers::load(&places));
    let labels = servers.map(|servers| servers.iter().map(|server| server.label).collect());
    sorted(labels.unwrap_or_default())
}

/// Returns the URIs of the skills that are requested from servers one by one.
pub(crate) fn server_skills() -> Vec<String> {
    let servers = Places::from_environment().and_then(|places| SkillServers::load(&places));
    let uris = servers.map(|servers| servers.iter().flat_map(|server| server.skills).collect());
    sorted(uris.unwrap_or_default())
}

fn discovered() -> Option<OpenSkillRuntime> {
    let mut runtime = unlogged_runtime();
    runtime.discover_skills().ok()?;
    Some(runtime)
}

/// Returns a runtime that logs nothing, because completing a word is not an action.
fn unlogged_runtime() -> OpenSkillRuntime {
    let config = RuntimeConfig { logging: Logging::Off, ..RuntimeConfig::default() };
    OpenSkillRuntime::with_config(config)
}

/// Returns the names sorted and without duplicates, each on one line: a skill must not inject extra completions.
fn sorted(names: Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().map(|name| one_line(&name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
