//! Sets and removes members of objects in a JSON text. Removing a member that was added restores the text.

use jsonc_parser::ast::Object;
use jsonc_parser::common::Ranged;
use serde_json::json;

use super::Field;

/// Returns the text with a member of `object` set, in the style of its other members. An existing member with the same
/// key is replaced.
pub(super) fn set(text: &str, object: &Object<'_>, key: &str, value: &Field) -> String {
    if let Some(found) = object.get(key) {
        let (start, end) = (found.value.start(), found.value.end());
        let indent = indentation(text, found.start());
        let unit = indent_unit(text, object, indent);
        let value = with_line_endings(text, &value.on_lines(indent, unit));
        return format!("{}{value}{}", &text[..start], &text[end..]);
    }
    let Some(last) = object.properties.last() else {
        return set_in_empty(text, object, key, value);
    };
    let first = object.properties.first().map_or(object.start(), Ranged::start);
    let comma = find_comma(text, last.end());
    // If the last member has a trailing comma, the new one gets one too.
    let end = if comma.is_some() { "," } else { "" };
    let after = comma.map_or(last.end(), |comma| comma + 1);
    let (before_comma, added_comma) = if comma.is_some() { (after, "") } else { (last.end(), ",") };
    let is_multiline = text[object.start()..first].contains('\n');
    let (position, member) = if is_multiline {
        let indent = indentation(text, last.start());
        let unit = indent_unit(text, object, indent);
        let member = format!("\n{indent}{}: {}{end}", json!(key), value.on_lines(indent, unit));
        (end_of_comments(text, after), with_line_endings(text, &member))
    } else {
        (after, format!(" {}: {}{end}", json!(key), value.on_one_line()))
    };
    format!(
        "{}{added_comma}{}{member}{}",
        &text[..before_comma],
        &text[before_comma..position],
        &text[position..]
    )
}

/// Returns the text with the first member of `object` added after its comments.
fn set_in_empty(text: &str, object: &Object<'_>, key: &str, value: &Field) -> String {
    let (open, close) = (object.start() + 1, object.end() - 1);
    let indent = indentation(text, object.start());
    let unit = indent_unit(text, object, indent);
    let inner = format!("{indent}{unit}");
    let member = format!("\n{inner}{}: {}", json!(key), value.on_lines(&inner, unit));
    let position = comments(text, open).last().map_or(open, |comment| comment.1);
    let rest = &text[position..close];
    let end = if rest.contains('\n') { rest.to_owned() } else { format!("\n{indent}") };
    let added = with_line_endings(text, &format!("{member}{end}"));
    format!("{}{added}{}", &text[..position], &text[close..])
}

/// Returns the text without a member of `object`.
pub(super) fn remove(text: &str, object: &Object<'_>, key: &str) -> String {
    let index = object.properties.iter().position(|member| member.name.as_str() == key);
    let Some(index) = index else { return text.to_owned() };
    let member = &object.properties[index];
    let before = index.checked_sub(1).map(|before| &object.properties[before]);
    let comma_after = find_comma(text, member.end());
    let end = comma_after.map_or(member.end(), |comma| comma + 1);
    // If the member begins a line, the line break before it is removed too.
    let line = text[..member.start()].trim_end_matches([' ', '\t']);
    let start =
        line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    let start = start.len();
    // If the last member has no trailing comma, the comma before it is removed too.
    let comma_before = before.filter(|_| comma_after.is_none());
    let comma_before = comma_before.and_then(|before| find_comma(text, before.end()));
    let left = match comma_before {
        Some(comma) => format!("{}{}", &text[..comma], &text[comma + 1..start]),
        None => text[..start].to_owned(),
    };
    let is_empty = object.properties.len() == 1
        && comments(text, object.start() + 1).next().is_none()
        && comments(text, end).next().is_none();
    if is_empty {
        return format!("{}{{}}{}", &text[..object.start()], &text[object.end()..]);
    }
    format!("{left}{}", &text[end..])
}

/// Returns the position of the comma after a member, if there is one.
fn find_comma(text: &str, end: usize) -> Option<usize> {
    let position = comments(text, end).last().map_or(end, |comment| comment.1);
    let position = text.len() - text[position..].trim_start().len();
    text[position..].starts_with(',').then_some(position)
}

/// Returns the start and end of each comment that follows, with only white space between them.
fn comments(text: &str, from: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut position = from;
    std::iter::from_fn(move || {
        let start = text.len() - text[position..].trim_start().len();
        let rest = &text[start..];
        let length = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/")? + 2
        } else {
            return None;
        };
        position = start + length;
        Some((start, position))
    })
}

/// Returns the end of the comments after a member on the same line.
fn end_of_comments(text: &str, from: usize) -> usize {
    let mut position = from;
    for (start, end) in comments(text, from) {
        if text[position..end].contains('\n') || text[position..start].contains('\n') {
            break;
        }
        position = end;
    }
    position
}

/// Returns the indentation of the line at a position.
fn indentation(text: &str, position: usize) -> &str {
    let line = text[..position].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

/// Returns the indentation of one level; `indent` is that of an existing member.
fn indent_unit<'a>(text: &'a str, object: &Object<'_>, indent: &'a str) -> &'a str {
    let outer = indentation(text, object.end() - 1);
    match indent.strip_prefix(outer) {
        Some(more) if !more.is_empty() => more,
        _ if indent.starts_with('\t') => "\t",
        // Otherwise the first indented line of the file shows it.
        _ => {
            let indented = text.lines().find(|line| line.starts_with([' ', '\t']));
            indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()])
        }
    }
}

/// Returns new text with the line endings of the file.
fn with_line_endings(text: &str, new: &str) -> String {
    if text.contains("\r\n") {
        new.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        new.to_owned()
    }
}
