//! Formats the changes of a dry run as a text diff.

#![expect(clippy::disallowed_methods, reason = "the edge: comparing has an end by the clock")]

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use sandbox::{Change, ChangeKind, Layer};
use similar::TextDiff;
use skill::RelPath;
use skill_fs::{AbsPath, Root};

/// Larger files are not compared line by line.
const MAX_FILE: u64 = 256 << 10;
/// The limit for the text of all files together.
const MAX_SHOWN: usize = 1 << 20;
/// The time limit for all comparisons together, because a script controls how expensive they are. After that, diffs are
/// less precise.
const MAX_TIME: Duration = Duration::from_secs(2);

/// Returns the differences between a workspace and the layer above it. Binary and large files are only listed.
pub(crate) fn diff(workspace: &Path, layer: &Layer, changes: &[Change]) -> String {
    let root = AbsPath::new(workspace).ok().and_then(|path| Root::open(&path).ok());
    let before = |path: &Path| {
        let path = RelPath::new(path.to_str()?).ok()?;
        root.as_ref()?.read(&path, MAX_FILE).ok()
    };
    let mut text = String::new();
    let end = Instant::now() + MAX_TIME;
    for (at, change) in changes.iter().enumerate() {
        if text.len() > MAX_SHOWN {
            let more = changes.len() - at;
            let changes = if more == 1 { "change" } else { "changes" };
            let _ = writeln!(text, "{more} more {changes} not shown");
            break;
        }
        let path = change.shown();
        let (old, new) = match change.kind {
            ChangeKind::Added => (Some(Vec::new()), layer.read(&change.path, MAX_FILE + 1).ok()),
            ChangeKind::Modified => {
                (before(&change.path), layer.read(&change.path, MAX_FILE + 1).ok())
            }
            ChangeKind::Deleted => (before(&change.path), Some(Vec::new())),
            ChangeKind::Folder | ChangeKind::Link(_) | ChangeKind::Mode { .. } => continue,
        };
        let as_text = |bytes: Option<Vec<u8>>| {
            let bytes = bytes.filter(|bytes| bytes.len() as u64 <= MAX_FILE)?;
            String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
        };
        match (as_text(old), as_text(new)) {
            (Some(old), Some(new)) => {
                if old == new && change.kind == ChangeKind::Modified {
                    let _ = writeln!(text, "{path}: permissions changed, content unchanged");
                    continue;
                }
                let compared = TextDiff::configure().deadline(end).diff_lines(&old, &new);
                let mut lines = compared.unified_diff();
                let lines = lines
                    .context_radius(3)
                    .header(&format!("a/{path}"), &format!("b/{path}"))
                    .to_string();
                text.push_str(&lines);
            }
            _ => {
                let _ = writeln!(text, "{path}: binary, or too large to compare");
            }
        }
    }
    text
}
