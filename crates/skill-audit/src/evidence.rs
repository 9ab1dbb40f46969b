//! Decides by evidence which text of a document is a command: known programs, shell syntax, prompts, language labels and
//! position. Prose, tables, tree drawings, templates and the output of commands are not.
//!
//! Rules look at everything that could be a command. What a skill is reported to run, install and reach comes only from
//! text with evidence.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::excerpt::slice;

/// How well known a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Familiarity {
    /// A word of the shell itself.
    Builtin,
    /// A text or file utility that every system has.
    Common,
    /// Another program.
    Program,
}

static KNOWN: LazyLock<HashMap<&'static str, Familiarity>> = LazyLock::new(|| {
    let (mut known, mut kind) = (HashMap::with_capacity(1024), Familiarity::Program);
    for line in include_str!("programs.txt").lines().filter(|line| !line.starts_with("# ")) {
        match line {
            "[common]" => kind = Familiarity::Common,
            "[builtin]" => kind = Familiarity::Builtin,
            "[program]" => kind = Familiarity::Program,
            _ => known.extend(line.split_whitespace().map(|name| (name, kind))),
        }
    }
    known
});

/// Matches a command after its label in a comment: `# Run: npx prisma migrate dev`.
static COMMENTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*(?:(?://|#|--|\*|!|%)\s*(?:[A-Z][A-Za-z ]{0,30}:\s*)?)?((?:npx|npm (?:i|install|add|exec|run)|pnpm|yarn add|bunx|(?:python3? -m )?pip3? install|uv (?:add|pip|run|sync|tool)|uvx|pipx|poetry (?:add|install|run)|conda install|brew install|cargo (?:install|add|build|run|test)|gem install|dotnet (?:add|tool|run|build|new)|apt-get install|sudo apt|go (?:install|get|run|build|test)) [^\n]+)$").expect("the pattern is valid")
});
/// Matches the command of an MCP server or hook in JSON.
static CONFIGURED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""command"\s*:\s*"([A-Za-z0-9_./-]+)"\s*,\s*"args"\s*:\s*\[([^\]]*)\]"#)
        .expect("the pattern is valid")
});
/// Matches a command line in JSON, as hooks have it.
static HOOK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""command"\s*:\s*"([A-Za-z0-9_./~-]+ (?:[^"\\]|\\.)+)""#)
        .expect("the pattern is valid")
});
static ITEM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""((?:[^"\\]|\\.)*)""#).expect("the pattern is valid"));
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*(?:function\s+([A-Za-z_][\w-]*)|([A-Za-z_][\w-]*)\s*\(\))")
        .expect("the pattern is valid")
});

/// Prompts before a command.
const PROMPTS: [&str; 7] = ["$ ", "% ", "❯ ", "➜ ", "PS> ", "> ", "λ "];
/// Words before the program of a command.
const LEADING: [&str; 16] = [
    "sudo", "doas", "if", "then", "else", "elif", "do", "while", "until", "!", "time", "nohup",
    "exec", "command", "{", "(",
];
const DRAWINGS: [char; 8] = ['├', '└', '│', '─', '┌', '║', '→', '✓'];

/// Programs whose names are also words: `go to the page`, `make sure that`, `find all files`.
const AMBIGUOUS: [&str; 60] = [
    "act", "at", "bat", "build", "buf", "cal", "cast", "convert", "copilot", "cursor", "date",
    "diff", "dot", "expand", "file", "find", "fish", "fly", "fold", "forge", "free", "go", "grep",
    "head", "help", "host", "id", "install", "ip", "join", "just", "kill", "kind", "last", "less",
    "link", "look", "mail", "make", "man", "mix", "more", "nest", "next", "node", "op", "open",
    "patch", "parallel", "paste", "play", "safety", "screen", "security", "serve", "sort", "split",
    "time", "top", "watch",
];

/// Returns how well known a program is.
pub(crate) fn familiarity(name: &str) -> Option<Familiarity> {
    KNOWN.get(name).copied()
}

/// Returns true for labels of code blocks that contain shell commands.
pub(crate) fn is_shell_label(language: &str) -> bool {
    matches!(
        language,
        "bash"
            | "sh"
            | "shell"
            | "zsh"
            | "console"
            | "terminal"
            | "shell-session"
            | "shellsession"
            | "fish"
            | "ksh"
    )
}

/// Returns true for labels of code in a language with a parser.
pub(crate) fn is_code_label(language: &str) -> bool {
    matches!(
        language,
        "python"
            | "py"
            | "python3"
            | "ipython"
            | "pycon"
            | "js"
            | "javascript"
            | "ts"
            | "typescript"
            | "jsx"
            | "tsx"
            | "mjs"
            | "node"
    )
}

/// Returns true for labels of blocks that say nothing about their content.
pub(crate) fn is_plain_label(language: &str) -> bool {
    matches!(language, "" | "text" | "txt" | "plaintext" | "plain" | "command" | "cmdline")
}

/// Returns the ranges of the lines of a code block that are commands.
pub(crate) fn command_lines(text: &str, language: &str) -> Vec<Range<usize>> {
    let is_shell = is_shell_label(language);
    if !is_shell && !is_plain_label(language) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at..at + line.len(), line.trim_end()));
        at += line.len();
    }
    let has_prompts = lines.iter().any(|(_, line)| line.trim_start().starts_with("$ "));
    let judged: Vec<bool> = lines
        .iter()
        .map(|(_, line)| {
            let (rest, is_prompted) = after_prompt(line);
            match program(rest) {
                Some(program) if has_prompts => {
                    line.trim_start().starts_with("$ ") && is_name(program)
                }
                Some(program) if is_shell => is_command(rest, program),
                Some(program) if is_prompted && !line.trim_start().starts_with('>') => {
                    is_name(program)
                }
                Some(program) => is_known_call(rest, program),
                None => false,
            }
        })
        .collect();
    let is_text = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let texts = lines.iter().filter(|(_, line)| is_text(line)).count();
    let commands = judged.iter().filter(|is_command| **is_command).count();
    // In a block without a label, a few matching lines are output or prose.
    if !is_shell && !has_prompts && commands * 2 < texts {
        return Vec::new();
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut continues = false;
    for ((range, line), is_command) in lines.into_iter().zip(judged) {
        if is_command || continues {
            found.push(range);
        }
        continues = (is_command || continues) && line.ends_with(['\\', '|', '&', '{', '(']);
    }
    found
}

