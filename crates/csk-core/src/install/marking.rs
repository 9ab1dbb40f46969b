//! What the marker of an installed skill says.

use skill::Marker;

use super::{Prepared, Target};
use crate::Declaration;

/// Returns the marker of a skill that is installed into `target` at `commit`.
pub(super) fn marker_of(
    target: &Target,
    declaration: &Declaration,
    commit: &str,
    prepared: &Prepared,
    now: &str,
) -> Marker {
    let manifest = prepared.manifest.as_ref();
    let runtime = prepared.runtime.as_ref();
    let commands = manifest.iter().flat_map(|manifest| &manifest.commands);
    let roots = manifest.iter().flat_map(|manifest| &manifest.runtime_roots);
    Marker {
        name: declaration.name.clone(),
        source: declaration.source.clone(),
        git: declaration.git.clone(),
        ref_kind: declaration.reference.kind,
        reference: declaration.reference.name.clone(),
        commit: commit.to_owned(),
        content_sha256: prepared.content,
        context_sha256: Some(prepared.context),
        bundle_sha256: Some(prepared.bundle),
        locale: target.locale.clone(),
        agents: target.agent_ids(),
        commands: commands.map(|command| command.name.to_string()).collect(),
        command_paths: runtime.map(|runtime| runtime.commands.clone()).unwrap_or_default(),
        runtime_sha256: prepared.list.as_ref().map(|list| list.digest),
        runtime_roots: roots.map(ToString::to_string).collect(),
        skill_schema_version: manifest.map(|manifest| manifest.schema_version),
        capabilities: manifest.and_then(|manifest| manifest.capabilities.clone()),
        installed_at: now.to_owned(),
        files: prepared.files.iter().map(|file| file.path.to_string()).collect(),
    }
}
