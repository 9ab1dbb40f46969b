//! What calls do with what they are given.

use std::ops::Range;

use super::evaluate::Program;
use super::library::Meaning;
use crate::decode::{self, Encoding};
use crate::hosts::{Remote, UNKNOWN};
use crate::op::{Channel, Does, Scene};
use crate::paths::PathClass;
use crate::programs::somewhere;
use crate::shell_code::{Language, Shell};
use crate::value::{Carry, Value};

type Args = [(Option<String>, Value)];

/// Arguments that are sent, by name.
const SENT: [&str; 8] = ["data", "json", "files", "body", "content", "params", "form", "payload"];

fn nth(args: &Args, at: usize) -> Value {
    args.iter()
        .filter(|(name, _)| name.is_none())
        .nth(at)
        .map(|(_, value)| value.clone())
        .unwrap_or_default()
}

fn named(args: &Args, name: &str) -> Option<Value> {
    args.iter().find(|(known, _)| known.as_deref() == Some(name)).map(|(_, value)| value.clone())
}

impl Program {
    /// Carries out a call whose meaning is known.
    pub(super) fn act(
        &mut self,
        meaning: Meaning,
        name: &str,
        args: &Args,
        range: &Range<usize>,
        scene: &mut Scene,
    ) -> Value {
        let first = nth(args, 0);
        match meaning {
            Meaning::Shell => self.shell(&first, name, range, scene),
            Meaning::Start => self.start(&first, args, name, range, scene),
            Meaning::Evaluate => {
                let code = if name == "Function" {
                    args.last().map(|(_, value)| value.clone()).unwrap_or_default()
                } else {
                    first
                };
                let is_plain = code.is_known() && code.carries.is_empty();
                if !is_plain
                    && matches!(
                        name,
                        "exec"
                            | "eval"
                            | "Function"
                            | "globalThis.eval"
                            | "window.eval"
                            | "global.eval"
                    )
                    || name.starts_with("vm.")
                {
                    scene.add(range, Does::Evaluate { by: name.to_owned() });
                }
                let language = if name.starts_with("vm.") || matches!(name, "Function") {
                    Language::JavaScript
                } else {
                    Language::Python
                };
                if name == "compile" || name.ends_with(".loads") {
                    return code;
                }
                Shell::default().run_code(&code, name, language, range, scene);
                Value::unknown()
            }
            Meaning::Fetch => {
                let to = remote(&first);
                scene.add(range, Does::Fetch(to.clone()));
                self.in_address(&first, &to, range, scene);
                if let Some(params) = named(args, "params") {
                    self.in_address(&params, &to, range, scene);
                }
                let answer = Value::unknown().with(Carry::Fetched(to));
                if name.ends_with("urlretrieve") || name == "wget.download" {
                    self.files.insert(nth(args, 1).text, answer.clone());
                }
                answer
            }
            Meaning::Send => self.send(&first, args, range, scene),
            Meaning::Request => self.send(&nth(args, 1), args, range, scene),
            Meaning::Connect => {
                let to = connection(&first, args);
                scene.add(range, Does::Fetch(to.clone()));
                Value { made_by: Some(name.to_owned()), text: to.text.clone(), ..Value::default() }
                    .with(Carry::Fetched(to))
            }
            Meaning::SendOpen => Value::unknown(),
            Meaning::LookUp => {
                if !first.secrets().is_empty() {
                    let host = first.text.trim_start_matches([UNKNOWN, '.']);
                    let to = Remote::parse(host).unwrap_or_else(|| somewhere(host));
                    scene.add(
                        range,
                        Does::Send { to, secrets: first.secrets(), by: Channel::Lookup },
                    );
                }
                Value::unknown()
            }
            Meaning::Read => self.read(&first, name, range, scene),
            Meaning::Write => {
                self.write(&first, &nth(args, 1), range, scene);
                Value::unknown()
            }
            Meaning::Open => {
                let mode = named(args, "mode").unwrap_or_else(|| nth(args, 1)).text;
                if mode.contains(['w', 'a', 'x']) {
                    scene.add(
                        range,
                        Does::Write { path: first.text.clone(), text: UNKNOWN.to_string() },
                    );
                    return Value {
                        text: first.text,
                        made_by: Some("open:w".to_owned()),
                        ..Value::default()
                    };
                }
                let mut file = self.read(&first, name, range, scene);
                file.made_by = Some("open".to_owned());
                file
            }
            Meaning::Variable => {
                scene.add(range, Does::Variable(first.is_known().then(|| first.text.clone())));
                Value::unknown().with(Carry::Variable(first.text))
            }
            Meaning::Environment => Value::unknown().with(Carry::Environment),
            Meaning::Decode(encoding) => decoded(&first, encoding),
            Meaning::Pack => {
                let mut all = Value::unknown();
                args.iter().for_each(|(_, value)| all.absorb(value));
                all
            }
            Meaning::Load => {
                Value { made_by: Some(format!("={}", first.text)), ..Value::unknown() }
            }
            Meaning::Copy => {
                let content = self.read(&first, name, range, scene);
                self.files.insert(nth(args, 1).text, content.clone());
                content
            }
            Meaning::Redirect => {
                self.redirected += 1;
                if self.redirected >= 2 {
                    scene.add(
                        range,
                        Does::RemoteShell { form: "streams of a process over a socket".to_owned() },
                    );
                }
                Value::unknown()
            }
            Meaning::Remove => {
                let path = first.text.trim_end_matches('/');
                if matches!(path, "" | "~" | "/home" | "/etc" | "/usr") && !first.text.is_empty() {
                    scene.add(range, Does::Destroy { what: first.text.clone() });
                }
                Value::unknown()
            }
            Meaning::Machine => Value::unknown().with(Carry::Machine),
            Meaning::Characters if first.items.is_empty() && first.text.parse::<u32>().is_err() => {
                first
            }
            Meaning::Characters => characters(args),
            Meaning::Format => {
                let mut value = first;
                for (_, part) in &args[1.min(args.len())..] {
                    let parts = if part.items.is_empty() {
                        std::slice::from_ref(part)
                    } else {
                        &part.items
                    };
                    for part in parts {
                        value.text = value.text.replacen("%s", &part.text, 1);
                        value.absorb(part);
                    }
                }
                value
            }
            Meaning::Object => {
                let mut value = Value::unknown();
                // A header alone is how every service is asked.
                let is_sent = |name: &&(Option<String>, Value)| {
                    !matches!(
                        name.0.as_deref(),
                        Some("headers" | "auth" | "Authorization" | "agent")
                    )
                };
                args.iter().filter(is_sent).for_each(|(_, part)| value.absorb(part));
                value
            }
            Meaning::Pass => {
                let mut value = first;
                args.iter().skip(1).for_each(|(_, more)| value.absorb(more));
                value
            }
        }
    }

