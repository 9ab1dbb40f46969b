//! File system access for skills: symlinks are never followed out of a folder, every walk has named limits, and
//! replacement is atomic.
//!
//! * [`Root`]: confined reads below a folder; the repository of a skill is hidden ([`Root::as_skill`])
//! * [`walk`]: every entry of a skill, within limits; [`find_skills`]: every skill below a folder
//! * [`content_digest`], [`digests`]: the two digests of a folder
//! * [`fingerprint`]: detects changes in a folder without reading its files
//! * [`write_file`], [`replace_folder`]: replacement that a reader never sees half done
//! * [`Lock`]: one writer at a time

mod abs_path;
mod atomic;
mod change;
mod digest;
mod error;
mod find;
mod fingerprint;
mod lock;
mod own_file;
mod repository;
mod root;
mod staged;
mod stamp;
mod sys;
mod text;
mod walk;

pub use abs_path::{AbsPath, AbsPathError};
pub use atomic::{
    ReplaceMethod, Replaced, Written, exchange, replace_folder, replace_folder_by, write_file,
    write_parts,
};
/// Whether files have an executable bit on this system. Where they have none, a skill's installed files are all plain.
pub const HAS_EXECUTABLE_BITS: bool = cfg!(unix);

pub use change::{remove_file, remove_folder, rename};
pub use digest::{Digests, content_digest, digests, version_digests};
pub use error::FsError;
pub use find::{FindLimits, Found, SkillFolder, find_skills};
pub use fingerprint::{BACKDATED_BY, Fingerprint, fingerprint};
pub use lock::{Lock, LockError};
pub use own_file::{make_private_folder, own_names, read_own_file};
pub use repository::REPOSITORY;
pub use root::{Beginning, Entries, EntryType, Root, SkillFile, real_path};
pub use stamp::Stamp;
pub use text::read_text;
pub use walk::{Entry, Kind, WalkLimits, list_files, walk};
