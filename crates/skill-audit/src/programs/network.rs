//! Programs that communicate with other machines.

use super::{has, has_letter, unknown_remote};
use crate::excerpt::slice;
use crate::hosts::{Remote, UNKNOWN};
use crate::op::{Action, Channel, OpCollector};
use crate::paths::PathClass;
use crate::shell_code::{Invocation, Shell};
use crate::value::{Taint, Value};

/// Options of curl and wget whose value is sent.
const SENDING_OPTIONS: [&str; 14] = [
    "-d",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--data-ascii",
    "-F",
    "--form",
    "--form-string",
    "-T",
    "--upload-file",
    "--json",
    "--post-data",
    "--post-file",
];
/// Options with a value that is not sent.
const OTHER_OPTIONS: [&str; 42] = [
    "--proto",
    "--proto-redir",
    "--cacert",
    "--capath",
    "--resolve",
    "--interface",
    "--ciphers",
    "-E",
    "--cert",
    "--key",
    "-K",
    "-r",
    "--limit-rate",
    "--max-redirs",
    "--retry-delay",
    "--range",
    "-H",
    "--header",
    "-X",
    "--request",
    "-o",
    "--output",
    "-u",
    "--user",
    "-A",
    "--user-agent",
    "-e",
    "--referer",
    "-b",
    "--cookie",
    "-c",
    "--max-time",
    "-m",
    "--connect-timeout",
    "--retry",
    "-x",
    "--proxy",
    "-w",
    "--write-out",
    "-O",
    "--output-document",
    "-P",
];

/// The parsed arguments of a download program.
struct Transfer {
    body: Value,
    headers: Value,
    sends: bool,
    /// The file that the response is written to.
    target: Option<String>,
    addresses: Vec<Value>,
}

fn is_wget(call: &Invocation<'_>) -> bool {
    call.program == "wget" || call.program == "aria2c"
}

fn parse_transfer(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Transfer {
    let is_wget = is_wget(call);
    let (mut body, mut sends, mut target, mut addresses) =
        (Value::default(), false, None, Vec::new());
    let (mut headers, mut foreign) = (Value::default(), Value::default());
    let mut args = call.args.iter().peekable();
    while let Some(arg) = args.next() {
        let (flag, inline) = match arg.text.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => {
                (flag, Some(Value { text: value.to_owned(), ..arg.clone() }))
            }
            _ => (arg.text.as_str(), None),
        };
        let is_stuck = SENDING_OPTIONS
            .iter()
            .find(|sent| sent.len() == 2 && flag.starts_with(*sent) && flag.len() > 2);
        if SENDING_OPTIONS.contains(&flag) || is_stuck.is_some() {
            let stuck =
                is_stuck.map(|_| Value { text: slice(flag, 2..).to_owned(), ..arg.clone() });
            let value = inline.or(stuck).or_else(|| args.next().cloned()).unwrap_or_default();
            let is_file = matches!(flag, "-T" | "--upload-file" | "--post-file");
            sends = true;
            let path = if is_file {
                Some(value.text.as_str())
            } else {
                value.text.split_once('@').map(|(_, path)| path.split(';').next().unwrap_or(path))
            };
            match path {
                Some("-") => body.absorb(&call.stdin),
                Some(path) => {
                    let read = shell.read(
                        &Value { text: path.to_owned(), ..value.clone() },
                        call.range,
                        collector,
                    );
                    body.absorb(&read);
                }
                None => body.push(&value),
            }
        } else if OTHER_OPTIONS.contains(&flag)
            && (is_wget || flag != "-O")
            && (!is_wget || flag != "-c")
        {
            let value = inline.or_else(|| args.next().cloned()).unwrap_or_default();
            let is_output =
                matches!(flag, "-o" | "--output" | "--output-document") || flag == "-O" && is_wget;
            if is_output && value.text != "-" && !value.text.starts_with("/dev/") {
                target = Some(value.text.clone());
            } else if matches!(
                flag,
                "-H" | "--header" | "-b" | "--cookie" | "-A" | "--user-agent" | "-e" | "--referer"
            ) {
                let name = value.text.split(':').next().unwrap_or_default().to_lowercase();
                let is_usual = ["auth", "key", "token", "cookie", "secret", "credential"]
                    .iter()
                    .any(|word| name.contains(word));
                if is_usual || matches!(flag, "-b" | "--cookie") {
                    headers.absorb(&value);
                } else {
                    // A header of another name can carry anything.
                    foreign.absorb(&value);
                }
            } else if matches!(flag, "-X" | "--request")
                && matches!(value.text.as_str(), "POST" | "PUT" | "PATCH")
            {
                sends = true;
            }
        } else if flag.starts_with('-') && flag.len() > 1 {
            // The last of several combined letters can take a value.
            if !flag.starts_with("--") && flag.len() > 2 && flag.ends_with('o') && !is_wget {
                target = args.next().map(|value| value.text.clone());
            } else if !flag.starts_with("--") && flag.len() > 2 && flag.ends_with('O') && is_wget {
                target = args.next().map(|value| value.text.clone()).filter(|name| name != "-");
            } else if !flag.starts_with("--") && flag.len() > 2 && flag.ends_with('d') && !is_wget {
                sends = true;
                body.push(&args.next().cloned().unwrap_or_default());
            }
            if flag.starts_with("-") && !flag.starts_with("--") && flag.contains('O') && !is_wget {
                target = addresses
                    .last()
                    .map(|address: &Value| base_name(&address.text))
                    .or(Some(String::new()));
            }
        } else {
            addresses.push(arg.clone());
        }
    }
    let words = matches!(call.program.as_str(), "http" | "https" | "xh");
    if words {
        sends |= addresses.first().is_some_and(|word| matches!(word.text.as_str(), "POST" | "PUT"));
        addresses.retain(|word| word.remote().is_some());
    }
    if !foreign.secrets().is_empty() {
        sends = true;
        body.absorb(&foreign);
    }
    Transfer { body, headers, sends, target, addresses }
}

