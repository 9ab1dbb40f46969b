//! Skills and their files as resources, and as the extension `io.modelcontextprotocol/skills` lists them.

pub(super) mod older;

use std::collections::BTreeMap;
use std::sync::Arc;

use openskills_runtime::uri::{parse, uri};
use openskills_runtime::{
    ApprovalState, Contents, Depth, FileDigest, Invoker, OpenSkillRuntime, ReadOptions,
    RuntimeError, Skill, beyond_standard, one_line,
};
use rmcp::ErrorData;
use rmcp::model::{MetaObject, Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;
use serde_json::{Map, Value, json};
use skill::SKILL_FILE;
use skill_fs::Kind as FileKind;

use super::error_text::for_client;
use super::payloads::{Child, Children, Complete, ListedFile, ListedSkill, OneSkill, Skills};
use super::{Listed, Served};

/// How many skills a page of a list has, and how many files.
pub(super) const PAGE: usize = 50;
/// How long an answer may be kept.
const FRESH_MS: u64 = 5_000;
/// The largest file that is read.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Returns one page of a list, and where the next one begins. Somebody else's cursor is refused.
pub(super) fn page<T>(
    all: Vec<T>,
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = place(cursor)?;
    if start > all.len() {
        return Err(no_cursor());
    }
    let end = start.saturating_add(size).min(all.len());
    let next = (end < all.len()).then(|| end.to_string());
    Ok((all.into_iter().skip(start).take(end - start).collect(), next))
}

/// Returns the place in a list that a cursor means.
fn place(cursor: Option<&str>) -> Result<usize, ErrorData> {
    // Some clients send an empty cursor for the first page.
    cursor.filter(|cursor| !cursor.is_empty()).map_or(Ok(0), str::parse).map_err(|_| no_cursor())
}

/// Returns what an argument of the template may be: an id, or a path in the skill of an id.
pub(super) fn completed(
    runtime: &OpenSkillRuntime,
    argument: &str,
    start: &str,
    id: Option<&str>,
) -> Vec<String> {
    let all: Vec<String> = match (argument, id) {
        ("id", _) => {
            let (skills, _) = runtime.page_for_model(0, usize::MAX);
            skills.iter().map(|skill| skill.id.clone()).collect()
        }
        ("path", Some(id)) => {
            let Ok((id, _)) = located(runtime, &uri(id, "")) else { return Vec::new() };
            let (Ok(skill), Ok(files)) = (runtime.skill(&id), runtime.files(&id)) else {
                return Vec::new();
            };
            files.iter().map(|file| served_path(skill, &file.path)).collect()
        }
        _ => Vec::new(),
    };
    all.into_iter().filter(|one| one.contains(start)).collect()
}

/// Returns one page of the skills that a model may know of.
pub(super) fn page_for_model(
    runtime: &OpenSkillRuntime,
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<Arc<Skill>>, Option<String>), ErrorData> {
    let start = place(cursor)?;
    if start > runtime.all_skills().len() {
        return Err(no_cursor());
    }
    let (skills, next) = runtime.page_for_model(start, size);
    Ok((skills, next.map(|next| next.to_string())))
}

/// Refuses the cursor of a list that has one page.
pub(super) fn only_page(cursor: Option<&str>) -> Result<(), ErrorData> {
    if cursor.is_none_or(str::is_empty) { Ok(()) } else { Err(no_cursor()) }
}

fn no_cursor() -> ErrorData {
    ErrorData::invalid_params("unknown cursor", None)
}

/// Returns every skill's SKILL.md as a resource.
pub(super) fn resources(skills: &[Arc<Skill>]) -> Vec<Resource> {
    let resource = |skill: &Arc<Skill>| {
        let mut resource = Resource::new(uri(&skill.id, SKILL_FILE), one_line(&skill.name));
        resource.description = Some(one_line(&skill.description));
        resource.mime_type = Some(MARKDOWN.to_owned());
        resource
    };
    skills.iter().map(resource).collect()
}

/// Returns how the URI of any file of a skill is made.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("skill://{+id}/{+path}", "skill-file")
            .with_description("A file of a skill, by the skill's id and its path in it"),
    ]
}

const MARKDOWN: &str = "text/markdown";
const FOLDER: &str = "inode/directory";

/// Returns what kind of file a name says it is.
pub(super) fn mime_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "md" => MARKDOWN,
        "txt" => "text/plain",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "xml" => "application/xml",
        "js" | "mjs" | "cjs" => "text/javascript",
        "ts" => "text/x-typescript",
        "py" => "text/x-python",
        "sh" | "bash" => "text/x-shellscript",
        "rs" => "text/x-rust",
        "wasm" => "application/wasm",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}

