//! `skills.read_resource`: reads a file of a skill, in parts if it is long.

use openskills_runtime::uri::uri;
use openskills_runtime::{
    ApprovalState, Depth, Invoker, OpenSkillRuntime, ReadOptions, Resource, RuntimeError,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ResourceContents};
use serde_json::Value;
use skill::ByteSize;

use super::inputs::{ReadResourceInput, parse};
use super::outputs::{FileDetails, FileOutput};
use super::{Failure, Tool, with_meta};
use crate::mcp::catalog::{MAX_BYTES, base64, mime_type, own_path, served_path, server_meta};
use crate::mcp::server::ServeConfig;

/// How many bytes of a text one call returns by default.
pub(in crate::mcp) const DEFAULT_PART: u64 = 64 << 10;
/// The maximum number of bytes of a text that one call can return.
pub(in crate::mcp) const MAX_PART: u64 = 4 << 20;
/// The maximum size of a binary file that a call returns.
const MAX_BINARY: usize = 4 << 20;

/// The requested part of a text, in bytes.
struct Part {
    offset: usize,
    limit: usize,
}

impl Part {
    fn new(offset: Option<u64>, limit: Option<u64>) -> Self {
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Self { offset: number(offset.unwrap_or(0)), limit: number(limit.unwrap_or(DEFAULT_PART)) }
    }

    /// Returns the part and its offset. It never splits a character, and a line only if the line is longer than the
    /// limit.
    fn of<'a>(&self, text: &'a str) -> Result<(&'a str, usize), Failure> {
        if self.offset > text.len() {
            return Err(Failure::Arguments(format!(
                "`offset` is beyond the end: the file has {} bytes",
                text.len()
            )));
        }
        let start = text.floor_char_boundary(self.offset);
        let limit = text.floor_char_boundary(start.saturating_add(self.limit).min(text.len()));
        // The part has at least one character, even if the limit is smaller than that.
        let limit = if limit == start { text.ceil_char_boundary(start + 1) } else { limit };
        let part = &text[start..limit];
        let is_cut = limit < text.len();
        let end =
            if is_cut { part.rfind('\n').map_or(part.len(), |end| end + 1) } else { part.len() };
        Ok((&part[..end], start))
    }
}

pub(super) fn read(
    runtime: &mut OpenSkillRuntime,
    arguments: JsonObject,
    config: &ServeConfig,
) -> Result<CallToolResult, Failure> {
    let ReadResourceInput { skill, path, offset, limit, nested } = parse(arguments)?;
    let (name, part) = (skill.name_or_id()?, Part::new(offset, limit));
    let depth = if nested { Depth::Nested } else { Depth::OneLevel };
    let options = ReadOptions { depth, max_bytes: MAX_BYTES, invoker: Invoker::Model };
    let own = own_path(runtime, &name, &path).unwrap_or_else(|| path.clone());
    runtime.check_model_reads(&name, &own)?;
    let (resource, read) = match runtime.read_resource(&name, &own, &options) {
        Ok(read) => read,
        // The path may be that of a folder. Other errors, such as a missing approval, are returned.
        Err(
            error @ (RuntimeError::ResourceNotFound { .. }
            | RuntimeError::TooDeep { .. }
            | RuntimeError::PermissionDenied { .. }),
        ) => {
            return folder(runtime, &name, &own, &part)?.ok_or(Failure::Runtime(error));
        }
        Err(error) => return Err(error.into()),
    };
    let skill = runtime.skill(&read.skill_id)?;
    let path = served_path(skill, &resource.path);
    let server = skill.served_by().map(|(server, _)| server.to_owned());
    let uri = uri(&read.skill_id, &path);
    let output = FileOutput {
        skill_id: read.skill_id,
        file: Some(FileDetails {
            uri: uri.clone(),
            sha256: resource.sha256.clone(),
            size: resource.bytes.len(),
        }),
        path: path.clone(),
        offset: None,
        next_offset: None,
    };
    let mut result = match resource.text() {
        Some(text) => text_result(text, &part, output, |next| {
            let tool = Tool::ReadResource.name(config.tool_names);
            let (name, path) = (Value::from(name), Value::from(path));
            let nested = if depth == Depth::Nested { ", nested true" } else { "" };
            format!("call {tool} with name {name}, path {path}{nested} and offset {next}")
        })?,
        None => with_meta(vec![binary_block(&resource, &path, &uri)], &output)?,
    };
    if let Some(server) = server {
        let warning =
            format!("The following text comes from the MCP server `{server}` and is untrusted.");
        result.content.insert(0, ContentBlock::text(warning));
        let mut meta = server_meta(&server);
        meta.0.extend(result.meta.take().unwrap_or_default().0);
        result.meta = Some(meta);
    }
    Ok(result)
}

