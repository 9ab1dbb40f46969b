//! What a name is called by: names that only look different are one name.
//!
//! The key of a name is what a reader sees of it, in small letters, with hyphens for blanks. `PDF Tools`, `pdf  tools` and
//! `pdf-tools` with a hidden character in it have one key, so nobody takes the place of another's skill by a trick of
//! writing. The last part of an id can be typed: there, whatever is no letter or digit is a hyphen.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use skill::{MAX_NAME, is_ignorable, normalised};
use skill_fs::AbsPath;

use crate::Skill;

/// Returns a name as it is shown: on one line, nothing hidden, not longer than the standard allows.
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

/// Returns the key of a name; empty where there is nothing to be seen.
pub(crate) fn key(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let shown = shown_name(name).to_lowercase();
    let parts = shown.split(|c: char| c.is_whitespace() || matches!(c, '-' | '_'));
    Cow::Owned(parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-"))
}

/// Returns true for the usual name, which is its own key and the last part of its own id.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= MAX_NAME
        && name.split('-').all(|part| !part.is_empty() && part.bytes().all(is_letter))
}

/// Returns the key of a skill: that of its name, or of its folder where the name shows nothing.
pub(crate) fn key_of<'a>(name: &'a str, folder: &AbsPath) -> Cow<'a, str> {
    let key = key(name);
    if !key.is_empty() {
        return key;
    }
    let folder = self::key(folder.file_name().unwrap_or_default()).into_owned();
    Cow::Owned(if folder.is_empty() { "skill".to_owned() } else { folder })
}

/// Returns the last part of an id, made of a key.
pub(crate) fn id_part(key: &str) -> Cow<'_, str> {
    if is_plain(key) {
        return Cow::Borrowed(key);
    }
    let mut part = String::new();
    for character in key.chars() {
        match character {
            // Marks belong to the letter before them.
            _ if character.is_alphanumeric() || !character.is_ascii() => part.push(character),
            _ if part.ends_with('-') || part.is_empty() => {}
            _ => part.push('-'),
        }
    }
    part.truncate(part.trim_end_matches('-').len());
    Cow::Owned(if part.is_empty() { "skill".to_owned() } else { part })
}

/// Makes the ids of a root's skills differ. The last part of an id holds no `~`, so nothing else has such an id.
pub(crate) fn make_unique(skills: &mut [Arc<Skill>]) {
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(skills.len());
    let mut twice = Vec::new();
    for (at, skill) in skills.iter().enumerate() {
        let count = counts.entry(&skill.id).or_default();
        *count += 1;
        if *count > 1 {
            twice.push((at, *count));
        }
    }
    for (at, count) in twice {
        let skill = Arc::make_mut(&mut skills[at]);
        skill.id = format!("{}~{count}", skill.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_only_look_different_are_one() {
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
    fn names_that_are_shown_alike_have_one_key() {
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
