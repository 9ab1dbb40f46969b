//! What a run would change, as text.

#![expect(clippy::disallowed_methods, reason = "the edge: comparing has an end by the clock")]

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use sandbox::{Change, ChangeKind, Layer};
use similar::TextDiff;
use skill::RelPath;
use skill_fs::{AbsPath, Root};

/// The largest file whose lines are compared.
const MOST: u64 = 256 << 10;
/// The most text that is shown of all files together.
const MOST_SHOWN: usize = 1 << 20;
/// How long all comparing together may take: a script decides how alike its lines are. What takes longer is compared more roughly.
const MOST_TIME: Duration = Duration::from_secs(2);

/// Returns the differences between a workspace and the layer above it. What is no text, or too large, is only named.
pub(crate) fn diff(workspace: &Path, layer: &Layer, changes: &[Change]) -> String {
    let root = AbsPath::new(workspace).ok().and_then(|path| Root::open(&path).ok());
    let before = |path: &Path| {
        let path = RelPath::new(path.to_str()?).ok()?;
        root.as_ref()?.read(&path, MOST).ok()
    };
    let mut text = String::new();
    let end = Instant::now() + MOST_TIME;
    for (at, change) in changes.iter().enumerate() {
        if text.len() > MOST_SHOWN {
            let more = changes.len() - at;
            let _ = writeln!(text, "{more} more changes are not shown");
            break;
        }
        let path = change.shown();
        let (old, new) = match change.kind {
            ChangeKind::Added => (Some(Vec::new()), layer.read(&change.path, MOST + 1).ok()),
            ChangeKind::Modified => (before(&change.path), layer.read(&change.path, MOST + 1).ok()),
            ChangeKind::Deleted => (before(&change.path), Some(Vec::new())),
            ChangeKind::Folder | ChangeKind::Link(_) | ChangeKind::Mode { .. } => continue,
        };
        let as_text = |bytes: Option<Vec<u8>>| {
            let bytes = bytes.filter(|bytes| bytes.len() as u64 <= MOST)?;
            String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
        };
        match (as_text(old), as_text(new)) {
            (Some(old), Some(new)) => {
                if old == new && change.kind == ChangeKind::Modified {
                    let _ = writeln!(text, "{path} has other rights, and the same content");
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
                let _ = writeln!(text, "{path} is no text, or too large to be compared");
            }
        }
    }
    text
}
