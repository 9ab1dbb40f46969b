//! Resources for clients from before the extension was final: the index of all skills (`skill://index.json`) and the
//! file list of a skill (`skill://<id>/_manifest`). Reading them does not activate a skill.

use openskills_runtime::uri::{segments, uri};
use openskills_runtime::{FileDigest, OpenSkillRuntime, Skill, one_line};
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents};
use serde::Serialize;
use skill::SKILL_FILE;

use super::{
    ListFilter, error_data, is_listed, locate, resource_not_found, served_path, server_meta,
};
use crate::mcp::payloads::{IndexedSkill, ManifestFile, SkillIndex, SkillManifest};

/// The URI of the index.
const INDEX: &str = "skill://index.json";
/// The path of a skill's file list, unless the skill has a file with this path.
const MANIFEST: &str = "_manifest";
const JSON: &str = "application/json";
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// Returns the description of the index.
pub(in crate::mcp) fn index() -> Resource {
    let mut index = Resource::new(INDEX, "index.json");
    index.description =
        Some("Index of all skills, for clients that discover skills through a resource".to_owned());
    index.mime_type = Some(JSON.to_owned());
    index
}

/// Reads the index or a file list; `None` if the URI is neither.
pub(in crate::mcp) fn read(
    runtime: &mut OpenSkillRuntime,
    filter: ListFilter,
    address: &str,
) -> Option<Result<ResourceContents, ErrorData>> {
    let is_index = address == INDEX && locate(runtime, address).is_err();
    let document =
        if is_index { index_document(runtime, filter) } else { manifest(runtime, address)? };
    Some(document.map(|document| {
        let contents = ResourceContents::text(document.json, address).with_mime_type(JSON);
        match document.server {
            Some(server) => contents.with_meta(server_meta(&server)),
            None => contents,
        }
    }))
}

/// An index or a file list.
struct Document {
    json: String,
    /// The MCP server that the listed skill comes from, if any.
    server: Option<String>,
}

fn document(payload: &impl Serialize, server: Option<String>) -> Result<Document, ErrorData> {
    let json = serde_json::to_string(payload)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(Document { json, server })
}

fn index_document(
    runtime: &mut OpenSkillRuntime,
    filter: ListFilter,
) -> Result<Document, ErrorData> {
    let (skills, _) = runtime.page_for_model(0, usize::MAX);
    let mut entries = Vec::new();
    for skill in skills {
        // A skill that cannot be read is left out. A request for that skill returns the error.
        let Ok((frontmatter, file)) = runtime.head(&skill.id) else { continue };
        if !is_listed(runtime, filter, &skill.id, &frontmatter)
            .map_err(|error| error_data(&error))?
        {
            continue;
        }
        entries.push(IndexedSkill {
            name: one_line(&skill.name),
            kind: "skill-md",
            description: one_line(&skill.description),
            url: uri(&skill.id, SKILL_FILE),
            digest: file.sha256,
            frontmatter,
            archives: [],
        });
    }
    document(&SkillIndex { schema: SCHEMA, skills: entries }, None)
}

fn manifest(runtime: &mut OpenSkillRuntime, address: &str) -> Option<Result<Document, ErrorData>> {
    let mut parts = segments(address)?;
    if parts.pop()? != MANIFEST {
        return None;
    }
    let name = parts.join("/");
    // A bare name stands for the same skill as in other commands.
    let id = runtime.skill(&name).map(|skill| skill.id.clone()).unwrap_or(name);
    let Ok((id, path)) = locate(runtime, &uri(&id, MANIFEST)) else {
        return Some(Err(resource_not_found(address)));
    };
    let is_own_file = path != MANIFEST
        || runtime.files(&id).is_ok_and(|files| files.iter().any(|file| file.path == MANIFEST));
    if is_own_file {
        return None;
    }
    let files = files(runtime, &id).map_err(|error| error_data(&error));
    Some(files.and_then(|(files, server)| document(&files, server)))
}

fn files(
    runtime: &OpenSkillRuntime,
    id: &str,
) -> Result<(SkillManifest, Option<String>), openskills_runtime::RuntimeError> {
    let contents = runtime.contents(id)?;
    let skill: &Skill = runtime.skill(id)?;
    let file = |file: &FileDigest| ManifestFile {
        path: served_path(skill, &file.path),
        size: file.size,
        hash: file.sha256.clone(),
    };
    let files = contents.files.iter().map(file).collect();
    let server = skill.served_by().map(|(server, _)| server.to_owned());
    Ok((SkillManifest { skill: one_line(&skill.name), files }, server))
}