/// Returns true if the inline code is a call of a known program.
pub(crate) fn is_inline_command(text: &str) -> bool {
    let (rest, _) = after_prompt(text);
    let Some(program) = program(rest) else { return false };
    rest.split_whitespace().count() >= 2
        && !rest.contains('\n')
        && is_known_call(rest, program)
        && familiarity(program) != Some(Familiarity::Builtin)
}

/// Returns true if a program's name is used as a word: "go to the page".
pub(crate) fn is_prose(line: &str) -> bool {
    let Some(program) = program(line) else { return true };
    AMBIGUOUS.contains(&program) && !is_known_call(line, program)
}

/// Returns the commands that comments and configurations in a code block quote.
pub(crate) fn quoted_commands(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    if !is_plain_label(language) {
        for found in COMMENTED.captures_iter(text) {
            let Some(command) = found.get(1) else { continue };
            if is_known_call(command.as_str(), program(command.as_str()).unwrap_or_default()) {
                all.push((command.start(), command.as_str().to_owned()));
            }
        }
    }
    if text.contains("\"command\"") {
        for found in CONFIGURED.captures_iter(text) {
            let (Some(whole), Some(command), Some(args)) =
                (found.get(0), found.get(1), found.get(2))
            else {
                continue;
            };
            let mut line = command.as_str().to_owned();
            for item in ITEM.captures_iter(args.as_str()).filter_map(|item| item.get(1)) {
                line.push_str(" '");
                line.push_str(&item.as_str().replace('\'', ""));
                line.push('\'');
            }
            all.push((whole.start(), line));
        }
        for found in HOOK.captures_iter(text) {
            let (Some(whole), Some(command)) = (found.get(0), found.get(1)) else { continue };
            all.push((whole.start(), command.as_str().replace("\\\"", "\"")));
        }
    }
    all
}

