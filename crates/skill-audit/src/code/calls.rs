//! What calls do with what they are given.

use std::ops::Range;

use super::evaluate::Program;
use super::library::Meaning;
use super::texts::{characters, decoded};
use crate::hosts::{Remote, UNKNOWN};
use crate::op::{Action, Channel, OpCollector};
use crate::paths::PathClass;
use crate::shell_code::{Code, Language, Shell};
use crate::value::{Carry, Value};

/// Arguments, by name or by place.
pub(super) type Args = [(Option<String>, Value)];

/// One call: of what, with what, and where it stands.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) args: &'a Args,
    pub(super) range: &'a Range<usize>,
}

impl Call<'_> {
    /// Returns an argument by its place.
    pub(super) fn nth(&self, at: usize) -> Value {
        let plain = self.args.iter().filter(|(name, _)| name.is_none());
        plain.map(|(_, value)| value).nth(at).cloned().unwrap_or_default()
    }

    /// Returns an argument by its name.
    pub(super) fn named(&self, name: &str) -> Option<Value> {
        let found = self.args.iter().find(|(known, _)| known.as_deref() == Some(name));
        found.map(|(_, value)| value.clone())
    }

    /// Returns what all arguments carry.
    pub(super) fn all(&self) -> Value {
        let mut all = Value::unknown();
        self.args.iter().for_each(|(_, value)| all.absorb(value));
        all
    }
}

impl Program {
    /// Carries out a call whose meaning is known.
    pub(super) fn act(
        &mut self,
        meaning: Meaning,
        call: &Call<'_>,
        scene: &mut OpCollector,
    ) -> Value {
        let first = call.nth(0);
        match meaning {
            Meaning::Shell => self.shell(&first, call, scene),
            Meaning::Start => self.start(&first, call, scene),
            Meaning::Evaluate => evaluated(&first, call, scene),
            Meaning::Fetch => self.fetch(&first, call, scene),
            Meaning::Send => self.send(&first, call, scene),
            Meaning::Request => self.send(&call.nth(1), call, scene),
            Meaning::Connect => self.connect(call, scene),
            Meaning::SendOpen => Value::unknown(),
            Meaning::LookUp => self.look_up(&first, call, scene),
            Meaning::Read => self.read(&first, call, scene),
            Meaning::Write => {
                self.write(&first, &call.nth(1), call.range, scene);
                Value::unknown()
            }
            Meaning::Open => self.open(&first, call, scene),
            Meaning::Variable => {
                let name = first.is_known().then(|| first.text.clone());
                scene.add(call.range, Action::Variable(name));
                Value::unknown().with(Carry::Variable(first.text))
            }
            Meaning::Environment => Value::unknown().with(Carry::Environment),
            Meaning::Decode(encoding) => {
                if self.may_decode(first.text.len()) {
                    decoded(&first, encoding)
                } else {
                    first.only_carried()
                }
            }
            Meaning::Pack => call.all(),
            Meaning::Load => {
                Value { made_by: Some(format!("={}", first.text)), ..Value::unknown() }
            }
            Meaning::Copy => {
                let content = self.read(&first, call, scene);
                self.files.insert(call.nth(1).text, content.clone());
                content
            }
            Meaning::Redirect => {
                self.redirected += 1;
                if self.redirected >= 2 {
                    let form = "streams of a process over a socket".to_owned();
                    scene.add(call.range, Action::RemoteShell { form });
                }
                Value::unknown()
            }
            Meaning::Remove => {
                let path = first.text.trim_end_matches('/');
                if matches!(path, "" | "~" | "/home" | "/etc" | "/usr") && !first.text.is_empty() {
                    scene.add(call.range, Action::Destroy { what: first.text.clone() });
                }
                Value::unknown()
            }
            Meaning::Machine => Value::unknown().with(Carry::Machine),
            Meaning::Characters if first.items.is_empty() && first.text.parse::<u32>().is_err() => {
                first
            }
            Meaning::Characters => characters(call.args),
            Meaning::Format => formatted(first, call),
            Meaning::Object => {
                // A header alone is how every service is asked.
                const HEADERS: [&str; 4] = ["headers", "auth", "Authorization", "agent"];
                let mut value = Value::unknown();
                let host = ["hostname", "host", "url"].iter().find_map(|name| call.named(name));
                if let Some(host) = host.filter(|host| host.is_known() && host.text.contains('.')) {
                    let is_whole = host.text.contains("://");
                    value.text =
                        if is_whole { host.text } else { format!("https://{}", host.text) };
                }
                for (name, part) in call.args {
                    if !name.as_deref().is_some_and(|name| HEADERS.contains(&name)) {
                        value.absorb(part);
                    }
                }
                value
            }
            Meaning::Pass => {
                let mut value = first;
                value.absorb(&call.all());
                value
            }
        }
    }

    fn open(&mut self, path: &Value, call: &Call<'_>, scene: &mut OpCollector) -> Value {
        let mode = call.named("mode").unwrap_or_else(|| call.nth(1)).text;
        if mode.contains(['w', 'a', 'x']) {
            let written = Action::Write { path: path.text.clone(), text: UNKNOWN.to_string() };
            scene.add(call.range, written);
            let made_by = Some("open:w".to_owned());
            return Value { text: path.text.clone(), made_by, ..Value::default() };
        }
        let mut file = self.read(path, call, scene);
        file.made_by = Some("open".to_owned());
        file
    }

