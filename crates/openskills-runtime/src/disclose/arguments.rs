//! What stands for something else in the instructions of a skill: arguments and places.
//!
//! One pass over the text: what is put in is never looked at again, so an argument cannot bring another substitution.

use std::collections::HashMap;

/// What is known when a skill is activated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    /// The arguments as they were given; `None` if there are none.
    pub(crate) arguments: Option<&'a str>,
    /// The same one by one, where they are known so.
    pub(crate) list: Option<&'a [Option<String>]>,
    /// The names of positional arguments.
    pub(crate) names: &'a [String],
    /// The skill's folder.
    pub(crate) skill_dir: &'a str,
    pub(crate) session_id: &'a str,
}

/// The longest text that may become of a body: what a stranger's placeholders multiply must end somewhere.
const MAX_LENGTH: usize = 4 << 20;
/// The longest name of an argument.
const MAX_NAME: usize = 64;

/// Returns the instructions with `$ARGUMENTS`, `$ARGUMENTS[n]`, `$n`, `$name` and `${SKILL_DIR}` replaced; `None` if that
/// would make more than [`MAX_LENGTH`] bytes.
///
/// A text that uses `$0` counts from 0, as `$ARGUMENTS[n]` does; any other counts its first argument as `$1`. What has
/// no value stays as it is. Arguments that the text has no place for are added at its end.
pub(crate) fn substitute(body: &str, values: &Values<'_>) -> Option<String> {
    let list = match values.list {
        Some(list) => list.to_vec(),
        None => values.arguments.map(split).unwrap_or_default().into_iter().map(Some).collect(),
    };
    let names = values.names.iter().enumerate().map(|(at, name)| (name.as_str(), at));
    let known = Known {
        values,
        list: &list,
        first: if has_zero(body) { 0 } else { 1 },
        names: names.filter(|(name, _)| (1..=MAX_NAME).contains(&name.len())).collect(),
    };
    let mut text = String::with_capacity(body.len());
    let mut is_used = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (length, value) = known.placeholder(rest);
        match value {
            Some(Value::Argument(value)) => {
                is_used = true;
                text.push_str(value);
            }
            Some(Value::Place(value)) => text.push_str(value),
            None => text.push_str(&rest[..length]),
        }
        if text.len() > MAX_LENGTH {
            return None;
        }
        rest = &rest[length..];
    }
    text.push_str(rest);
    if let Some(arguments) = values.arguments.filter(|arguments| !is_used && !arguments.is_empty())
    {
        text.push_str("\n\nARGUMENTS: ");
        text.push_str(arguments);
    }
    Some(text)
}

enum Value<'a> {
    Argument(&'a str),
    Place(&'a str),
}

/// What can be put in. A look at one placeholder costs the same wherever it stands.
struct Known<'a> {
    values: &'a Values<'a>,
    list: &'a [Option<String>],
    /// The number of the first argument.
    first: usize,
    /// Where the argument of a name is.
    names: HashMap<&'a str, usize>,
}

impl<'a> Known<'a> {
    fn item(&self, at: Option<usize>) -> Option<Value<'a>> {
        at.and_then(|at| self.list.get(at)?.as_deref()).map(Value::Argument)
    }

    fn arguments(&self) -> Value<'a> {
        Value::Argument(self.values.arguments.unwrap_or_default())
    }

    /// Returns how long the placeholder at the start of `text` is, and what stands for it.
    fn placeholder(&self, text: &str) -> (usize, Option<Value<'a>>) {
        let braced = [
            ("${SKILL_DIR}", Value::Place(self.values.skill_dir)),
            ("${CLAUDE_SKILL_DIR}", Value::Place(self.values.skill_dir)),
            ("${SESSION_ID}", Value::Place(self.values.session_id)),
            ("${CLAUDE_SESSION_ID}", Value::Place(self.values.session_id)),
            ("${ARGUMENTS}", self.arguments()),
        ];
        for (name, value) in braced {
            if text.starts_with(name) {
                return (name.len(), Some(value));
            }
        }
        if let Some((length, number)) = number(&text[1..]) {
            return (
                1 + length,
                self.item(number.and_then(|number| number.checked_sub(self.first))),
            );
        }
        if let Some(rest) = text[1..].strip_prefix("ARGUMENTS") {
            let length = "$ARGUMENTS".len();
            let index = rest.strip_prefix('[').and_then(number);
            return match index {
                Some((digits, number)) if rest[1 + digits..].starts_with(']') => {
                    (length + digits + 2, self.item(number))
                }
                _ if rest.starts_with(is_word) => (1, None),
                _ => (length, Some(self.arguments())),
            };
        }
        // A name may have hyphens, which end a word elsewhere: the longest name that fits is meant.
        let is_part = |byte: &u8| {
            !byte.is_ascii() || byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
        };
        let most = text[1..].bytes().take(MAX_NAME).take_while(is_part);
        let named = (1..=most.count()).rev().find_map(|length| {
            let name = text.get(1..1 + length)?;
            let at = *self.names.get(name)?;
            (!text[1 + length..].starts_with(is_word)).then_some((length, at))
        });
        match named {
            Some((length, at)) => (length + 1, self.item(Some(at))),
            None => (1, None),
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns how many digits a text starts with, and their number unless it is too large for one.
fn number(text: &str) -> Option<(usize, Option<usize>)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| (digits, text[..digits].parse().ok()))
}