    /// Carries out a method of a value that a library made.
    pub(super) fn act_on(
        &mut self,
        meaning: Meaning,
        at: &str,
        args: &Args,
        range: &Range<usize>,
        scene: &mut Scene,
    ) -> Value {
        match meaning {
            Meaning::Connect => {
                let to = connection(&nth(args, 0), args);
                scene.add(range, Does::Fetch(to.clone()));
                self.connections.insert(at.to_owned(), to.clone());
                Value::unknown().with(Carry::Fetched(to))
            }
            Meaning::SendOpen => {
                let mut body = Value::default();
                args.iter().for_each(|(_, value)| body.absorb(value));
                let known = self.connections.get(at).cloned();
                let to = known
                    .or_else(|| self.values.get(at).and_then(Value::remote))
                    .unwrap_or_else(|| somewhere(at));
                scene.add(range, Does::Send { to, secrets: body.secrets(), by: Channel::Body });
                Value::unknown()
            }
            other => self.act(other, at, args, range, scene),
        }
    }

    /// Methods of texts, files and answers.
    pub(super) fn method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        range: &Range<usize>,
        scene: &mut Scene,
    ) -> Value {
        let first = nth(args, 0);
        let same = |text: String| Value { text, ..object.clone() };
        match name {
            "read" | "readlines" | "readline" | "json" | "text" | "items" | "copy"
            | "iter_content"
                if !object.carries.is_empty() =>
            {
                object.only_carried()
            }
            "read" | "text" => object.clone(),
            "read_text" | "read_bytes" => self.read(object, name, range, scene),
            "write_text" | "write_bytes" => {
                self.write(object, &first, range, scene);
                Value::unknown()
            }
            "write" if object.made_by.as_deref() == Some("open:w") => {
                let path = Value::plain(object.text.clone());
                self.write(&path, &first, range, scene);
                Value::unknown()
            }
            "decode" | "encode" | "strip" | "trim" | "toString" | "expanduser" | "resolve"
            | "as_posix" | "lower" | "toLowerCase" | "rstrip" | "lstrip"
                if first.text == "rot13" || first.text == "rot_13" =>
            {
                same(decode::rot13(&object.text)).with(Carry::Decoded(Encoding::Rot13))
            }
            "decode" | "encode" | "strip" | "trim" | "expanduser" | "resolve" | "as_posix"
            | "rstrip" | "lstrip" => object.clone(),
            "toString"
                if object.made_by.as_deref() == Some("Buffer.from:base64")
                    || first.text == "base64" && object.is_known() =>
            {
                object.clone()
            }
            "toString" => object.clone(),
            "lower" | "toLowerCase" => same(object.text.to_lowercase()),
            "join" if !first.items.is_empty() => joined(object, &first),
            "join" if object.items.len() > 1 => joined(&first, object),
            "joinpath" | "join" => {
                let mut whole = object.clone();
                for (_, value) in args {
                    whole.push(&Value::plain("/"));
                    whole.push(value);
                }
                whole
            }
            "replace" | "replaceAll"
                if object.is_known() && first.is_known() && !first.text.is_empty() =>
            {
                let mut value = same(object.text.replace(&first.text, &nth(args, 1).text));
                value.carries.extend(nth(args, 1).carries);
                value
            }
            "split" if object.is_known() && first.text.is_empty() => Value {
                items: object.text.chars().map(|c| Value::plain(c.to_string())).collect(),
                ..object.only_carried()
            },
            "split" if object.is_known() => Value {
                items: object.text.split(&first.text).map(Value::plain).collect(),
                ..object.only_carried()
            },
            "reverse" if !object.items.is_empty() => {
                Value { items: object.items.iter().rev().cloned().collect(), ..object.clone() }
                    .with(Carry::Decoded(Encoding::Reversed))
            }
            "fromCharCode" | "fromCodePoint" => characters(args),
            "from" if first.is_known() => match nth(args, 1).text.as_str() {
                "base64" => decoded(&first, Encoding::Base64),
                "hex" => decoded(&first, Encoding::Hex),
                _ => first,
            },
            "format" => {
                let mut value = object.clone();
                args.iter().for_each(|(_, arg)| value.absorb(arg));
                value
            }
            _ => {
                let mut value = object.only_carried();
                args.iter().for_each(|(_, arg)| value.absorb(arg));
                value
            }
        }
    }

    fn shell(
        &mut self,
        command: &Value,
        name: &str,
        range: &Range<usize>,
        scene: &mut Scene,
    ) -> Value {
        if command
            .carries
            .iter()
            .any(|carry| matches!(carry, Carry::Fetched(_) | Carry::Decoded(_)))
        {
            Shell::default().run_code(command, name, Language::Shell, range, scene);
            return Value::unknown();
        }
        let (text, mut output) = (command.text.clone(), Value::unknown());
        // What is put into the line is sent, read and run as what it is.
        scene.inside(range, &[], |scene| {
            output = crate::shell_code::shell_code(&text, scene).unwrap_or_default();
        });
        self.sent_by_line(command, range, scene);
        output.absorb(command);
        output
    }

    /// A value in a command line that talks to a host leaves with it.
    fn sent_by_line(&mut self, command: &Value, range: &Range<usize>, scene: &mut Scene) {
        let talks = ["curl ", "wget ", "nc ", "Invoke-WebRequest"]
            .iter()
            .any(|word| command.text.contains(word));
        let to = command
            .text
            .split([' ', '"', '\''])
            .find(|word| word.contains("://"))
            .and_then(Remote::parse);
        if let Some(to) = to.filter(|_| talks && !command.secrets().is_empty()) {
            scene.add(range, Does::Send { to, secrets: command.secrets(), by: Channel::Body });
        }
    }

    fn start(
        &mut self,
        first: &Value,
        args: &Args,
        name: &str,
        range: &Range<usize>,
        scene: &mut Scene,
    ) -> Value {
        if first.items.is_empty() {
            let mut command = first.clone();
            // `spawn("sh", ["-c", x])`: the program first, then a list.
            let second = nth(args, 1);
            if second.items.is_empty() {
                return self.shell(&command, name, range, scene);
            }
            command.items = std::iter::once(first.clone()).chain(second.items).collect();
            return self.words(&command.items, range, scene);
        }
        let is_shell = named(args, "shell").is_some();
        if is_shell && first.items.len() == 1 {
            return self.shell(&first.items[0], name, range, scene);
        }
        self.words(&first.items.clone(), range, scene)
    }

    fn words(&mut self, words: &[Value], range: &Range<usize>, scene: &mut Scene) -> Value {
        let (words, mut output) = (words.to_vec(), Value::unknown());
        let mut shell = Shell::default();
        shell.files =
            self.files.iter().map(|(path, value)| (path.clone(), value.clone())).collect();
        let all = words.clone();
        scene.inside(range, &[], |scene| {
            output = shell.run(words, Value::default(), range, scene);
        });
        all.iter().for_each(|word| output.absorb(word));
        output
    }

    fn send(
        &mut self,
        address: &Value,
        args: &Args,
        range: &Range<usize>,
        scene: &mut Scene,
    ) -> Value {
        let to = remote(address);
        let mut body = Value::default();
        let mut is_send = false;
        for (at, (name, value)) in args.iter().enumerate() {
            let is_sent = match name {
                Some(name) => SENT.contains(&name.as_str()),
                // `fetch(url, {body})` and `axios.post(url, data)`.
                None => at > 0 && value.made_by.as_deref() != Some("headers"),
            };
            if is_sent {
                is_send = true;
                body.absorb(value);
            }
        }
        self.in_address(address, &to, range, scene);
        if is_send {
            scene.add(
                range,
                Does::Send { to: to.clone(), secrets: body.secrets(), by: Channel::Body },
            );
        } else {
            scene.add(range, Does::Fetch(to.clone()));
        }
        Value { text: to.text.clone(), ..Value::default() }.only_carried().with(Carry::Fetched(to))
    }

    fn in_address(
        &mut self,
        address: &Value,
        to: &Remote,
        range: &Range<usize>,
        scene: &mut Scene,
    ) {
        if !address.secrets().is_empty() {
            let (to, secrets) = (to.clone(), address.secrets());
            scene.add(range, Does::Send { to, secrets, by: Channel::Address });
        }
    }

    fn read(&mut self, path: &Value, name: &str, range: &Range<usize>, scene: &mut Scene) -> Value {
        if name.starts_with("keyring") || name.starts_with("browser_cookie") {
            scene.add(range, Does::Read("login.keychain".to_owned()));
            return Value::unknown().with(Carry::File(PathClass::Vault, name.to_owned()));
        }
        if let Some(written) = self.files.get(&path.text) {
            return written.clone();
        }
        let text = path.text.trim_matches(UNKNOWN).to_owned();
        if !text.is_empty() {
            scene.add(range, Does::Read(text.clone()));
        }
        let class = PathClass::of(&text);
        let name_only = text.rsplit('/').next().unwrap_or(&text);
        if let Some(known) = self.siblings.get(name_only) {
            return Value::plain(known.clone());
        }
        let mut value = path.only_carried();
        if class.is_secret() {
            value.carries.insert(Carry::File(class, text));
        }
        value
    }

    fn write(&mut self, path: &Value, content: &Value, range: &Range<usize>, scene: &mut Scene) {
        scene.add(range, Does::Write { path: path.text.clone(), text: content.text.clone() });
        self.files.insert(path.text.clone(), content.clone());
    }
}

