//! The rules of the standard for names, descriptions and compatibility notes.

use std::ops::Range;

use crate::name::{MAX_NAME, NameError, SkillName, normalised, suggestion};
use crate::value::reads_as_text;
use crate::yaml::single_quoted;
use crate::{Code, Report};

/// The most characters a description may have (F3).
pub const MAX_DESCRIPTION: usize = 1024;
/// The most characters a compatibility note may have (F5).
pub const MAX_COMPATIBILITY: usize = 500;

/// Words that Claude's API refuses in a name (F3).
const RESERVED: [&str; 2] = ["anthropic", "claude"];

/// Checks a declared name, its folder included.
pub(super) fn name(
    name: &str,
    directory: Option<&str>,
    range: &Range<usize>,
    report: &mut Report<'_>,
) {
    // A folder with a good name knows best what the skill is called.
    let folder = directory.and_then(|directory| SkillName::parse(directory).ok());
    for error in SkillName::parse(name).err().unwrap_or_default() {
        let message = match &error {
            NameError::Empty => "`name` is empty".to_owned(),
            NameError::TooLong { length } => {
                format!("`name` has {length} characters; at most {MAX_NAME} are allowed")
            }
            NameError::NotLowercase => {
                format!("`name` is `{name}`; capital letters are not allowed")
            }
            NameError::Hyphens => {
                format!("`name` is `{name}`; hyphens may only stand single and inside")
            }
            NameError::Character { found } => {
                format!(
                    "`name` is `{name}`; {found:?} is not allowed, only letters, digits and hyphens are"
                )
            }
        };
        match folder.clone().or_else(|| suggestion(name)) {
            Some(near) => {
                let hint = write_name(&near, directory);
                report.add_with_hint(error.code(), range.clone(), message, hint);
            }
            None => report.add(error.code(), range.clone(), message),
        }
    }
    if let Some(directory) = directory.filter(|directory| normalised(directory) != name) {
        let message =
            format!("`name` is `{name}`, but the folder is `{directory}`; they must be the same");
        let hint = match (SkillName::parse(name), SkillName::parse(directory)) {
            (Ok(_), Ok(_)) => {
                format!("rename the folder to `{name}`, or write `name: {directory}`")
            }
            (Ok(_), Err(_)) => format!("rename the folder to `{name}`"),
            (Err(_), Ok(_)) => format!("write `name: {directory}`"),
            (Err(_), Err(_)) => {
                "give both one name of lower-case letters, digits and hyphens".to_owned()
            }
        };
        report.add_with_hint(Code::NameDirectory, range.clone(), message, hint);
    }
    if let Some(word) = RESERVED.iter().find(|word| name.contains(*word)) {
        let message = format!("`name` holds the word `{word}`, which Claude's API refuses");
        report.add(Code::NameReserved, range.clone(), message);
    }
}

/// Returns the advice to call the skill `name`, and its folder too where that has another name.
pub(super) fn write_name(name: &SkillName, directory: Option<&str>) -> String {
    let text = name.as_str();
    let shown = if reads_as_text(text) { text.to_owned() } else { single_quoted(text) };
    match directory.filter(|directory| normalised(directory) != text) {
        Some(_) => format!("write `name: {shown}`, and call the folder so"),
        None => format!("write `name: {shown}`"),
    }
}

/// Checks a description that is not empty. `source` is its text in the file, at `range`.
pub(super) fn description(text: &str, source: &str, range: &Range<usize>, report: &mut Report<'_>) {
    let length = text.chars().count();
    if length > MAX_DESCRIPTION {
        let message =
            format!("`description` has {length} characters; at most {MAX_DESCRIPTION} are allowed");
        let hint =
            "keep what the skill does and when to use it; move the rest below the frontmatter";
        report.add_with_hint(Code::DescriptionTooLong, range.clone(), message, hint);
    }
    if let Some(tag) = xml_tag(text) {
        let place = source
            .find(tag)
            .map_or(range.clone(), |at| range.start + at..range.start + at + tag.len());
        let shown: String = tag.chars().take(40).collect();
        let message = format!("`description` holds `{shown}`, which reads as an XML tag");
        let hint = "say it in words; descriptions are put into an XML block of the prompt";
        report.add_with_hint(Code::DescriptionXml, place, message, hint);
    }
}

/// Warns when ` #` after an unquoted description turned the rest of the line into a comment.
pub(super) fn comment_after(text: &str, range: &Range<usize>, key: &str, report: &mut Report<'_>) {
    let rest = text[range.end..].lines().next().unwrap_or("");
    if rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#') {
        let start = range.end + rest.len() - rest.trim_start().len();
        let message = format!("this is a YAML comment, not part of `{key}`");
        let hint = format!("quote the value of `{key}`, or put the comment on a line of its own");
        report.add_with_hint(
            Code::CommentInValue,
            start..range.end + rest.trim_end().len(),
            message,
            hint,
        );
    }
}

/// Checks a compatibility note.
pub(super) fn compatibility(text: &str, range: &Range<usize>, report: &mut Report<'_>) {
    let length = text.chars().count();
    if length == 0 {
        let hint = "say what the skill needs, or remove the field";
        report.add_with_hint(
            Code::CompatibilityEmpty,
            range.clone(),
            "`compatibility` is empty",
            hint,
        );
    } else if length > MAX_COMPATIBILITY {
        let message = format!(
            "`compatibility` has {length} characters; at most {MAX_COMPATIBILITY} are allowed"
        );
        report.add(Code::CompatibilityTooLong, range.clone(), message);
    }
}

/// Returns the first stretch of `text` that reads as an XML tag: `<name …>`, `</name>` or `<!--`.
pub(crate) fn xml_tag(text: &str) -> Option<&str> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = &text[at + 1..];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
            return None;
        }
        let end = rest.find(['<', '>']).filter(|&end| rest[end..].starts_with('>'))?;
        Some(&text[at..at + end + 2])
    })
}

#[cfg(test)]
mod tests {
    use super::xml_tag;

    #[test]
    fn tags_are_told_from_comparisons() {
        for (text, tag) in [
            ("plain", None),
            ("a < b and c > d", None),
            ("1 <2> 3", None),
            ("a<-b", None),
            ("x </skill> y", Some("</skill>")),
            ("use <name> here", Some("<name>")),
            ("<<b>", Some("<b>")),
            ("<a href='x'>", Some("<a href='x'>")),
            ("<!-- x -->", Some("<!-- x -->")),
            ("<unclosed", None),
        ] {
            assert_eq!(xml_tag(text), tag, "{text}");
        }
    }
}
