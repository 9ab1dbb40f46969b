//! The changes that a run made in its workspace.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::GitData;

/// One change in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, relative to the workspace.
    pub path: PathBuf,
    /// The kind of change.
    pub kind: ChangeKind,
    /// Why the change is refused and will not be applied, if it is.
    pub refused: Option<String>,
}

/// The kind of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// A new file.
    Added,
    /// An existing file with different content or permissions.
    Modified,
    /// A deleted file, folder or link.
    Deleted,
    /// A new folder.
    Folder,
    /// A new symbolic link to this target.
    Link(PathBuf),
    /// An existing folder with different permissions.
    Mode {
        /// Its permissions before.
        from: u32,
        /// Its permissions now.
        to: u32,
    },
}

impl Change {
    /// Returns the path for display and for records. Bytes that are not UTF-8 and control characters are escaped. A
    /// link includes its target.
    pub fn shown(&self) -> String {
        match &self.kind {
            ChangeKind::Link(target) => format!("{} -> {}", escaped(&self.path), escaped(target)),
            ChangeKind::Mode { from, to } => {
                format!("{} ({from:03o} -> {to:03o})", escaped(&self.path))
            }
            ChangeKind::Added | ChangeKind::Modified | ChangeKind::Deleted | ChangeKind::Folder => {
                escaped(&self.path)
            }
        }
    }
}

/// Escapes so that different names always look different.
fn escaped(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => text.to_owned(),
        Some(text) => text.escape_debug().to_string(),
        None => path.as_os_str().as_encoded_bytes().escape_ascii().to_string(),
    }
}

impl ChangeKind {
    /// Returns its name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Folder => "folder",
            Self::Link(_) => "link",
            Self::Mode { .. } => "mode",
        }
    }
}

/// Why changes were not applied to the workspace.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A change that no run is allowed to make.
    #[error("cannot apply `{}`: {reason}", path.display())]
    Refused {
        /// The path.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Something else changed the same path since the run started.
    #[error("cannot apply `{}`: {what}", path.display())]
    Conflict {
        /// The path.
        path: PathBuf,
        /// What happened.
        what: String,
    },
    /// Folders are nested too deeply.
    #[error("there are more than {max} nested folder levels")]
    TooDeep {
        /// The limit.
        max: usize,
    },
    /// The total size of the files is too large.
    #[error("the total file size exceeds {max} bytes")]
    TooLarge {
        /// The limit in bytes.
        max: u64,
    },
    /// There are too many changes.
    #[error("there are more than {max} changes, or their paths are too long in total")]
    TooMany {
        /// The limit.
        max: usize,
    },
    /// It failed partway, and the steps for these paths could not be rolled back.
    #[error(
        "{cause}; cannot restore {}; the originals are in `{}`",
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        kept.display()
    )]
    PartlyApplied {
        /// The paths that stay changed.
        paths: Vec<PathBuf>,
        /// The folder with the originals, relative to the workspace.
        kept: PathBuf,
        /// What failed.
        cause: String,
    },
    /// Everything was applied, but another program added files to a folder that was deleted; they are kept.
    #[error(
        "all changes are applied; files that another program added to a deleted folder are kept in `{}`",
        kept.display()
    )]
    LeftoversKept {
        /// The folder with these files, relative to the workspace.
        kept: PathBuf,
    },
    /// The caller cancelled before anything was changed.
    #[error("canceled before anything was changed")]
    Cancelled,
    /// A file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A path of the workspace that something else changed since the run started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path, relative to the workspace.
    pub path: PathBuf,
    /// What happened.
    pub what: String,
}

/// What identifies the state of a file: it differs after every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) changed: (i64, i64),
    pub(crate) size: i64,
    pub(crate) mode: u32,
}

/// A change that was applied: what it was in the layer, and what it is in the workspace since. `None` stands for
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppliedPath {
    /// The bytes of the path.
    pub(crate) path: Vec<u8>,
    pub(crate) layer: Option<Stamp>,
    pub(crate) workspace: Option<Stamp>,
}

/// Changes of a layer that were applied while its processes go on writing to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    pub(crate) paths: Vec<AppliedPath>,
}

/// A layer that was kept in a folder.
#[derive(Debug, Clone, Copy)]
pub struct StoredLayer<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// The workspace that the layer belongs to.
    pub workspace: &'a Path,
    /// What changed in the workspace since this time is a conflict.
    pub since: SystemTime,
    /// Whether changes in `.git` may be applied.
    pub git: GitData,
}

impl StoredLayer<'_> {
    /// Opens the layer.
    pub fn open(&self) -> Result<Layer, ApplyError> {
        crate::sys::Layer::open(self).map(Layer)
    }
}

/// What a run wrote, kept separate from the workspace, which is unchanged.
#[derive(Debug)]
pub struct Layer(pub(crate) crate::sys::Layer);

impl Layer {
    /// Returns every path that something else changed since the run started.
    pub fn conflicts(&self, changes: &[Change]) -> Result<Vec<Conflict>, ApplyError> {
        self.0.conflicts(changes)
    }

    /// Notes what these changes are in the layer now. Call it before they are applied, and [`Layer::applied`] after.
    pub fn seen(&self, changes: &[Change]) -> Result<Applied, ApplyError> {
        self.0.seen(changes)
    }

    /// Adds what the changes are in the workspace since they were applied.
    pub fn applied(&self, seen: Applied) -> Result<Applied, ApplyError> {
        self.0.applied(seen)
    }

    /// Leaves out changes that were already applied and have not changed in the layer since. What they became in the
    /// workspace is no conflict.
    pub fn after(self, applied: Applied) -> Self {
        Self(self.0.after(applied))
    }

    /// Returns every change, sorted by path.
    pub fn changes(&self) -> Result<Vec<Change>, ApplyError> {
        self.0.changes()
    }

    /// Applies changes to the workspace, all of them or none. A path that something else changed since the run started
    /// is a conflict.
    pub fn apply(&self, changes: &[Change]) -> Result<(), ApplyError> {
        self.0.apply(changes, &|| false)
    }

    /// Applies changes unless cancelled. `is_cancelled` is called until just before the first change, and not after it.
    pub fn apply_unless_cancelled(
        &self,
        changes: &[Change],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), ApplyError> {
        self.0.apply(changes, is_cancelled)
    }

    /// Reads the new content of a changed file, at most `max` bytes.
    pub fn read(&self, path: &Path, max: u64) -> io::Result<Vec<u8>> {
        self.0.read(path, max)
    }
}
