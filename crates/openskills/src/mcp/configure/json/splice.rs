//! Puts a member into an object of a text, and takes one out: what was put in is taken out without a trace.

use jsonc_parser::ast::Object;
use jsonc_parser::common::Ranged;
use serde_json::json;

use super::Field;

/// Returns the text with a member in `object`, in the style of its other members; in place of the one that has its key.
pub(super) fn with(text: &str, object: &Object<'_>, key: &str, value: &Field) -> String {
    if let Some(found) = object.get(key) {
        let (start, end) = (found.value.start(), found.value.end());
        let around = indentation(text, found.start());
        let unit = unit(text, object, around);
        let value = broken(text, &value.lines(around, unit));
        return format!("{}{value}{}", &text[..start], &text[end..]);
    }
    let Some(last) = object.properties.last() else { return into_empty(text, object, key, value) };
    let first = object.properties.first().map_or(object.start(), Ranged::start);
    let comma = comma(text, last.end());
    // Where the last member has a comma after it, so has the new one.
    let end = if comma.is_some() { "," } else { "" };
    let after = comma.map_or(last.end(), |comma| comma + 1);
    let (before_comma, added_comma) = if comma.is_some() { (after, "") } else { (last.end(), ",") };
    let is_broken = text[object.start()..first].contains('\n');
    let (at, member) = if is_broken {
        let around = indentation(text, last.start());
        let unit = unit(text, object, around);
        let member = format!("\n{around}{}: {}{end}", json!(key), value.lines(around, unit));
        (end_of_line(text, after), broken(text, &member))
    } else {
        (after, format!(" {}: {}{end}", json!(key), value.line()))
    };
    format!(
        "{}{added_comma}{}{member}{}",
        &text[..before_comma],
        &text[before_comma..at],
        &text[at..]
    )
}

/// The same where there is no member yet: after the comments.
fn into_empty(text: &str, object: &Object<'_>, key: &str, value: &Field) -> String {
    let (open, close) = (object.start() + 1, object.end() - 1);
    let around = indentation(text, object.start());
    let unit = unit(text, object, around);
    let inner = format!("{around}{unit}");
    let member = format!("\n{inner}{}: {}", json!(key), value.lines(&inner, unit));
    let at = trivia(text, open).last().map_or(open, |comment| comment.1);
    let rest = &text[at..close];
    let end = if rest.contains('\n') { rest.to_owned() } else { format!("\n{around}") };
    format!("{}{}{}", &text[..at], broken(text, &format!("{member}{end}")), &text[close..])
}

/// Returns the text without a member of `object`.
pub(super) fn without(text: &str, object: &Object<'_>, key: &str) -> String {
    let position = object.properties.iter().position(|member| member.name.as_str() == key);
    let Some(position) = position else { return text.to_owned() };
    let member = &object.properties[position];
    let before = position.checked_sub(1).map(|before| &object.properties[before]);
    let comma_after = comma(text, member.end());
    let end = comma_after.map_or(member.end(), |comma| comma + 1);
    // The line that it begins goes with it.
    let line = text[..member.start()].trim_end_matches([' ', '\t']);
    let start =
        line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    let start = start.len();
    // A last member without a comma leaves the one before it without one, too.
    let comma_before = before.filter(|_| comma_after.is_none());
    let comma_before = comma_before.and_then(|before| comma(text, before.end()));
    let left = match comma_before {
        Some(comma) => format!("{}{}", &text[..comma], &text[comma + 1..start]),
        None => text[..start].to_owned(),
    };
    let is_empty = object.properties.len() == 1
        && trivia(text, object.start() + 1).next().is_none()
        && trivia(text, end).next().is_none();
    if is_empty {
        return format!("{}{{}}{}", &text[..object.start()], &text[object.end()..]);
    }
    format!("{left}{}", &text[end..])
}

/// Returns the place of the comma after a member, if there is one.
fn comma(text: &str, end: usize) -> Option<usize> {
    let at = trivia(text, end).last().map_or(end, |comment| comment.1);
    let at = text.len() - text[at..].trim_start().len();
    text[at..].starts_with(',').then_some(at)
}

/// Returns where the comments are that come next, with nothing but blanks between them.
fn trivia(text: &str, from: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let start = text.len() - text[at..].trim_start().len();
        let rest = &text[start..];
        let length = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/")? + 2
        } else {
            return None;
        };
        at = start + length;
        Some((start, at))
    })
}

/// Returns the end of what belongs to a member on its line: the comments after it.
fn end_of_line(text: &str, from: usize) -> usize {
    let mut at = from;
    for (start, end) in trivia(text, from) {
        if text[at..end].contains('\n') || text[at..start].contains('\n') {
            break;
        }
        at = end;
    }
    at
}

/// Returns the blanks at the beginning of the line that something is on.
fn indentation(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

/// Returns by how much members are indented; `around` is the indentation of one that is there.
fn unit<'a>(text: &'a str, object: &Object<'_>, around: &'a str) -> &'a str {
    let outer = indentation(text, object.end() - 1);
    match around.strip_prefix(outer) {
        Some(more) if !more.is_empty() => more,
        _ if around.starts_with('\t') => "\t",
        // The outermost object tells, where there is a line of its own in it.
        _ => {
            let indented = text.lines().find(|line| line.starts_with([' ', '\t']));
            indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()])
        }
    }
}

/// Returns new text with lines that end as those of the file do.
fn broken(text: &str, new: &str) -> String {
    if text.contains("\r\n") {
        new.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        new.to_owned()
    }
}
