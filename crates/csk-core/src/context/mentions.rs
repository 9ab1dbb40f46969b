//! The files of a skill that its Markdown links to or names by a relative path.
//!
//! A link is what Markdown says is one. A name is any text between blanks, quotes and brackets that is the path of a file of the skill: whether
//! there is one decides, so that words of a sentence are none.

use std::collections::BTreeSet;

use skill::linked_paths;

/// How much of a file is searched.
const MAX_SEARCHED_BYTES: usize = 256 << 10;
/// The longest name that is looked up.
const MAX_NAME_BYTES: usize = 512;

/// What a file of Markdown mentions: paths below the skill, each as it may be meant.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    /// Targets of links, with the text of the link.
    pub(super) links: BTreeSet<(String, String)>,
    /// Everything that may be a name.
    pub(super) names: BTreeSet<String>,
}

/// Returns what the Markdown in `text` mentions, which is in `folder` of the skill.
pub(super) fn mentions(text: &str, folder: &str) -> Mentions {
    let text = &text[..text.floor_char_boundary(MAX_SEARCHED_BYTES)];
    let mut found = Mentions::default();
    for link in linked_paths(text) {
        found.links.extend(below(folder, &link).map(|path| (path, link.clone())));
    }
    let is_between = |c: char| c.is_whitespace() || "\"'`()[]{}<>|,;=*".contains(c);
    for word in text.split(is_between) {
        // A sentence may end after a name.
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        let word = word.split('#').next().unwrap_or_default();
        let is_path = word.contains(['/', '.']) && !word.contains("://") && !word.starts_with('/');
        if is_path && word.len() <= MAX_NAME_BYTES {
            // Paths are written from the file, or from the skill's folder.
            found.names.extend(below(folder, word).into_iter().chain(below("", word)));
        }
    }
    found
}

/// Follows `.` and `..` of a path from a folder of the skill; nothing if it leads out, or to the skill itself. A slash at the end stays.
fn below(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') || path.contains('\\') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    let slash = if path.ends_with('/') { "/" } else { "" };
    (!parts.is_empty()).then(|| format!("{}{slash}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_names_are_found_as_they_are_written() {
        let text = "See [forms](forms.md#top), `reference/a.md` and \"../x.py\". Run python scripts/run.py --out=out/b.csv.\n\
                    Not https://example.com/c.md, /etc/passwd or (../../d.md); see data/, too: notes.txt.";
        let found = mentions(text, "docs");
        let links: Vec<&str> = found.links.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(links, ["docs/forms.md"]);
        for name in [
            "docs/reference/a.md",
            "reference/a.md",
            "x.py",
            "scripts/run.py",
            "out/b.csv",
            "data/",
            "notes.txt",
        ] {
            assert!(found.names.contains(name), "{name}: {:?}", found.names);
        }
        for none in ["c.md", "etc/passwd", "d.md", "https:"] {
            assert!(
                !found.names.iter().any(|name| name.ends_with(none)),
                "{none}: {:?}",
                found.names
            );
        }
    }
}