/// Says that nothing is served by a URI. Clients know that by the URI in the data, and by nothing else beside it.
fn unknown(uri: &str) -> ErrorData {
    let what = format!("there is no `{}` here", one_line(uri));
    ErrorData::invalid_params(what, Some(json!({"uri": uri})))
}

/// The same for a resource, which older revisions have a code of its own for.
pub(super) fn no_resource(uri: &str) -> ErrorData {
    let ErrorData { message, data, .. } = unknown(uri);
    ErrorData::resource_not_found(message, data)
}

/// Returns the path of a file as it is served: a `skill.md` is called as the standard says.
pub(super) fn served_path(skill: &Skill, path: &str) -> String {
    if path == skill.skill_file() { SKILL_FILE.to_owned() } else { path.to_owned() }
}

/// Returns the path of a file by the path that it is served as. Each file has one name.
pub(super) fn own_path(runtime: &OpenSkillRuntime, id: &str, path: &str) -> Option<String> {
    let skill = runtime.skill(id).ok()?;
    match path {
        SKILL_FILE => Some(skill.skill_file()),
        path if path == skill.skill_file() => None,
        path => Some(path.to_owned()),
    }
}

/// Returns what an error of the runtime is to a client.
pub(super) fn failed(error: &RuntimeError) -> ErrorData {
    let data = json!({"code": error.code()});
    match error {
        RuntimeError::Log(_)
        | RuntimeError::Files(_)
        | RuntimeError::Setup { .. }
        | RuntimeError::Server { .. } => {
            ErrorData::internal_error(one_line(&for_client(error)), Some(data))
        }
        _ => ErrorData::invalid_params(one_line(&for_client(error)), Some(data)),
    }
}

pub(super) fn located(
    runtime: &OpenSkillRuntime,
    address: &str,
) -> Result<(String, String), ErrorData> {
    // A host may hand resources to its model by itself, so they are held to the same: what only the user may start is there once the user has
    // started it, and what nobody may start never is.
    let is_told = |skill: &Skill| {
        matches!(runtime.approval_state(skill), Ok(ApprovalState::Given))
            && runtime.check_model_starts(skill).is_ok()
    };
    let is_known =
        |id: &str| id.contains('/') && runtime.skill(id).is_ok_and(|skill| is_told(skill));
    parse(address, is_known).ok_or_else(|| unknown(address))
}

/// Reads the file of a URI. It is logged before it is returned.
pub(super) fn read(
    runtime: &mut OpenSkillRuntime,
    address: &str,
) -> Result<ResourceContents, ErrorData> {
    let (id, path) = located(runtime, address).map_err(|_| no_resource(address))?;
    if path.is_empty() {
        return Err(no_resource(address));
    }
    let options =
        ReadOptions { depth: Depth::Nested, max_bytes: MAX_BYTES, invoker: Invoker::Model };
    let own = own_path(runtime, &id, &path).ok_or_else(|| no_resource(address))?;
    let read = runtime.read_resource(&id, &own, &options);
    let (resource, _) = read.map_err(|error| {
        // A folder is not a resource.
        let inside = format!("{own}/");
        let is_folder = || {
            let files = runtime.files(&id);
            files.is_ok_and(|all| all.iter().any(|file| file.path.starts_with(&inside)))
        };
        match error {
            RuntimeError::ResourceNotFound { .. } => no_resource(address),
            RuntimeError::PermissionDenied { .. } if is_folder() => no_resource(address),
            other => failed(&other),
        }
    })?;
    let server = runtime.skill(&id).ok().and_then(|skill| Some(skill.served_by()?.0.to_owned()));
    let contents = match resource.text() {
        Some(text) => ResourceContents::text(text, address),
        None => ResourceContents::blob(base64(&resource.bytes), address),
    };
    let contents = contents.with_mime_type(mime_type(&path));
    Ok(match server {
        Some(server) => contents.with_meta(tagged(&server)),
        None => contents,
    })
}

/// Says which MCP server something comes from.
pub(super) fn tagged(server: &str) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.0.insert("openskills/server".to_owned(), Value::from(server));
    meta
}

