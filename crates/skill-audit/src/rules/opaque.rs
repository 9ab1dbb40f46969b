//! What cannot be looked into: programs, compiled code, archives, packed text, files that are too large.

use super::{Hit, Skill};
use crate::artifact::Kind;
use crate::finding::Severity;
use crate::op::{Location, Role};

/// Text of one line that is longer than this is made by a program.
const LONG_LINE: usize = 20_000;

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        let at = Location { file: number, span: 0..0, role: Role::Data, chain: Vec::new() };
        let path = file.file.path;
        match file.kind {
            Kind::Native => {
                hits.push(Hit::new("BIN-01", at, format!("`{path}` is a program for a machine")));
            }
            Kind::Bytecode if path.ends_with(".wasm") => hits.push(
                Hit::new("BIN-05", at, format!("`{path}` is a WebAssembly module"))
                    .severity(Severity::Low),
            ),
            Kind::Bytecode => {
                hits.push(Hit::new("BIN-02", at, format!("`{path}` is compiled code")));
            }
            Kind::Archive if is_document(path) => {}
            Kind::Archive => hits.push(Hit::new(
                "BIN-04",
                at,
                format!(
                    "`{path}` is an archive{}",
                    if is_encrypted(file.file.bytes) { " with a password" } else { "" }
                ),
            )),
            Kind::Binary if file.file.is_executable => {
                hits.push(Hit::new("BIN-01", at, format!("`{path}` can be run and is no text")));
            }
            Kind::Binary => hits.push(Hit::new(
                "OPQ-02",
                at,
                format!("`{path}` is none of the kinds of files that are known"),
            )),
            Kind::Active if path.to_lowercase().ends_with(".svg") => active(number, file, hits),
            _ => {}
        }
        if let Some(reason) = &file.unread {
            let at = Location { file: number, span: 0..0, role: Role::Data, chain: Vec::new() };
            hits.push(Hit::new("OPQ-01", at, format!("`{path}` was not read: {reason}")));
        }
        packed(number, file, hits);
    }
}

/// Documents of office programs are archives of text.
fn is_document(path: &str) -> bool {
    let path = path.to_lowercase();
    [
        ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", ".vsix", ".thmx", ".potx",
        ".dotx", ".xltx",
    ]
    .iter()
    .any(|end| path.ends_with(end))
}

/// The flag for a password in a ZIP file's first entry; RAR and 7z hide theirs.
fn is_encrypted(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") && bytes.get(6).is_some_and(|flags| flags & 1 == 1)
}

fn active(number: usize, file: &crate::inspect::Inspected<'_>, hits: &mut Vec<Hit>) {
    let lower = file.text.text.to_lowercase();
    for mark in ["<script", "onload=", "onerror=", "onclick=", "javascript:", "<foreignobject"] {
        if let Some(start) = lower.find(mark) {
            let at = Location {
                file: number,
                span: file.text.origin(&(start..start + mark.len())),
                role: Role::Data,
                chain: Vec::new(),
            };
            hits.push(Hit::new(
                "BIN-03",
                at,
                format!("the picture `{}` runs code: `{mark}`", file.file.path),
            ));
            return;
        }
    }
}

/// Code that was packed so that nobody reads it.
fn packed(number: usize, file: &crate::inspect::Inspected<'_>, hits: &mut Vec<Hit>) {
    if !file.is_script() {
        return;
    }
    let text = file.text.text.as_str();
    let lower = text.to_lowercase();
    let mark = [
        "eval(function(p,a,c,k,e",
        "_0x",
        "__pyarmor__",
        "pyarmor_runtime",
        "exec(__import__('zlib')",
        "lambda __,_",
        "\\u0065\\u0076\\u0061\\u006c",
        "jsfuck",
        "[][(![]+[])",
    ]
    .iter()
    .find(|mark| lower.contains(**mark) && (**mark != "_0x" || lower.matches("_0x").count() > 12));
    let has_archive_inside = lower.contains("__archive_below__")
        || lower.contains("makeself")
        || file.kind == Kind::Shell
            && text.lines().any(|line| line.starts_with("tail -n +") && line.contains('|'));
    let long = text.split('\n').map(str::len).max().unwrap_or(0);
    let is_blob = long > LONG_LINE && matches!(file.kind, Kind::Shell | Kind::Python);
    // Letters that are written as numbers are written so that nobody reads them.
    let is_letter = |at: &usize| matches!(text.as_bytes().get(at + 2), Some(b'4'..=b'7'));
    let letters = text.match_indices("\\x").map(|(at, _)| at).filter(is_letter).count();
    let is_blob = is_blob || letters >= 40 || runs_blob(file);
    let reason = match (mark, has_archive_inside, is_blob) {
        (Some(mark), _, _) => format!("it is packed: `{mark}`"),
        (None, true, _) => "it unpacks itself".to_owned(),
        (None, false, true) => {
            "it holds text that is not readable, and runs text that is made while it runs"
                .to_owned()
        }
        (None, false, false) => return,
    };
    let at = Location { file: number, span: 0..0, role: Role::Script, chain: Vec::new() };
    hits.push(Hit::new("OBF-04", at, format!("`{}` cannot be read: {reason}", file.file.path)));
}

/// A long run of letters that decodes to nothing readable, in a script that runs what it decodes.
fn runs_blob(file: &crate::inspect::Inspected<'_>) -> bool {
    let runs = file.ops.iter().any(|op| {
        matches!(
            op.does,
            crate::Action::Evaluate { .. } | crate::Action::RunDecoded { text: None, .. }
        )
    });
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\');
    let longest = file
        .text
        .text
        .split(|c: char| !c.is_ascii() || !is_part(c as u8))
        .map(str::len)
        .max()
        .unwrap_or(0);
    runs && longest >= 200
}
