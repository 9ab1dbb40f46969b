//! Traces shell code: the values that flow between commands, and what each command does.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use shell::sketch::{Direction, Piece, Pipeline, Script, Stage, Text, sketch};

use crate::decode::Encoding;
use crate::evidence::{self, Familiarity};
use crate::hosts::{HostClass, Remote, UNKNOWN};
use crate::op::{Action, Channel, OpCollector};
use crate::paths::PathClass;
use crate::programs;
use crate::value::{Taint, Value};

/// The state of a script while it is traced.
#[derive(Default)]
pub(crate) struct Shell {
    pub(crate) variables: HashMap<String, Value>,
    /// The content of files that the script wrote.
    pub(crate) files: HashMap<String, Value>,
    /// Variables of other scripts; the script's own take precedence.
    others: Arc<HashMap<String, Value>>,
    other_files: Arc<HashMap<String, Value>>,
    /// Small data files of the skill, by name.
    siblings: Arc<HashMap<String, String>>,
    /// The origin of the archive that was extracted last.
    pub(crate) unpacked: Option<Remote>,
    steps: usize,
    kept: usize,
}

/// A command with its arguments resolved.
pub(crate) struct Invocation<'a> {
    pub(crate) program: String,
    pub(crate) args: Vec<Value>,
    pub(crate) stdin: Value,
    pub(crate) range: &'a Range<usize>,
}

/// The maximum number of commands to trace.
const MAX_STEPS: usize = 200_000;

/// Traces shell code and returns its output.
pub(crate) fn shell_code(text: &str, collector: &mut OpCollector) -> Option<Value> {
    let script = sketch(text)?;
    Some(Shell::default().script(&script, &Value::default(), collector))
}

impl Shell {
    /// Returns a shell that sees the values of other scripts.
    pub(crate) fn new(
        siblings: &Arc<HashMap<String, String>>,
        files: &Arc<HashMap<String, Value>>,
        others: &Arc<HashMap<String, Value>>,
    ) -> Self {
        Self {
            siblings: Arc::clone(siblings),
            other_files: Arc::clone(files),
            others: Arc::clone(others),
            ..Self::default()
        }
    }

    pub(crate) fn script(
        &mut self,
        script: &Script,
        stdin: &Value,
        collector: &mut OpCollector,
    ) -> Value {
        let mut output = Value::default();
        for pipeline in script {
            let one = self.pipeline(pipeline, stdin.clone(), collector);
            output.push(&one);
        }
        output
    }

