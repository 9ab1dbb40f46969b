//! Normalizes names, so that names that look the same are treated as equal.
//!
//! The key of a name is its visible text in lowercase, with hyphens instead of spaces. `PDF Tools`, `pdf tools` and
//! `pdf-tools` with a hidden character in it have the same key, so a lookalike name cannot impersonate another skill.
//! The last part of an id is easy to type: anything that is not a letter or digit becomes a hyphen.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use skill::{MAX_NAME, is_ignorable, normalised};
use skill_fs::AbsPath;

use crate::Skill;

/// Returns a name for display: on one line, without hidden characters, no longer than the standard allows.
pub(crate) fn shown_name(name: &str) -> String {
    let visible: String = normalised(name)
        .chars()
        .filter(|character| character.is_whitespace() || !is_ignorable(*character))
        .collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_NAME) {
        None => line,
        Some(_) => line.chars().take(MAX_NAME - 1).chain(['…']).collect(),
    }
}

/// Returns the key of a name; empty if the name has no visible characters.
pub(crate) fn key(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let shown = shown_name(name).to_lowercase();
    let parts = shown.split(|c: char| c.is_whitespace() || matches!(c, '-' | '_'));
    Cow::Owned(parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-"))
}

/// Returns true for a standard name, which is its own key and the last part of its id.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= MAX_NAME
        && name.split('-').all(|part| !part.is_empty() && part.bytes().all(is_letter))
}

/// Returns the key of a skill: that of its name, or of its folder if the name has no visible characters.
pub(crate) fn key_of<'a>(name: &'a str, folder: &AbsPath) -> Cow<'a, str> {
    let key = key(name);
    if !key.is_empty() {
        return key;
    }
    let folder = self::key(folder.file_name().unwrap_or_default()).into_owned();
    Cow::Owned(if folder.is_empty() { "skill".to_owned() } else { folder })
}

/// Returns the last part of an id for a key.
pub(crate) fn id_part(key: &str) -> Cow<'_, str> {
    if is_plain(key) {
        return Cow::Borrowed(key);
    }
    let mut part = String::new();
    for character in key.chars() {
        match character {
            // Combining marks belong to the preceding letter.
            _ if character.is_alphanumeric() || !character.is_ascii() => part.push(character),
            _ if part.ends_with('-') || part.is_empty() => {}
            _ => part.push('-'),
        }
    }
    part.truncate(part.trim_end_matches('-').len());
    Cow::Owned(if part.is_empty() { "skill".to_owned() } else { part })
}

/// Makes the ids of a root's skills unique. Ids contain no `~` otherwise, so the result cannot collide.
pub(crate) fn make_unique(skills: &mut [Arc<Skill>]) {
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(skills.len());
    let mut duplicates = Vec::new();
    for (at, skill) in skills.iter().enumerate() {
        let count = counts.entry(&skill.id).or_default();
        *count += 1;
        if *count > 1 {
            duplicates.push((at, *count));
        }
    }
    for (at, count) in duplicates {
        let skill = Arc::make_mut(&mut skills[at]);
        skill.id = format!("{}~{count}", skill.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookalike_names_have_the_same_key() {
        for (name, expected) in [
            ("pdf", "pdf"),
            ("CSV Tools", "csv-tools"),
            ("csv  tools", "csv-tools"),
            ("csv_tools", "csv-tools"),
            ("-csv--tools-", "csv-tools"),
            ("csv-tools\u{200b}", "csv-tools"),
            ("pdf\u{3164}", "pdf"),
            ("p\u{ad}d\u{200d}f\u{180b}\u{e0101}", "pdf"),
            ("\u{202e}pdf", "pdf"),
            ("ｐｄｆ", "pdf"),
            ("cafe\u{301}", "café"),
            ("技能", "技能"),
            ("हिन्दी", "हिन्दी"),
            ("हिन्दी\u{200b}", "हिन्दी"),
            ("C++", "c++"),
            ("C#", "c#"),
            ("\u{200b}", ""),
        ] {
            assert_eq!(key(name), expected, "{name:?}");
        }
    }

    #[test]
    fn names_with_the_same_display_form_have_the_same_key() {
        let pieces =
            ["pdf", "PDF", " ", "-", "\u{200b}", "\u{3164}", "\u{202e}", "\u{fffd}", "é", "x"];
        let names: Vec<String> = pieces
            .iter()
            .flat_map(|a| pieces.iter().map(move |b| format!("{a}{b}tools{a}")))
            .chain([format!("{}a", "x".repeat(70)), format!("{}b", "x".repeat(70))])
            .collect();
        for one in &names {
            for other in names.iter().filter(|other| shown_name(other) == shown_name(one)) {
                assert_eq!(key(one), key(other), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn the_last_part_of_an_id_can_be_typed() {
        for (key, expected) in [
            ("pdf", "pdf"),
            ("c++", "c"),
            ("a/b:c@d~2", "a-b-c-d-2"),
            ("!", "skill"),
            ("café", "café"),
        ] {
            assert_eq!(id_part(key), expected, "{key}");
        }
    }
}
