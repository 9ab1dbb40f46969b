//! File names as the most lenient filesystem reads them, and the names that a skill may contain.
//!
//! Filesystems disagree about which names are equal: some fold case, some compose letters, some ignore invisible
//! characters, some drop trailing dots and spaces. A name that any of them treats as `.git` counts as `.git` here.
//! Packages, installs and the sandbox all use this module to protect names.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization;

use crate::{LEDGER_FILE, MARKER_FILE, RelPath, is_ignorable, is_unsafe_to_show};

/// Maximum length of one path component on common filesystems.
const MAX_PART: usize = 255;
/// Maximum number of folders above a file.
const MAX_DEPTH: usize = 32;
/// Maximum number of folding passes; every name settles earlier.
const MAX_ROUNDS: usize = 8;

/// The folder of a repository.
const GIT_FOLDER: &str = ".git";

/// Returns the canonical form of a name, equal for all names that some filesystem treats as the same: full case
/// folding, compatibility forms, no ignorable characters, no trailing dots or spaces.
pub fn folded_name(name: &str) -> String {
    let folded = if name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        name.to_ascii_lowercase()
    } else {
        settled(name)
    };
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// Folds until nothing changes: `ẞ` becomes `ß` first, then `ss`.
fn settled(name: &str) -> String {
    let is_kept = |character: &char| !is_ignorable(*character);
    let mut text = name.to_owned();
    for _ in 0..MAX_ROUNDS {
        // Upper case comes first, because filesystems that fold names turn `ſ` into `S` and `ﬁ` into `FI`. Going
        // letter by letter treats a final sigma like any other.
        let upper = text.nfkd().filter(is_kept).flat_map(char::to_uppercase);
        let lower: String = upper.flat_map(char::to_lowercase).collect();
        let next: String = lower.nfkd().filter(is_kept).collect();
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Returns true if some filesystem treats `name` as `known`: after folding, as an alternate data stream, or as a short
/// name.
pub fn is_name_of(name: &str, known: &str) -> bool {
    // On NTFS, the part after a colon names a stream of the same file.
    let name = folded_name(name.split(':').next().unwrap_or(name));
    let known = folded_name(known);
    name == known || is_short_for(&name, &known)
}

/// Returns true for an 8.3 short name: `git~1` is `.git`.
fn is_short_for(name: &str, known: &str) -> bool {
    let Some((start, number)) = name.split_once('~') else { return false };
    let letters: String = known.chars().filter(char::is_ascii_alphanumeric).collect();
    let number = number.split('.').next().unwrap_or(number);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && start.len() >= 2 && letters.starts_with(start)
}

/// Returns true if some filesystem treats `name` as the folder of a git repository.
pub fn is_git_folder(name: &str) -> bool {
    is_name_of(name, GIT_FOLDER)
}

/// Returns true if a folder with these entries is a bare git repository. git runs programs named in its configuration,
/// whatever the folder is called.
pub fn is_bare_repository<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    let names: BTreeSet<String> = names.into_iter().map(folded_name).collect();
    let has = |known: &str| names.contains(known);
    (has("head") && has("objects") && has("refs")) || has("commondir")
}

/// A name that is not allowed in a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not allowed in a skill: {reason}")]
pub struct FileNameError {
    /// The name.
    pub name: String,
    /// Why it is refused.
    pub reason: String,
}

/// The file names in a skill: each must be portable, and none may collide with another. Packages and installs share
/// these rules.
#[derive(Debug, Clone, Default)]
pub struct FileNames {
    /// Every name in canonical form, with its original spelling and type.
    seen: BTreeMap<String, (String, EntryType)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryType {
    File,
    /// A folder that is listed explicitly.
    Folder,
    /// A folder that only occurs in the path of another entry.
    Parent,
}

impl FileNames {
    /// Adds a file or a link.
    pub fn file(&mut self, path: &RelPath) -> Result<(), FileNameError> {
        self.enter(path, EntryType::File)
    }

    /// Adds a folder that is listed explicitly.
    pub fn folder(&mut self, path: &RelPath) -> Result<(), FileNameError> {
        self.enter(path, EntryType::Folder)
    }

    /// Returns the names in the root folder.
    pub fn roots(&self) -> impl Iterator<Item = &str> {
        self.seen.values().map(|(name, _)| name.as_str()).filter(|name| !name.contains('/'))
    }

    /// Rejects a folder that is itself a git repository. Call this after all names have been added.
    pub fn finish(&self) -> Result<(), FileNameError> {
        let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, _) in self.seen.values() {
            let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
            folders.entry(folder).or_default().push(name);
        }
        match folders.into_iter().find(|(_, names)| is_bare_repository(names.iter().copied())) {
            None => Ok(()),
            Some((folder, _)) => Err(FileNameError {
                name: if folder.is_empty() { ".".to_owned() } else { folder.to_owned() },
                reason: "it is a git repository, whose hooks and configuration can run programs"
                    .to_owned(),
            }),
        }
    }

    fn enter(&mut self, path: &RelPath, entry_type: EntryType) -> Result<(), FileNameError> {
        let wrong = |reason: String| FileNameError { name: path.to_string(), reason };
        if let Some(reason) = path.parts().find_map(problem_of) {
            return Err(wrong(reason));
        }
        let parts: Vec<&str> = path.parts().collect();
        if parts.len() > MAX_DEPTH {
            return Err(wrong(format!("it is more than {MAX_DEPTH} folders deep")));
        }
        let (mut shown, mut key) = (String::new(), String::new());
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                shown.push('/');
                key.push('/');
            }
            shown += part;
            key += &folded_name(part);
            self.note(
                &shown,
                &key,
                if at + 1 == parts.len() { entry_type } else { EntryType::Parent },
            )?;
        }
        Ok(())
    }

    fn note(&mut self, name: &str, key: &str, entry_type: EntryType) -> Result<(), FileNameError> {
        let wrong = |reason: String| Err(FileNameError { name: name.to_owned(), reason });
        let Some((before, kind)) = self.seen.get_mut(key) else {
            self.seen.insert(key.to_owned(), (name.to_owned(), entry_type));
            return Ok(());
        };
        if before != name {
            return wrong(format!(
                "it differs from `{before}` only in case or Unicode normalization"
            ));
        }
        match (*kind, entry_type) {
            (EntryType::Parent, EntryType::Folder) => *kind = EntryType::Folder,
            (EntryType::Parent | EntryType::Folder, EntryType::Parent) => {}
            (EntryType::File, EntryType::Parent | EntryType::Folder)
            | (EntryType::Parent | EntryType::Folder, EntryType::File) => {
                return wrong("it is both a file and a folder".to_owned());
            }
            (EntryType::File, EntryType::File) | (EntryType::Folder, EntryType::Folder) => {
                return wrong("duplicate".to_owned());
            }
        }
        Ok(())
    }
}

