//! A skill as a set of files in memory.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::Path;

use skill::{MARKER_FILE, RelPath, SKILL_FILE, SKILL_FILE_FALLBACK};
use skill_fs::{AbsPath, FsError, Kind, Root, SkillFile, WalkLimits, walk};

use crate::PackError;
use crate::tree::{FileContent, MAX_FILE, Tree};

/// A skill as a set of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The name of its folder.
    pub name: String,
    /// Its files, sorted by path.
    pub files: Vec<PackedFile>,
}

/// A file of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// Its path, seen from the skill.
    pub path: RelPath,
    /// Whether it may be run.
    pub executable: bool,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl Package {
    /// Reads a folder, without the repository that it may be. What no archive may hold is refused here as well: a link, a name that differs from another only in case.
    pub fn of_folder(folder: &AbsPath) -> Result<Self, PackError> {
        // The repository that a skill is written in is not part of it.
        let root = Root::open(folder)?.as_skill();
        let name = root.path().file_name().unwrap_or("skill").to_owned();
        // What is no skill at all is told before what else is wrong with it.
        if !matches!(root.skill_file()?, SkillFile::Standard | SkillFile::Fallback) {
            return Err(PackError::NoSkillFile(name));
        }
        let mut tree = Tree::default();
        for entry in walk(&root, &WalkLimits::SKILL)? {
            // Nor is what csk wrote beside its files.
            if entry.path.as_str() == MARKER_FILE {
                continue;
            }
            let shown = format!("{name}/{}", entry.path);
            match entry.kind {
                Kind::Folder => tree.folder(&shown)?,
                Kind::File { executable, .. } => {
                    let bytes = root.read(&entry.path, MAX_FILE)?;
                    tree.file(&shown, FileContent { executable, bytes })?;
                }
                Kind::Link(_) => return Err(PackError::Kind { name: shown, kind: "a link" }),
                Kind::Other(kind) => return Err(PackError::Kind { name: shown, kind }),
            }
        }
        tree.package()
    }

    pub(crate) fn checked(mut self) -> Result<Self, PackError> {
        if self.file(SKILL_FILE).is_none() {
            let fallback =
                self.files.iter_mut().find(|file| file.path.as_str() == SKILL_FILE_FALLBACK);
            let Some(file) = fallback else { return Err(PackError::NoSkillFile(self.name)) };
            // A package has the name of the standard.
            file.path = RelPath::new(SKILL_FILE).expect("it is a plain name");
            self.files.sort_by(|one, other| one.path.as_str().cmp(other.path.as_str()));
        }
        Ok(self)
    }

    /// Returns a file of it.
    pub fn file(&self, path: &str) -> Option<&PackedFile> {
        self.files.iter().find(|file| file.path.as_str() == path)
    }

    /// Writes it as a new folder `to`, which must not be there.
    pub fn unpack(&self, to: &Path) -> Result<(), PackError> {
        let failed = |path: &Path, source: io::Error| FsError::Io {
            path: path.display().to_string(),
            source,
        };
        fs::create_dir(to).map_err(|source| failed(to, source))?;
        for file in &self.files {
            let path = to.join(file.path.as_str());
            let made = path
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::File::create_new(&path))
                .and_then(|mut new| io::Write::write_all(&mut new, &file.bytes))
                .and_then(|()| set_mode(&path, file));
            made.map_err(|source| failed(&path, source))?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, file: &PackedFile) -> io::Result<()> {
    let mode = if file.executable { 0o755 } else { 0o644 };
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
fn set_mode(_: &Path, _: &PackedFile) -> io::Result<()> {
    Ok(())
}
