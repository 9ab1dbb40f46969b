//! The effects of known calls on their arguments.

use std::ops::Range;

use super::evaluate::Program;
use super::library::CallEffect;
use super::texts::{characters, decoded};
use crate::hosts::{Remote, UNKNOWN};
use crate::op::{Action, Channel, OpCollector};
use crate::paths::PathClass;
use crate::shell_code::{Code, Language, Shell};
use crate::value::{Taint, Value};

/// Arguments, with a name if they are keyword arguments.
pub(super) type Args = [(Option<String>, Value)];

/// One call: the function's name, the arguments and the range.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) args: &'a Args,
    pub(super) range: &'a Range<usize>,
}

impl Call<'_> {
    /// Returns a positional argument.
    pub(super) fn nth(&self, at: usize) -> Value {
        let plain = self.args.iter().filter(|(name, _)| name.is_none());
        plain.map(|(_, value)| value).nth(at).cloned().unwrap_or_default()
    }

    /// Returns a keyword argument.
    pub(super) fn named(&self, name: &str) -> Option<Value> {
        let found = self.args.iter().find(|(known, _)| known.as_deref() == Some(name));
        found.map(|(_, value)| value.clone())
    }

    /// Returns a value with the taints of all arguments.
    pub(super) fn all(&self) -> Value {
        let mut all = Value::unknown();
        self.args.iter().for_each(|(_, value)| all.absorb(value));
        all
    }
}

impl Program {
    /// Applies the effect of a known call and returns its result.
    pub(super) fn apply_effect(
        &mut self,
        effect: CallEffect,
        call: &Call<'_>,
        collector: &mut OpCollector,
    ) -> Value {
        let first = call.nth(0);
        match effect {
            CallEffect::Shell => self.shell(&first, call, collector),
            CallEffect::Start => self.start(&first, call, collector),
            CallEffect::Evaluate => evaluate_text(&first, call, collector),
            CallEffect::Fetch => self.fetch(&first, call, collector),
            CallEffect::Send => self.send(&first, call, collector),
            CallEffect::Request => self.send(&call.nth(1), call, collector),
            CallEffect::Connect => self.connect(call, collector),
            CallEffect::SendOpen => Value::unknown(),
            CallEffect::LookUp => self.look_up(&first, call, collector),
            CallEffect::Read => self.read(&first, call, collector),
            CallEffect::Write => {
                self.write(&first, &call.nth(1), call.range, collector);
                Value::unknown()
            }
            CallEffect::Open => self.open(&first, call, collector),
            CallEffect::Variable if !first.items.is_empty() => {
                let mut value = Value::unknown();
                for name in first.items.iter().filter(|name| name.is_known()) {
                    collector.add(call.range, Action::Variable(Some(name.text.clone())));
                    value.taints.insert(Taint::Variable(name.text.clone()));
                }
                value
            }
            CallEffect::Variable => {
                let name = first.is_known().then(|| first.text.clone());
                collector.add(call.range, Action::Variable(name));
                Value::unknown().with(Taint::Variable(first.text))
            }
            CallEffect::Environment => Value::unknown().with(Taint::Environment),
            CallEffect::Decode(encoding) => {
                if self.may_decode(first.text.len()) {
                    decoded(&first, encoding)
                } else {
                    first.without_text()
                }
            }
            CallEffect::Pack => call.all(),
            CallEffect::Load => {
                Value { made_by: Some(format!("={}", first.text)), ..Value::unknown() }
            }
            CallEffect::Copy => {
                let content = self.read(&first, call, collector);
                self.files.insert(call.nth(1).text, content.clone());
                content
            }
            CallEffect::Redirect => {
                self.redirected += 1;
                if self.redirected >= 2 {
                    let transport = "a socket (redirected process streams)".to_owned();
                    collector.add(call.range, Action::RemoteShell { transport });
                }
                Value::unknown()
            }
            CallEffect::Remove => {
                if let Some((what, protection)) = crate::programs::erased(&first.text) {
                    collector.add(call.range, Action::Weaken { what: what.to_owned(), protection });
                }
                let path = first.text.trim_end_matches('/');
                let is_recursive = matches!(call.name, "shutil.rmtree" | "fs.rmSync");
                if is_recursive
                    && matches!(path, "" | "~" | "/home" | "/etc" | "/usr")
                    && !first.text.is_empty()
                {
                    collector.add(
                        call.range,
                        Action::Destroy { what: format!("everything in `{}`", first.text) },
                    );
                }
                Value::unknown()
            }
            CallEffect::Machine => Value::unknown().with(Taint::Machine),
            CallEffect::Characters
                if first.items.is_empty() && first.text.parse::<u32>().is_err() =>
            {
                first
            }
            CallEffect::Characters => characters(call.args),
            CallEffect::Format => formatted(first, call),
            CallEffect::Object => object(call),
            CallEffect::Pass => {
                let mut value = first;
                value.absorb(&call.all());
                value
            }
        }
    }