    fn pipeline(
        &mut self,
        pipeline: &Pipeline,
        stdin: Value,
        collector: &mut OpCollector,
    ) -> Value {
        let mut value = stdin;
        for stage in &pipeline.stages {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                collector.is_truncated = true;
                return Value::unknown();
            }
            value = self.stage(stage, value, collector);
        }
        value
    }

    fn stage(&mut self, stage: &Stage, mut stdin: Value, collector: &mut OpCollector) -> Value {
        for (name, text) in &stage.assignments {
            let mut value = self.text(text, collector);
            // A variable named like a secret is one, even if it is set to a placeholder.
            if crate::topic::is_secret_name(name) {
                value.taints.insert(Taint::Variable(name.clone()));
            }
            if let Some((what, protection)) = programs::weakening_variable(name, &value.text) {
                collector.add(&stage.range, Action::Weaken { what: what.to_owned(), protection });
            }
            let value = self.bounded(value, collector);
            self.variables.insert(name.clone(), value);
        }
        let mut outputs = Vec::new();
        for (direction, text) in &stage.redirects {
            let value = self.text(text, collector);
            match direction {
                Direction::Here => stdin = value,
                Direction::In => stdin = self.read(&value, &stage.range, collector),
                Direction::Out | Direction::Append => outputs.push(value),
            }
        }
        let mut output = Value::default();
        if !stage.body.is_empty() {
            output = self.script(&stage.body, &stdin, collector);
        }
        let words = self.words(&stage.words, collector);
        if !words.is_empty() {
            output = self.run(words, stdin, &stage.range, collector);
        }
        for target in outputs {
            self.write_to(&target, &output, &stage.range, collector);
        }
        output
    }

    /// Returns a value to store, without its text once the limit is reached.
    fn bounded(&mut self, value: Value, collector: &mut OpCollector) -> Value {
        const MAX_KEPT_BYTES: usize = 16 << 20;
        self.kept += value.text.len();
        if self.kept <= MAX_KEPT_BYTES {
            return value;
        }
        collector.is_truncated = true;
        value.without_text()
    }

    /// Resolves arguments; an unquoted variable can expand to several.
    fn words(&mut self, words: &[Text], collector: &mut OpCollector) -> Vec<Value> {
        let mut all = Vec::new();
        for word in words {
            let value = self.text(word, collector);
            let is_bare = matches!(word.pieces.as_slice(), [Piece::Variable(_) | Piece::Output(_)]);
            if is_bare && value.is_known() && value.text.trim().contains(' ') {
                let parts = value.text.split_whitespace();
                let taints = &value.taints;
                all.extend(parts.map(|part| Value {
                    text: part.to_owned(),
                    taints: taints.clone(),
                    ..Value::default()
                }));
            } else {
                all.push(value);
            }
        }
        all
    }

    fn text(&mut self, text: &Text, collector: &mut OpCollector) -> Value {
        let mut value = Value::default();
        for piece in &text.pieces {
            let part = match piece {
                Piece::Plain(text) => Value::plain(text.clone()),
                Piece::Variable(name) => self.variable(name),
                Piece::Output(script) => {
                    let mut output = self.script(script, &Value::default(), collector);
                    output.text.truncate(output.text.trim_end_matches('\n').len());
                    output
                }
                Piece::File(script) => {
                    self.script(script, &Value::default(), collector).without_text()
                }
                Piece::Other => Value::unknown(),
            };
            value.push(&part);
        }
        value
    }

    fn variable(&self, name: &str) -> Value {
        if let Some(value) = self.variables.get(name).or_else(|| self.others.get(name)) {
            return value.clone();
        }
        match name {
            "HOME" => Value::plain("~"),
            "PWD" => Value::plain("."),
            "SHELL" => Value::plain("/bin/bash"),
            "TMPDIR" => Value::plain("/tmp"),
            "IFS" => Value::plain(" "),
            _ if name.len() > 2
                && name
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') =>
            {
                Value::unknown().with(Taint::Variable(name.to_owned()))
            }
            _ => Value::unknown(),
        }
    }

    /// Reads a file: what the script wrote to it, or else a value that depends on its path.
    pub(crate) fn read(
        &mut self,
        path: &Value,
        range: &Range<usize>,
        collector: &mut OpCollector,
    ) -> Value {
        let name = path.text.trim();
        if let Some(written) = self.written(name) {
            return written;
        }
        if let Some(remote) = dev_tcp(name) {
            return Value::unknown().with(Taint::Fetched(remote));
        }
        if name.is_empty() || name == "-" || name.starts_with("/dev/") {
            return path.without_text();
        }
        let class = PathClass::of(name);
        collector.add(range, Action::Read(name.to_owned()));
        let mut value = path.without_text();
        if class.is_secret() {
            value.taints.insert(Taint::File(class, name.to_owned()));
        }
        value
    }

    /// Returns the content of a file, if known.
    pub(crate) fn written(&self, path: &str) -> Option<Value> {
        let plain = path.strip_prefix("./").unwrap_or(path);
        let here = self.files.get(path).or_else(|| self.files.get(plain));
        let written =
            here.or_else(|| self.other_files.get(path)).or_else(|| self.other_files.get(plain));
        let name = path.rsplit('/').next().unwrap_or(path);
        written.cloned().or_else(|| self.siblings.get(name).map(|text| Value::plain(text.clone())))
    }

    pub(crate) fn write_to(
        &mut self,
        target: &Value,
        content: &Value,
        range: &Range<usize>,
        collector: &mut OpCollector,
    ) {
        let path = target.text.trim();
        if let Some(remote) = dev_tcp(path) {
            let secrets = content.secrets();
            let is_far = !matches!(remote.class, HostClass::Local) && !remote.host.is_empty();
            if content.made_by.as_deref() == Some("shell") || is_far {
                collector.add(range, Action::RemoteShell { transport: "/dev/tcp".to_owned() });
            }
            collector.add(range, Action::Send { to: remote, secrets, by: Channel::Body });
            return;
        }
        if path.is_empty() || path.starts_with("/dev/") || path.bytes().all(|b| b.is_ascii_digit())
        {
            return;
        }
        let is_emptied = content.text.trim().is_empty() && content.taints.is_empty();
        if let Some((what, protection)) = programs::erased(path).filter(|_| is_emptied) {
            collector.add(range, Action::Weaken { what: what.to_owned(), protection });
        }
        collector.add(range, Action::Write { path: path.to_owned(), text: content.text.clone() });
        if let Some(from) = content.fetched() {
            collector.add(range, Action::Save { from: from.clone(), path: path.to_owned() });
        }
        if PathClass::of(path).is_persistent() {
            trace_started(&content.text, range, collector);
        }
        let stored = self.bounded(content.clone(), collector);
        self.files.insert(path.to_owned(), stored);
        // Text that looks like a script is traced as one.
        let is_script = ["curl ", "wget ", "bash ", "/dev/tcp", "python", "nc "];
        if content.decoded().is_none()
            && collector.count_nested(content.text.len())
            && is_script.iter().any(|word| content.text.contains(word))
        {
            let text = content.text.clone();
            collector.inside(range, &[], |collector| {
                if let Some(script) = sketch(&text) {
                    Self::default().script(&script, &Value::default(), collector);
                }
            });
        }
    }

    /// Traces one command.
    pub(crate) fn run(
        &mut self,
        mut words: Vec<Value>,
        stdin: Value,
        range: &Range<usize>,
        collector: &mut OpCollector,
    ) -> Value {
        let mut stdin = stdin;
        loop {
            let Some(first) = words.first() else { return stdin };
            let name = programs::base(&first.text);
            let skipped = programs::wrapped(&name, &words);
            if skipped == 0 {
                break;
            }
            if evidence::familiarity(&name) != Some(Familiarity::Builtin) {
                collector.add(range, Action::Run { program: name.clone() });
            }
            if name == "xargs" {
                // xargs turns its input into arguments.
                words.push(std::mem::take(&mut stdin));
            }
            words.drain(..skipped);
        }
        let program = words.remove(0);
        // The program was downloaded or written earlier in the script.
        if let Some(written) = self.written(program.text.trim()) {
            let by = program.text.clone();
            self.run_code(
                &Code { text: &written, by: &by, language: Language::Shell },
                range,
                collector,
            );
        } else if program.fetched().is_some() || program.decoded().is_some() {
            self.run_code(
                &Code { text: &program, by: "shell", language: Language::Shell },
                range,
                collector,
            );
        }
        if program.text.contains('/') || program.text.starts_with('.') {
            collector.add(range, Action::Execute { path: program.text.trim().to_owned() });
        }
        // A program run by its path after an archive was extracted came out of that archive.
        let path = program.text.trim();
        let is_own = path.contains('/')
            && !["/usr/", "/bin/", "/sbin/", "/opt/", "/etc/"]
                .iter()
                .any(|start| path.starts_with(start))
            && !path.contains("://")
            && !path.contains(['[', ']', '(', ')']);
        if let Some(from) = self.unpacked.clone().filter(|_| is_own) {
            collector.add(range, Action::RunFetched { from, by: path.to_owned() });
        }
        let invocation =
            Invocation { program: programs::base(&program.text), args: words, stdin, range };
        programs::run(self, &invocation, collector)
    }

    /// Traces code that a program executes.
    pub(crate) fn run_code(
        &mut self,
        code: &Code<'_>,
        range: &Range<usize>,
        collector: &mut OpCollector,
    ) {
        let Code { text: code, by, language } = *code;
        if let Some(from) = code.fetched() {
            collector.add(range, Action::RunFetched { from: from.clone(), by: by.to_owned() });
        }
        let encoding = code.decoded();
        if let Some(encoding) = encoding {
            let text = code.is_known().then(|| code.text.clone());
            collector.add(range, Action::RunDecoded { encoding, by: by.to_owned(), text });
        }
        if code.text.trim_matches([UNKNOWN, ' ', '\n']).is_empty() {
            return;
        }
        if !collector.count_nested(code.text.len()) {
            return;
        }
        let chain: &[Encoding] = encoding.as_slice();
        let text = code.text.clone();
        collector.inside(range, chain, |collector| match language {
            Language::Shell => match sketch(&text) {
                Some(script) => {
                    self.script(&script, &Value::default(), collector);
                }
                None => collector.is_truncated = true,
            },
            Language::Python => crate::code::python_code(&text, collector),
            Language::JavaScript => crate::code::javascript_code(&text, collector),
            Language::Other => crate::generic::generic_code(&text, collector),
        });
    }
}

