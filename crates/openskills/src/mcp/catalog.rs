//! Serves skills and their files as resources and through the extension `io.modelcontextprotocol/skills`.

pub(super) mod legacy;

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
use super::payloads::{
    DirectoryEntry, DirectoryListing, ExtensionResult, ListedFile, ListedSkill, SkillList,
    SkillResult,
};
use super::{ListFilter, ServeConfig};

/// The number of skills in a page of a list. Lists with short entries have larger pages.
pub(super) const PAGE: usize = 50;
/// How long clients may cache a result.
const TTL_MS: u64 = 5_000;
/// The maximum size of a file.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Returns one page of a list, and the cursor of the next one. Fails if the cursor is invalid.
pub(super) fn page<T>(
    all: Vec<T>,
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = parse_cursor(cursor)?;
    if start > all.len() {
        return Err(invalid_cursor());
    }
    let end = start.saturating_add(size).min(all.len());
    let next = (end < all.len()).then(|| end.to_string());
    Ok((all.into_iter().skip(start).take(end - start).collect(), next))
}

/// Returns the index that a cursor stands for.
fn parse_cursor(cursor: Option<&str>) -> Result<usize, ErrorData> {
    // Some clients send an empty cursor for the first page.
    cursor
        .filter(|cursor| !cursor.is_empty())
        .map_or(Ok(0), str::parse)
        .map_err(|_| invalid_cursor())
}

/// Returns completions for an argument of the URI template: skill IDs, or paths in a skill.
pub(super) fn completions(
    runtime: &OpenSkillRuntime,
    argument: &str,
    part: &str,
    id: Option<&str>,
) -> Vec<String> {
    let all: Vec<String> = match (argument, id) {
        ("id", _) => {
            let (skills, _) = runtime.page_for_model(0, usize::MAX);
            skills.iter().map(|skill| skill.id.clone()).collect()
        }
        ("path", Some(id)) => {
            let Ok((id, _)) = locate(runtime, &uri(id, "")) else { return Vec::new() };
            let (Ok(skill), Ok(files)) = (runtime.skill(&id), runtime.files(&id)) else {
                return Vec::new();
            };
            files.iter().map(|file| served_path(skill, &file.path)).collect()
        }
        _ => Vec::new(),
    };
    all.into_iter().filter(|one| one.contains(part)).collect()
}

/// Returns one page of the skills that a model may see.
pub(super) fn page_for_model(
    runtime: &OpenSkillRuntime,
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<Arc<Skill>>, Option<String>), ErrorData> {
    let start = parse_cursor(cursor)?;
    if start > runtime.all_skills().len() {
        return Err(invalid_cursor());
    }
    let (skills, next) = runtime.page_for_model(start, size);
    Ok((skills, next.map(|next| next.to_string())))
}

/// Rejects a cursor for a list that has only one page.
pub(super) fn reject_cursor(cursor: Option<&str>) -> Result<(), ErrorData> {
    if cursor.is_none_or(str::is_empty) { Ok(()) } else { Err(invalid_cursor()) }
}

fn invalid_cursor() -> ErrorData {
    ErrorData::invalid_params("invalid cursor", None)
}

/// Returns the SKILL.md of every skill as a resource.
pub(super) fn resources(skills: &[Arc<Skill>]) -> Vec<Resource> {
    let resource = |skill: &Arc<Skill>| {
        let mut resource = Resource::new(uri(&skill.id, SKILL_FILE), one_line(&skill.name));
        resource.description = Some(one_line(&skill.description));
        resource.mime_type = Some(MARKDOWN.to_owned());
        resource
    };
    skills.iter().map(resource).collect()
}

/// Returns the template for the URIs of all files of skills.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("skill://{+id}/{+path}", "skill-file")
            .with_description("A skill file: the skill ID and the path in the skill"),
    ]
}

const MARKDOWN: &str = "text/markdown";
const FOLDER: &str = "inode/directory";

/// Returns the MIME type for a file extension.
pub(super) fn mime_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
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

