//! What a command knows of the world around it, read once.

use skill_fs::AbsPath;
use term::Ui;

/// The working folder and the two streams.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) cwd: AbsPath,
    pub(crate) ui: Ui,
}