pub(super) fn transfer(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Value {
    let Transfer { body, headers, sends, target, addresses } =
        parse_transfer(shell, call, collector);
    let is_wget = is_wget(call);
    let mut answer = Value::unknown();
    for address in &addresses {
        let to = address.remote().unwrap_or_else(|| unknown_remote(address.text.trim()));
        let in_address = address.secrets();
        if !in_address.is_empty() {
            collector.add(
                call.range,
                Action::Send { to: to.clone(), secrets: in_address, by: Channel::Address },
            );
        }
        if !headers.secrets().is_empty() {
            collector.add(
                call.range,
                Action::Send { to: to.clone(), secrets: headers.secrets(), by: Channel::Header },
            );
        }
        if sends {
            collector.add(
                call.range,
                Action::Send { to: to.clone(), secrets: body.secrets(), by: Channel::Body },
            );
        } else {
            collector.add(call.range, Action::Fetch(to.clone()));
        }
        answer.taints.insert(Taint::Fetched(to.clone()));
        let saves_by_name = is_wget && target.is_none() && !has(call, &["-O-", "-qO-"])
            || target.as_deref() == Some("");
        let name = if saves_by_name { Some(base_name(&to.text)) } else { target.clone() };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            collector.add(call.range, Action::Save { from: to.clone(), path: name.clone() });
            let content = Value::unknown().with(Taint::Fetched(to));
            shell.files.insert(name.clone(), content);
            collector.add(call.range, Action::Write { path: name, text: UNKNOWN.to_string() });
        }
    }
    if target.is_some() { Value::unknown() } else { answer }
}

