//! Names that can be typed, for shells that complete. What cannot be read completes nothing.

use openskills_runtime::{Logging, OpenSkillRuntime, RuntimeConfig};

/// Returns the names of the skills that are found here.
pub(crate) fn skills() -> Vec<String> {
    let config = RuntimeConfig { logging: Logging::Off, ..RuntimeConfig::default() };
    let mut runtime = OpenSkillRuntime::with_config(config);
    if runtime.discover_skills().is_err() {
        return Vec::new();
    }
    let mut names: Vec<String> =
        runtime.list_skills().iter().map(|skill| skill.name.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