/// Lists the files in a folder of a skill, one per line; `None` if the path is not a folder.
fn folder(
    runtime: &OpenSkillRuntime,
    name: &str,
    path: &str,
    part: &Part,
) -> Result<Option<CallToolResult>, Failure> {
    let trimmed = path.trim_end_matches('/');
    let inside = if matches!(trimmed, "" | ".") { String::new() } else { format!("{trimmed}/") };
    let skill = runtime.skill(name)?;
    if !matches!(runtime.approval_state(skill), Ok(ApprovalState::Approved)) {
        return Ok(None);
    }
    let files = runtime.files(name)?;
    let files = files.iter().filter(|file| file.path.starts_with(&inside));
    let lines: String = files.map(|file| served_path(skill, &file.path) + "\n").collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let output = FileOutput {
        skill_id: skill.id.clone(),
        file: None,
        path: path.to_owned(),
        offset: None,
        next_offset: None,
    };
    let next_call = |next: usize| format!("call it again with offset {next}");
    text_result(&lines, part, output, next_call).map(Some)
}

/// Returns a part of a text, and tells the model how to get the rest.
fn text_result(
    text: &str,
    part: &Part,
    mut output: FileOutput,
    next_call: impl FnOnce(usize) -> String,
) -> Result<CallToolResult, Failure> {
    let (part, start) = part.of(text)?;
    let end = start + part.len();
    output.offset = Some(start);
    let mut blocks = vec![ContentBlock::text(part)];
    if end < text.len() {
        output.next_offset = Some(end);
        blocks.push(ContentBlock::text(format!(
            "[bytes {start} to {end} of {}; for the rest, {}]",
            text.len(),
            next_call(end)
        )));
    }
    with_meta(blocks, &output)
}

/// Returns a binary file: images as image content, so that the model sees them, and other files as a resource.
fn binary_block(resource: &Resource, path: &str, uri: &str) -> ContentBlock {
    let (kind, size) = (mime_type(path), resource.bytes.len());
    let is_image = matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    if size > MAX_BINARY {
        ContentBlock::text(format!(
            "[{kind}, {}: too large to return; if the skill has a script that reads such files, run it]",
            ByteSize(size as u64)
        ))
    } else if is_image {
        ContentBlock::image(base64(&resource.bytes), kind)
    } else {
        let contents = ResourceContents::blob(base64(&resource.bytes), uri);
        ContentBlock::resource(contents.with_mime_type(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, limit: usize) -> Vec<String> {
        let (mut parts, mut offset) = (Vec::new(), 0);
        while offset < text.len() {
            let Ok((part, start)) = (Part { offset, limit }).of(text) else { panic!("{offset}") };
            assert_eq!(start, offset);
            assert!(!part.is_empty());
            offset += part.len();
            parts.push(part.to_owned());
        }
        parts
    }

    #[test]
    fn parts_add_up_to_the_text_and_split_no_characters_and_no_short_lines() {
        assert_eq!(parts("one\ntwo\nthree\n", 9), ["one\ntwo\n", "three\n"]);
        assert_eq!(parts("äöü", 3), ["ä", "ö", "ü"]);
        assert_eq!(parts("äöü", 1), ["ä", "ö", "ü"]);
        assert_eq!(parts("a line that is longer\nx", 8).concat(), "a line that is longer\nx");
        assert_eq!(parts("", 8), [""; 0]);
        assert!((Part { offset: 4, limit: 1 }).of("abc").is_err());
        assert_eq!((Part { offset: 3, limit: 1 }).of("abc").map(|(part, _)| part).ok(), Some(""));
    }
}