/// Returns the packages that the metadata of a Python script lists (PEP 723), which `uv run` installs.
pub(crate) fn script_dependencies(text: &str) -> Vec<(Range<usize>, String)> {
    let Some(start) = text.find("# /// script") else { return Vec::new() };
    let head = slice(text, start..start + 4000);
    let end = head.find("\n# ///\n").unwrap_or(0);
    let head = slice(head, ..end);
    let Some(list) = head.find("dependencies").map(|at| slice(head, at..)) else {
        return Vec::new();
    };
    let list = list.split(']').next().unwrap_or(list);
    let all = ITEM.captures_iter(list).filter_map(|item| item.get(1));
    all.map(|item| (start..start + 1, item.as_str().to_owned())).collect()
}

/// Returns true for a line of prose that is a command to install something and nothing else.
pub(crate) fn is_bare_install(line: &str) -> bool {
    const STARTS: [&str; 14] = [
        "npm ", "npx ", "pip", "uv ", "yarn ", "pnpm ", "dotnet ", "cargo ", "brew ", "gem ",
        "conda ", "poetry ", "go ", "sudo ",
    ];
    if !STARTS.iter().any(|start| line.starts_with(start)) {
        return false;
    }
    COMMENTED.is_match(line) && !is_sentence(line) && !line.contains(['`', ',', '(', ':'])
        || line.starts_with("npm install ")
            && line.split_whitespace().all(|word| !word.ends_with(['.', ',', ':']))
}

/// Returns a command without its prompt.
pub(crate) fn plain(command: &str) -> String {
    after_prompt(command).0.to_owned()
}

/// Returns the functions that shell code defines: their calls are not programs.
pub(crate) fn functions(text: &str) -> HashSet<&str> {
    let all = FUNCTION.captures_iter(text).filter_map(|found| found.get(1).or(found.get(2)));
    all.map(|name| name.as_str()).collect()
}

/// Returns true for the name of a program, as opposed to punctuation, numbers, options and placeholders.
pub(crate) fn is_name(word: &str) -> bool {
    const PLACEHOLDERS: [&str; 12] = [
        "command",
        "program",
        "your-command",
        "my-app",
        "your-app",
        "cmd",
        "foo",
        "bar",
        "tool",
        "binary",
        "executable",
        "my-command",
    ];
    let is_part =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '/' | '~' | '@');
    word.len() >= 2
        && word.chars().all(is_part)
        && word
            .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '~' | '_'))
        && word.contains(|c: char| c.is_ascii_lowercase())
        && !word.ends_with(['.', '-'])
        && !PLACEHOLDERS.contains(&word)
        || familiarity(word).is_some()
}

fn after_prompt(line: &str) -> (&str, bool) {
    let rest = line.trim().trim_matches('`').trim();
    match PROMPTS.iter().find_map(|prompt| rest.strip_prefix(prompt)) {
        Some(after) => (after.trim_start(), true),
        None => (rest, false),
    }
}

/// Returns the program of a line: the first word after variables and shell keywords.
fn program(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let is_skipped = |word: &&str| {
        LEADING.contains(word)
            || word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            })
    };
    let word = words.find(|word| !is_skipped(word))?;
    let word = word.trim_start_matches(['(', '{', '"']).trim_end_matches([';', ')', '"']);
    let word = word.strip_prefix("$(").unwrap_or(word);
    Some(word).filter(|word| !word.is_empty())
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns true if a line in a shell block is a command rather than output or prose.
fn is_command(line: &str, program: &str) -> bool {
    if line.contains(DRAWINGS) && !line.contains(" #")
        || line.starts_with(['|', '#', '<', '-', '*', '•'])
    {
        return false;
    }
    if line.starts_with('/')
        && line.split_whitespace().next().is_some_and(|word| word.matches('/').count() == 1)
    {
        // `/plugin install` is a command of an agent.
        return false;
    }
    if familiarity(base(program)).is_some() {
        return is_known_call(line, program);
    }
    // Code of another language under a wrong label.
    if matches!(
        program,
        "import" | "from" | "const" | "def" | "var" | "class" | "async" | "use" | "package"
    ) {
        return false;
    }
    let words = line.split_whitespace().count();
    let has_syntax = line.split_whitespace().skip(1).any(|word| {
        word.starts_with(['-', '"', '\'', '$', '<', '>', '|', '@'])
            || word.contains(['/', '=', '.', ':'])
    });
    let is_path = program.contains('/');
    is_name(program)
        && program.starts_with(|c: char| {
            c.is_ascii_lowercase() || matches!(c, '.' | '/' | '~' | '_') || c.is_ascii_digit()
        })
        && (is_path || words > 1)
        && (has_syntax || words <= 4 || is_path)
        && !is_sentence(line)
}

