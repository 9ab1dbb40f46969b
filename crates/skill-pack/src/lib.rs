//! Skills as archives.
//!
//! * [`read`]: a ZIP or a tarball becomes a [`Package`] in memory, or an error; nothing is written before all of it was looked at
//! * [`Package::of_folder`]: the same from a folder
//! * [`zip`]: a package becomes the same bytes everywhere
//! * [`Package::unpack`]: a package becomes files in a new folder
//! * [`sign`], [`verify`]: signatures as `ssh-keygen -Y` makes and knows them
//!
//! A reader of archives is attacked by what other readers see in them. So what two readers could read in two ways is refused: names that stand twice or differ only in
//! case, local headers that disagree with the directory, bytes that belong to two files, more than one folder at the root.

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