/// Returns the error for an unknown URI. Clients recognize it by its data, which must contain only the URI.
fn unknown_uri(uri: &str) -> ErrorData {
    let message = format!("unknown URI `{}`", one_line(uri));
    ErrorData::invalid_params(message, Some(json!({"uri": uri})))
}

/// Returns the error for an unknown resource, which has its own error code in older revisions.
pub(super) fn resource_not_found(uri: &str) -> ErrorData {
    let ErrorData { message, data, .. } = unknown_uri(uri);
    ErrorData::resource_not_found(message, data)
}

/// Returns the path under which a file is served. A `skill.md` is served as `SKILL.md`, as the standard requires.
pub(super) fn served_path(skill: &Skill, path: &str) -> String {
    if path == skill.skill_file() { SKILL_FILE.to_owned() } else { path.to_owned() }
}

/// Returns the path of a file from the path under which it is served; `None` for a `skill.md`, because each file is
/// served under one path only.
pub(super) fn own_path(runtime: &OpenSkillRuntime, id: &str, path: &str) -> Option<String> {
    let skill = runtime.skill(id).ok()?;
    match path {
        SKILL_FILE => Some(skill.skill_file()),
        path if path == skill.skill_file() => None,
        path => Some(path.to_owned()),
    }
}

/// Returns a runtime error as a protocol error.
pub(super) fn error_data(error: &RuntimeError) -> ErrorData {
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

/// Returns the ID of the skill and the path in it that a URI stands for.
pub(super) fn locate(
    runtime: &OpenSkillRuntime,
    address: &str,
) -> Result<(String, String), ErrorData> {
    // A client may pass resources to its model, so the same rules apply as for tools: a user-only skill is available
    // once the user has invoked it, and a disabled one never.
    let is_available = |skill: &Skill| {
        matches!(runtime.approval_state(skill), Ok(ApprovalState::Approved))
            && runtime.check_model_starts(skill).is_ok()
    };
    let is_known =
        |id: &str| id.contains('/') && runtime.skill(id).is_ok_and(|skill| is_available(skill));
    parse(address, is_known).ok_or_else(|| unknown_uri(address))
}

/// Reads the file of a URI. The read is logged before the file is returned.
pub(super) fn read(
    runtime: &mut OpenSkillRuntime,
    address: &str,
) -> Result<ResourceContents, ErrorData> {
    let (id, path) = locate(runtime, address).map_err(|_| resource_not_found(address))?;
    if path.is_empty() {
        return Err(resource_not_found(address));
    }
    let options =
        ReadOptions { depth: Depth::Nested, max_bytes: MAX_BYTES, invoker: Invoker::Model };
    let own = own_path(runtime, &id, &path).ok_or_else(|| resource_not_found(address))?;
    let read = runtime.read_resource(&id, &own, &options);
    let (resource, _) = read.map_err(|error| {
        // A folder is not a resource.
        let inside = format!("{own}/");
        let is_folder = || {
            let files = runtime.files(&id);
            files.is_ok_and(|all| all.iter().any(|file| file.path.starts_with(&inside)))
        };
        match error {
            RuntimeError::ResourceNotFound { .. } => resource_not_found(address),
            RuntimeError::PermissionDenied { .. } if is_folder() => resource_not_found(address),
            other => error_data(&other),
        }
    })?;
    let server = runtime.skill(&id).ok().and_then(|skill| Some(skill.served_by()?.0.to_owned()));
    let contents = match resource.text() {
        Some(text) => ResourceContents::text(text, address),
        None => ResourceContents::blob(base64(&resource.bytes), address),
    };
    let contents = contents.with_mime_type(mime_type(&path));
    Ok(match server {
        Some(server) => contents.with_meta(server_meta(&server)),
        None => contents,
    })
}

/// Returns the metadata for content that comes from another MCP server.
pub(super) fn server_meta(server: &str) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.0.insert("openskills/server".to_owned(), Value::from(server));
    meta
}