/// Returns why a path component is not portable, if it is not.
fn problem_of(part: &str) -> Option<String> {
    if part.len() > MAX_PART {
        return Some(format!("a path component is longer than {MAX_PART} bytes"));
    }
    if is_git_folder(part) {
        return Some("a skill cannot contain a git repository".to_owned());
    }
    // The digests that trust is bound to leave these files out.
    if [MARKER_FILE, LEDGER_FILE].iter().any(|own| is_name_of(part, own)) {
        return Some("the name is reserved for files that csk writes".to_owned());
    }
    if part.ends_with('.') || part.ends_with(' ') {
        return Some(
            "a path component ends with a dot or a space, which some systems drop".to_owned(),
        );
    }
    if part.contains([':', '*', '?', '"', '<', '>', '|']) {
        return Some("it contains a character that some systems do not allow".to_owned());
    }
    if part.chars().any(|c| is_ignorable(c) || is_unsafe_to_show(c)) {
        return Some("it contains an invisible character, or one that hides others".to_owned());
    }
    is_device_name(part).then(|| format!("`{part}` is a device name on some systems"))
}

/// Returns true for `CON`, `nul.txt`, `COM1` and similar names, which Windows treats as devices in every folder.
pub fn is_device_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    let is_port = |stem: &str| {
        let number = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
        let mut number = number.into_iter().flat_map(str::chars);
        let is_one = number.next().is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c));
        is_one && number.next().is_none()
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$") || is_port(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_spellings_fold_to_one_name() {
        for (name, known) in [
            (".GIT", ".git"),
            (".git.", ".git"),
            (".git . .", ".git"),
            (".g\u{200c}it", ".git"),
            (".gi\u{fe0f}t", ".git"),
            (".g\u{34f}it", ".git"),
            (".g\u{2065}it", ".git"),
            (".g\u{e0fff}it", ".git"),
            ("\u{ff0e}ｇｉｔ", ".git"),
            (".git::$INDEX_ALLOCATION", ".git"),
            (".git:x", ".git"),
            ("git~1", ".git"),
            ("GIT~2", ".git"),
            ("CLAUDE~1.MD", "CLAUDE.md"),
            ("AGENTſ.md", "AGENTS.md"),
            ("agents.md ", "AGENTS.md"),
            (".proﬁle", ".profile"),
            (".PROﬁLE", ".profile"),
            (".ma\u{212a}e", ".make"),
            ("STRASSE", "straße"),
            ("STRAẞE", "strasse"),
            ("ΣΑΣ", "σας"),
            ("e\u{301}", "É"),
        ] {
            assert!(is_name_of(name, known), "{name:?} {known:?}");
        }
        for name in ["git", ".gitignore", "a~1", "git~", "g~1", ".github", "x.git", ".git-x"] {
            assert!(!is_git_folder(name), "{name}");
        }
    }

    /// Every letter settles within `MAX_ROUNDS` passes.
    #[test]
    fn folding_is_idempotent() {
        for character in ('\0'..=char::MAX).filter(|character| !character.is_ascii()) {
            let folded = settled(&character.to_string());
            assert_eq!(settled(&folded), folded, "U+{:04X}", character as u32);
            for other in character.to_lowercase().chain(character.to_uppercase()) {
                let same =
                    character.to_lowercase().count() == 1 && character.to_uppercase().count() == 1;
                if same {
                    assert_eq!(settled(&other.to_string()), folded, "U+{:04X}", character as u32);
                }
            }
        }
    }

    #[test]
    fn a_bare_repository_is_recognized_by_its_contents() {
        for (names, is_one) in [
            (&["HEAD", "objects", "refs", "config"][..], true),
            (&["head", "Objects", "REFS"], true),
            (&["HEAD", "ob\u{200d}jects", "refﬆ", "refs"], true),
            (&["commondir"], true),
            (&["CommonDir."], true),
            (&["HEAD", "objects"], false),
            (&["head.md", "objects", "refs"], false),
        ] {
            assert_eq!(is_bare_repository(names.iter().copied()), is_one, "{names:?}");
        }
    }
}