fn base_name(address: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

pub(super) fn connect(call: &Invocation<'_>, collector: &mut OpCollector) -> Value {
    let all: String = call.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    let lower = all.to_lowercase();
    let runs = lower.contains("exec:")
        || lower.contains("system:")
        || call.program != "telnet"
            && call.program != "socat"
            && (has_letter(call, 'e') || has(call, &["-c", "--exec", "--sh-exec"]));
    let to = call.args.iter().find_map(Value::remote).or_else(|| {
        lower.split([' ', ',']).find_map(|part| {
            Remote::parse(&format!(
                "tcp://{}",
                part.strip_prefix("tcp:").or(part.strip_prefix("openssl:"))?
            ))
        })
    });
    let is_shell = call.stdin.made_by.as_deref() == Some("shell");
    if runs || is_shell {
        collector.add(call.range, Action::RemoteShell { transport: format!("`{}`", call.program) });
    }
    let listens = has_letter(call, 'l');
    if let Some(to) = to.filter(|_| !listens) {
        let is_probe = has_letter(call, 'z');
        if !is_probe && (!call.stdin.taints.is_empty() || !call.stdin.text.is_empty()) {
            collector.add(
                call.range,
                Action::Send { to: to.clone(), secrets: call.stdin.secrets(), by: Channel::Body },
            );
        }
        return Value::unknown().with(Taint::Fetched(to));
    }
    Value::unknown()
}

pub(super) fn look_up(call: &Invocation<'_>, collector: &mut OpCollector) -> Value {
    let plain =
        call.args.iter().filter(|arg| arg.is_known() && !arg.text.starts_with(['-', '+', '@']));
    for to in plain.filter_map(Value::remote).filter(|to| to.host.contains('.')) {
        collector.add(call.range, Action::Fetch(to));
    }
    for arg in call.args.iter().filter(|arg| !arg.secrets().is_empty()) {
        let name = arg.text.trim_start_matches([UNKNOWN, '.']).to_owned();
        let to = Remote::parse(&name).unwrap_or_else(|| unknown_remote(&name));
        collector.add(call.range, Action::Send { to, secrets: arg.secrets(), by: Channel::Lookup });
    }
    Value::unknown()
}

/// Traces programs that copy files to other machines.
pub(super) fn copy_to_remote(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Value {
    let mut body = call.stdin.clone();
    let is_target = |arg: &&Value| arg.text.contains(':') && !arg.text.starts_with('-');
    // What is excluded is not copied.
    let is_excluded = |at: usize| {
        at.checked_sub(1)
            .and_then(|before| call.args.get(before))
            .is_some_and(|flag| flag.text.starts_with("--exclude"))
    };
    let named = call
        .args
        .iter()
        .enumerate()
        .filter(|(at, arg)| !is_excluded(*at) && !arg.text.starts_with("--exclude"));
    for (_, arg) in named.filter(|(_, arg)| PathClass::of(&arg.text).is_secret()) {
        let read = shell.read(arg, call.range, collector);
        body.absorb(&read);
    }
    for arg in &call.args {
        // Secrets in names, and files that the script made of secrets.
        body.absorb(arg);
        if let Some(written) = shell.written(arg.text.trim()) {
            body.absorb(&written);
        }
    }
    if let Some(target) = call.args.iter().rfind(is_target) {
        let host = target.text.split(':').next().unwrap_or_default();
        let to = Remote::parse(&format!("tcp://{host}/"))
            .unwrap_or_else(|| unknown_remote(&target.text));
        if !body.secrets().is_empty() {
            collector
                .add(call.range, Action::Send { to, secrets: body.secrets(), by: Channel::Body });
        }
    }
    Value::unknown()
}

/// Traces what the GitHub command line publishes: gists, issues and comments.
pub(super) fn publish(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Value {
    if !has(call, &["gist", "issue", "comment", "release"]) {
        return Value::unknown();
    }
    let mut body = call.stdin.clone();
    for arg in &call.args {
        body.absorb(arg);
        let is_file =
            PathClass::of(&arg.text).is_secret() || shell.written(arg.text.trim()).is_some();
        if is_file && !arg.text.starts_with('-') {
            let read = shell.read(arg, call.range, collector);
            body.absorb(&read);
        }
    }
    let is_file = |taint: &Taint| matches!(taint, Taint::File(..) | Taint::Environment);
    if body.taints.iter().any(is_file)
        && let Some(to) = Remote::parse("https://gist.github.com/")
    {
        collector.add(call.range, Action::Send { to, secrets: body.secrets(), by: Channel::Body });
    }
    Value::unknown()
}
