//! Entries of an archive, independent of its format.

/// An entry of an archive.
#[derive(Debug)]
pub enum Entry<'a> {
    /// A folder.
    Folder(&'a str),
    /// A file.
    File {
        /// The name, as written in the archive.
        name: &'a str,
        /// Whether it is executable.
        executable: bool,
        /// The content.
        bytes: Vec<u8>,
    },
    /// Anything else: a symlink or a device.
    Other {
        /// The name, as written in the archive.
        name: &'a str,
        /// What it is.
        kind: &'static str,
    },
}
