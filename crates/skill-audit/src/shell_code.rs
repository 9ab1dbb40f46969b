//! Shell code: what flows from command to command, and what each of them does.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use shell::sketch::{Direction, Piece, Pipeline, Script, Stage, Text, sketch};

use crate::decode::Encoding;
use crate::hosts::{HostClass, Remote, UNKNOWN};
use crate::op::{Action, Channel, OpCollector};
use crate::paths::PathClass;
use crate::programs;
use crate::value::{Carry, Value};

/// What a script knows while it is read.
#[derive(Default)]
pub(crate) struct Shell {
    pub(crate) variables: HashMap<String, Value>,
    /// What was written to files.
    pub(crate) files: HashMap<String, Value>,
    /// What other scripts set and wrote; what is set here comes first.
    others: Arc<HashMap<String, Value>>,
    other_files: Arc<HashMap<String, Value>>,
    /// Small files of the skill, by name.
    siblings: Arc<HashMap<String, String>>,
    /// Where the last archive that was unpacked comes from.
    pub(crate) unpacked: Option<Remote>,
    steps: usize,
    kept: usize,
}

/// One command with all its words resolved.
pub(crate) struct Invocation<'a> {
    pub(crate) program: String,
    pub(crate) args: Vec<Value>,
    pub(crate) stdin: Value,
    pub(crate) range: &'a Range<usize>,
}

/// The most commands that are followed.
const MOST_STEPS: usize = 200_000;

/// Looks at shell code. Returns what it would print.
pub(crate) fn shell_code(text: &str, scene: &mut OpCollector) -> Option<Value> {
    let script = sketch(text)?;
    Some(Shell::default().script(&script, &Value::default(), scene))
}

