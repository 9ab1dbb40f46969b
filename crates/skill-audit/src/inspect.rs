//! One file of a skill, read: its text as it is taken, its parts, and everything that its code and commands do.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use aho_corasick::AhoCorasick;
use regex::Regex;
use shell::sketch::sketch;

use crate::artifact::{File, Kind, is_text};
use crate::code::{Program, Shared, Step, javascript_code, python_code, steps_of};
use crate::cues::Cues;
use crate::decode::{self, Encoding, Hidden};
use crate::entries::entries;
use crate::generic::generic_code;
use crate::hosts::{HostClass, Remote};
use crate::markdown::{Document, document};
use crate::near::slice;
use crate::normal::{Normal, normal};
use crate::op::{Action, Op, OpCollector, Role};
use crate::shell_code::Shell;
use crate::value::Value;

/// The longest text that is read.
pub(crate) const MOST_TEXT: usize = 1 << 20;

/// How many places of one kind are looked at in one file.
pub(crate) const MOST_PLACES: usize = 2000;

/// How many commands are looked for in lines that are no code.
const MOST_COMMANDS: usize = 10_000;

/// A file, read.
pub(crate) struct Inspected<'a> {
    pub(crate) file: File<'a>,
    pub(crate) kind: Kind,
    pub(crate) text: Normal,
    pub(crate) document: Document,
    pub(crate) cues: Cues,
    pub(crate) ops: Vec<Op>,
    pub(crate) hidden: Vec<Hidden>,
    steps: Option<Vec<Step>>,
    /// Why it could not be read whole.
    pub(crate) unread: Option<String>,
}

/// Words by which a line is seen to be a command.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?:^|[\s`"'(;&|$>=:@!])((?:sudo\s+)?(?:/(?:usr/)?(?:local/)?bin/)?(?:curl|wget|base64|bash|zsh|sh|eval|python3?|node|perl|ruby|powershell|pwsh|iwr|irm|iex|invoke-webrequest|invoke-restmethod|invoke-expression|mshta|certutil|osascript|nc|ncat|netcat|socat|echo|printf|cat|xattr|chmod|rm|crontab|launchctl|systemctl|schtasks|scp|rsync|dig|nslookup|tar|pip3?|uvx?|pipx|npx|npm|pnpm|yarn|bunx?|brew|apt|apt-get|gem|cargo|go|git|docker|claude|codex|security|dd|mkfs\S*|export|env|printenv|openssl|source|set-mppreference|reg|spctl|xmrig)\s+[^\n]*)"#).expect("a pattern that is tested")
});

/// What a line says before its command: the system that it is for, or its number.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[A-Za-z][A-Za-z0-9 ./()-]{0,18}?\s*(?::|->|=>)|[0-9]{1,2}[.)])\s+")
        .expect("a pattern that is tested")
});
/// A connection that the shell itself makes, to a host that is written out.
static CONNECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"/dev/(?:tcp|udp)/([A-Za-z0-9.-]+)/").expect("a pattern that is tested")
});
/// Words without which a block of code does nothing that matters.
static ACTIVE: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = "subprocess os. requests urllib httpx aiohttp socket open( exec eval base64 environ getenv __import__ import_module getattr shutil Path( fetch axios child_process process.env require( fs. http. https. atob Function( Buffer net. dns. marshal pickle smtplib ftplib paramiko Deno Bun write_text read_text keyring browser_cookie sqlite3 fromhex fromCharCode chr( decode( WebSocket sendBeacon got(";
    AhoCorasick::new(words.split(' ')).expect("few words")
});

