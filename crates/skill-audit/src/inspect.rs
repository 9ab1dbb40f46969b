//! Inspects one file of a skill: its normalized text, its structure, and the operations of its code and commands.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use aho_corasick::AhoCorasick;
use regex::Regex;
use shell::sketch::sketch;

use crate::artifact::{File, FileKind, is_text};
use crate::code::{Program, Shared, Step, javascript_code, python_code, steps_of};
use crate::cues::Cues;
use crate::decode::{self, Encoding, HiddenText};
use crate::entries::entries;
use crate::evidence;
use crate::excerpt::slice;
use crate::generic::generic_code;
use crate::hosts::{HostClass, Remote};
use crate::markdown::{Document, document};
use crate::normalization::{NormalizedText, normalize};
use crate::op::{Action, Op, OpCollector, Role};
use crate::shell_code::Shell;
use crate::value::Value;

/// The maximum size of a text file.
pub(crate) const MAX_TEXT_BYTES: usize = 1 << 20;

/// The maximum number of matches that a rule checks per file.
pub(crate) const MAX_MATCHES: usize = 2000;

/// The maximum number of commands parsed in text that is not code.
const MAX_COMMANDS: usize = 10_000;

/// An inspected file.
pub(crate) struct InspectedFile<'a> {
    pub(crate) file: File<'a>,
    pub(crate) kind: FileKind,
    pub(crate) text: NormalizedText,
    pub(crate) document: Document,
    pub(crate) cues: Cues,
    pub(crate) ops: Vec<Op>,
    pub(crate) hidden: Vec<HiddenText>,
    steps: Option<Vec<Step>>,
    /// Why the file could not be analyzed completely.
    pub(crate) incomplete: Option<String>,
}

/// Matches commands in prose, by the program's name.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?:^|[\s`"'(;&|$>=:@!])((?:sudo\s+)?(?:/(?:usr/)?(?:local/)?bin/)?(?:curl|wget|base64|bash|zsh|sh|eval|python3?|node|perl|ruby|powershell|pwsh|iwr|irm|iex|invoke-webrequest|invoke-restmethod|invoke-expression|mshta|certutil|osascript|nc|ncat|netcat|socat|echo|printf|cat|xattr|chmod|rm|crontab|launchctl|systemctl|schtasks|scp|rsync|dig|nslookup|tar|pip3?|uvx?|pipx|npx|npm|pnpm|yarn|bunx?|brew|apt|apt-get|gem|cargo|go|git|docker|claude|codex|security|dd|mkfs\S*|export|env|printenv|openssl|source|set-mppreference|reg|spctl|xmrig)\s+[^\n]*)"#).expect("the pattern is valid")
});

/// Matches a label before a command: the platform that it is for, or its number.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[A-Za-z][A-Za-z0-9 ./()-]{0,18}?\s*(?::|->|=>)|[0-9]{1,2}[.)])\s+")
        .expect("the pattern is valid")
});
/// Matches a connection that the shell itself makes, to a literal host.
static CONNECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"/dev/(?:tcp|udp)/([A-Za-z0-9.-]+)/").expect("the pattern is valid")
});
/// Matches a string literal in code that pipes a download into a shell.
static PIPED_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"["'`]((?:curl|wget)[^"'`\n]{4,200}\|\s*(?:sudo )?(?:ba|z)?sh)(?:["'`]| -)"#)
        .expect("the pattern is valid")
});
/// Matches the lower bound of a package's version.
static VERSION_BOUND: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([A-Za-z0-9_\]])>=([0-9])").expect("the pattern is valid"));
/// A code block without any of these words does nothing that the rules look for.
static ACTIVE: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = "subprocess os. requests urllib httpx aiohttp socket open( exec eval base64 environ getenv __import__ import_module getattr shutil Path( fetch axios child_process process.env require( fs. http. https. atob Function( Buffer net. dns. marshal pickle smtplib ftplib paramiko Deno Bun write_text read_text keyring browser_cookie sqlite3 fromhex fromCharCode chr( decode( WebSocket sendBeacon got(";
    AhoCorasick::new(words.split(' ')).expect("the word list is small")
});

