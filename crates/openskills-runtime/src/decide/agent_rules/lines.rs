//! Splits a command line into the commands that rules are about.

use shell::sketch::{Piece, Script, Stage, Text, sketch};

/// Programs that run another one, given among their arguments.
const WRAPPERS: [&str; 37] = [
    "bash", "busybox", "chrt", "choom", "flock", "ltrace", "nsenter", "script", "setpriv",
    "strace", "taskset", "unshare", "numactl", "builtin", "chroot", "command", "dash", "doas",
    "env", "eval", "exec", "find", "ionice", "nice", "nohup", "parallel", "setsid", "sh", "stdbuf",
    "sudo", "time", "timeout", "unbuffer", "watch", "xargs", "zsh", "trap",
];
/// How deep lines may be nested in arguments.
const MAX_DEPTH: usize = 8;

/// Everything in a line that a deny or ask rule may be about.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    pub(super) texts: Vec<String>,
    /// Whether these are all commands of the line.
    pub(super) is_complete: bool,
    /// How many substitutions were looked into.
    visited: usize,
}

/// Returns true if a line contains code that the sketch may not have looked into: in arithmetic, in parameters with
/// operators, in nested backquotes, or anywhere else. Then there may be more commands than were found.
fn has_hidden_code(line: &str, visited: usize) -> bool {
    let substitutions = line.matches("$(").count()
        + line.matches("<(").count()
        + line.matches(">(").count()
        + line.matches('`').count().div_ceil(2);
    let has_operators = line.match_indices("${").any(|(at, _)| {
        let name = line[at + 2..].split('}').next().unwrap_or_default();
        !name.chars().all(|c| c.is_ascii_alphanumeric() || "_@*#?!".contains(c))
    });
    substitutions != visited
        || has_operators
        || line.contains("((")
        || line.contains("$[")
        || line.contains("\\`")
}

/// Returns every command of a line: in each spelling, behind programs that run it, and inside of nested code.
pub(super) fn candidates(line: &str) -> Candidates {
    let mut found = Candidates { texts: Vec::new(), is_complete: true, visited: 0 };
    collect(line, 0, &mut found);
    if has_hidden_code(line, found.visited) {
        found.is_complete = false;
    }
    found
}

fn collect(line: &str, depth: usize, found: &mut Candidates) {
    match sketch(line).filter(|_| depth < MAX_DEPTH) {
        // Something in it was not understood.
        Some(script) if script.is_empty() && !line.trim().is_empty() => found.is_complete = false,
        Some(script) => in_script(&script, depth, found),
        None => found.is_complete = false,
    }
}

fn in_script(script: &Script, depth: usize, found: &mut Candidates) {
    for stage in script.iter().flat_map(|pipeline| &pipeline.stages) {
        in_stage(stage, depth, found);
    }
}

fn in_stage(stage: &Stage, depth: usize, found: &mut Candidates) {
    let texts = stage
        .words
        .iter()
        .chain(stage.assignments.iter().map(|(_, value)| value))
        .chain(stage.redirects.iter().map(|(_, text)| text));
    for piece in texts.flat_map(|text| &text.pieces) {
        match piece {
            Piece::Output(script) | Piece::File(script) => {
                found.visited += 1;
                in_script(script, depth, found);
            }
            Piece::Other => found.is_complete = false,
            Piece::Plain(_) | Piece::Variable(_) => {}
        }
    }
    in_script(&stage.body, depth, found);
    let words: Vec<Option<String>> = stage.words.iter().map(plain).collect();
    // A program whose name is not known may be any.
    if words.first().is_some_and(Option::is_none) {
        found.is_complete = false;
    }
    let shown: Vec<String> =
        words.iter().map(|word| word.clone().unwrap_or_else(|| "$_".to_owned())).collect();
    let mut is_behind_wrapper = true;
    for at in 0..shown.len() {
        if !is_behind_wrapper {
            break;
        }
        let base = shown[at].rsplit('/').next().unwrap_or_default().to_owned();
        found.texts.push(shown[at..].join(" "));
        found.texts.push([std::slice::from_ref(&base), &shown[at + 1..]].concat().join(" "));
        is_behind_wrapper = at > 0 || WRAPPERS.contains(&base.as_str());
        // The argument of `bash -c` is a line of its own.
        if at > 0 && shown[at].contains(char::is_whitespace) {
            collect(&shown[at], depth + 1, found);
        }
    }
}

/// Returns the literal text of a word; `None` if it expands to something else.
fn plain(text: &Text) -> Option<String> {
    let piece = |piece: &Piece| match piece {
        Piece::Plain(text) => Some(text.clone()),
        Piece::Variable(_) | Piece::Output(_) | Piece::File(_) | Piece::Other => None,
    };
    text.pieces.iter().map(piece).collect()
}

/// Returns true if every command of a line is allowed as written. A line that is not a list of plain commands is not.
pub(super) fn is_allowed(line: &str, is_allowed: impl Fn(&str) -> bool) -> bool {
    let Ok(line) = shell::read(line) else { return false };
    let mut commands = line.commands.iter();
    let has_program = line.commands.iter().any(|command| !command.words.is_empty());
    has_program
        && commands.all(|command| {
            let writes = command
                .redirects
                .iter()
                .any(|redirect| !redirect.is_copy && redirect.target.text != "/dev/null");
            // Redirections of a whole pipeline are commands without a program.
            let is_redirection = command.words.is_empty() && !command.redirects.is_empty();
            command.assignments.is_empty()
                && !writes
                && !command.text.contains(['$', '`', '{', '}'])
                && (is_redirection || is_allowed(command.text.trim()))
        })
}

/// Returns true if the specifier of a rule matches a command: exactly, by its beginning (`git:*`), or as a pattern.
pub(super) fn matches_rule(rule: &str, text: &str) -> bool {
    if let Some(prefix) = rule.strip_suffix(":*") {
        let rest = text.strip_prefix(prefix);
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
            || prefix.is_empty();
    }
    match rule {
        "" | "*" => true,
        rule if rule.contains('*') => {
            matches_pattern(rule, text) || rule.strip_suffix(" *").is_some_and(|rule| rule == text)
        }
        rule => rule == text,
    }
}

/// Matches a pattern in which `*` stands for any characters.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}