    fn open(&mut self, path: &Value, call: &Call<'_>, collector: &mut OpCollector) -> Value {
        let mode = call.named("mode").unwrap_or_else(|| call.nth(1)).text;
        if mode.contains(['w', 'a', 'x']) {
            let written = Action::Write { path: path.text.clone(), text: UNKNOWN.to_string() };
            collector.add(call.range, written);
            let made_by = Some("open:w".to_owned());
            return Value { text: path.text.clone(), made_by, ..Value::default() };
        }
        let mut file = self.read(path, call, collector);
        file.made_by = Some("open".to_owned());
        file
    }

    fn shell(&mut self, command: &Value, call: &Call<'_>, collector: &mut OpCollector) -> Value {
        let comes_from_elsewhere =
            |taint: &Taint| matches!(taint, Taint::Fetched(_) | Taint::Decoded(_));
        if command.taints.iter().any(comes_from_elsewhere) {
            let code = Code { text: command, by: call.name, language: Language::Shell };
            Shell::default().run_code(&code, call.range, collector);
            return Value::unknown();
        }
        if !collector.count_nested(command.text.len()) {
            return command.without_text();
        }
        let (text, mut output) = (command.text.clone(), Value::unknown());
        // Values in the command line are traced through the shell.
        collector.inside(call.range, &[], |collector| {
            output = crate::shell_code::shell_code(&text, collector).unwrap_or_default();
        });
        self.sent_by_line(command, call.range, collector);
        output.absorb(command);
        output
    }

    /// Collects secrets in a command line that sends data to a host.
    fn sent_by_line(&mut self, command: &Value, range: &Range<usize>, collector: &mut OpCollector) {
        let talks = ["curl ", "wget ", "nc ", "Invoke-WebRequest"];
        let talks = talks.iter().any(|word| command.text.contains(word));
        let mut words = command.text.split([' ', '"', '\'']);
        let to = words.find(|word| word.contains("://")).and_then(Remote::parse);
        if let Some(to) = to.filter(|_| talks && !command.secrets().is_empty()) {
            collector
                .add(range, Action::Send { to, secrets: command.secrets(), by: Channel::Body });
        }
    }

    fn start(&mut self, first: &Value, call: &Call<'_>, collector: &mut OpCollector) -> Value {
        if first.items.is_empty() {
            // `spawn("sh", ["-c", x])`: the program, then a list of arguments.
            let rest = call.nth(1).items;
            if rest.is_empty() {
                return self.shell(first, call, collector);
            }
            let words: Vec<Value> = std::iter::once(first.clone()).chain(rest).collect();
            return self.words(&words, call.range, collector);
        }
        if call.named("shell").is_some() && first.items.len() == 1 {
            return self.shell(&first.items[0], call, collector);
        }
        self.words(&first.items, call.range, collector)
    }

    fn words(
        &mut self,
        words: &[Value],
        range: &Range<usize>,
        collector: &mut OpCollector,
    ) -> Value {
        let mut output = Value::unknown();
        let files = self.files.iter().map(|(path, value)| (path.clone(), value.clone()));
        let mut shell = Shell::default();
        shell.files.extend(files);
        collector.inside(range, &[], |collector| {
            output = shell.run(words.to_vec(), Value::default(), range, collector);
        });
        words.iter().for_each(|word| output.absorb(word));
        output
    }