fn remote(address: &Value) -> Remote {
    address.remote().unwrap_or_else(|| somewhere(&address.text))
}

/// `("host", port)` or `"host"`, or an object with a name for it.
fn connection(first: &Value, args: &Args) -> Remote {
    let host = first
        .items
        .first()
        .cloned()
        .or_else(|| named(args, "host"))
        .unwrap_or_else(|| first.clone());
    let host = if host.text.chars().all(|c| c.is_ascii_digit()) { nth(args, 1) } else { host };
    Remote::parse(&format!(
        "tcp://{}",
        host.text
            .trim_start_matches("wss://")
            .trim_start_matches("ws://")
            .trim_start_matches("https://")
    ))
    .unwrap_or_else(|| somewhere(&host.text))
}

fn decoded(value: &Value, encoding: Encoding) -> Value {
    let bytes = match encoding {
        Encoding::Base64 => decode::base64(&value.text),
        Encoding::Base32 => decode::base32(&value.text),
        Encoding::Hex => decode::hex(&value.text),
        Encoding::Percent => Some(decode::percent(&value.text).into_bytes()),
        _ => None,
    };
    let text =
        bytes.filter(|_| value.is_known()).and_then(|bytes| decode::text(&bytes, &mut Vec::new()));
    let mut decoded = value.only_carried();
    if encoding != Encoding::Percent || text.as_deref() != Some(value.text.as_str()) {
        decoded.carries.insert(Carry::Decoded(encoding));
    }
    decoded.text = text.filter(|text| !text.is_empty()).unwrap_or_else(|| UNKNOWN.to_string());
    decoded
}

fn joined(between: &Value, list: &Value) -> Value {
    let mut whole = Value::default();
    for (at, item) in list.items.iter().enumerate() {
        if at > 0 {
            whole.push(between);
        }
        whole.push(item);
    }
    whole.carries.extend(list.carries.iter().cloned());
    whole
}

/// Numbers that are characters.
fn characters(args: &Args) -> Value {
    let list = args.iter().flat_map(|(_, value)| {
        if value.items.is_empty() { vec![value.clone()] } else { value.items.clone() }
    });
    let text: Option<String> =
        list.map(|value| value.text.parse::<u32>().ok().and_then(char::from_u32)).collect();
    match text {
        Some(text) => Value::plain(text).with(Carry::Decoded(Encoding::Escapes)),
        None => Value::unknown().with(Carry::Decoded(Encoding::Escapes)),
    }
}