pub(super) fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// `resources/directory/read`: the direct children of a folder.
pub(super) fn directory(
    runtime: &mut OpenSkillRuntime,
    _: &ServeConfig,
    params: &Value,
) -> Result<Value, ErrorData> {
    let address = string_param(params, "uri")?;
    let (id, folder) = locate(runtime, address)?;
    let files = runtime.files(&id).map_err(|error| error_data(&error))?;
    let skill = runtime.skill(&id).map_err(|error| error_data(&error))?;
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
        return Err(unknown_uri(address));
    }
    let entry = |(name, size): (&str, Option<u64>)| {
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let is_skill = size.is_some() && path == SKILL_FILE;
        DirectoryEntry {
            uri: uri(&id, &path),
            name: if is_skill { one_line(&skill.name) } else { name.to_owned() },
            description: is_skill.then(|| one_line(&skill.description)),
            mime_type: if size.is_some() { mime_type(name) } else { FOLDER },
            size,
        }
    };
    let entries = children.into_iter().map(entry).collect();
    let (resources, next) = page(entries, cursor(params)?, PAGE * 10)?;
    extension_result(DirectoryListing { resources }, next)
}

/// `skills/list`: skills with their frontmatter and every file.
pub(super) fn skills_list(
    runtime: &mut OpenSkillRuntime,
    config: &ServeConfig,
    params: &Value,
) -> Result<Value, ErrorData> {
    let (skills, next) = page_for_model(runtime, cursor(params)?, PAGE)?;
    let mut entries = Vec::new();
    for skill in skills {
        // A skill that cannot be read is left out. A request for that skill returns the error.
        let Ok(contents) = runtime.contents(&skill.id) else { continue };
        let is_listed = is_listed(runtime, config.list_filter, &skill.id, &contents.frontmatter)
            .map_err(|error| error_data(&error))?;
        if is_listed && let Ok(entry) = entry(runtime, &skill.id, &contents) {
            entries.push(entry);
        }
    }
    extension_result(SkillList { skills: entries }, next)
}

/// Returns true if a skill belongs in a list. Strict clients reject a whole list if one frontmatter violates the
/// standard, so such skills are left out. They can still be requested by URI.
fn is_listed(
    runtime: &mut OpenSkillRuntime,
    filter: ListFilter,
    id: &str,
    frontmatter: &Map<String, Value>,
) -> Result<bool, RuntimeError> {
    match (filter, beyond_standard(frontmatter)) {
        (_, None) | (ListFilter::All, _) => Ok(true),
        (ListFilter::Standard, Some(warning)) => {
            runtime.warn_not_listed(id, warning)?;
            Ok(false)
        }
    }
}

/// `skills/get`: one skill, even if it is not in the list.
pub(super) fn skills_get(
    runtime: &mut OpenSkillRuntime,
    _: &ServeConfig,
    params: &Value,
) -> Result<Value, ErrorData> {
    let address = string_param(params, "uri")?;
    let (id, path) = locate(runtime, address)?;
    if path != SKILL_FILE {
        return Err(unknown_uri(address));
    }
    let contents = runtime.contents(&id).map_err(|error| error_data(&error))?;
    let skill = entry(runtime, &id, &contents).map_err(|error| error_data(&error))?;
    extension_result(SkillResult { skill }, None)
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

/// Returns a payload as a complete result.
fn extension_result(
    payload: impl Serialize,
    next_cursor: Option<String>,
) -> Result<Value, ErrorData> {
    let result = ExtensionResult {
        result_type: "complete",
        payload,
        ttl_ms: TTL_MS,
        cache_scope: "private",
        next_cursor,
    };
    serde_json::to_value(result).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn string_param<'a>(params: &'a Value, key: &str) -> Result<&'a str, ErrorData> {
    let missing = || ErrorData::invalid_params(format!("`{key}` must be a string"), None);
    params.get(key).and_then(Value::as_str).ok_or_else(missing)
}

fn cursor(params: &Value) -> Result<Option<&str>, ErrorData> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(None),
        Some(_) => string_param(params, "cursor").map(Some),
    }
}
