//! What a name is called by: names that only look different are one name.
//!
//! A key is the name itself where the name keeps the standard's rules. Any other is made small, and whatever is no
//! letter or digit becomes a hyphen: `PDF Tools`, `pdf  tools` and `pdf-tools` with a hidden character in it have one
//! key. So nobody takes the place of another's skill by a trick of writing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use skill::SkillName;
use skill_fs::AbsPath;

use crate::Skill;

/// The longest key that is made.
const MAX_KEY: usize = 128;

/// Returns the key of a skill: that of its name, or of its folder's where the name has none.
pub(crate) fn key_of<'a>(name: &'a str, folder: &AbsPath) -> Cow<'a, str> {
    let key = key(name);
    if !key.is_empty() {
        return key;
    }
    let folder = self::key(folder.file_name().unwrap_or_default()).into_owned();
    Cow::Owned(if folder.is_empty() { "skill".to_owned() } else { folder })
}

/// Returns the key of a name; empty where it holds neither letter nor digit.
pub(crate) fn key(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    // The usual name needs no further look; any other is checked in full.
    if !name.is_empty()
        && name.split('-').all(|part| !part.is_empty() && part.bytes().all(is_plain))
        || SkillName::parse(name).is_ok_and(|valid| valid.as_str() == name)
    {
        return Cow::Borrowed(name);
    }
    let mut key = String::new();
    for character in name.to_lowercase().chars().take(MAX_KEY) {
        match character {
            _ if character.is_alphanumeric() => key.push(character),
            _ if key.ends_with('-') || key.is_empty() => {}
            _ => key.push('-'),
        }
    }
    key.truncate(key.trim_end_matches('-').len());
    Cow::Owned(key)
}

/// Makes the ids of a root's skills differ: several may have one key. A key holds no `~`, so nothing else has such an id.
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
        let folder = AbsPath::new("/s/CSV Tools").unwrap();
        for (name, expected) in [
            ("pdf", "pdf"),
            ("CSV Tools!", "csv-tools"),
            ("csv  tools", "csv-tools"),
            ("csv-tools", "csv-tools"),
            ("-csv--tools-", "csv-tools"),
            ("csv\u{200b}tools", "csv-tools"),
            ("pdf\u{200b}", "pdf"),
            ("a/b:c@d~2", "a-b-c-d-2"),
            ("技能", "技能"),
            ("हिंदी", "हिंदी"),
            ("../..", "csv-tools"),
            ("", "csv-tools"),
        ] {
            assert_eq!(key_of(name, &folder), expected, "{name}");
        }
    }
}
