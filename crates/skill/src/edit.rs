//! Changes single YAML values in place; everything else stays byte for byte.

use serde_json::Value;

use crate::report::Report;
use crate::{Source, Strictness, fence, yaml};

/// Replaces the value of the frontmatter field `key` with `value` written as JSON, which is valid YAML. Returns `None`
/// if there is no such field, or if the frontmatter cannot be read.
pub fn set_frontmatter(text: &str, key: &str, value: &Value) -> Option<String> {
    let source = Source::new(text);
    let parts = fence::split(text, &mut Report::new("", &source, Strictness::Lenient))?;
    replace(text, parts.frontmatter, &[key], value)
}

/// Adds the field `key` at the end of the frontmatter, with `value` as JSON. Returns `None` if the field exists, or if
/// there is no frontmatter.
pub fn add_frontmatter(text: &str, key: &str, value: &Value) -> Option<String> {
    let source = Source::new(text);
    let parts = fence::split(text, &mut Report::new("", &source, Strictness::Lenient))?;
    if yaml::find(text, parts.frontmatter.clone(), &[key]).is_some() {
        return None;
    }
    let (before, after) = text.split_at(parts.frontmatter.end);
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Some(match before.ends_with('\n') {
        true => format!("{before}{key}: {value}{newline}{after}"),
        false => format!("{before}{newline}{key}: {value}{after}"),
    })
}

/// Replaces the value at `path` in a YAML file with `value`, written as JSON.
pub fn set_yaml(text: &str, path: &[&str], value: &Value) -> Option<String> {
    replace(text, 0..text.len(), path, value)
}

fn replace(
    text: &str,
    range: std::ops::Range<usize>,
    path: &[&str],
    value: &Value,
) -> Option<String> {
    let (key, old) = yaml::find(text, range, path)?;
    let colon = key.end + text[key.end..].find(':')?;
    Some(format!("{} {value}{}", &text[..=colon], &text[old.end.max(colon + 1)..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_added_at_the_end() {
        for (before, after) in [
            ("---\nname: a\n---\nB\n", "---\nname: a\nnew: [\"x\"]\n---\nB\n"),
            ("---\r\nname: a\r\n---\r\nB", "---\r\nname: a\r\nnew: [\"x\"]\r\n---\r\nB"),
        ] {
            assert_eq!(add_frontmatter(before, "new", &["x"].as_slice().into()).unwrap(), after);
            assert_eq!(add_frontmatter(before, "name", &"x".into()), None);
        }
        assert_eq!(add_frontmatter("B\n", "name", &"x".into()), None);
    }

    #[test]
    fn only_the_value_changes() {
        for (before, after) in [
            (
                "---\nname: a # x\ndescription: old # c\nlicense: MIT\n---\nB\n",
                "---\nname: a # x\ndescription: \"new\" # c\nlicense: MIT\n---\nB\n",
            ),
            (
                "---\r\ndescription: 'old'\r\nname: a\r\n---\r\n",
                "---\r\ndescription: \"new\"\r\nname: a\r\n---\r\n",
            ),
            (
                "---\ndescription: |\n  old\n  lines\n\nname: a\n---\n",
                "---\ndescription: \"new\"\n\nname: a\n---\n",
            ),
            (
                "---\ndescription: >-\n  old\n  lines\nname: a\n---\n",
                "---\ndescription: \"new\"\nname: a\n---\n",
            ),
            (
                "---\ndescription: old\n  continued\nname: a\n---\n",
                "---\ndescription: \"new\"\nname: a\n---\n",
            ),
            ("---\ndescription:\nname: a\n---\n", "---\ndescription: \"new\"\nname: a\n---\n"),
            (
                "---\ndescription:\n  - a\n  - b\nname: a\n---\n",
                "---\ndescription: \"new\"\nname: a\n---\n",
            ),
        ] {
            assert_eq!(
                set_frontmatter(before, "description", &"new".into()).as_deref(),
                Some(after),
                "{before:?}"
            );
        }
        assert_eq!(set_frontmatter("---\nname: a\n---\n", "description", &"new".into()), None);
    }

    #[test]
    fn nested_values_are_found() {
        let text = "interface:\n  display_name: \"A\"\n  x: 1\npolicy: {a: b}\n";
        let changed = set_yaml(text, &["interface", "display_name"], &"Б".into());
        assert_eq!(
            changed.as_deref(),
            Some("interface:\n  display_name: \"Б\"\n  x: 1\npolicy: {a: b}\n")
        );
        assert_eq!(set_yaml(text, &["interface", "none"], &"x".into()), None);
    }
}
