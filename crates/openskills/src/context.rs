//! What every command gets: the current directory and the output streams.

use skill_fs::AbsPath;
use term::Ui;

/// The current directory, read once, and the user interface.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) cwd: AbsPath,
    pub(crate) ui: Ui,
}
