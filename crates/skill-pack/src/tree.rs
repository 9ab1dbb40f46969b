//! The names in an archive: each must be one that every system reads alike, and none may be in the way of another.

use std::collections::BTreeMap;

use skill::{LEDGER_FILE, MARKER_FILE, RelPath, is_ignorable, is_unsafe_to_show};
use unicode_normalization::UnicodeNormalization;

use crate::{PackError, Package, PackedFile};

/// The most entries of an archive.
pub const MAX_FILES: usize = 10_000;
/// The most bytes of all files.
pub const MAX_BYTES: u64 = 128 << 20;
/// The most bytes of one file.
pub const MAX_FILE: u64 = 64 << 20;
/// The most folders that a file may be below.
const MAX_DEPTH: usize = 32;
/// The longest name of one part: what file systems take.
const MAX_PART: usize = 255;

/// Files and folders as they come out of an archive.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: Vec<PackedFile>,
    /// Every name as the least careful system sees it, with how it is written and what it is.
    seen: BTreeMap<String, (String, What)>,
    bytes: u64,
    entries: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    File,
    /// One that stands in the archive itself.
    Folder,
    /// One that is only part of another's name.
    Around,
}

impl Tree {
    /// Adds a file.
    pub(crate) fn file(
        &mut self,
        name: &str,
        (executable, bytes): (bool, Vec<u8>),
    ) -> Result<(), PackError> {
        let path = self.enter(name, What::File)?;
        let size = bytes.len() as u64;
        if size > MAX_FILE {
            return Err(PackError::Limit {
                what: "bytes of one file",
                found: size,
                limit: MAX_FILE,
            });
        }
        self.bytes += size;
        if self.bytes > MAX_BYTES {
            let (what, found) = ("bytes of all files", self.bytes);
            return Err(PackError::Limit { what, found, limit: MAX_BYTES });
        }
        self.files.push(PackedFile { path, executable, bytes });
        Ok(())
    }

    /// Adds a folder.
    pub(crate) fn folder(&mut self, name: &str) -> Result<(), PackError> {
        let plain = name.trim_end_matches('/');
        self.enter(if plain.is_empty() { name } else { plain }, What::Folder).map(|_| ())
    }

    fn enter(&mut self, name: &str, what: What) -> Result<RelPath, PackError> {
        let wrong = |why: String| PackError::Name { name: name.to_owned(), why };
        self.entries += 1;
        if self.entries > MAX_FILES {
            let found = self.entries as u64;
            return Err(PackError::Limit { what: "entries", found, limit: MAX_FILES as u64 });
        }
        let path = RelPath::new(name).map_err(|error| wrong(error.to_string()))?;
        if let Some(why) = path.parts().find_map(unusable) {
            return Err(wrong(why));
        }
        if path.parts().count() > MAX_DEPTH {
            return Err(wrong(format!("it is more than {MAX_DEPTH} folders deep")));
        }
        let parts: Vec<&str> = path.parts().collect();
        for end in 1..=parts.len() {
            let shown = parts[..end].join("/");
            let what = if end == parts.len() { what } else { What::Around };
            self.note(&shown, what)?;
        }
        Ok(path)
    }

    fn note(&mut self, name: &str, what: What) -> Result<(), PackError> {
        let wrong = |why: String| Err(PackError::Name { name: name.to_owned(), why });
        // Upper case first: `ß` is `SS` there, as it is to systems that fold names.
        let folded = name.nfkc().collect::<String>().to_uppercase().to_lowercase();
        let key: String = folded.nfc().collect();
        let Some((before, kind)) = self.seen.get_mut(&key) else {
            self.seen.insert(key, (name.to_owned(), what));
            return Ok(());
        };
        if *before != name {
            return wrong(format!(
                "it differs from `{before}` only in case or in how it is written"
            ));
        }
        match (*kind, what) {
            (What::Around, What::Folder) => *kind = What::Folder,
            (What::Around | What::Folder, What::Around) => {}
            (What::File, What::Around | What::Folder)
            | (What::Around | What::Folder, What::File) => {
                return wrong("it is a file and a folder at once".to_owned());
            }
            (What::File, What::File) | (What::Folder, What::Folder) => {
                return wrong("it stands there twice".to_owned());
            }
        }
        Ok(())
    }

    /// Returns the package, whose one folder at the root has its name.
    pub(crate) fn package(self) -> Result<Package, PackError> {
        let roots: Vec<&str> = self
            .seen
            .values()
            .map(|(name, _)| name.as_str())
            .filter(|name| !name.contains('/'))
            .collect();
        let name = match roots.as_slice() {
            [] => return Err(PackError::Root("the archive is empty".to_owned())),
            [name] => (*name).to_owned(),
            all if all.contains(&"__MACOSX") => {
                return Err(PackError::Root(
                    "beside the skill there is a folder `__MACOSX`, as the Finder makes it"
                        .to_owned(),
                ));
            }
            [one, other, ..] => {
                let told = format!("there is not one folder at the root: `{one}` and `{other}`");
                return Err(PackError::Root(told));
            }
        };
        let inside = |file: PackedFile| {
            let (_, path) = file.path.as_str().split_once('/')?;
            let path = RelPath::new(path).ok()?;
            Some(PackedFile { path, ..file })
        };
        let files: Option<Vec<PackedFile>> = self.files.into_iter().map(inside).collect();
        let Some(mut files) = files else {
            return Err(PackError::Root(format!("`{name}` is a file, not the skill's folder")));
        };
        files.sort_by(|one, other| one.path.as_str().cmp(other.path.as_str()));
        Package { name, files }.checked()
    }
}

/// Says why a part of a name is not one that every system takes.
fn unusable(part: &str) -> Option<String> {
    if part.len() > MAX_PART {
        return Some(format!("a part of it is longer than {MAX_PART} bytes"));
    }
    if part.eq_ignore_ascii_case(".git") {
        return Some("a repository does not belong in a package".to_owned());
    }
    // They are left out of the digests that trust binds to.
    if [MARKER_FILE, LEDGER_FILE].iter().any(|own| part.eq_ignore_ascii_case(own)) {
        return Some("csk writes such files itself; a package cannot bring one".to_owned());
    }
    if part.ends_with('.') || part.ends_with(' ') {
        return Some("a part of it ends with a dot or a blank, which some systems drop".to_owned());
    }
    if part.contains([':', '*', '?', '"', '<', '>', '|']) {
        return Some("it has a character that some systems refuse".to_owned());
    }
    if part.chars().any(|c| is_ignorable(c) || is_unsafe_to_show(c)) {
        return Some("it has a character that is not seen, or that hides others".to_owned());
    }
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_lowercase();
    let is_port = |stem: &str| {
        let number = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
        let mut number = number.into_iter().flat_map(str::chars);
        let is_one = number.next().is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c));
        is_one && number.next().is_none()
    };
    let is_device = matches!(stem.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$")
        || is_port(&stem);
    is_device.then(|| format!("`{part}` is the name of a device on some systems"))
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
                tree.file(name, (false, b"x".to_vec()))?;
            }
        }
        tree.package()
    }

    #[test]
    fn one_folder_with_a_skill_is_taken() {
        let package = package(&["pdf/", "pdf/SKILL.md", "pdf/a/", "pdf/a/b.md"]).unwrap();
        assert_eq!(package.name, "pdf");
        let paths: Vec<&str> = package.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "a/b.md"]);
    }

    #[test]
    fn names_that_are_read_in_two_ways_are_refused() {
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
