//! Collects the entries of an archive. Every name must mean the same on every system, and names must not conflict.

use skill::{FileNameError, FileNames, RelPath};

use crate::{PackError, Package, PackedFile};

/// The maximum number of entries in an archive.
pub const MAX_FILES: usize = 10_000;
/// The maximum size of all files in bytes.
pub const MAX_BYTES: u64 = 128 << 20;
/// The maximum size of a file in bytes.
pub const MAX_FILE: u64 = 64 << 20;

/// The maximum compression ratio of an archive, or of a file in it. Text has about 10; 1000 is a zip bomb.
pub(crate) const MAX_RATIO: u64 = 200;
/// Content up to this size is never a zip bomb, whatever its compression ratio.
pub(crate) const SMALL: u64 = 1 << 20;

/// The files and folders of an archive.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: Vec<PackedFile>,
    names: FileNames,
    bytes: u64,
    entries: usize,
}

/// The content and mode of a file.
pub(crate) struct FileContent {
    pub(crate) executable: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Tree {
    pub(crate) fn file(
        &mut self,
        name: &str,
        FileContent { executable, bytes }: FileContent,
    ) -> Result<(), PackError> {
        let path = self.path(name)?;
        self.names.file(&path).map_err(name_error)?;
        let size = bytes.len() as u64;
        if size > MAX_FILE {
            let what = format!("`{name}`");
            return Err(PackError::Size { what, size, limit: MAX_FILE });
        }
        self.bytes += size;
        if self.bytes > MAX_BYTES {
            let (what, size) = ("the content".to_owned(), self.bytes);
            return Err(PackError::Size { what, size, limit: MAX_BYTES });
        }
        self.files.push(PackedFile { path, executable, bytes });
        Ok(())
    }

    pub(crate) fn folder(&mut self, name: &str) -> Result<(), PackError> {
        let plain = name.trim_end_matches('/');
        let path = self.path(if plain.is_empty() { name } else { plain })?;
        self.names.folder(&path).map_err(name_error)
    }

    /// Counts an entry and parses its name.
    fn path(&mut self, name: &str) -> Result<RelPath, PackError> {
        self.entries += 1;
        if self.entries > MAX_FILES {
            let found = self.entries as u64;
            return Err(PackError::Limit { what: "entries", found, limit: MAX_FILES as u64 });
        }
        RelPath::new(name).map_err(|error| {
            let why = error.reason().to_owned();
            PackError::Name { name: name.to_owned(), why }
        })
    }

    /// Returns the package, named after the one folder at the root.
    pub(crate) fn package(self) -> Result<Package, PackError> {
        self.names.finish().map_err(name_error)?;
        let roots: Vec<&str> = self.names.roots().collect();
        let name = match roots.as_slice() {
            [] => return Err(PackError::Root("the archive is empty".to_owned())),
            [name] => (*name).to_owned(),
            all if all.contains(&"__MACOSX") => {
                return Err(PackError::Root(
                    "the archive contains a `__MACOSX` folder next to the skill, as created by the macOS Finder"
                        .to_owned(),
                ));
            }
            [one, other, ..] => {
                let message = format!(
                    "expected one folder at the root of the archive, found `{one}` and `{other}`"
                );
                return Err(PackError::Root(message));
            }
        };
        let inside = |file: PackedFile| {
            let (_, path) = file.path.as_str().split_once('/')?;
            let path = RelPath::new(path).ok()?;
            Some(PackedFile { path, ..file })
        };
        let files: Option<Vec<PackedFile>> = self.files.into_iter().map(inside).collect();
        let Some(mut files) = files else {
            let message = format!("`{name}` is a file; expected the skill's folder");
            return Err(PackError::Root(message));
        };
        files.sort_by(|one, other| one.path.as_str().cmp(other.path.as_str()));
        Package { name, files }.checked()
    }
}

fn name_error(error: FileNameError) -> PackError {
    PackError::Name { name: error.name, why: error.reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(names: &[&str]) -> Result<Package, PackError> {
        let mut tree = Tree::default();
        for name in names {
            if name.ends_with('/') {
                tree.folder(name)?;
            } else {
                tree.file(name, FileContent { executable: false, bytes: b"x".to_vec() })?;
            }
        }
        tree.package()
    }

    #[test]
    fn one_folder_with_a_skill_is_accepted() {
        let package = package(&["pdf/", "pdf/SKILL.md", "pdf/a/", "pdf/a/b.md"]).unwrap();
        assert_eq!(package.name, "pdf");
        let paths: Vec<&str> = package.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "a/b.md"]);
    }