/// Returns true if the text calls a known program; some of them are also words.
fn is_known_call(line: &str, program: &str) -> bool {
    let name = base(program);
    let Some(familiarity) = familiarity(name) else { return false };
    if program != name && familiarity == Familiarity::Builtin {
        return false;
    }
    let rest = slice(line, line.find(program).map_or(0, |at| at + program.len())..).trim();
    if !AMBIGUOUS.contains(&name) {
        return !is_sentence(line) || rest.starts_with('-');
    }
    const FUNCTION_WORDS: [&str; 30] = [
        "the", "a", "an", "to", "sure", "all", "any", "of", "is", "are", "and", "or", "for",
        "with", "in", "on", "it", "this", "that", "your", "through", "ahead", "back", "out", "up",
        "each", "every", "what", "how", "changes",
    ];
    let first = rest.split_whitespace().next().unwrap_or_default().to_lowercase();
    let is_call =
        rest.is_empty() || !FUNCTION_WORDS.contains(&first.trim_end_matches([',', '.', ':']));
    is_call && !is_sentence(line)
}

/// Returns true for a line of plain words that ends like a sentence.
fn is_sentence(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_word = |word: &&&str| {
        let word = word.trim_matches(['.', ',', ':', ';', '!', '?', '(', ')']);
        !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || c == '\'')
    };
    let plain = words.iter().filter(is_word).count();
    let ends = line.ends_with(['.', ':', '?']) && words.last().as_ref().is_some_and(is_word);
    plain + 1 >= words.len() && (words.len() >= 5 || words.len() >= 3 && ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str, language: &str) -> Vec<String> {
        command_lines(text, language)
            .into_iter()
            .map(|range| slice(text, range).trim().to_owned())
            .collect()
    }

    #[test]
    fn commands_are_told_apart_from_other_text() {
        for (language, text, expected) in [
            ("bash", "git push\nkallisto index -i x\n", &["git push", "kallisto index -i x"][..]),
            ("bash", "# comment\n/plugin install x\n./gradlew build\n", &["./gradlew build"]),
            ("console", "$ npm test\n> app@1.0 test\n2 passed\n", &["$ npm test"]),
            ("", "src/\n├── main.rs\n└── lib.rs\n", &[]),
            ("", "the plan and\n2. security review\n-------\n", &[]),
            ("", "npm install\nnpm test\n", &["npm install", "npm test"]),
            ("", "GET /users\nHost: x\nmake sure that it works\n", &[]),
            ("text", "| git | npm |\n|---|---|\n", &[]),
            ("python", "git push\n", &[]),
            ("sh", "curl x \\\n  | jq .\n", &["curl x \\", "| jq ."]),
            ("bash", "Open the file and then look for the line.\n", &[]),
        ] {
            assert_eq!(commands(text, language), expected, "{text}");
        }
        for (text, is_command) in [
            ("git push origin", true),
            ("npm", false),
            ("make sure", false),
            ("sudo apt-get install jq", true),
            ("some words", false),
            ("go build ./...", true),
            ("find the cause", false),
        ] {
            assert_eq!(is_inline_command(text), is_command, "{text}");
        }
        assert!(
            ["the", "└──", "✓", "-------", "2.", "$X", "<name>"]
                .iter()
                .all(|word| !is_name(word) || *word == "the")
        );
    }

    #[test]
    fn quoted_commands_are_found() {
        let json = r#"{"mcpServers": {"x": {"command": "npx", "args": ["-y", "@scope/pkg"]}}}"#;
        assert_eq!(quoted_commands(json, "json")[0].1, "npx '-y' '@scope/pkg'");
        assert_eq!(
            quoted_commands("// Run: npx prisma migrate dev\n", "ts")[0].1,
            "npx prisma migrate dev"
        );
        assert_eq!(functions("f() { x; }\nfunction g {\n").len(), 2);
    }
}