    fn shell(&mut self, command: &Value, call: &Call<'_>, scene: &mut OpCollector) -> Value {
        let comes_from_elsewhere =
            |carry: &Carry| matches!(carry, Carry::Fetched(_) | Carry::Decoded(_));
        if command.carries.iter().any(comes_from_elsewhere) {
            let code = Code { text: command, by: call.name, language: Language::Shell };
            Shell::default().run_code(&code, call.range, scene);
            return Value::unknown();
        }
        if !scene.may_look(command.text.len()) {
            return command.only_carried();
        }
        let (text, mut output) = (command.text.clone(), Value::unknown());
        // What is put into the line is sent, read and run as what it is.
        scene.inside(call.range, &[], |scene| {
            output = crate::shell_code::shell_code(&text, scene).unwrap_or_default();
        });
        self.sent_by_line(command, call.range, scene);
        output.absorb(command);
        output
    }

    /// A value in a command line that talks to a host leaves with it.
    fn sent_by_line(&mut self, command: &Value, range: &Range<usize>, scene: &mut OpCollector) {
        let talks = ["curl ", "wget ", "nc ", "Invoke-WebRequest"];
        let talks = talks.iter().any(|word| command.text.contains(word));
        let mut words = command.text.split([' ', '"', '\'']);
        let to = words.find(|word| word.contains("://")).and_then(Remote::parse);
        if let Some(to) = to.filter(|_| talks && !command.secrets().is_empty()) {
            scene.add(range, Action::Send { to, secrets: command.secrets(), by: Channel::Body });
        }
    }

    fn start(&mut self, first: &Value, call: &Call<'_>, scene: &mut OpCollector) -> Value {
        if first.items.is_empty() {
            // `spawn("sh", ["-c", x])`: the program first, then a list.
            let rest = call.nth(1).items;
            if rest.is_empty() {
                return self.shell(first, call, scene);
            }
            let words: Vec<Value> = std::iter::once(first.clone()).chain(rest).collect();
            return self.words(&words, call.range, scene);
        }
        if call.named("shell").is_some() && first.items.len() == 1 {
            return self.shell(&first.items[0], call, scene);
        }
        self.words(&first.items, call.range, scene)
    }

    fn words(&mut self, words: &[Value], range: &Range<usize>, scene: &mut OpCollector) -> Value {
        let mut output = Value::unknown();
        let files = self.files.iter().map(|(path, value)| (path.clone(), value.clone()));
        let mut shell = Shell::default();
        shell.files.extend(files);
        scene.inside(range, &[], |scene| {
            output = shell.run(words.to_vec(), Value::default(), range, scene);
        });
        words.iter().for_each(|word| output.absorb(word));
        output
    }

    pub(super) fn read(&mut self, path: &Value, call: &Call<'_>, scene: &mut OpCollector) -> Value {
        if call.name.starts_with("keyring") || call.name.starts_with("browser_cookie") {
            scene.add(call.range, Action::Read("login.keychain".to_owned()));
            return Value::unknown().with(Carry::File(PathClass::Vault, call.name.to_owned()));
        }
        if let Some(written) = self.files.get(&path.text) {
            return written.clone();
        }
        let text = path.text.trim_matches(UNKNOWN).to_owned();
        if !text.is_empty() {
            scene.add(call.range, Action::Read(text.clone()));
        }
        let name = text.rsplit('/').next().unwrap_or(&text);
        if let Some(known) = self.siblings.get(name) {
            return Value::plain(known.clone());
        }
        let class = PathClass::of(&text);
        let mut value = path.only_carried();
        if class.is_secret() {
            value.carries.insert(Carry::File(class, text));
        }
        value
    }

    pub(super) fn write(
        &mut self,
        path: &Value,
        content: &Value,
        range: &Range<usize>,
        scene: &mut OpCollector,
    ) {
        scene.add(range, Action::Write { path: path.text.clone(), text: content.text.clone() });
        self.files.insert(path.text.clone(), content.clone());
    }
}

/// Text that is run as code.
fn evaluated(first: &Value, call: &Call<'_>, scene: &mut OpCollector) -> Value {
    let name = call.name;
    let is_function = name == "Function";
    let code = if is_function { call.args.last().map(|(_, value)| value) } else { Some(first) };
    let code = code.cloned().unwrap_or_default();
    if name == "compile" || name.ends_with(".loads") {
        return code;
    }
    let is_plain = code.is_known() && code.carries.is_empty();
    if !is_plain || name.starts_with("vm.") {
        scene.add(call.range, Action::Evaluate { by: name.to_owned() });
    }
    let is_javascript = is_function || name.starts_with("vm.") || name.contains(".eval");
    let language = if is_javascript { Language::JavaScript } else { Language::Python };
    Shell::default().run_code(&Code { text: &code, by: name, language }, call.range, scene);
    Value::unknown()
}

/// `"%s" % x`: each place is filled with a value.
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