impl InspectedFile<'_> {
    /// Returns the text of a range; ends inside a character move to its start.
    pub(crate) fn slice(&self, range: &Range<usize>) -> &str {
        slice(&self.text.text, range.clone())
    }

    /// Stores the operations, and whether a limit stopped the analysis.
    fn store(&mut self, found: CollectedOps) {
        self.ops = found.ops;
        if found.is_truncated {
            self.mark_incomplete("the code is too large or too deeply nested to trace");
        }
    }

    /// Records why the analysis is incomplete; the first reason is kept.
    fn mark_incomplete(&mut self, reason: &str) {
        self.incomplete.get_or_insert_with(|| reason.to_owned());
    }

    pub(crate) fn is_script(&self) -> bool {
        matches!(
            self.kind,
            FileKind::Shell
                | FileKind::Python
                | FileKind::JavaScript
                | FileKind::TypeScript
                | FileKind::Code
        )
    }
}

/// Inspects a file on its own.
pub(crate) fn inspect(file: File<'_>) -> InspectedFile<'_> {
    let kind = FileKind::of(&file);
    let mut inspected = InspectedFile {
        file,
        kind,
        text: NormalizedText::default(),
        document: Document::default(),
        cues: Cues::default(),
        ops: Vec::new(),
        hidden: Vec::new(),
        steps: None,
        incomplete: None,
    };
    let is_readable = matches!(
        kind,
        FileKind::Markdown
            | FileKind::Shell
            | FileKind::Python
            | FileKind::JavaScript
            | FileKind::TypeScript
            | FileKind::Code
            | FileKind::Data
            | FileKind::Active
    );
    if !is_readable {
        return inspected;
    }
    if file.bytes.len() > MAX_TEXT_BYTES {
        inspected.incomplete = Some(format!("it is larger than {} MiB", MAX_TEXT_BYTES >> 20));
        return inspected;
    }
    if !is_text(file.bytes) && !file.bytes.is_empty() {
        inspected.incomplete = Some("it has a text file extension, but binary content".to_owned());
        return inspected;
    }
    let text = String::from_utf8_lossy(file.bytes);
    inspected.text = normalize(&text);
    inspected.cues = Cues::of(&inspected.text.text);
    let addresses = inspected.text.text.matches("://").count();
    if addresses > MAX_MATCHES || inspected.cues.max_count() > MAX_MATCHES {
        inspected.incomplete =
            Some(format!("it has more than {MAX_MATCHES} URLs or suspicious phrases"));
    }
    if kind == FileKind::Markdown {
        inspected.document = document(&inspected.text.text);
    }
    let found = decode::find_hidden(&inspected.text.text);
    inspected.hidden = found.all;
    if found.is_truncated {
        inspected.incomplete = Some("it contains too much encoded text".to_owned());
    }
    inspected.steps = steps_of(&inspected.text.text, kind);
    let is_code = matches!(kind, FileKind::Python | FileKind::JavaScript | FileKind::TypeScript);
    if is_code && inspected.steps.is_none() {
        inspected.incomplete = Some("the code is too complex to parse".to_owned());
    }
    inspected
}

/// Traces the code of all files, each with the values that the others define.
pub(crate) fn trace(all: &mut [InspectedFile<'_>]) {
    let siblings = Arc::new(siblings(all));
    let mut shared = Shared::new(&siblings);
    for one in all.iter() {
        if let Some(steps) = &one.steps {
            let mut collector = OpCollector::new(0, Role::Script, 0);
            let mut program = Program::new(stem(one.file.path), &shared);
            program.run(steps, &mut collector);
            shared.add(program);
        }
    }
    let mut files: HashMap<String, Value> = HashMap::new();
    let mut variables: HashMap<String, Value> = HashMap::new();
    let none = Arc::default();
    for (number, one) in all.iter_mut().enumerate() {
        let mut shell = Shell::new(&siblings, &none, &none);
        one.store(ops(number, one, &shared, &mut shell));
        if is_run(one) {
            files.extend(shell.files);
            variables.extend(shell.variables);
        }
    }
    // Only now is it known which values scripts leave for each other.
    let is_shared = !files.is_empty() || !variables.is_empty();
    let several = all.iter().filter(|one| is_run(one)).count();
    if is_shared && several > MAX_LINKED_SCRIPTS {
        let first = all.iter_mut().find(|one| is_run(one));
        first.into_iter().for_each(|one| {
            one.mark_incomplete("the skill has too many scripts to trace together");
        });
    } else if is_shared && several > 1 {
        let (files, variables) = (Arc::new(files), Arc::new(variables));
        for (number, one) in all.iter_mut().enumerate().filter(|(_, one)| is_run(one)) {
            let mut shell = Shell::new(&siblings, &files, &variables);
            one.store(ops(number, one, &shared, &mut shell));
        }
    }
}

/// The maximum number of scripts traced together.
const MAX_LINKED_SCRIPTS: usize = 200;

/// Returns true for files that share shell state: shell scripts, and the commands in SKILL.md.
fn is_run(one: &InspectedFile<'_>) -> bool {
    one.kind == FileKind::Shell || one.file.path.eq_ignore_ascii_case("SKILL.md")
}

/// Returns the small data files by name, so that values read from them are known.
fn siblings(all: &[InspectedFile<'_>]) -> HashMap<String, String> {
    const SMALL: usize = 16 << 10;
    let small = all.iter().filter(|one| one.text.text.len() <= SMALL && one.kind == FileKind::Data);
    small
        .map(|one| {
            let name = one.file.path.rsplit('/').next().unwrap_or(one.file.path);
            (name.to_owned(), one.text.text.clone())
        })
        .collect()
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}

/// The operations in a file.
struct CollectedOps {
    ops: Vec<Op>,
    /// Whether a limit stopped the analysis.
    is_truncated: bool,
}

fn ops(number: usize, one: &InspectedFile<'_>, shared: &Shared, shell: &mut Shell) -> CollectedOps {
    let text = one.text.text.as_str();
    let (mut ops, mut is_truncated) = (Vec::new(), false);
    match one.kind {
        FileKind::Markdown => {
            let found = document_ops(number, one, shell);
            ops = found.ops;
            is_truncated = found.is_truncated;
        }
        FileKind::Shell => {
            let mut collector = OpCollector::new(number, Role::Script, 0);
            run_shell(text, shell, &mut collector);
            let functions = evidence::functions(text);
            for op in &mut collector.ops {
                op.is_certain = !matches!(&op.action, Action::Run { program } if functions.contains(program.as_str()));
            }
            is_truncated |= collector.is_truncated;
            ops.append(&mut collector.ops);
        }
        FileKind::Python | FileKind::JavaScript | FileKind::TypeScript => {
            let mut collector = OpCollector::new(number, Role::Script, 0);
            if let Some(steps) = &one.steps {
                Program::new(stem(one.file.path), shared).run(steps, &mut collector);
            }
            for found in
                PIPED_TEXT.captures_iter(text).filter_map(|found| found.get(1)).take(MAX_MATCHES)
            {
                let command = found.as_str().to_owned();
                collector.inside(&found.range(), &[], |collector| {
                    run_shell(&command, &mut Shell::default(), collector);
                });
            }
            // Requests to a computed address go to the addresses that the script has as constants.
            let is_dynamic = collector.ops.iter().any(|op| match &op.action {
                Action::Fetch(to) | Action::Send { to, .. } => to.host.is_empty(),
                _ => false,
            });
            if is_dynamic {
                for (span, remote) in crate::reached::bases(text) {
                    collector.add(&span, Action::Fetch(remote));
                }
            }
            for (span, what) in evidence::script_dependencies(text) {
                let (by, registry) = ("uv".to_owned(), "pip".to_owned());
                collector.add(&span, Action::Install { by, registry, what });
            }
            is_truncated |= collector.is_truncated;
            ops.append(&mut collector.ops);
        }
        FileKind::Code => {
            let mut collector = OpCollector::new(number, Role::Script, 0);
            generic_code(text, &mut collector);
            is_truncated |= collector.is_truncated;
            ops.append(&mut collector.ops);
        }
        FileKind::Data | FileKind::Active => {
            let mut collector = OpCollector::new(number, Role::Data, 0);
            lines(text, shell, &mut collector);
            is_truncated |= collector.is_truncated;
            ops.append(&mut collector.ops);
        }
        _ => {}
    }
    for hidden in &one.hidden {
        let role =
            if one.is_script() { Role::Script } else { one.document.role_at(hidden.span.start) };
        let mut collector = OpCollector::fixed(number, role, hidden.span.clone());
        inspect_hidden(&hidden.text, &hidden.chain, &mut collector);
        is_truncated |= collector.is_truncated;
        ops.append(&mut collector.ops);
    }
    for op in &mut ops {
        op.location.span = one.text.origin(&op.location.span);
    }
    CollectedOps { ops, is_truncated }
}

/// Collects the operations in a Markdown document.
fn document_ops(number: usize, one: &InspectedFile<'_>, shell: &mut Shell) -> CollectedOps {
    let text = one.text.text.as_str();
    let (mut ops, mut is_truncated) = (Vec::new(), false);
    for piece in &one.document.pieces {
        let part = slice(text, piece.span.clone());
        let mut collector = OpCollector::new(number, piece.role, piece.span.start);
        match piece.role {
            Role::Frontmatter => {
                for (at, entry) in entries(part) {
                    let mut collector = OpCollector::new(number, piece.role, piece.span.start + at);
                    lines(&entry.replace("\\|", " |"), shell, &mut collector);
                    is_truncated |= collector.is_truncated;
                    ops.append(&mut collector.ops);
                }
            }
            Role::Fence => block(part, &piece.language, shell, &mut collector),
            Role::Inline if evidence::is_inline_command(part) => {
                // Markdown tables escape pipes with a backslash.
                let command = part.trim_matches('`').trim().replace("\\|", " |");
                let mut inline = OpCollector::fixed(number, piece.role, piece.span.clone());
                inline.is_certain = true;
                run_shell(&evidence::plain(&command), shell, &mut inline);
                collector = inline;
            }
            // Markdown tables escape pipes with a backslash.
            _ => lines(&part.replace("\\|", " |"), shell, &mut collector),
        }
        is_truncated |= collector.is_truncated;
        ops.append(&mut collector.ops);
    }
    for (span, remote) in crate::reached::told_to_fetch(text, &one.document) {
        let mut collector = OpCollector::new(number, one.document.role_at(span.start), 0);
        collector.is_certain = true;
        collector.add(&span, Action::Fetch(remote));
        ops.append(&mut collector.ops);
    }
    for (start, part) in prose(&one.document, text) {
        let mut collector = OpCollector::new(number, Role::Prose, start);
        lines(part, shell, &mut collector);
        let mut at = 0;
        for line in part.split_inclusive('\n') {
            if evidence::is_bare_install(line.trim_end()) {
                let range = at + start..at + start + line.len();
                let in_line = |op: &&mut Op| range.contains(&op.location.span.start);
                collector.ops.iter_mut().filter(in_line).for_each(|op| op.is_certain = true);
            }
            at += line.len();
        }
        is_truncated |= collector.is_truncated;
        ops.append(&mut collector.ops);
    }
    CollectedOps { ops, is_truncated }
}

/// Inspects hidden text, and text hidden inside it.
fn inspect_hidden(text: &str, chain: &[Encoding], collector: &mut OpCollector) {
    collector.inside(&(0..0), chain, |collector| {
        if COMMAND.is_match(text) {
            lines(text, &mut Shell::default(), collector);
        }
        let more = decode::find_hidden(text);
        collector.is_truncated |= more.is_truncated;
        for more in more.all {
            inspect_hidden(&more.text, &more.chain, collector);
        }
    });
}

fn run_shell(text: &str, shell: &mut Shell, collector: &mut OpCollector) {
    // `pip install x>=2` would be a redirection, but people write it.
    let quoted = ["pip install", "pip3 install", "uv add", "poetry add"]
        .iter()
        .any(|start| text.contains(start));
    let quoted = quoted.then(|| VERSION_BOUND.replace_all(text, "$1~=$2"));
    let text = quoted.as_deref().unwrap_or(text);
    for found in CONNECTION.captures_iter(text) {
        let (Some(whole), Some(host)) = (found.get(0), found.get(1)) else { continue };
        let remote = Remote::parse(&format!("tcp://{}/", host.as_str()));
        if remote.is_some_and(|remote| remote.class != HostClass::Local) {
            collector.add(&whole.range(), Action::RemoteShell { transport: "/dev/tcp".to_owned() });
        }
    }
    match sketch(text) {
        Some(script) => {
            shell.script(&script, &Value::default(), collector);
        }
        // Code that is too complex for the parser is inspected line by line.
        None => {
            collector.is_truncated = true;
            lines(text, shell, collector);
        }
    }
}

/// Collects the operations in a code block, and marks those in text that is code or a command by evidence.
fn block(text: &str, language: &str, shell: &mut Shell, collector: &mut OpCollector) {
    let commands = evidence::command_lines(text, language);
    let start = collector.ops.len();
    if evidence::is_plain_label(language) && !commands.is_empty() {
        run_shell(&without_prompts(text), shell, collector);
        generic_code(text, collector);
    } else {
        fence(text, language, shell, collector);
    }
    let functions = evidence::functions(text);
    let is_call = |op: &Op| matches!(&op.action, Action::Run { program } if functions.contains(program.as_str()));
    let offset = collector.offset();
    for op in collector.ops.iter_mut().skip(start) {
        let at = op.location.span.start.saturating_sub(offset);
        let is_command =
            evidence::is_code_label(language) || commands.iter().any(|line| line.contains(&at));
        op.is_certain = is_command && !is_call(op);
    }
    for (at, command) in evidence::quoted_commands(text, language) {
        collector.is_certain = true;
        collector.inside(&(at..at + 1), &[], |collector| run_shell(&command, shell, collector));
        collector.is_certain = false;
    }
}

fn fence(text: &str, language: &str, shell: &mut Shell, collector: &mut OpCollector) {
    match language {
        "bash" | "sh" | "shell" | "zsh" | "console" | "terminal" | "shell-session"
        | "shellsession" | "fish" | "ksh" => {
            run_shell(&without_prompts(text), shell, collector);
            if text.to_lowercase().contains("powershell")
                || text.contains("iwr ")
                || text.contains("irm ")
            {
                generic_code(text, collector);
            }
        }
        "python" | "py" | "python3" | "ipython" | "pycon" => {
            if ACTIVE.is_match(text) {
                python_code(text, collector);
            }
            mislabelled(text, shell, collector);
        }
        "js" | "javascript" | "ts" | "typescript" | "jsx" | "tsx" | "mjs" | "node" => {
            if ACTIVE.is_match(text) {
                javascript_code(text, collector);
            }
            mislabelled(text, shell, collector);
        }
        "powershell" | "ps1" | "pwsh" | "ps" | "cmd" | "bat" | "batch" | "ruby" | "rb" | "perl"
        | "php" | "applescript" | "osascript" | "vbs" | "lua" => {
            generic_code(text, collector);
        }
        "" | "text" | "txt" | "plaintext" | "plain" | "command" | "cmdline" => {
            let plain = without_prompts(text);
            if COMMAND.is_match(&plain) {
                run_shell(&plain, shell, collector);
            }
            generic_code(text, collector);
        }
        _ => lines(text, shell, collector),
    }
}

/// The language label of a block can be wrong: a line that starts with a download is a command.
fn mislabelled(text: &str, shell: &mut Shell, collector: &mut OpCollector) {
    const STARTS: [&str; 8] =
        ["curl ", "wget ", "! curl ", "!curl ", "! wget ", "!wget ", "bash <(", "bash -c"];
    for line in
        text.lines().filter(|line| STARTS.iter().any(|start| line.trim_start().starts_with(start)))
    {
        let at = line.as_ptr() as usize - text.as_ptr() as usize;
        let mut inner = OpCollector::new(0, Role::Fence, 0);
        lines(line, shell, &mut inner);
        collector.is_truncated |= inner.is_truncated;
        for op in inner.ops {
            collector.add_nested(&(at..at + line.len()), op);
        }
    }
}

/// Blanks out shell prompts and labels before commands.
fn without_prompts(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let rest = slice(line, indent..);
        let prompt =
            ["$ ", "% ", "❯ ", "➜ ", "PS> ", "> "].iter().find(|prompt| rest.starts_with(**prompt));
        plain.push_str(slice(line, ..indent));
        let label = LABEL.find(rest).map(|found| found.end()).filter(|end| {
            COMMAND.find(slice(rest, *end..)).is_some_and(|command| command.start() == 0)
        });
        if let Some(end) = label {
            plain.extend(std::iter::repeat_n(' ', end));
            plain.push_str(slice(rest, end..));
            continue;
        }
        match prompt {
            Some(prompt) => {
                plain.extend(std::iter::repeat_n(' ', prompt.len()));
                plain.push_str(slice(rest, prompt.len()..));
            }
            None => plain.push_str(rest),
        }
    }
    plain
}

/// Finds commands in text that is not code.
fn lines(text: &str, shell: &mut Shell, collector: &mut OpCollector) {
    // A backslash continues the line.
    let joined = text.contains("\\\n").then(|| text.replace("\\\n", "  "));
    let text = joined.as_deref().unwrap_or(text);
    commands(text, shell, collector, &|range| range);
    // Markdown renders character references, so `&#99;url` is shown as `curl`.
    if text.contains("&#") {
        let mut at = 0;
        for line in text.split_inclusive('\n').filter(|line| !line.is_empty()) {
            if line.contains("&#") {
                let plain = entities(line);
                commands(&plain, shell, collector, &|_| at..at + line.len());
            }
            at += line.len();
        }
    }
    // A shell ignores empty quotes in a word, but they hide it from searches.
    if text.contains("''") || text.contains("\"\"") {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let plain = line.replace("''", "").replace("\"\"", "");
            if plain.len() != line.len() {
                commands(&plain, shell, collector, &|_| at..at + line.len());
            }
            at += line.len();
        }
    }
}

/// Resolves numeric character references: `&#99;` and `&#x63;`.
fn entities(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("&#") {
        plain.push_str(slice(rest, ..start));
        let inner = slice(rest, start + 2..);
        let end = inner.find(';').filter(|end| *end <= 8);
        let code = end.and_then(|end| match slice(inner, ..end).strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => slice(inner, ..end).parse().ok(),
        });
        match (code.and_then(char::from_u32), end) {
            (Some(letter), Some(end)) => {
                plain.push(letter);
                rest = slice(inner, end + 1..);
            }
            _ => {
                plain.push_str("&#");
                rest = inner;
            }
        }
    }
    plain + rest
}

