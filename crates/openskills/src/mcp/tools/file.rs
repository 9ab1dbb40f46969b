//! `skills.read_resource`: a file of a skill, in parts where it is long.

use openskills_runtime::uri::uri;
use openskills_runtime::{
    ApprovalState, Depth, Invoker, OpenSkillRuntime, ReadOptions, Resource, RuntimeError,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ResourceContents};
use serde_json::Value;

use super::inputs::{ReadResourceInput, parse};
use super::outputs::{FileFacts, FileOutput};
use super::{Failure, Tool, answered};
use crate::mcp::catalogue::{MAX_BYTES, base64, mime_type, own_path, served_path, tagged};
use crate::mcp::server::Served;

/// How many bytes of a text one call gives, unless it asks for fewer or more.
pub(in crate::mcp) const PART: u64 = 64 << 10;
/// The most that it may ask for.
pub(in crate::mcp) const MAX_PART: u64 = 4 << 20;
/// The largest file that is no text of which a call gives the bytes.
const MAX_BINARY: usize = 4 << 20;

/// Tool part of a text is asked for, in bytes.
struct Part {
    offset: usize,
    limit: usize,
}

impl Part {
    fn new(offset: Option<u64>, limit: Option<u64>) -> Self {
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Self { offset: number(offset.unwrap_or(0)), limit: number(limit.unwrap_or(PART)) }
    }

    /// Returns the part, and where it begins. It breaks no character, and where it can no line.
    fn of<'a>(&self, text: &'a str) -> Result<(&'a str, usize), Failure> {
        if self.offset > text.len() {
            return Err(Failure::Arguments(format!(
                "`offset` is beyond the end: the file has {} bytes",
                text.len()
            )));
        }
        let start = text.floor_char_boundary(self.offset);
        let most = text.floor_char_boundary(start.saturating_add(self.limit).min(text.len()));
        // At least one character, however small the limit is.
        let most = if most == start { text.ceil_char_boundary(start + 1) } else { most };
        let part = &text[start..most];
        let is_cut = most < text.len();
        let end =
            if is_cut { part.rfind('\n').map_or(part.len(), |end| end + 1) } else { part.len() };
        Ok((&part[..end], start))
    }
}

pub(super) fn read(
    runtime: &mut OpenSkillRuntime,
    arguments: JsonObject,
    served: &Served,
) -> Result<CallToolResult, Failure> {
    let ReadResourceInput { skill, path, offset, limit, nested } = parse(arguments)?;
    let (name, part) = (skill.chosen()?, Part::new(offset, limit));
    let depth = if nested { Depth::Nested } else { Depth::OneLevel };
    let options = ReadOptions { depth, max_bytes: MAX_BYTES, invoker: Invoker::Model };
    let own = own_path(runtime, &name, &path).unwrap_or_else(|| path.clone());
    runtime.check_model_reads(&name, &own)?;
    let (resource, read) = match runtime.read_resource(&name, &own, &options) {
        Ok(read) => read,
        // A folder cannot be read as a file. Any other refusal, such as a missing approval, stands.
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
    let address = uri(&read.skill_id, &path);
    let about = FileOutput {
        skill_id: read.skill_id,
        file: Some(FileFacts {
            uri: address.clone(),
            sha256: resource.sha256.clone(),
            size: resource.bytes.len(),
        }),
        path: path.clone(),
        offset: None,
        next_offset: None,
    };
    let mut result = match resource.text() {
        Some(text) => text_of(text, &part, about, |next| {
            let tool = Tool::ReadResource.name(served.names);
            let (name, path) = (Value::from(name), Value::from(path));
            let nested = if depth == Depth::Nested { ", nested true" } else { "" };
            format!("call {tool} with name {name}, path {path}{nested} and offset {next}")
        })?,
        None => answered(vec![block_of(&resource, &path, &address)], &about)?,
    };
    if let Some(server) = server {
        let warning =
            format!("The next text comes from the MCP server `{server}`: a stranger wrote it.");
        result.content.insert(0, ContentBlock::text(warning));
        let mut meta = tagged(&server);
        meta.0.extend(result.meta.take().unwrap_or_default().0);
        result.meta = Some(meta);
    }
    Ok(result)
}

/// Returns the files in a folder of a skill, one a line; `None` if the path is none.
fn folder(
    runtime: &OpenSkillRuntime,
    name: &str,
    path: &str,
    part: &Part,
) -> Result<Option<CallToolResult>, Failure> {
    let trimmed = path.trim_end_matches('/');
    let inside = if matches!(trimmed, "" | ".") { String::new() } else { format!("{trimmed}/") };
    let skill = runtime.skill(name)?;
    if !matches!(runtime.approval_state(skill), Ok(ApprovalState::Given)) {
        return Ok(None);
    }
    let files = runtime.files(name)?;
    let files = files.iter().filter(|file| file.path.starts_with(&inside));
    let lines: String = files.map(|file| served_path(skill, &file.path) + "\n").collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let about = FileOutput {
        skill_id: skill.id.clone(),
        file: None,
        path: path.to_owned(),
        offset: None,
        next_offset: None,
    };
    let rest = |next: usize| format!("call it again with offset {next}");
    text_of(&lines, part, about, rest).map(Some)
}

/// Returns a part of a text, and says how to get the rest.
fn text_of(
    text: &str,
    part: &Part,
    mut about: FileOutput,
    rest: impl FnOnce(usize) -> String,
) -> Result<CallToolResult, Failure> {
    let (given, start) = part.of(text)?;
    let end = start + given.len();
    about.offset = Some(start);
    let mut blocks = vec![ContentBlock::text(given)];
    if end < text.len() {
        about.next_offset = Some(end);
        blocks.push(ContentBlock::text(format!(
            "[bytes {start} to {end} of {}; for the rest, {}]",
            text.len(),
            rest(end)
        )));
    }
    answered(blocks, &about)
}

/// Returns a file that is no text: an image as one, so that a model sees it, and anything else as it is.
fn block_of(resource: &Resource, path: &str, address: &str) -> ContentBlock {
    let (kind, size) = (mime_type(path), resource.bytes.len());
    let is_shown = matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    if size > MAX_BINARY {
        ContentBlock::text(format!(
            "[{kind}, {size} bytes: too large to return; a script of the skill can read it]"
        ))
    } else if is_shown {
        ContentBlock::image(base64(&resource.bytes), kind)
    } else {
        let contents = ResourceContents::blob(base64(&resource.bytes), address);
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
    fn parts_are_the_whole_and_break_no_character_and_no_line_that_fits() {
        assert_eq!(parts("one\ntwo\nthree\n", 9), ["one\ntwo\n", "three\n"]);
        assert_eq!(parts("äöü", 3), ["ä", "ö", "ü"]);
        assert_eq!(parts("äöü", 1), ["ä", "ö", "ü"]);
        assert_eq!(parts("a line that is longer\nx", 8).concat(), "a line that is longer\nx");
        assert_eq!(parts("", 8), [""; 0]);
        assert!((Part { offset: 4, limit: 1 }).of("abc").is_err());
        assert_eq!((Part { offset: 3, limit: 1 }).of("abc").map(|(part, _)| part).ok(), Some(""));
    }
}
