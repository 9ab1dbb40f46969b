//! File names derived from folder paths.

use skill::Digest;
use skill_fs::AbsPath;

/// Returns the file name under which state about a folder is stored.
pub fn key_of(root: &AbsPath) -> String {
    Digest::of(root.as_str().as_bytes()).short()
}