fn commands(
    text: &str,
    shell: &mut Shell,
    collector: &mut OpCollector,
    place: &dyn Fn(Range<usize>) -> Range<usize>,
) {
    for (number, found) in COMMAND.captures_iter(text).enumerate() {
        if number >= MAX_COMMANDS {
            collector.is_truncated = true;
            break;
        }
        let Some(command) = found.get(1) else { continue };
        let before = slice(text, ..command.start()).chars().next_back();
        let mut line = command.as_str();
        // A quoted command ends at the closing quote.
        if let Some(quote) = before.filter(|c| matches!(c, '"' | '\'' | '`')) {
            line = until(line, quote);
        }
        if evidence::is_prose(line) {
            continue;
        }
        // A command inside an HTML element ends with it.
        line = line.split("</").next().unwrap_or(line);
        let unescaped = line.replace("\\\"", "\"");
        let mut inner = OpCollector::new(0, Role::Prose, 0);
        match sketch(unescaped.trim_end_matches(['`', ',', '.'])) {
            Some(script) => {
                shell.script(&script, &Value::default(), &mut inner);
            }
            None => inner.is_truncated = true,
        }
        generic_code(line, &mut inner);
        collector.is_truncated |= inner.is_truncated;
        let range = place(command.start()..command.start() + line.len());
        for op in inner.ops {
            collector.add_nested(&range, op);
        }
    }
}

fn until(line: &str, quote: char) -> &str {
    let mut is_escaped = false;
    for (at, character) in line.char_indices() {
        if character == quote && !is_escaped {
            return slice(line, ..at);
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    line
}

/// Returns the parts of a document that are plain prose.
fn prose<'t>(document: &Document, text: &'t str) -> Vec<(usize, &'t str)> {
    let (mut all, mut at) = (Vec::new(), 0);
    for piece in &document.pieces {
        if piece.span.start > at {
            all.push((at, slice(text, at..piece.span.start)));
        }
        at = at.max(piece.span.end);
    }
    if at < text.len() {
        all.push((at, slice(text, at..)));
    }
    all
}