    #[test]
    fn invalid_and_ambiguous_names_are_refused() {
        for names in [
            vec![],
            vec!["SKILL.md"],
            vec!["pdf/x"],
            vec!["pdf/SKILL.md", "other/x"],
            vec!["pdf/SKILL.md", "x"],
            vec!["pdf/SKILL.md", "__MACOSX/pdf/._SKILL.md"],
            vec!["/pdf/SKILL.md"],
            vec!["../pdf/SKILL.md"],
            vec!["pdf/SKILL.md", "pdf/../../etc/passwd"],
            vec!["pdf/SKILL.md", "pdf\\..\\x"],
            vec!["pdf/SKILL.md", "C:/x"],
            vec!["pdf/SKILL.md", "pdf/a\0b"],
            vec!["pdf/SKILL.md", "pdf//x"],
            vec!["pdf/SKILL.md", "pdf/./x"],
            vec!["pdf/SKILL.md", "pdf/SKILL.md"],
            vec!["pdf/SKILL.md", "pdf/skill.md"],
            vec!["pdf/SKILL.md", "PDF/x"],
            vec!["pdf/SKILL.md", "pdf/A/x", "pdf/a/y"],
            vec!["pdf/SKILL.md", "pdf/é", "pdf/e\u{301}"],
            vec!["pdf/SKILL.md", "pdf/ﬁ", "pdf/fi"],
            vec!["pdf/SKILL.md", "pdf/a", "pdf/a/b"],
            vec!["pdf/SKILL.md", "pdf/a/b", "pdf/a"],
            vec!["pdf/SKILL.md", "pdf/a/", "pdf/a/"],
            vec!["pdf/SKILL.md", "pdf/nul.txt"],
            vec!["pdf/SKILL.md", "pdf/.git/config"],
            vec!["pdf/SKILL.md", "pdf/references/.GIT/config"],
            vec!["pdf/SKILL.md", "pdf/git~1/config"],
            vec!["pdf/SKILL.md", "pdf/\u{ff0e}ｇｉｔ/config"],
            vec!["pdf/SKILL.md", "pdf/a/HEAD", "pdf/a/objects/x", "pdf/a/refs/y"],
            vec!["pdf/SKILL.md", "pdf/a/head", "pdf/a/Objects/", "pdf/a/Refs/"],
            vec!["pdf/SKILL.md", "pdf/HEAD", "pdf/objects/x", "pdf/refs/y"],
            vec!["pdf/SKILL.md", "pdf/a/commondir"],
            vec!["pdf/SKILL.md", "pdf/.csk-install.json"],
            vec!["pdf/SKILL.md", "pdf/a/.CSK-managed.json"],
            vec!["pdf/SKILL.md", "pdf/COM1"],
            vec!["pdf/SKILL.md", "pdf/LPT²"],
            vec!["pdf/SKILL.md", "pdf/CONIN$"],
            vec!["pdf/SKILL.md", "pdf/con .txt"],
            vec!["pdf/SKILL.md", "pdf/straße", "pdf/STRASSE"],
            vec!["pdf/SKILL.md", "pdf/a\u{200b}"],
            vec!["pdf/SKILL.md", "pdf/a\u{202e}gpj.sh"],
            vec!["pdf/SKILL.md", "pdf/x."],
            vec!["pdf/SKILL.md", "pdf/a:b"],
            vec!["/"],
            vec!["./pdf/SKILL.md"],
        ] {
            assert!(package(&names).is_err(), "{names:?}");
        }
        let deep = format!("pdf/{}x", "d/".repeat(40));
        assert!(package(&["pdf/SKILL.md", &deep]).is_err());
        assert!(package(&["pdf/SKILL.md", &format!("pdf/{}", "n".repeat(300))]).is_err());
    }
}
