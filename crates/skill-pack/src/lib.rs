//! Skill archives.
//!
//! * [`read`]: reads a ZIP file or a tarball into a [`Package`] in memory; checks all of it before anything is written
//! * [`Package::of_folder`]: reads a folder
//! * [`zip`]: writes a package as a ZIP file, the same bytes everywhere
//! * [`Package::unpack`]: writes the files of a package to a new folder
//! * [`sign`], [`verify`]: signatures in the format of `ssh-keygen -Y`
//!
//! Attacks on archives exploit that different readers see different content. So everything that two readers could
//! interpret differently is refused: duplicate names and names that differ only in case, local headers that disagree
//! with the central directory, bytes that belong to two files, more than one folder at the root.

mod archive;
mod entry;
mod error;
mod package;
mod signature;
mod tarball;
mod tree;
mod zip_read;
mod zip_write;

pub use archive::{Format, MAX_ARCHIVE, format_of, read};
pub use entry::Entry;
pub use error::PackError;
pub use package::{Package, PackedFile};
pub use signature::{NAMESPACE, Signed, sign, verify};
pub use tarball::tar_entries;
pub use tree::{MAX_BYTES, MAX_FILE, MAX_FILES};
pub use zip_read::zip_entries;
pub use zip_write::zip;
