//! The files of a skill, all in memory, for an audit.

use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use skill::{Digest, Marker, RelPath};
use skill_audit::{BundleReport, File, audit};
use skill_fs::{Entry, FsError, Kind, Root, WalkLimits, digests, walk};

use super::AuditPolicy;

/// What is read of a file that is too large to be judged: enough to see that it is.
pub const MOST_OF_A_FILE: usize = (1 << 20) + 1;

/// The files of a skill, and the digest of everything that it is.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// What it is called where it comes from.
    pub name: String,
    /// Path, bytes, and whether it may be run.
    pub files: Files,
    /// What trust binds to.
    pub digest: Digest,
}

/// Returns true for a marker that a shell would make nothing of. One that is none is a file like any other.
fn is_marker(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let marker = Marker::parse(skill::MARKER_FILE, text).0;
    marker.is_some_and(|marker| marker.to_json() == text) && !text.contains(['$', '`'])
}

impl Bundle {
    /// Reads a folder. One with a link that leads out of it is refused: its digest would not be of what runs.
    pub fn read(name: &str, root: &Root) -> Result<Self, FsError> {
        let entries = walk(root, &WalkLimits::SKILL)?;
        let files = files(root, &entries)?;
        let digest = digests(root, &entries)?.bundle;
        Ok(Self { name: name.to_owned(), files, digest })
    }

    /// Returns true if a folder has something in place of a marker that csk did not write. No digest covers it, so no verdict does.
    pub fn has_forged_marker(root: &Root) -> bool {
        let path = RelPath::new(skill::MARKER_FILE).expect("it is a plain name");
        match root.read(&path, MOST_OF_A_FILE as u64) {
            Ok(bytes) => !is_marker(&bytes),
            Err(FsError::NotFound { .. }) => false,
            Err(_) => true,
        }
    }

    /// Reads what of a folder can be read, where something in it leads out; `digest` is what it goes by.
    pub fn read_part(name: &str, root: &Root, digest: Digest) -> Result<Self, FsError> {
        let files = files(root, &walk(root, &WalkLimits::SKILL)?)?;
        Ok(Self { name: name.to_owned(), files, digest })
    }

    /// Looks at it; what somebody said is fine is put aside.
    pub fn audit(&self, policy: &AuditPolicy, now: Timestamp) -> BundleReport {
        let files: Vec<File<'_>> = self
            .files
            .iter()
            .map(|(path, bytes, executable)| File { path, bytes, is_executable: *executable })
            .collect();
        let mut report = audit(&self.name, &files);
        report.suppress(|finding| policy.suppression(finding, now));
        BundleReport { bundle: self.digest, report }
    }
}

/// Path, bytes, and whether it may be run.
type Files = Vec<(String, Arc<[u8]>, bool)>;

fn files(root: &Root, entries: &[Entry]) -> Result<Files, FsError> {
    let mut files = Vec::new();
    for entry in entries {
        // A link counts as what it leads to, under its own name: that is how it is run. One that leads out is refused below.
        let executable = match &entry.kind {
            Kind::File { executable, .. } => *executable,
            Kind::Link(_) if root.file(&entry.path).is_ok() => false,
            _ => continue,
        };
        let mut bytes = Vec::new();
        let file = root.file(&entry.path)?;
        io::Read::read_to_end(&mut io::Read::take(file, MOST_OF_A_FILE as u64), &mut bytes)
            .map_err(|source| FsError::Io { path: entry.path.to_string(), source })?;
        if entry.path.as_str() != skill::MARKER_FILE || !is_marker(&bytes) {
            files.push((entry.path.to_string(), Arc::from(bytes), executable));
        }
    }
    Ok(files)
}