    pub(super) fn read(
        &mut self,
        path: &Value,
        call: &Call<'_>,
        collector: &mut OpCollector,
    ) -> Value {
        if call.name.starts_with("keyring") || call.name.starts_with("browser_cookie") {
            collector.add(call.range, Action::Read("login.keychain".to_owned()));
            return Value::unknown().with(Taint::File(PathClass::Vault, call.name.to_owned()));
        }
        if let Some(written) = self.files.get(&path.text) {
            return written.clone();
        }
        let text = path.text.trim_matches(UNKNOWN).to_owned();
        if !text.is_empty() {
            collector.add(call.range, Action::Read(text.clone()));
        }
        let name = text.rsplit('/').next().unwrap_or(&text);
        if let Some(known) = self.siblings.get(name) {
            return Value::plain(known.clone());
        }
        let class = PathClass::of(&text);
        let mut value = path.without_text();
        if class.is_secret() {
            value.taints.insert(Taint::File(class, text));
        }
        value
    }

    pub(super) fn write(
        &mut self,
        path: &Value,
        content: &Value,
        range: &Range<usize>,
        collector: &mut OpCollector,
    ) {
        collector.add(range, Action::Write { path: path.text.clone(), text: content.text.clone() });
        if let Some(from) = content.fetched() {
            collector.add(range, Action::Save { from: from.clone(), path: path.text.clone() });
        }
        if PathClass::of(&path.text).is_persistent() {
            crate::shell_code::trace_started(&content.text, range, collector);
        }
        self.files.insert(path.text.clone(), content.clone());
    }
}

/// Traces text that is executed as code.
fn evaluate_text(first: &Value, call: &Call<'_>, collector: &mut OpCollector) -> Value {
    let name = call.name;
    let is_function = name == "Function";
    let code = if is_function { call.args.last().map(|(_, value)| value) } else { Some(first) };
    let code = code.cloned().unwrap_or_default();
    if name == "compile" || name.ends_with(".loads") {
        return code;
    }
    let is_plain = code.is_known() && code.taints.is_empty();
    if !is_plain || name.starts_with("vm.") {
        collector.add(call.range, Action::Evaluate { by: name.to_owned() });
    }
    let is_javascript = is_function || name.starts_with("vm.") || name.contains(".eval");
    let language = if is_javascript { Language::JavaScript } else { Language::Python };
    Shell::default().run_code(&Code { text: &code, by: name, language }, call.range, collector);
    Value::unknown()
}

/// Returns an object literal: its address, if it has one, and the secrets in its fields.
fn object(call: &Call<'_>) -> Value {
    // Sending a token in a header is how every API authenticates.
    const HEADERS: [&str; 4] = ["headers", "auth", "Authorization", "agent"];
    let mut value = Value::unknown();
    let host = ["hostname", "host", "url"].iter().find_map(|name| call.named(name));
    if let Some(host) = host.filter(|host| host.is_known() && host.text.contains('.')) {
        let is_whole = host.text.contains("://");
        value.text = if is_whole { host.text } else { format!("https://{}", host.text) };
    }
    for (name, part) in call.args {
        match name.as_deref() {
            // A header of another name can carry anything.
            Some("headers") => value.taints.extend(part.foreign_fields()),
            Some(name) if HEADERS.contains(&name) => {}
            Some(_) | None => value.absorb(part),
        }
        if let Some(name) = name.as_ref().filter(|_| !part.taints.is_empty()) {
            value.fields.push((name.clone(), part.taints.clone()));
        }
    }
    value
}

/// Fills the placeholders of `"%s" % x`.
fn formatted(text: Value, call: &Call<'_>) -> Value {
    let mut value = text;
    for (_, part) in call.args.iter().skip(1) {
        let parts = if part.items.is_empty() { std::slice::from_ref(part) } else { &part.items };
        for part in parts {
            value.text = value.text.replacen("%s", &part.text, 1);
            value.absorb(part);
        }
    }
    value
}