/// Traces the commands in a file that is run at a login, on a schedule or by a hook.
pub(crate) fn trace_started(text: &str, range: &Range<usize>, collector: &mut OpCollector) {
    const MAX_LINES: usize = 200;
    for line in text.lines().take(MAX_LINES) {
        let line = line.trim().trim_matches(UNKNOWN);
        let command = line
            .split_once("ExecStart=")
            .map_or_else(|| after_schedule(line), |(_, command)| command);
        if command.is_empty() || command.starts_with('#') || !collector.count_nested(command.len())
        {
            continue;
        }
        collector.inside(range, &[], |collector| {
            if let Some(script) = sketch(command) {
                Shell::default().script(&script, &Value::default(), collector);
            }
        });
    }
}

/// Returns the command of a line in a crontab, or the whole line.
fn after_schedule(line: &str) -> &str {
    let is_field = |word: &str| {
        word.starts_with(['*', '@'])
            || word.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '-' | '/' | '*'))
    };
    let mut rest = line;
    for _ in 0..5 {
        let Some((word, after)) =
            rest.split_once(char::is_whitespace).filter(|(word, _)| is_field(word))
        else {
            break;
        };
        rest = after.trim_start();
        if word.starts_with('@') {
            break;
        }
    }
    rest
}

/// Code that a program executes.
pub(crate) struct Code<'a> {
    pub(crate) text: &'a Value,
    pub(crate) by: &'a str,
    pub(crate) language: Language,
}

/// The language of a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Shell,
    Python,
    JavaScript,
    Other,
}

/// Returns the address of a `/dev/tcp/host/port` connection.
fn dev_tcp(path: &str) -> Option<Remote> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    let host = rest.split('/').next()?;
    Some(Remote::parse(&format!("tcp://{rest}")).unwrap_or_else(|| programs::unknown_remote(host)))
}
