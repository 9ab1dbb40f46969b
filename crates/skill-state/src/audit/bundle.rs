//! The files of a skill in memory, for an audit.

use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use skill::{Digest, Marker, RelPath};
use skill_audit::{BundleReport, File, audit};
use skill_fs::{Entry, FsError, Kind, Root, WalkLimits, digests, walk};

use super::AuditPolicy;

/// How much of a file is read: just enough to see that it exceeds the audit's size limit.
pub const MAX_AUDITED_BYTES: usize = (1 << 20) + 1;

/// The files of a skill and the digest of its bundle.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// The name of the skill in its source.
    pub name: String,
    /// Path, bytes, and whether the file is executable.
    pub files: Files,
    /// The digest that trust is bound to.
    pub digest: Digest,
}

/// Returns true for a genuine marker that is harmless to a shell. Anything else is audited like any other file.
fn is_marker(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let marker = Marker::parse(skill::MARKER_FILE, text).0;
    marker.is_some_and(|marker| marker.to_json() == text) && !text.contains(['$', '`'])
}

impl Bundle {
    /// Reads a folder. A folder with a link to the outside is refused, because its digest would not cover what runs.
    pub fn read(name: &str, root: &Root) -> Result<Self, FsError> {
        let entries = walk(root, &WalkLimits::SKILL)?;
        let files = files(root, &entries)?;
        let digest = digests(root, &entries)?.bundle;
        Ok(Self { name: name.to_owned(), files, digest })
    }

    /// Returns true if the marker of a folder was not written by csk. No digest covers the marker, so no verdict does either.
    pub fn has_forged_marker(root: &Root) -> bool {
        let path = RelPath::new(skill::MARKER_FILE).expect("it is a plain name");
        match root.read(&path, MAX_AUDITED_BYTES as u64) {
            Ok(bytes) => !is_marker(&bytes),
            Err(FsError::NotFound { .. }) => false,
            Err(_) => true,
        }
    }

    /// Reads the readable part of a folder that contains links to the outside; `digest` identifies it.
    pub fn read_part(name: &str, root: &Root, digest: Digest) -> Result<Self, FsError> {
        let files = files(root, &walk(root, &WalkLimits::SKILL)?)?;
        Ok(Self { name: name.to_owned(), files, digest })
    }

    /// Audits the bundle; findings that the policy suppresses are listed separately.
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

/// Path, bytes, and whether the file is executable.
type Files = Vec<(String, Arc<[u8]>, bool)>;

fn files(root: &Root, entries: &[Entry]) -> Result<Files, FsError> {
    let mut files = Vec::new();
    for entry in entries {
        // A link is audited as its target, under its own name, because that is how it runs. A link to the outside is
        // refused below.
        let executable = match &entry.kind {
            Kind::File { executable, .. } => *executable,
            Kind::Link(_) if root.file(&entry.path).is_ok() => false,
            _ => continue,
        };
        let mut bytes = Vec::new();
        let file = root.file(&entry.path)?;
        io::Read::read_to_end(&mut io::Read::take(file, MAX_AUDITED_BYTES as u64), &mut bytes)
            .map_err(|source| FsError::Io { path: entry.path.to_string(), source })?;
        if entry.path.as_str() != skill::MARKER_FILE || !is_marker(&bytes) {
            files.push((entry.path.to_string(), Arc::from(bytes), executable));
        }
    }
    Ok(files)
}
