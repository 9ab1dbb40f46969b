//! Parses docstrings in the styles of Sphinx, Google and NumPy.

use tree_sitter::Node;

use crate::Argument;
use crate::syntax::text;

/// Returns the docstring of a function or a class, without its indentation.
pub(super) fn docstring(node: Node<'_>, source: &str) -> String {
    let found = node
        .child_by_field_name("body")
        .and_then(|body| body.named_child(0))
        .filter(|first| first.kind() == "expression_statement")
        .and_then(|first| first.named_child(0))
        .filter(|first| first.kind() == "string");
    let written = found.map_or("", |found| text(found, source));
    let plain = written.trim_start_matches(['r', 'R', 'u', 'U', 'b', 'B']);
    let plain = plain.trim_matches('"').trim_matches('\'');
    let indent = plain
        .lines()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let line = |(number, line): (usize, &str)| {
        if number == 0 {
            line.to_owned()
        } else {
            line.get(indent..).unwrap_or_default().to_owned()
        }
    };
    plain.lines().enumerate().map(line).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Splits a docstring into description, arguments and result.
pub(super) fn sections(doc: &str) -> (String, Vec<Argument>, String) {
    let (mut prose, mut arguments, mut value) = (Vec::new(), Vec::<Argument>::new(), String::new());
    let mut section = Section::Text;
    let lines: Vec<&str> = doc.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let (plain, is_indented) = (line.trim(), line.starts_with([' ', '\t']));
        let is_underlined = lines.get(at + 1).is_some_and(|next| next.starts_with("---"));
        if let Some((name, text)) = sphinx(plain, &[":parameter", ":param", ":arg"]) {
            let name = name.split_whitespace().last().unwrap_or_default().replace('\\', "");
            arguments.push(Argument { name, text });
            section = Section::Argument;
            continue;
        }
        if let Some((_, text)) = sphinx(plain, &[":returns", ":return"]) {
            value = text;
            section = Section::Value;
            continue;
        }
        if plain.starts_with(':') && plain[1..].contains(':') {
            section = Section::Other;
            continue;
        }
        if !is_indented {
            let word = plain.trim_end_matches(':').to_lowercase();
            let is_head = plain.ends_with(':') || is_underlined;
            match word.as_str() {
                "args" | "arguments" | "parameters" | "params" if is_head => {
                    section = Section::Arguments(is_underlined);
                    continue;
                }
                "returns" | "return" | "yields" if is_head => {
                    section = Section::Value;
                    continue;
                }
                "raises" | "examples" | "example" | "notes" | "note" | "see also"
                | "references"
                    if is_head =>
                {
                    section = Section::Text;
                }
                _ => {}
            }
        }
        match section {
            Section::Other => {}
            Section::Text => prose.push(*line),
            Section::Value if plain.starts_with("---") => {}
            Section::Value => {
                value.push(' ');
                value.push_str(plain);
            }
            Section::Argument => {
                if let Some(last) = arguments.last_mut() {
                    last.text = format!("{} {plain}", last.text).trim().to_owned();
                }
            }
            Section::Arguments(_) if plain.is_empty() || plain.starts_with("---") => {}
            // NumPy style: names are not indented. Google style: names are followed by a colon.
            Section::Arguments(true) if !is_indented => {
                let (name, kind) = plain.split_once(':').unwrap_or((plain, ""));
                arguments
                    .push(Argument { name: name.trim().to_owned(), text: kind.trim().to_owned() });
            }
            Section::Arguments(false) if !is_indented => {
                section = Section::Text;
                prose.push(line);
            }
            Section::Arguments(is_numpy) => {
                let named = (!is_numpy).then(|| google(plain)).flatten();
                match (named, arguments.last_mut()) {
                    (Some(argument), _) => arguments.push(argument),
                    (None, Some(last)) => {
                        last.text = format!("{} {plain}", last.text).trim().to_owned();
                    }
                    (None, None) => {}
                }
            }
        }
    }
    (prose.join("\n").trim().to_owned(), arguments, value.trim().to_owned())
}

enum Section {
    Text,
    /// The text of one argument, in Sphinx style.
    Argument,
    /// All arguments; true in NumPy style.
    Arguments(bool),
    Value,
    Other,
}

fn sphinx(line: &str, words: &[&str]) -> Option<(String, String)> {
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    let (name, text) = rest.split_once(':')?;
    let is_word = name.is_empty() || name.starts_with(' ');
    is_word.then(|| (name.trim().to_owned(), text.trim().to_owned()))
}

fn google(line: &str) -> Option<Argument> {
    let (name, text) = line.split_once(':')?;
    let name = name.split('(').next().unwrap_or(name).trim();
    let is_name = !name.is_empty()
        && name.trim_start_matches('*').chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| Argument { name: name.to_owned(), text: text.trim().to_owned() })
}
