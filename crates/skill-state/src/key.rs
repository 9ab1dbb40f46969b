//! The name of a file that is about a folder.

use skill::Digest;
use skill_fs::AbsPath;

/// Returns the name under which things about a folder are kept.
pub fn key_of(root: &AbsPath) -> String {
    Digest::of(root.as_str().as_bytes()).short()
}
