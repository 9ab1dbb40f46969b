//! The files of a skill, in memory.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::Path;

use skill::{MARKER_FILE, RelPath, SKILL_FILE, SKILL_FILE_FALLBACK};
use skill_fs::{AbsPath, FsError, Kind, Root, SkillFile, WalkLimits, walk};

use crate::PackError;
use crate::tree::{FileContent, MAX_FILE, Tree};

/// The files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The name of the skill's folder.
    pub name: String,
    /// The files, sorted by path.
    pub files: Vec<PackedFile>,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// The path, relative to the skill's folder.
    pub path: RelPath,
    /// Whether it is executable.
    pub executable: bool,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Package {
    /// Reads a folder, without its git repository. Refuses what archives may not contain: symlinks, and names that
    /// differ only in case.
    pub fn of_folder(folder: &AbsPath) -> Result<Self, PackError> {
        // The git repository of a skill is not part of the skill.
        let root = Root::open(folder)?.as_skill();
        let name = root.path().file_name().unwrap_or("skill").to_owned();
        // If the folder is not a skill at all, report that before any other problem.
        if !matches!(root.skill_file()?, SkillFile::Standard | SkillFile::Fallback) {
            return Err(PackError::NoSkillFile(name));
        }
        let mut tree = Tree::default();
        for entry in walk(&root, &WalkLimits::SKILL)? {
            // Nor is the marker that csk wrote.
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
                Kind::Link(_) => return Err(PackError::Kind { name: shown, kind: "a symlink" }),
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
            // In a package, the file always has its standard name.
            file.path = RelPath::new(SKILL_FILE).expect("it is a plain name");
            self.files.sort_by(|one, other| one.path.as_str().cmp(other.path.as_str()));
        }
        Ok(self)
    }

    /// Returns the file at a path.
    pub fn file(&self, path: &str) -> Option<&PackedFile> {
        self.files.iter().find(|file| file.path.as_str() == path)
    }

    /// Writes the files to a new folder `to`, which must not exist.
    pub fn unpack(&self, to: &Path) -> Result<(), PackError> {
        let failed = |path: &Path, source: io::Error| FsError::Io {
            path: path.display().to_string(),
            source,
        };
        fs::create_dir(to).map_err(|source| failed(to, source))?;
        for file in &self.files {
            let path = to.join(file.path.as_str());
            let written = path
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::File::create_new(&path))
                .and_then(|mut new| io::Write::write_all(&mut new, &file.bytes))
                .and_then(|()| set_mode(&path, file));
            written.map_err(|source| failed(&path, source))?;
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
#[expect(clippy::unnecessary_wraps, reason = "fails on other systems")]
fn set_mode(_: &Path, _: &PackedFile) -> io::Result<()> {
    Ok(())
}
