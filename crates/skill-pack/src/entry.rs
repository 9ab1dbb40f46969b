//! What stands in an archive, whatever its format.

/// An entry of an archive.
#[derive(Debug)]
pub enum Entry<'a> {
    /// A folder.
    Folder(&'a str),
    /// A file.
    File {
        /// Its name, as it stands there.
        name: &'a str,
        /// Whether it may be run.
        executable: bool,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// Anything else: links, devices.
    Other {
        /// Its name, as it stands there.
        name: &'a str,
        /// What it is.
        kind: &'static str,
    },
}
