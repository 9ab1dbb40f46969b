//! Finds what a skill's Markdown refers to: links, and file names.
//!
//! A link is any link in Markdown or in the HTML in it. A name is any text between blanks, quotes and brackets that
//! could be a path; it counts only if such a file exists, so ordinary words do not match.

use std::borrow::Cow;
use std::collections::BTreeSet;

use skill::linked_paths;

/// Longer paths are ignored.
const MAX_PATH_BYTES: usize = 512;

/// Where a reference in Markdown points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// To a path inside the skill, whether or not it exists.
    Inside(String),
    /// To the skill's own folder.
    SkillFolder,
    /// Outside the skill.
    Outside,
}

/// Returns the link targets in `text`, as written.
pub(super) fn links(text: &str) -> BTreeSet<String> {
    linked_paths(text).into_iter().filter(|link| link.len() <= MAX_PATH_BYTES).collect()
}

/// Returns everything in `text` that could be a file path, as written.
pub(super) fn names(text: &str) -> BTreeSet<Cow<'_, str>> {
    let mut found = BTreeSet::new();
    let mut start = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_separator(*c)) {
        add_candidates(&text[..start], &text[start..at], &mut found);
        start = at + c.len_utf8();
    }
    add_candidates(&text[..start], &text[start..], &mut found);
    found
}

/// Resolves `.` and `..` of a path relative to a folder of the skill. A leading slash means the skill's folder, and a
/// backslash is a Windows path separator.
pub(super) fn resolve(folder: &str, path: &str) -> LinkTarget {
    let is_absolute = path.starts_with(['/', '\\']);
    let mut parts: Vec<&str> =
        folder.split('/').filter(|part| !is_absolute && !part.is_empty()).collect();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return LinkTarget::Outside,
            ".." => {}
            _ => parts.push(part),
        }
    }
    if parts.is_empty() { LinkTarget::SkillFolder } else { LinkTarget::Inside(parts.join("/")) }
}

/// Returns true if a broken link is worth a warning: it looks like a file path and not like an example of one.
pub(super) fn is_likely_path(link: &str) -> bool {
    let parts: Vec<&str> = link.split(['/', '\\']).collect();
    let last = parts.iter().rev().find(|part| !part.is_empty()).copied().unwrap_or_default();
    let has_extension = last.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && extension.chars().any(|c| c.is_ascii_alphabetic())
    });
    let is_example = link.contains("...") || link.contains("path/to") || link.contains('…');
    // A path on a web site, or a host without `https://`.
    let is_site = (parts[0].is_empty() && !has_extension)
        || parts[0].starts_with("www.")
        || (parts.len() > 1 && parts[0].contains('.') && !parts[0].starts_with('.'));
    (has_extension || parts.len() > 1) && !is_example && !is_site
}

/// Returns true for characters that separate words. For the punctuation of other scripts, see `add_candidates`.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || "\"'`()[]{}<>|,;=*“”‘’„‚«»‹›".contains(c)
}

/// Adds the paths that a word could be.
fn add_candidates<'a>(before: &str, word: &'a str, found: &mut BTreeSet<Cow<'a, str>>) {
    if word.contains("://") || word.len() > MAX_PATH_BYTES {
        return;
    }
    // `{baseDir}/x` and `<skill>/x` are relative to the skill, like `$SKILL_DIR/x`.
    let is_after_variable = before.ends_with(['}', '>']);
    let word = if is_after_variable { word.trim_start_matches('/') } else { word };
    let word = match word.strip_prefix('$').and_then(|word| word.split_once('/')) {
        Some((_, path)) => path,
        None => word.strip_prefix('@').unwrap_or(word),
    };
    add_path(word, found);
    if !word.is_ascii() {
        // The word may be in a language without spaces, or with its own punctuation.
        word.split(|c: char| !c.is_ascii()).for_each(|run| add_path(run, found));
    }
}

fn add_path<'a>(word: &'a str, found: &mut BTreeSet<Cow<'a, str>>) {
    // A name may end a sentence.
    let word = word.split('#').next().unwrap_or_default().trim_end_matches(['.', ':', '!', '?']);
    if !word.contains(['/', '\\', '.']) || word.starts_with('/') {
        return;
    }
    found.insert(word.into());
    let plain = word.trim_start_matches('_').trim_end_matches(['_', '.', ':', '!', '?']);
    if plain != word {
        // Underscores may be part of the name or emphasis around it.
        found.insert(plain.into());
    }
    if word.contains("\\_") {
        found.insert(word.replace("\\_", "_").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_written() {
        let text = "See `reference/a.md` and \"../x.py\". Run python scripts/run.py --out=out/b.csv.\n\
                    Not https://example.com/c.md or /etc/passwd; see data/, too: notes.txt.\n\
                    Read @forms.md, {baseDir}/base.md, ${CLAUDE_SKILL_DIR}/dir.md, $ROOT/root.md, <skill>/skill.md,\n\
                    _emphasis.md_, _start.md and end.md_. “curly.md”, ‘one.md’, «guillemets.md», 见中文.md。看han.md。\n\
                    docs\\h.md, my\\_file.md, __init__.py, a.md#top.";
        let found = names(text);
        for name in [
            "reference/a.md",
            "../x.py",
            "scripts/run.py",
            "out/b.csv",
            "data/",
            "notes.txt",
            "forms.md",
            "base.md",
            "dir.md",
            "root.md",
            "skill.md",
            "emphasis.md",
            "start.md",
            "end.md",
            "curly.md",
            "one.md",
            "guillemets.md",
            "han.md",
            "docs\\h.md",
            "my_file.md",
            "__init__.py",
            "a.md",
        ] {
            assert!(found.contains(name), "{name}: {found:?}");
        }
        for none in ["c.md", "passwd"] {
            assert!(!found.iter().any(|name| name.ends_with(none)), "{none}: {found:?}");
        }
    }

    #[test]
    fn paths_are_resolved_from_their_folder() {
        let inside = |path: &str| LinkTarget::Inside(path.to_owned());
        for (folder, path, target) in [
            ("docs", "a.md", inside("docs/a.md")),
            ("docs", "./x/../a.md", inside("docs/a.md")),
            ("docs", "../a/", inside("a")),
            ("docs", "/a.md", inside("a.md")),
            ("", "api\\h.md", inside("api/h.md")),
            ("docs", "..", LinkTarget::SkillFolder),
            ("docs", "../../a.md", LinkTarget::Outside),
            ("", "../a.md", LinkTarget::Outside),
        ] {
            assert_eq!(resolve(folder, path), target, "{folder} {path}");
        }
    }

    #[test]
    fn examples_and_web_sites_are_not_paths() {
        for path in
            ["a.md", "docs/api", "../other/SKILL.md", "/abs.md", "docs\\api\\h.md", ".env.example"]
        {
            assert!(is_likely_path(path), "{path}");
        }
        for other in [
            "url",
            "...",
            "path/to/file.md",
            "/docs/start",
            "www.example.com",
            "github.com/a/b",
            "1.5",
        ] {
            assert!(!is_likely_path(other), "{other}");
        }
    }
}