/// Returns true if the text counts its arguments from 0.
fn has_zero(body: &str) -> bool {
    body.match_indices("$0")
        .any(|(at, _)| !body[at + 2..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Splits arguments as a shell would: at white space, outside quotes.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None | Some('"'), '\\') => {
                current.get_or_insert_default().extend(characters.next());
            }
            (Some(_), _) => current.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                current.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => all.extend(current.take()),
            (None, _) => current.get_or_insert_default().push(character),
        }
    }
    all.extend(current);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, arguments: Option<&str>, expected: &str) {
        let names = ["issue".to_owned(), "issue-number".to_owned(), "branch".to_owned()];
        let values =
            Values { arguments, list: None, names: &names, skill_dir: "/s/pdf", session_id: "s1" };
        assert_eq!(substitute(body, &values).unwrap(), expected, "{body} {arguments:?}");
    }

    #[test]
    fn every_form_is_replaced() {
        check("Fix $ARGUMENTS now", Some("a 'b c'"), "Fix a 'b c' now");
        check("$1 and $2", Some("a 'b c'"), "a and b c");
        check("$0 and $1", Some("a 'b c'"), "a and b c");
        check("$ARGUMENTS[0] and $ARGUMENTS[1]", Some("a \"b c\""), "a and b c");
        check("$issue on $branch: $issue-number", Some("7 8 main"), "7 on main: 8");
        check(
            "${SKILL_DIR}/x ${CLAUDE_SKILL_DIR} ${CLAUDE_SESSION_ID}",
            None,
            "/s/pdf/x /s/pdf s1",
        );
    }

    #[test]
    fn what_has_no_value_stays() {
        check(
            "$3 $HOME ${HOME} $ $$ $issues",
            Some("a"),
            "$3 $HOME ${HOME} $ $$ $issues\n\nARGUMENTS: a",
        );
        check("costs $5", None, "costs $5");
        check("$10", Some("a"), "$10\n\nARGUMENTS: a");
        check("[$ARGUMENTS]", None, "[]");
        check("$99999999999999999999999", Some("a"), "$99999999999999999999999\n\nARGUMENTS: a");
        check("${SKILL_DIR", None, "${SKILL_DIR");
    }

    #[test]
    fn an_argument_brings_no_further_substitution() {
        check("$1|$2", Some("$2 ${SKILL_DIR}"), "$2|${SKILL_DIR}");
        check("$ARGUMENTS", Some("$ARGUMENTS"), "$ARGUMENTS");
    }

    #[test]
    fn hostile_bodies_cost_no_more_than_they_weigh() {
        let names: Vec<String> = (0..8_000).map(|n| format!("a{n}")).collect();
        let values = Values {
            arguments: Some("x"),
            list: None,
            names: &names,
            skill_dir: "/s",
            session_id: "s",
        };
        for piece in ["${", "$", "$ARGUMENTS[", "$a", "$9", "${SKILL_DIR", "$a0"] {
            let body = piece.repeat((1 << 20) / piece.len());
            let text = substitute(&body, &values).unwrap();
            assert!(text.len() <= body.len() + 20, "{piece}");
        }
        let long = Values { skill_dir: &"d".repeat(4_000), ..values };
        assert_eq!(substitute(&"${SKILL_DIR}".repeat(80_000), &long), None);
    }

    #[test]
    fn arguments_without_a_place_are_added() {
        check("Do it.", Some("a b"), "Do it.\n\nARGUMENTS: a b");
        check("Do it.", Some(""), "Do it.");
        check("Do it.", None, "Do it.");
    }

    #[test]
    fn arguments_are_split_as_in_a_shell() {
        for (text, expected) in [
            ("", &[][..]),
            ("  a  b ", &["a", "b"]),
            (r#""a b" 'c "d' e\ f"#, &["a b", "c \"d", "e f"]),
            (r#""" x"#, &["", "x"]),
            (r#"a"b"c"#, &["abc"]),
            ("'open", &["open"]),
            ("end\\", &["end"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
