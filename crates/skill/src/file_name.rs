//! Names of files as the least careful file system reads them, and which names a skill may hold.
//!
//! Systems disagree about which names are one: some fold case, some compose letters, some leave out characters that
//! nobody sees, some drop dots and spaces at the end. A name that any of them takes for `.git` is `.git` here. Whoever
//! protects a name asks here: packages, installs, the sandbox.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization;

use crate::{LEDGER_FILE, MARKER_FILE, RelPath, is_ignorable, is_unsafe_to_show};

/// The longest name of one part: what file systems take.
const MAX_PART: usize = 255;
/// The most folders that a file may be below.
const MAX_DEPTH: usize = 32;
/// How often a name is folded at most; every name settles sooner.
const MAX_ROUNDS: usize = 8;

/// The folder of a repository.
const GIT_FOLDER: &str = ".git";

/// Returns one name for all that some file system takes for the same one: full case folding, compatibility forms,
/// without ignorable characters and without dots and spaces at the end.
pub fn folded_name(name: &str) -> String {
    let folded = if name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        name.to_ascii_lowercase()
    } else {
        settled(name)
    };
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// Folds until nothing changes: `ẞ` is `ß` first, and `ss` then.
fn settled(name: &str) -> String {
    let is_kept = |character: &char| !is_ignorable(*character);
    let mut text = name.to_owned();
    for _ in 0..MAX_ROUNDS {
        // Upper case first: `ſ` is `S` there and `ﬁ` is `FI`, as they are to systems that fold names. Letter by letter,
        // so that a sigma at the end is like any other.
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

/// Returns true if some file system takes `name` for `known`: by folding, as a stream of it, or as its short name.
pub fn is_name_of(name: &str, known: &str) -> bool {
    // What comes after a colon is a part of the same file to some.
    let name = folded_name(name.split(':').next().unwrap_or(name));
    let known = folded_name(known);
    name == known || is_short_for(&name, &known)
}

/// `git~1` is `.git` where names have eight letters.
fn is_short_for(name: &str, known: &str) -> bool {
    let Some((start, number)) = name.split_once('~') else { return false };
    let letters: String = known.chars().filter(char::is_ascii_alphanumeric).collect();
    let number = number.split('.').next().unwrap_or(number);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && start.len() >= 2 && letters.starts_with(start)
}

/// Returns true if some file system takes `name` for the folder of a git repository.
pub fn is_git_folder(name: &str) -> bool {
    is_name_of(name, GIT_FOLDER)
}

/// Returns true if a folder with these names in it is a git repository by itself: git runs what the configuration in
/// one says, whatever the folder is called.
pub fn is_bare_repository<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    let names: BTreeSet<String> = names.into_iter().map(folded_name).collect();
    let has = |known: &str| names.contains(known);
    (has("head") && has("objects") && has("refs")) || has("commondir")
}

/// A name that a skill may not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not allowed in a skill: {why}")]
pub struct FileNameError {
    /// The name.
    pub name: String,
    /// Why it is refused.
    pub why: String,
}

/// The names in a skill: each must be one that every system reads alike, and none may be in the way of another. One
/// rule for packages and for installs.
#[derive(Debug, Clone, Default)]
pub struct FileNames {
    /// Every name as the least careful system sees it, with how it is written and what it is.
    seen: BTreeMap<String, (String, What)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    File,
    /// One that is listed by itself.
    Folder,
    /// One that is only part of another's name.
    Around,
}

impl FileNames {
    /// Adds a file or a link.
    pub fn file(&mut self, path: &RelPath) -> Result<(), FileNameError> {
        self.enter(path, What::File)
    }

    /// Adds a folder that is listed by itself.
    pub fn folder(&mut self, path: &RelPath) -> Result<(), FileNameError> {
        self.enter(path, What::Folder)
    }

    /// Returns the names at the root.
    pub fn roots(&self) -> impl Iterator<Item = &str> {
        self.seen.values().map(|(name, _)| name.as_str()).filter(|name| !name.contains('/'))
    }

    /// Refuses a folder that is a repository by itself. Asked when every name is there.
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
                why: "it is a git repository, whose hooks and configuration run programs"
                    .to_owned(),
            }),
        }
    }

    fn enter(&mut self, path: &RelPath, what: What) -> Result<(), FileNameError> {
        let wrong = |why: String| FileNameError { name: path.to_string(), why };
        if let Some(why) = path.parts().find_map(problem_of) {
            return Err(wrong(why));
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
            self.note(&shown, &key, if at + 1 == parts.len() { what } else { What::Around })?;
        }
        Ok(())
    }

    fn note(&mut self, name: &str, key: &str, what: What) -> Result<(), FileNameError> {
        let wrong = |why: String| Err(FileNameError { name: name.to_owned(), why });
        let Some((before, kind)) = self.seen.get_mut(key) else {
            self.seen.insert(key.to_owned(), (name.to_owned(), what));
            return Ok(());
        };
        if before != name {
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
                return wrong("duplicate".to_owned());
            }
        }
        Ok(())
    }
}

/// Says why a part of a path is not a name that every system takes.
fn problem_of(part: &str) -> Option<String> {
    if part.len() > MAX_PART {
        return Some(format!("a part of it is longer than {MAX_PART} bytes"));
    }
    if is_git_folder(part) {
        return Some("a skill cannot contain a git repository".to_owned());
    }
    // They are left out of the digests that trust binds to.
    if [MARKER_FILE, LEDGER_FILE].iter().any(|own| is_name_of(part, own)) {
        return Some("csk writes such files itself; a skill cannot bring one".to_owned());
    }
    if part.ends_with('.') || part.ends_with(' ') {
        return Some("a part of it ends with a dot or a space, which some systems drop".to_owned());
    }
    if part.contains([':', '*', '?', '"', '<', '>', '|']) {
        return Some("it has a character that some systems refuse".to_owned());
    }
    if part.chars().any(|c| is_ignorable(c) || is_unsafe_to_show(c)) {
        return Some("it has an invisible character, or one that hides others".to_owned());
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

    #[test]
    fn names_are_one_however_they_are_written() {
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

    /// Every letter settles within the rounds that are given to it.
    #[test]
    fn folding_settles() {
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
    fn a_repository_is_known_by_what_is_in_it() {
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