impl Shell {
    /// Returns a shell beside other scripts.
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
        scene: &mut OpCollector,
    ) -> Value {
        let mut output = Value::default();
        for pipeline in script {
            let one = self.pipeline(pipeline, stdin.clone(), scene);
            output.push(&one);
        }
        output
    }

    fn pipeline(&mut self, pipeline: &Pipeline, stdin: Value, scene: &mut OpCollector) -> Value {
        let mut value = stdin;
        for stage in &pipeline.stages {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                scene.is_cut = true;
                return Value::unknown();
            }
            value = self.stage(stage, value, scene);
        }
        value
    }

    fn stage(&mut self, stage: &Stage, mut stdin: Value, scene: &mut OpCollector) -> Value {
        for (name, text) in &stage.assignments {
            let mut value = self.text(text, scene);
            // Whatever stands for it in a text, it is the secret that it is called by.
            if crate::about::is_secret_name(name) {
                value.carries.insert(Carry::Variable(name.clone()));
            }
            let value = self.stored(value, scene);
            self.variables.insert(name.clone(), value);
        }
        let mut outputs = Vec::new();
        for (direction, text) in &stage.redirects {
            let value = self.text(text, scene);
            match direction {
                Direction::Here => stdin = value,
                Direction::In => stdin = self.read(&value, &stage.range, scene),
                Direction::Out | Direction::Append => outputs.push(value),
            }
        }
        let mut output = Value::default();
        if !stage.body.is_empty() {
            output = self.script(&stage.body, &stdin, scene);
        }
        let words = self.words(&stage.words, scene);
        if !words.is_empty() {
            output = self.run(words, stdin, &stage.range, scene);
        }
        for target in outputs {
            self.write_to(&target, &output, &stage.range, scene);
        }
        output
    }

    /// Returns a value to be kept; without its text, where very much is kept already.
    fn stored(&mut self, value: Value, scene: &mut OpCollector) -> Value {
        const MOST: usize = 16 << 20;
        self.kept += value.text.len();
        if self.kept <= MOST {
            return value;
        }
        scene.is_cut = true;
        value.only_carried()
    }

    /// Resolves words; a variable by itself may hold several.
    fn words(&mut self, words: &[Text], scene: &mut OpCollector) -> Vec<Value> {
        let mut all = Vec::new();
        for word in words {
            let value = self.text(word, scene);
            let is_bare = matches!(word.pieces.as_slice(), [Piece::Variable(_) | Piece::Output(_)]);
            if is_bare && value.is_known() && value.text.trim().contains(' ') {
                let parts = value.text.split_whitespace();
                let carries = &value.carries;
                all.extend(parts.map(|part| Value {
                    text: part.to_owned(),
                    carries: carries.clone(),
                    ..Value::default()
                }));
            } else {
                all.push(value);
            }
        }
        all
    }

    fn text(&mut self, text: &Text, scene: &mut OpCollector) -> Value {
        let mut value = Value::default();
        for piece in &text.pieces {
            let part = match piece {
                Piece::Plain(text) => Value::plain(text.clone()),
                Piece::Variable(name) => self.variable(name),
                Piece::Output(script) => {
                    let mut output = self.script(script, &Value::default(), scene);
                    output.text.truncate(output.text.trim_end_matches('\n').len());
                    output
                }
                Piece::File(script) => self.script(script, &Value::default(), scene).only_carried(),
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
                Value::unknown().with(Carry::Variable(name.to_owned()))
            }
            _ => Value::unknown(),
        }
    }

    /// Reads a file: what was written to it here, or what is known of its name.
    pub(crate) fn read(
        &mut self,
        path: &Value,
        range: &Range<usize>,
        scene: &mut OpCollector,
    ) -> Value {
        let name = path.text.trim();
        if let Some(written) = self.written(name) {
            return written;
        }
        if let Some(remote) = dev_tcp(name) {
            return Value::unknown().with(Carry::Fetched(remote));
        }
        if name.is_empty() || name == "-" || name.starts_with("/dev/") {
            return path.only_carried();
        }
        let class = PathClass::of(name);
        scene.add(range, Action::Read(name.to_owned()));
        let mut value = path.only_carried();
        if class.is_secret() {
            value.carries.insert(Carry::File(class, name.to_owned()));
        }
        value
    }

    /// Returns what is known to be in a file.
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
        scene: &mut OpCollector,
    ) {
        let path = target.text.trim();
        if let Some(remote) = dev_tcp(path) {
            let secrets = content.secrets();
            let is_far = !matches!(remote.class, HostClass::Local) && !remote.host.is_empty();
            if content.made_by.as_deref() == Some("shell") || is_far {
                scene.add(range, Action::RemoteShell { form: "a shell over /dev/tcp".to_owned() });
            }
            scene.add(range, Action::Send { to: remote, secrets, by: Channel::Body });
            return;
        }
        if path.is_empty() || path.starts_with("/dev/") || path.bytes().all(|b| b.is_ascii_digit())
        {
            return;
        }
        scene.add(range, Action::Write { path: path.to_owned(), text: content.text.clone() });
        let stored = self.stored(content.clone(), scene);
        self.files.insert(path.to_owned(), stored);
        // A script that is written is a script.
        let is_script = ["curl ", "wget ", "bash ", "/dev/tcp", "python", "nc "];
        if content.decoded().is_none()
            && scene.may_look(content.text.len())
            && is_script.iter().any(|word| content.text.contains(word))
        {
            let text = content.text.clone();
            scene.inside(range, &[], |scene| {
                if let Some(script) = sketch(&text) {
                    Self::default().script(&script, &Value::default(), scene);
                }
            });
        }
    }

    /// Runs one command.
    pub(crate) fn run(
        &mut self,
        mut words: Vec<Value>,
        stdin: Value,
        range: &Range<usize>,
        scene: &mut OpCollector,
    ) -> Value {
        let mut stdin = stdin;
        loop {
            let Some(first) = words.first() else { return stdin };
            let name = programs::base(&first.text);
            let skipped = programs::wrapped(&name, &words);
            if skipped == 0 {
                break;
            }
            if name == "xargs" {
                // What comes in becomes arguments.
                words.push(std::mem::take(&mut stdin));
            }
            words.drain(..skipped);
        }
        let program = words.remove(0);
        // What was downloaded or written here, and is run now.
        if let Some(written) = self.written(program.text.trim()) {
            let by = program.text.clone();
            self.run_code(
                &Code { text: &written, by: &by, language: Language::Shell },
                range,
                scene,
            );
        } else if program.fetched().is_some() || program.decoded().is_some() {
            self.run_code(
                &Code { text: &program, by: "the shell", language: Language::Shell },
                range,
                scene,
            );
        }
        // What runs by its path, after something was unpacked, came out of that.
        let path = program.text.trim();
        let is_own = path.contains('/')
            && !["/usr/", "/bin/", "/sbin/", "/opt/", "/etc/"]
                .iter()
                .any(|start| path.starts_with(start));
        if let Some(from) = self.unpacked.clone().filter(|_| is_own) {
            scene.add(range, Action::RunFetched { from, by: path.to_owned() });
        }
        let invocation =
            Invocation { program: programs::base(&program.text), args: words, stdin, range };
        programs::run(self, &invocation, scene)
    }

    /// Code is handed to something that runs it.
    pub(crate) fn run_code(
        &mut self,
        given: &Code<'_>,
        range: &Range<usize>,
        scene: &mut OpCollector,
    ) {
        let Code { text: code, by, language } = *given;
        if let Some(from) = code.fetched() {
            scene.add(range, Action::RunFetched { from: from.clone(), by: by.to_owned() });
        }
        let encoding = code.decoded();
        if let Some(encoding) = encoding {
            let text = code.is_known().then(|| code.text.clone());
            scene.add(range, Action::RunDecoded { encoding, by: by.to_owned(), text });
        }
        if code.text.trim_matches([UNKNOWN, ' ', '\n']).is_empty() {
            return;
        }
        if !scene.may_look(code.text.len()) {
            return;
        }
        let chain: &[Encoding] = encoding.as_slice();
        let text = code.text.clone();
        scene.inside(range, chain, |scene| match language {
            Language::Shell => match sketch(&text) {
                Some(script) => {
                    self.script(&script, &Value::default(), scene);
                }
                None => scene.is_cut = true,
            },
            Language::Python => crate::code::python_code(&text, scene),
            Language::JavaScript => crate::code::javascript_code(&text, scene),
            Language::Other => crate::generic::generic_code(&text, scene),
        });
    }
}

/// Code, what runs it, and what language it is in.
pub(crate) struct Code<'a> {
    pub(crate) text: &'a Value,
    pub(crate) by: &'a str,
    pub(crate) language: Language,
}

/// What language code is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Shell,
    Python,
    JavaScript,
    Other,
}

/// `/dev/tcp/host/port` is a connection.
fn dev_tcp(path: &str) -> Option<Remote> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    let host = rest.split('/').next()?;
    Some(Remote::parse(&format!("tcp://{rest}")).unwrap_or_else(|| programs::somewhere(host)))
}
