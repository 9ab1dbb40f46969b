//! The forms in which clients read skills before the extension was final: one list of all (`skill://index.json`), and the files of one
//! (`skill://<id>/_manifest`). Reading them activates nothing.

use openskills_runtime::uri::{segments, uri};
use openskills_runtime::{FileDigest, OpenSkillRuntime, Skill, one_line};
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents};
use serde::Serialize;
use skill::SKILL_FILE;

use crate::mcp::payloads::{HashedFile, Index, IndexedSkill, SkillFiles};

use super::{Listed, failed, is_listed, located, no_resource, served_path, tagged};

/// The list of all skills.
const INDEX: &str = "skill://index.json";
/// The name under which the files of a skill are listed, unless it has such a file itself.
const MANIFEST: &str = "_manifest";
const JSON: &str = "application/json";
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// Returns the list of all skills as a resource.
pub(in crate::mcp) fn index() -> Resource {
    let mut index = Resource::new(INDEX, "index.json");
    index.description = Some("All skills, for clients that look for them by a resource".to_owned());
    index.mime_type = Some(JSON.to_owned());
    index
}

/// Reads one of the two; `None` if the address is neither.
pub(in crate::mcp) fn read(
    runtime: &mut OpenSkillRuntime,
    listed: Listed,
    address: &str,
) -> Option<Result<ResourceContents, ErrorData>> {
    let is_index = address == INDEX && located(runtime, address).is_err();
    let made = if is_index { all(runtime, listed) } else { manifest(runtime, address)? };
    Some(made.map(|made| {
        let contents = ResourceContents::text(made.json, address).with_mime_type(JSON);
        match made.server {
            Some(server) => contents.with_meta(tagged(&server)),
            None => contents,
        }
    }))
}

/// One of the two, and the MCP server that what it lists comes from.
struct Made {
    json: String,
    server: Option<String>,
}

fn made(payload: &impl Serialize, server: Option<String>) -> Result<Made, ErrorData> {
    let json = serde_json::to_string(payload)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(Made { json, server })
}

fn all(runtime: &mut OpenSkillRuntime, listed: Listed) -> Result<Made, ErrorData> {
    let (skills, _) = runtime.page_for_model(0, usize::MAX);
    let mut entries = Vec::new();
    for skill in skills {
        // One that cannot be read just now is not listed; asking for it says why.
        let Ok((frontmatter, file)) = runtime.head(&skill.id) else { continue };
        if !is_listed(runtime, listed, &skill.id, &frontmatter).map_err(|error| failed(&error))? {
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
    made(&Index { schema: SCHEMA, skills: entries }, None)
}

fn manifest(runtime: &mut OpenSkillRuntime, address: &str) -> Option<Result<Made, ErrorData>> {
    let mut parts = segments(address)?;
    if parts.pop()? != MANIFEST {
        return None;
    }
    let name = parts.join("/");
    // A bare name means the skill that it means everywhere.
    let id = runtime.skill(&name).map(|skill| skill.id.clone()).unwrap_or(name);
    let Ok((id, path)) = located(runtime, &uri(&id, MANIFEST)) else {
        return Some(Err(no_resource(address)));
    };
    let is_its_own = path != MANIFEST
        || runtime.files(&id).is_ok_and(|files| files.iter().any(|file| file.path == MANIFEST));
    if is_its_own {
        return None;
    }
    let files = files(runtime, &id).map_err(|error| failed(&error));
    Some(files.and_then(|(files, server)| made(&files, server)))
}

fn files(
    runtime: &OpenSkillRuntime,
    id: &str,
) -> Result<(SkillFiles, Option<String>), openskills_runtime::RuntimeError> {
    let contents = runtime.contents(id)?;
    let skill: &Skill = runtime.skill(id)?;
    let file = |file: &FileDigest| HashedFile {
        path: served_path(skill, &file.path),
        size: file.size,
        hash: file.sha256.clone(),
    };
    let files = contents.files.iter().map(file).collect();
    let server = skill.served_by().map(|(server, _)| server.to_owned());
    Ok((SkillFiles { skill: one_line(&skill.name), files }, server))
}