/// Returns bytes as base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// `resources/directory/read`: the direct children of a folder.
pub(super) fn directory(
    runtime: &mut OpenSkillRuntime,
    _: &Served,
    params: &Value,
) -> Result<Value, ErrorData> {
    let address = text(params, "uri")?;
    let (id, folder) = located(runtime, address)?;
    let files = runtime.files(&id).map_err(|error| failed(&error))?;
    let skill = runtime.skill(&id).map_err(|error| failed(&error))?;
    let paths: Vec<String> = files.iter().map(|file| served_path(skill, &file.path)).collect();
    let mut children: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    for (file, path) in files.iter().zip(&paths) {
        let inside = match folder.as_str() {
            "" => Some(path.as_str()),
            folder => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        let FileKind::File { size, .. } = file.kind else { continue };
        if let Some(inside) = inside {
            let (name, size) = match inside.split_once('/') {
                Some((folder, _)) => (folder, None),
                None => (inside, Some(size)),
            };
            children.insert(name, size);
        }
    }
    if children.is_empty() {
        return Err(unknown(address));
    }
    let child = |(name, size): (&str, Option<u64>)| {
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let is_skill = size.is_some() && path == SKILL_FILE;
        Child {
            uri: uri(&id, &path),
            name: if is_skill { one_line(&skill.name) } else { name.to_owned() },
            description: is_skill.then(|| one_line(&skill.description)),
            mime_type: if size.is_some() { mime_type(name) } else { FOLDER },
            size,
        }
    };
    let children = children.into_iter().map(child).collect();
    let (resources, next) = page(children, cursor(params)?, PAGE * 10)?;
    complete(Children { resources }, next)
}

/// `skills/list`: skills with their frontmatter and every file.
pub(super) fn skills_list(
    runtime: &mut OpenSkillRuntime,
    served: &Served,
    params: &Value,
) -> Result<Value, ErrorData> {
    let (skills, next) = page_for_model(runtime, cursor(params)?, PAGE)?;
    let mut entries = Vec::new();
    for skill in skills {
        // One that cannot be read just now is not listed; asking for it says why.
        let Ok(contents) = runtime.contents(&skill.id) else { continue };
        let is_one = is_listed(runtime, served.listed, &skill.id, &contents.frontmatter)
            .map_err(|error| failed(&error))?;
        if is_one && let Ok(entry) = entry(runtime, &skill.id, &contents) {
            entries.push(entry);
        }
    }
    complete(Skills { skills: entries }, next)
}

/// Returns whether a skill belongs into a list. Strict clients refuse a whole list for one frontmatter that does not fit the standard, so such skills
/// are left out of it; whoever knows their URI gets them.
fn is_listed(
    runtime: &mut OpenSkillRuntime,
    listed: Listed,
    id: &str,
    frontmatter: &Map<String, Value>,
) -> Result<bool, RuntimeError> {
    match (listed, beyond_standard(frontmatter)) {
        (_, None) | (Listed::All, _) => Ok(true),
        (Listed::Standard, Some(warning)) => {
            runtime.warn_not_listed(id, warning)?;
            Ok(false)
        }
    }
}

/// `skills/get`: one skill, listed or not.
pub(super) fn skills_get(
    runtime: &mut OpenSkillRuntime,
    _: &Served,
    params: &Value,
) -> Result<Value, ErrorData> {
    let address = text(params, "uri")?;
    let (id, path) = located(runtime, address)?;
    if path != SKILL_FILE {
        return Err(unknown(address));
    }
    let contents = runtime.contents(&id).map_err(|error| failed(&error))?;
    let skill = entry(runtime, &id, &contents).map_err(|error| failed(&error))?;
    complete(OneSkill { skill }, None)
}

fn entry(
    runtime: &mut OpenSkillRuntime,
    id: &str,
    contents: &Contents,
) -> Result<ListedSkill, RuntimeError> {
    runtime.warn_beyond_limits(id, contents)?;
    let skill = runtime.skill(id)?;
    let file = |file: &FileDigest| ListedFile {
        uri: uri(id, &served_path(skill, &file.path)),
        digest: file.sha256.clone(),
        size: file.size,
    };
    Ok(ListedSkill {
        uri: uri(id, SKILL_FILE),
        frontmatter: contents.frontmatter.clone(),
        resources: contents.files.iter().map(file).collect(),
    })
}

/// Returns a result of the newest revision of the protocol.
fn complete(payload: impl Serialize, next_cursor: Option<String>) -> Result<Value, ErrorData> {
    let result = Complete {
        result_type: "complete",
        payload,
        ttl_ms: FRESH_MS,
        cache_scope: "private",
        next_cursor,
    };
    serde_json::to_value(result).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn text<'a>(params: &'a Value, key: &str) -> Result<&'a str, ErrorData> {
    let missing = || ErrorData::invalid_params(format!("`{key}` must be a text"), None);
    params.get(key).and_then(Value::as_str).ok_or_else(missing)
}

fn cursor(params: &Value) -> Result<Option<&str>, ErrorData> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(None),
        Some(_) => text(params, "cursor").map(Some),
    }
}