impl Inspected<'_> {
    /// Returns a stretch of the text; ends inside of a character move out of it.
    pub(crate) fn slice(&self, range: &Range<usize>) -> &str {
        slice(&self.text.text, range)
    }

    /// Takes what was found in it, and whether all of it was looked at.
    fn take(&mut self, found: FoundOps) {
        self.ops = found.ops;
        if found.is_cut {
            self.take_cut("it is larger or deeper than is followed");
        }
    }

    /// Notes why not all of it was looked at; the first reason stays.
    fn take_cut(&mut self, reason: &str) {
        self.unread.get_or_insert_with(|| reason.to_owned());
    }

    pub(crate) fn is_script(&self) -> bool {
        matches!(
            self.kind,
            Kind::Shell | Kind::Python | Kind::JavaScript | Kind::TypeScript | Kind::Code
        )
    }
}

/// Reads a file by itself.
pub(crate) fn inspect(file: File<'_>) -> Inspected<'_> {
    let kind = Kind::of(&file);
    let mut inspected = Inspected {
        file,
        kind,
        text: Normal::default(),
        document: Document::default(),
        cues: Cues::default(),
        ops: Vec::new(),
        hidden: Vec::new(),
        steps: None,
        unread: None,
    };
    let is_readable = matches!(
        kind,
        Kind::Markdown
            | Kind::Shell
            | Kind::Python
            | Kind::JavaScript
            | Kind::TypeScript
            | Kind::Code
            | Kind::Data
            | Kind::Active
    );
    if !is_readable {
        return inspected;
    }
    if file.bytes.len() > MOST_TEXT {
        inspected.unread = Some(format!("it is larger than {} KiB", MOST_TEXT >> 10));
        return inspected;
    }
    if !is_text(file.bytes) && !file.bytes.is_empty() {
        inspected.unread = Some("its name says text, and it is none".to_owned());
        return inspected;
    }
    let text = String::from_utf8_lossy(file.bytes);
    inspected.text = normal(&text);
    inspected.cues = Cues::of(&inspected.text.text);
    let addresses = inspected.text.text.matches("://").count();
    if addresses > MOST_PLACES || inspected.cues.most() > MOST_PLACES {
        inspected.unread =
            Some(format!("it has more than {MOST_PLACES} addresses, or words of one kind"));
    }
    if kind == Kind::Markdown {
        inspected.document = document(&inspected.text.text);
    }
    let found = decode::hidden(&inspected.text.text);
    inspected.hidden = found.all;
    if found.is_cut {
        inspected.unread = Some("more is hidden in it than is decoded".to_owned());
    }
    inspected.steps = steps_of(&inspected.text.text, kind);
    let is_code = matches!(kind, Kind::Python | Kind::JavaScript | Kind::TypeScript);
    if is_code && inspected.steps.is_none() {
        inspected.unread = Some("reading it takes too much work".to_owned());
    }
    inspected
}

/// Follows the code of all files, each with what the others have.
pub(crate) fn follow(all: &mut [Inspected<'_>]) {
    let siblings = Arc::new(siblings(all));
    let mut shared = Shared::new(&siblings);
    for one in all.iter() {
        if let Some(steps) = &one.steps {
            let mut scene = OpCollector::new(0, Role::Script, 0);
            let mut program = Program::new(stem(one.file.path), &shared);
            program.run(steps, &mut scene);
            shared.learn(program);
        }
    }
    let mut files: HashMap<String, Value> = HashMap::new();
    let mut variables: HashMap<String, Value> = HashMap::new();
    let none = Arc::default();
    for (number, one) in all.iter_mut().enumerate() {
        let mut shell = Shell::new(&siblings, &none, &none);
        one.take(ops(number, one, &shared, &mut shell));
        if is_run(one) {
            files.extend(shell.files);
            variables.extend(shell.variables);
        }
    }
    // What one script leaves for another is known only now.
    let is_shared = !files.is_empty() || !variables.is_empty();
    let several = all.iter().filter(|one| is_run(one)).count();
    if is_shared && several > MOST_TOGETHER {
        let first = all.iter_mut().find(|one| is_run(one));
        first
            .into_iter()
            .for_each(|one| one.take_cut("there are more scripts than are followed together"));
    } else if is_shared && several > 1 {
        let (files, variables) = (Arc::new(files), Arc::new(variables));
        for (number, one) in all.iter_mut().enumerate().filter(|(_, one)| is_run(one)) {
            let mut shell = Shell::new(&siblings, &files, &variables);
            one.take(ops(number, one, &shared, &mut shell));
        }
    }
}

/// The most scripts that are followed together.
const MOST_TOGETHER: usize = 200;

/// Returns true for what is run together: scripts, and what the SKILL.md itself says.
fn is_run(one: &Inspected<'_>) -> bool {
    one.kind == Kind::Shell || one.file.path.eq_ignore_ascii_case("SKILL.md")
}

/// Small files of text, by name: what is read from them is known.
fn siblings(all: &[Inspected<'_>]) -> HashMap<String, String> {
    const SMALL: usize = 4 << 10;
    let small = all.iter().filter(|one| one.text.text.len() <= SMALL && one.kind == Kind::Data);
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

/// What was found in a file.
struct FoundOps {
    ops: Vec<Op>,
    /// Whether not all of it was followed.
    is_cut: bool,
}

fn ops(number: usize, one: &Inspected<'_>, shared: &Shared, shell: &mut Shell) -> FoundOps {
    let text = one.text.text.as_str();
    let (mut ops, mut is_cut) = (Vec::new(), false);
    match one.kind {
        Kind::Markdown => {
            for piece in &one.document.pieces {
                let part = &text[piece.span.clone()];
                let mut scene = OpCollector::new(number, piece.role, piece.span.start);
                match piece.role {
                    Role::Frontmatter => {
                        for (at, entry) in entries(part) {
                            let mut scene =
                                OpCollector::new(number, piece.role, piece.span.start + at);
                            lines(&entry.replace("\\|", " |"), shell, &mut scene);
                            is_cut |= scene.is_cut;
                            ops.append(&mut scene.ops);
                        }
                    }
                    Role::Fence => fence(part, &piece.language, shell, &mut scene),
                    // In a table a pipe is written with a backslash.
                    _ => lines(&part.replace("\\|", " |"), shell, &mut scene),
                }
                is_cut |= scene.is_cut;
                ops.append(&mut scene.ops);
            }
            for (start, part) in prose(&one.document, text) {
                let mut scene = OpCollector::new(number, Role::Prose, start);
                lines(part, shell, &mut scene);
                is_cut |= scene.is_cut;
                ops.append(&mut scene.ops);
            }
        }
        Kind::Shell => {
            let mut scene = OpCollector::new(number, Role::Script, 0);
            run_shell(text, shell, &mut scene);
            is_cut |= scene.is_cut;
            ops.append(&mut scene.ops);
        }
        Kind::Python | Kind::JavaScript | Kind::TypeScript => {
            let mut scene = OpCollector::new(number, Role::Script, 0);
            if let Some(steps) = &one.steps {
                Program::new(stem(one.file.path), shared).run(steps, &mut scene);
            }
            is_cut |= scene.is_cut;
            ops.append(&mut scene.ops);
        }
        Kind::Code => {
            let mut scene = OpCollector::new(number, Role::Script, 0);
            generic_code(text, &mut scene);
            is_cut |= scene.is_cut;
            ops.append(&mut scene.ops);
        }
        Kind::Data | Kind::Active => {
            let mut scene = OpCollector::new(number, Role::Data, 0);
            lines(text, shell, &mut scene);
            is_cut |= scene.is_cut;
            ops.append(&mut scene.ops);
        }
        _ => {}
    }
    for hidden in &one.hidden {
        let role =
            if one.is_script() { Role::Script } else { one.document.role_at(hidden.span.start) };
        let mut scene = OpCollector::fixed(number, role, hidden.span.clone());
        look_inside(&hidden.text, &hidden.chain, &mut scene);
        is_cut |= scene.is_cut;
        ops.append(&mut scene.ops);
    }
    for op in &mut ops {
        op.at.span = one.text.origin(&op.at.span);
    }
    FoundOps { ops, is_cut }
}

/// Looks at text that was hidden, and at what is hidden in that.
fn look_inside(text: &str, chain: &[Encoding], scene: &mut OpCollector) {
    scene.inside(&(0..0), chain, |scene| {
        if COMMAND.is_match(text) {
            lines(text, &mut Shell::default(), scene);
        }
        let more = decode::hidden(text);
        scene.is_cut |= more.is_cut;
        for more in more.all {
            look_inside(&more.text, &more.chain, scene);
        }
    });
}

fn run_shell(text: &str, shell: &mut Shell, scene: &mut OpCollector) {
    for found in CONNECTION.captures_iter(text) {
        let (Some(whole), Some(host)) = (found.get(0), found.get(1)) else { continue };
        let remote = Remote::parse(&format!("tcp://{}/", host.as_str()));
        if remote.is_some_and(|remote| remote.class != HostClass::Local) {
            scene.add(
                &whole.range(),
                Action::RemoteShell { form: "a shell over /dev/tcp".to_owned() },
            );
        }
    }
    match sketch(text) {
        Some(script) => {
            shell.script(&script, &Value::default(), scene);
        }
        // What is too much for the grammar is looked at line by line.
        None => {
            scene.is_cut = true;
            lines(text, shell, scene);
        }
    }
}

fn fence(text: &str, language: &str, shell: &mut Shell, scene: &mut OpCollector) {
    match language {
        "bash" | "sh" | "shell" | "zsh" | "console" | "terminal" | "shell-session"
        | "shellsession" | "fish" | "ksh" => {
            run_shell(&without_prompts(text), shell, scene);
            if text.to_lowercase().contains("powershell")
                || text.contains("iwr ")
                || text.contains("irm ")
            {
                generic_code(text, scene);
            }
        }
        "python" | "py" | "python3" | "ipython" | "pycon" => {
            if ACTIVE.is_match(text) {
                python_code(text, scene);
            }
            mislabelled(text, shell, scene);
        }
        "js" | "javascript" | "ts" | "typescript" | "jsx" | "tsx" | "mjs" | "node" => {
            if ACTIVE.is_match(text) {
                javascript_code(text, scene);
            }
            mislabelled(text, shell, scene);
        }
        "powershell" | "ps1" | "pwsh" | "ps" | "cmd" | "bat" | "batch" | "ruby" | "rb" | "perl"
        | "php" | "applescript" | "osascript" | "vbs" | "lua" => {
            generic_code(text, scene);
        }
        "" | "text" | "txt" | "plaintext" | "plain" | "command" | "cmdline" => {
            let plain = without_prompts(text);
            if COMMAND.is_match(&plain) {
                run_shell(&plain, shell, scene);
            }
            generic_code(text, scene);
        }
        _ => lines(text, shell, scene),
    }
}

/// What a block says it is in need not be so: a line that begins with a download is a command.
fn mislabelled(text: &str, shell: &mut Shell, scene: &mut OpCollector) {
    const STARTS: [&str; 8] =
        ["curl ", "wget ", "! curl ", "!curl ", "! wget ", "!wget ", "bash <(", "bash -c"];
    for line in
        text.lines().filter(|line| STARTS.iter().any(|start| line.trim_start().starts_with(start)))
    {
        let at = line.as_ptr() as usize - text.as_ptr() as usize;
        let mut inner = OpCollector::new(0, Role::Fence, 0);
        lines(line, shell, &mut inner);
        scene.is_cut |= inner.is_cut;
        for op in inner.ops {
            scene.add_nested(&(at..at + line.len()), op);
        }
    }
}

/// Puts blanks in place of what a terminal shows before a command.
fn without_prompts(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let rest = &line[indent..];
        let prompt =
            ["$ ", "% ", "❯ ", "➜ ", "PS> ", "> "].iter().find(|prompt| rest.starts_with(**prompt));
        plain.push_str(&line[..indent]);
        let label = LABEL
            .find(rest)
            .map(|found| found.end())
            .filter(|end| COMMAND.find(&rest[*end..]).is_some_and(|command| command.start() == 0));
        if let Some(end) = label {
            plain.extend(std::iter::repeat_n(' ', end));
            plain.push_str(&rest[end..]);
            continue;
        }
        match prompt {
            Some(prompt) => {
                plain.extend(std::iter::repeat_n(' ', prompt.len()));
                plain.push_str(&rest[prompt.len()..]);
            }
            None => plain.push_str(rest),
        }
    }
    plain
}

/// Looks for commands in lines of something that is no code.
fn lines(text: &str, shell: &mut Shell, scene: &mut OpCollector) {
    // A line that goes on is one line.
    let joined = text.contains("\\\n").then(|| text.replace("\\\n", "  "));
    let text = joined.as_deref().unwrap_or(text);
    commands(text, shell, scene, &|range| range);
    // Letters that a page shows are what they are shown as.
    if text.contains("&#") {
        let mut at = 0;
        for line in text.split_inclusive('\n').filter(|line| !line.is_empty()) {
            if line.contains("&#") {
                let plain = entities(line);
                commands(&plain, shell, scene, &|_| at..at + line.len());
            }
            at += line.len();
        }
    }
    // Empty quotes in a word are nothing to a shell, and hide it from those who search for it.
    if text.contains("''") || text.contains("\"\"") {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let plain = line.replace("''", "").replace("\"\"", "");
            if plain.len() != line.len() {
                commands(&plain, shell, scene, &|_| at..at + line.len());
            }
            at += line.len();
        }
    }
}

/// Resolves letters that are written as numbers on a page: `&#99;` and `&#x63;`.
fn entities(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("&#") {
        plain.push_str(&rest[..start]);
        let inner = &rest[start + 2..];
        let end = inner.find(';').filter(|end| *end <= 8);
        let code = end.and_then(|end| match inner[..end].strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => inner[..end].parse().ok(),
        });
        match (code.and_then(char::from_u32), end) {
            (Some(letter), Some(end)) => {
                plain.push(letter);
                rest = &inner[end + 1..];
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
    scene: &mut OpCollector,
    place: &dyn Fn(Range<usize>) -> Range<usize>,
) {
    for (number, found) in COMMAND.captures_iter(text).enumerate() {
        if number >= MOST_COMMANDS {
            scene.is_cut = true;
            break;
        }
        let Some(command) = found.get(1) else { continue };
        let before = text[..command.start()].chars().next_back();
        let mut line = command.as_str();
        // What is quoted ends with its quote.
        if let Some(quote) = before.filter(|c| matches!(c, '"' | '\'' | '`')) {
            line = until(line, quote);
        }
        // What stands in a tag ends with it.
        line = line.split("</").next().unwrap_or(line);
        let unescaped = line.replace("\\\"", "\"");
        let mut inner = OpCollector::new(0, Role::Prose, 0);
        match sketch(unescaped.trim_end_matches(['`', ',', '.'])) {
            Some(script) => {
                shell.script(&script, &Value::default(), &mut inner);
            }
            None => inner.is_cut = true,
        }
        generic_code(line, &mut inner);
        scene.is_cut |= inner.is_cut;
        let range = place(command.start()..command.start() + line.len());
        for op in inner.ops {
            scene.add_nested(&range, op);
        }
    }
}

fn until(line: &str, quote: char) -> &str {
    let mut is_escaped = false;
    for (at, character) in line.char_indices() {
        if character == quote && !is_escaped {
            return &line[..at];
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    line
}

/// Returns the stretches of a document that are plain prose.
fn prose<'t>(document: &Document, text: &'t str) -> Vec<(usize, &'t str)> {
    let (mut all, mut at) = (Vec::new(), 0);
    for piece in &document.pieces {
        if piece.span.start > at {
            all.push((at, &text[at..piece.span.start]));
        }
        at = at.max(piece.span.end);
    }
    if at < text.len() {
        all.push((at, &text[at..]));
    }
    all
}
