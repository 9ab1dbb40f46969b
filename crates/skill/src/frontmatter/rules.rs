//! The standard's rules for names, descriptions and compatibility notes.

use std::ops::Range;

use crate::name::{MAX_NAME, NameError, SkillName, normalised, suggestion};
use crate::value::reads_as_text;
use crate::yaml::single_quoted;
use crate::{Code, Report};

/// Maximum number of characters in a description (F3).
pub const MAX_DESCRIPTION: usize = 1024;
/// Maximum number of characters in a compatibility note (F5).
pub const MAX_COMPATIBILITY: usize = 500;

/// Words that the Claude API rejects in a name (F3).
const RESERVED: [&str; 2] = ["anthropic", "claude"];

/// Checks the declared name, including against the folder name.
pub(super) fn name(
    name: &str,
    directory: Option<&str>,
    range: &Range<usize>,
    report: &mut Report<'_>,
) {
    // If the folder has a valid name, suggest that one.
    let folder = directory.and_then(|directory| SkillName::parse(directory).ok());
    for error in SkillName::parse(name).err().unwrap_or_default() {
        let message = match &error {
            NameError::Empty => "`name` is empty".to_owned(),
            NameError::TooLong { length } => {
                format!("`name` has {length} characters; the limit is {MAX_NAME}")
            }
            NameError::NotLowercase => {
                format!("`name` is `{name}`; capital letters are not allowed")
            }
            NameError::Hyphens => {
                format!("`name` is `{name}`; hyphens must be single and not at the start or end")
            }
            NameError::Character { found } => {
                format!(
                    "`name` is `{name}`; {found:?} is not allowed; use only letters, digits and hyphens"
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
            format!("`name` is `{name}`, but the folder is `{directory}`; they must match");
        let hint = match (SkillName::parse(name), SkillName::parse(directory)) {
            (Ok(_), Ok(_)) => {
                format!("rename the folder to `{name}`, or write `name: {directory}`")
            }
            (Ok(_), Err(_)) => format!("rename the folder to `{name}`"),
            (Err(_), Ok(_)) => format!("write `name: {directory}`"),
            (Err(_), Err(_)) => {
                "give both the same name, using lower-case letters, digits and hyphens".to_owned()
            }
        };
        report.add_with_hint(Code::NameDirectory, range.clone(), message, hint);
    }
    if let Some(word) = RESERVED.iter().find(|word| name.contains(*word)) {
        let message = format!("`name` contains `{word}`, which the Claude API rejects");
        report.add(Code::NameReserved, range.clone(), message);
    }
}

/// Returns the hint to name the skill `name`, and to rename its folder if that differs.
pub(super) fn write_name(name: &SkillName, directory: Option<&str>) -> String {
    let text = name.as_str();
    let shown = if reads_as_text(text) { text.to_owned() } else { single_quoted(text) };
    match directory.filter(|directory| normalised(directory) != text) {
        Some(_) => format!("write `name: {shown}`, and rename the folder to match"),
        None => format!("write `name: {shown}`"),
    }
}

/// Checks a non-empty description. `source` is its text in the file, at `range`.
pub(super) fn description(text: &str, source: &str, range: &Range<usize>, report: &mut Report<'_>) {
    let length = text.chars().count();
    if length > MAX_DESCRIPTION {
        let message =
            format!("`description` has {length} characters; the limit is {MAX_DESCRIPTION}");
        let hint =
            "keep what the skill does and when to use it; move the rest below the frontmatter";
        report.add_with_hint(Code::DescriptionTooLong, range.clone(), message, hint);
    }
    if let Some(tag) = xml_tag(text) {
        let place = source
            .find(tag)
            .map_or(range.clone(), |at| range.start + at..range.start + at + tag.len());
        let shown: String = tag.chars().take(40).collect();
        let message = format!("`description` contains `{shown}`, which looks like an XML tag");
        let hint = "rewrite it without angle brackets; agents place descriptions inside an XML block of the prompt";
        report.add_with_hint(Code::DescriptionXml, place, message, hint);
    }
}

/// Warns if a ` #` after an unquoted description turns the rest of the line into a comment.
pub(super) fn comment_after(text: &str, range: &Range<usize>, key: &str, report: &mut Report<'_>) {
    let rest = text[range.end..].lines().next().unwrap_or("");
    if rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#') {
        let start = range.end + rest.len() - rest.trim_start().len();
        let message = format!("this is a YAML comment, not part of `{key}`");
        let hint = format!("quote the value of `{key}`, or move the comment to its own line");
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
        let hint = "describe what the skill needs, or remove the field";
        report.add_with_hint(
            Code::CompatibilityEmpty,
            range.clone(),
            "`compatibility` is empty",
            hint,
        );
    } else if length > MAX_COMPATIBILITY {
        let message =
            format!("`compatibility` has {length} characters; the limit is {MAX_COMPATIBILITY}");
        report.add(Code::CompatibilityTooLong, range.clone(), message);
    }
}

/// Returns the first part of `text` that looks like an XML tag: `<name …>`, `</name>` or `<!--`.
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
    fn tags_are_distinguished_from_comparisons() {
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
