//! What programs do that scripts start: what they read, send, run and print.

use crate::decode::{self, Encoding};
use crate::hosts::{HostClass, Remote, UNKNOWN};
use crate::op::{Channel, Does, Scene};
use crate::paths::PathClass;
use crate::shell_code::{Code, Invocation, Language, Shell};
use crate::value::{Carry, Value};

/// Returns the name of a program without the folders before it.
pub(crate) fn base(text: &str) -> String {
    let name = text.trim().rsplit(['/', '\\']).next().unwrap_or(text).to_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

/// An address that is not known.
pub(crate) fn somewhere(text: &str) -> Remote {
    Remote {
        text: text.to_owned(),
        host: String::new(),
        class: HostClass::Unknown,
        is_plain: false,
    }
}

/// How many words stand before the command that another one runs; 0 for what is no wrapper.
pub(crate) fn wrapped(name: &str, words: &[Value]) -> usize {
    let takes_value: &[&str] = match name {
        "sudo" | "doas" => &["-u", "-g", "-C", "-p"],
        "env" => &["-u", "-C", "-S"],
        "nohup" | "time" | "exec" | "command" | "setsid" | "builtin" | "busybox" | "then"
        | "do" | "else" | "!" => &[],
        "timeout" => &["-s", "-k"],
        "nice" => &["-n"],
        "stdbuf" => &["-i", "-o", "-e"],
        "xargs" => &["-n", "-I", "-P", "-L", "-d"],
        "watch" => &["-n"],
        _ => return 0,
    };
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        let is_assignment = name == "env" && text.contains('=') && !text.starts_with('-');
        let is_duration = name == "timeout" && text.starts_with(|c: char| c.is_ascii_digit());
        if takes_value.contains(&text) {
            at += 2;
        } else if text.starts_with('-') && text.len() > 1 || is_assignment || is_duration {
            at += 1;
        } else {
            break;
        }
    }
    // `env` and the like without a command are commands themselves.
    if at < words.len() { at } else { 0 }
}

/// Says what a command does; returns what it prints.
pub(crate) fn run(shell: &mut Shell, call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let range = call.range;
    let program = call.program.as_str();
    if !program.is_empty() && !program.contains(UNKNOWN) {
        scene.add(range, Does::Run { program: program.to_owned() });
    } else {
        scene.add(range, Does::Run { program: String::new() });
    }
    dangers(call, scene);
    match program {
        "echo" | "printf" => print(call),
        "cat" | "head" | "tail" | "tac" | "less" | "more" | "nl" | "strings" | "grep" | "egrep"
        | "rg" | "awk" | "sed" | "sort" | "uniq" | "cut" | "jq" | "column" | "fold" | "type"
        | "get-content" => filter(shell, call, scene),
        "rev" => reversed(&call.stdin),
        "tr" => translated(call),
        "base64" | "gbase64" | "base32" | "xxd" | "openssl" | "gunzip" | "zcat" | "gzip"
        | "certutil" | "uudecode" => coded(shell, call, scene),
        "env" | "printenv" | "set" | "export" | "declare" => environment(call, scene),
        "hostname" | "whoami" | "uname" | "id" | "ifconfig" | "sw_vers" => {
            Value::unknown().with(Carry::Machine)
        }
        "curl" | "wget" | "http" | "https" | "xh" | "aria2c" | "curlie" => {
            transfer(shell, call, scene)
        }
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "eval" | "source" | "."
        | "python" | "python2" | "python3" | "py" | "node" | "nodejs" | "deno" | "bun" | "perl"
        | "ruby" | "php" | "osascript" | "pwsh" | "powershell" | "cmd" | "iex" | "lua"
        | "mshta" | "rundll32" | "regsvr32" | "tsx" | "ts-node" => interpret(shell, call, scene),
        "nc" | "ncat" | "netcat" | "socat" | "telnet" => connect(call, scene),
        "dig" | "nslookup" | "host" | "ping" | "drill" => look_up(call, scene),
        "scp" | "rsync" | "sftp" | "rclone" | "aws" | "gsutil" | "s3cmd" => {
            copy_away(shell, call, scene)
        }
        "tee" | "sponge" => {
            for arg in call.args.iter().filter(|arg| !arg.text.starts_with('-')) {
                shell.write_to(arg, &call.stdin, range, scene);
            }
            call.stdin.clone()
        }
        "cp" | "mv" | "ln" | "install" | "tar" | "zip" | "7z" | "gpg" | "dd" => {
            pack(shell, call, scene)
        }
        "security" | "secret-tool" | "kwallet-query" | "keyctl" => keychain(call, scene),
        "crontab" | "launchctl" | "systemctl" | "schtasks" | "at" | "reg" => lasting(call, scene),
        "pip" | "pip3" | "uv" | "pipx" | "npm" | "pnpm" | "yarn" | "npx" | "uvx" | "bunx"
        | "cargo" | "gem" | "go" | "brew" | "apt" | "apt-get" | "dnf" | "yum" | "apk"
        | "pacman" | "choco" | "winget" | "scoop" | "conda" | "mamba" | "poetry"
        | "easy_install" | "clawhub" | "composer" => install(call, scene),
        // A key is what they are for.
        "ssh" | "ssh-add" | "ssh-keygen" | "ssh-copy-id" | "git" | "gh" | "docker" | "kubectl"
        | "chmod" | "ls" | "mkdir" | "touch" | "test" | "[" | "stat" | "find" | "code" | "vim"
        | "nano" => Value::unknown(),
        _ => {
            // Whatever it does, it reads what it is told to.
            let mut value = Value::unknown();
            for arg in &call.args {
                if PathClass::of(&arg.text).is_secret() && !arg.text.starts_with('-') {
                    let read = shell.read(arg, range, scene);
                    value.absorb(&read);
                }
                value.absorb(arg);
            }
            value.absorb(&call.stdin);
            value
        }
    }
}

fn has(call: &Invocation<'_>, flags: &[&str]) -> bool {
    call.args.iter().any(|arg| flags.contains(&arg.text.as_str()))
}

/// Short options may stand together: `-sSfL` has `f`.
fn has_letter(call: &Invocation<'_>, letter: char) -> bool {
    call.args.iter().any(|arg| {
        arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains(letter)
    })
}

fn print(call: &Invocation<'_>) -> Value {
    let is_option =
        |arg: &&Value| matches!(arg.text.as_str(), "-e" | "-n" | "-ne" | "-en" | "-E" | "--");
    let escapes = call.program == "printf" || has_letter(call, 'e');
    let mut value = Value::default();
    let mut args = call.args.iter().filter(|arg| !is_option(arg));
    if call.program == "printf"
        && call.args.len() > 1
        && let Some(format) = args.next()
    {
        // A format with values: each `%s` is one of them, as long as there are any.
        let format = format.text.replace("%d", "%s").replace("%b", "%s");
        let pieces: Vec<&str> = format.split("%s").collect();
        for (at, piece) in pieces.iter().enumerate() {
            value.push(&Value::plain(*piece));
            if at + 1 < pieces.len() {
                value.push(&args.next().cloned().unwrap_or_default());
            }
        }
        for rest in args {
            value.push(rest);
        }
    } else {
        for (at, arg) in args.enumerate() {
            if at > 0 {
                value.push(&Value::plain(" "));
            }
            value.push(arg);
        }
    }
    if escapes && value.text.contains('\\') {
        let has_codes =
            value.text.contains("\\x") || value.text.contains("\\0") || value.text.contains("\\1");
        value.text = shell::sketch::escapes(&value.text);
        if has_codes {
            value.carries.insert(Carry::Decoded(Encoding::Escapes));
        }
    }
    value
}

fn filter(shell: &mut Shell, call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let mut value =
        if call.program == "cat" { call.stdin.clone() } else { call.stdin.only_carried() };
    for arg in call.args.iter().filter(|arg| !arg.text.starts_with('-')) {
        let looks_like_file =
            arg.text.contains(['/', '.', '~']) && !arg.text.contains(['\n', '{', '|']);
        if call.program == "cat" || call.program == "get-content" || looks_like_file {
            let read = shell.read(arg, call.range, scene);
            if call.program == "cat" && call.stdin.text.is_empty() {
                value.push(&read);
            } else {
                value.absorb(&read);
            }
        }
    }
    if call.stdin.text.is_empty() && value.text.is_empty() {
        value.text.push(UNKNOWN);
    }
    value
}

fn reversed(stdin: &Value) -> Value {
    let mut value = stdin.clone().with(Carry::Decoded(Encoding::Reversed));
    value.text = value.text.trim_end().chars().rev().collect();
    value
}

fn translated(call: &Invocation<'_>) -> Value {
    let sets: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let is_rot13 = matches!(sets.as_slice(), [from, to] if from.to_uppercase().contains("A-Z") && to.to_uppercase().contains("N-Z"));
    let mut value = call.stdin.clone();
    if is_rot13 {
        value.text = decode::rot13(&value.text);
        return value.with(Carry::Decoded(Encoding::Rot13));
    }
    match sets.as_slice() {
        ["-d", set] => value.text.retain(|c| !shell::sketch::escapes(set).contains(c)),
        [from, to] if from.chars().count() == 1 && to.chars().count() == 1 => {
            value.text = value.text.replace(*from, to);
        }
        _ if !value.text.is_empty() => value = value.only_carried(),
        _ => {}
    }
    value
}

/// Programs that encode and decode.
fn coded(shell: &mut Shell, call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let file = call.args.iter().rfind(|arg| {
        !arg.text.starts_with('-') && !matches!(arg.text.as_str(), "enc" | "base64" | "decode")
    });
    let mut input = call.stdin.clone();
    if let Some(file) = file
        && input.text.is_empty()
    {
        input = shell.read(file, call.range, scene);
    }
    let decodes = match call.program.as_str() {
        "gunzip" | "zcat" | "uudecode" => true,
        "xxd" => has_letter(call, 'r'),
        _ => has(call, &["--decode", "--decompress", "-decode", "-D"]) || has_letter(call, 'd'),
    };
    if !decodes {
        return input.only_carried();
    }
    let bytes = match call.program.as_str() {
        "base32" => decode::base32(&input.text).map(|bytes| (Encoding::Base32, bytes)),
        "xxd" => decode::hex(&input.text).map(|bytes| (Encoding::Hex, bytes)),
        "gunzip" | "zcat" | "gzip" => {
            // What was decoded before is bytes, which are text here only if they could be read.
            return input.only_carried().with(Carry::Decoded(Encoding::Gzip));
        }
        _ => decode::base64(&input.text).map(|bytes| (Encoding::Base64, bytes)),
    };
    let (encoding, bytes) = bytes.unwrap_or((Encoding::Base64, Vec::new()));
    let text = decode::text(&bytes, &mut Vec::new()).filter(|text| !text.is_empty());
    let mut value = input.only_carried().with(Carry::Decoded(encoding));
    if let Some(text) = text.filter(|_| input.is_known()) {
        value.text = text;
    }
    value
}

fn environment(call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let named = call.args.iter().find(|arg| !arg.text.starts_with('-'));
    match (call.program.as_str(), named) {
        ("printenv", Some(name)) => {
            scene.add(call.range, Does::Variable(Some(name.text.clone())));
            Value::unknown().with(Carry::Variable(name.text.clone()))
        }
        ("env" | "printenv", None) => {
            scene.add(call.range, Does::Variable(None));
            Value::unknown().with(Carry::Environment)
        }
        ("set" | "export" | "declare", None)
            if call.args.iter().all(|arg| matches!(arg.text.as_str(), "-p" | "-x")) =>
        {
            Value::unknown().with(Carry::Environment)
        }
        _ => Value::default(),
    }
}

/// Options of curl and wget whose value is sent.
const SENT: [&str; 14] = [
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
/// Options with a value that is not.
const OTHER: [&str; 42] = [
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

fn transfer(shell: &mut Shell, call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let is_wget = call.program == "wget" || call.program == "aria2c";
    let (mut body, mut sends, mut target, mut addresses) =
        (Value::default(), false, None, Vec::new());
    let mut args = call.args.iter().peekable();
    while let Some(arg) = args.next() {
        let (flag, inline) = match arg.text.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => {
                (flag, Some(Value { text: value.to_owned(), ..arg.clone() }))
            }
            _ => (arg.text.as_str(), None),
        };
        let is_stuck =
            SENT.iter().find(|sent| sent.len() == 2 && flag.starts_with(*sent) && flag.len() > 2);
        if SENT.contains(&flag) || is_stuck.is_some() {
            let stuck = is_stuck.map(|_| Value { text: flag[2..].to_owned(), ..arg.clone() });
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
                        scene,
                    );
                    body.absorb(&read);
                }
                None => body.push(&value),
            }
        } else if OTHER.contains(&flag) && (is_wget || flag != "-O") && (!is_wget || flag != "-c") {
            let value = inline.or_else(|| args.next().cloned()).unwrap_or_default();
            let is_output =
                matches!(flag, "-o" | "--output" | "--output-document") || flag == "-O" && is_wget;
            if is_output && value.text != "-" && !value.text.starts_with("/dev/") {
                target = Some(value.text.clone());
            } else if matches!(flag, "-X" | "--request")
                && matches!(value.text.as_str(), "POST" | "PUT" | "PATCH")
            {
                sends = true;
            }
        } else if flag.starts_with('-') && flag.len() > 1 {
            // Letters that stand together may end in one that takes a value.
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
    let mut answer = Value::unknown();
    for address in &addresses {
        let to = address.remote().unwrap_or_else(|| somewhere(address.text.trim()));
        let in_address = address.secrets();
        if !in_address.is_empty() {
            scene.add(
                call.range,
                Does::Send { to: to.clone(), secrets: in_address, by: Channel::Address },
            );
        }
        if sends {
            scene.add(
                call.range,
                Does::Send { to: to.clone(), secrets: body.secrets(), by: Channel::Body },
            );
        } else {
            scene.add(call.range, Does::Fetch(to.clone()));
        }
        answer.carries.insert(Carry::Fetched(to.clone()));
        let saves_by_name = is_wget && target.is_none() && !has(call, &["-O-", "-qO-"])
            || target.as_deref() == Some("");
        let name = if saves_by_name { Some(base_name(&to.text)) } else { target.clone() };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let content = Value::unknown().with(Carry::Fetched(to));
            shell.files.insert(name.clone(), content);
            scene.add(call.range, Does::Write { path: name, text: UNKNOWN.to_string() });
        }
    }
    if target.is_some() { Value::unknown() } else { answer }
}

fn base_name(address: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Programs that run what they are given.
fn interpret(shell: &mut Shell, call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let program = call.program.as_str();
    let language = match program {
        "python" | "python2" | "python3" | "py" => Language::Python,
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => Language::JavaScript,
        "perl" | "ruby" | "php" | "osascript" | "pwsh" | "powershell" | "cmd" | "iex" | "lua"
        | "mshta" | "rundll32" | "regsvr32" => Language::Other,
        _ => Language::Shell,
    };
    let mut code = None;
    let mut args = call.args.iter();
    if matches!(program, "eval" | "iex") {
        let mut all = Value::default();
        for arg in call.args.iter() {
            all.push(arg);
            all.push(&Value::plain(" "));
        }
        scene.add(call.range, Does::Evaluate { by: program.to_owned() });
        code = Some(all);
    }
    while let (None, Some(arg)) = (&code, args.next()) {
        let text = arg.text.as_str();
        let takes_code = match language {
            Language::Shell => {
                text == "-c"
                    || (text.starts_with('-') && text.ends_with('c') && !text.starts_with("--"))
            }
            Language::Python => text == "-c",
            Language::JavaScript => matches!(text, "-e" | "-p" | "--eval" | "--print" | "eval"),
            Language::Other => matches!(
                text,
                "-e" | "-r" | "-c" | "/c" | "/k" | "-E" | "-command" | "-Command" | "-ne"
            ),
        };
        let is_encoded =
            matches!(text.to_lowercase().as_str(), "-enc" | "-encodedcommand" | "-e" | "-ec")
                && matches!(program, "powershell" | "pwsh");
        if is_encoded {
            code = args.next().map(decoded_command);
        } else if takes_code {
            code = args.next().cloned();
            break;
        } else if language == Language::Other
            && matches!(program, "mshta" | "regsvr32" | "rundll32" | "powershell" | "pwsh" | "cmd")
            && !text.starts_with(['-', '/'])
        {
            // All of the rest is what it runs.
            let mut all = arg.clone();
            for more in args.by_ref() {
                all.push(&Value::plain(" "));
                all.push(more);
            }
            if let Some(from) = all
                .text
                .split([' ', '"', '\'', '(', ',', ':'])
                .find_map(|_| find_remote(&all.text))
                .filter(|_| matches!(program, "mshta" | "regsvr32" | "rundll32"))
            {
                all.carries.insert(Carry::Fetched(from));
            }
            code = Some(all);
        } else if !text.starts_with('-') || text == "-" {
            if matches!(text, "run" | "exec" | "-") {
                continue;
            }
            let file = if arg.fetched().is_some() || arg.decoded().is_some() {
                arg.clone()
            } else if let Some(from) = arg.remote().filter(|_| text.contains("://")) {
                Value::unknown().with(Carry::Fetched(from))
            } else {
                shell.written(text).unwrap_or_default()
            };
            code = Some(file);
        }
    }
    let is_interactive = call.args.iter().any(|arg| arg.text == "-i" || arg.text == "-li");
    let reads_input = code.is_none();
    let code = code.unwrap_or_else(|| call.stdin.clone());
    shell.run_code(&Code { text: &code, by: program, language }, call.range, scene);
    let mut output = Value::unknown();
    if language == Language::Shell && (is_interactive || reads_input) {
        output.made_by = Some("shell".to_owned());
    }
    output
}

fn find_remote(text: &str) -> Option<Remote> {
    let at = text.find("http")?;
    Remote::parse(text[at..].split([' ', '"', '\'', ')', ',']).next()?)
}

/// What PowerShell is given in base64.
fn decoded_command(arg: &Value) -> Value {
    let text = decode::base64(&arg.text).and_then(|bytes| decode::text(&bytes, &mut Vec::new()));
    let mut value = arg.only_carried().with(Carry::Decoded(Encoding::Base64));
    value.text = text.unwrap_or_else(|| UNKNOWN.to_string());
    value
}

fn connect(call: &Invocation<'_>, scene: &mut Scene) -> Value {
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
        scene.add(call.range, Does::RemoteShell { form: format!("a shell over {}", call.program) });
    }
    let listens = has_letter(call, 'l');
    if let Some(to) = to.filter(|_| !listens) {
        let is_probe = has_letter(call, 'z');
        if !is_probe && (!call.stdin.carries.is_empty() || !call.stdin.text.is_empty()) {
            scene.add(
                call.range,
                Does::Send { to: to.clone(), secrets: call.stdin.secrets(), by: Channel::Body },
            );
        }
        return Value::unknown().with(Carry::Fetched(to));
    }
    Value::unknown()
}

fn look_up(call: &Invocation<'_>, scene: &mut Scene) -> Value {
    for arg in call.args.iter().filter(|arg| !arg.secrets().is_empty()) {
        let name = arg.text.trim_start_matches([UNKNOWN, '.']).to_owned();
        let to = Remote::parse(&name).unwrap_or_else(|| somewhere(&name));
        scene.add(call.range, Does::Send { to, secrets: arg.secrets(), by: Channel::Lookup });
    }
    Value::unknown()
}

/// Programs that copy files to other machines.
fn copy_away(shell: &mut Shell, call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let mut body = call.stdin.clone();
    let is_target = |arg: &&Value| arg.text.contains(':') && !arg.text.starts_with('-');
    for arg in call.args.iter().filter(|arg| PathClass::of(&arg.text).is_secret()) {
        let read = shell.read(arg, call.range, scene);
        body.absorb(&read);
    }
    if let Some(target) = call.args.iter().rfind(is_target) {
        let host = target.text.split(':').next().unwrap_or_default();
        let to =
            Remote::parse(&format!("tcp://{host}/")).unwrap_or_else(|| somewhere(&target.text));
        if !body.secrets().is_empty() {
            scene.add(call.range, Does::Send { to, secrets: body.secrets(), by: Channel::Body });
        }
    }
    Value::unknown()
}

/// Programs that make a file of others.
fn pack(shell: &mut Shell, call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let files: Vec<&Value> = call.args.iter().filter(|arg| !arg.text.starts_with('-')).collect();
    let mut content = call.stdin.only_carried();
    for file in &files {
        if PathClass::of(&file.text).is_secret() || shell.written(file.text.trim()).is_some() {
            let read = shell.read(file, call.range, scene);
            content.absorb(&read);
        }
        content.absorb(file);
    }
    let target = match call.program.as_str() {
        "tar" => {
            // What comes after the letters with an `f` among them.
            let at = call.args.iter().position(|arg| {
                let letters = arg.text.trim_start_matches('-');
                letters.contains('f')
                    && letters.len() <= 6
                    && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
                    && !arg.text.starts_with("--")
            });
            at.and_then(|at| call.args.get(at + 1))
        }
        "zip" | "7z" => files
            .iter()
            .find(|file| file.text.contains(".zip") || file.text.contains(".7z"))
            .copied(),
        _ => files.last().filter(|_| files.len() > 1).copied(),
    };
    if let Some(target) = target {
        shell.files.insert(target.text.trim().to_owned(), content.clone());
        let is_copy = matches!(call.program.as_str(), "cp" | "mv" | "ln" | "install");
        if is_copy && PathClass::of(&target.text).is_lasting() {
            scene.add(
                call.range,
                Does::Write { path: target.text.clone(), text: UNKNOWN.to_string() },
            );
        }
    }
    content
}

fn keychain(call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let reads = call.args.iter().any(|arg| {
        matches!(
            arg.text.as_str(),
            "find-generic-password"
                | "find-internet-password"
                | "dump-keychain"
                | "export"
                | "lookup"
                | "search"
                | "-r"
                | "read"
                | "print"
        )
    });
    if !reads {
        return Value::unknown();
    }
    scene.add(call.range, Does::Read("login.keychain".to_owned()));
    Value::unknown().with(Carry::File(PathClass::Vault, "login.keychain".to_owned()))
}

/// Programs that make something run later.
fn lasting(call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let first = call.args.first().map(|arg| arg.text.to_lowercase()).unwrap_or_default();
    let all = call.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    let is_lasting = match call.program.as_str() {
        "crontab" => !matches!(first.as_str(), "-l" | "-e" | ""),
        "launchctl" => matches!(first.as_str(), "load" | "bootstrap" | "submit"),
        "systemctl" => all.contains("enable"),
        "schtasks" => all.to_lowercase().contains("/create"),
        "reg" => first == "add" && all.to_lowercase().contains("currentversion\\run"),
        _ => false,
    };
    if is_lasting {
        let path = match call.program.as_str() {
            "systemctl" => "~/.config/systemd",
            "launchctl" => "~/Library/LaunchAgents",
            _ => "/var/spool/cron",
        };
        scene.add(call.range, Does::Write { path: path.to_owned(), text: call.stdin.text.clone() });
    }
    Value::unknown()
}

fn install(call: &Invocation<'_>, scene: &mut Scene) -> Value {
    let words: Vec<&Value> = call.args.iter().filter(|arg| !arg.text.starts_with('-')).collect();
    let verbs = [
        "install", "i", "add", "get", "pip", "tool", "global", "dlx", "x", "exec", "create",
        "init", "run",
    ];
    let is_runner = matches!(call.program.as_str(), "npx" | "uvx" | "bunx");
    let installs = is_runner
        || words.iter().any(|word| {
            matches!(word.text.as_str(), "install" | "i" | "add" | "get" | "dlx" | "exec" | "x")
        });
    if installs && let Some(what) = words.iter().find(|word| !verbs.contains(&word.text.as_str())) {
        scene.add(call.range, Does::Install { by: call.program.clone(), what: what.text.clone() });
        let source = call.args.iter().filter_map(|arg| {
            let text = arg.text.strip_prefix("git+").unwrap_or(&arg.text);
            let text = text.rsplit_once('=').map_or(text, |(_, value)| value);
            Remote::parse(text).filter(|_| text.contains("://"))
        });
        for from in source {
            scene.add(call.range, Does::Fetch(from.clone()));
            if !matches!(
                from.class,
                HostClass::Registry | HostClass::Code | HostClass::Vendor | HostClass::Local
            ) {
                scene.add(call.range, Does::Install { by: call.program.clone(), what: from.text });
            }
        }
    }
    Value::unknown()
}

/// What is dangerous by itself.
fn dangers(call: &Invocation<'_>, scene: &mut Scene) {
    let all = call.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    let lower = all.to_lowercase();
    let program = call.program.as_str();
    let destroyed = match program {
        "rm" if has_letter(call, 'r') || has(call, &["--recursive"]) => call
            .args
            .iter()
            .map(|arg| arg.text.trim_end_matches("/*").trim_end_matches('/'))
            .find(|path| {
                matches!(
                    *path,
                    "" | "~" | "/*" | "/home" | "/etc" | "/usr" | "/var" | "/Users" | "C:\\"
                )
            })
            .filter(|_| call.args.iter().any(|arg| arg.text.starts_with(['/', '~'])))
            .map(|path| if path.is_empty() { "/".to_owned() } else { path.to_owned() }),
        "dd" if lower.contains("of=/dev/sd")
            || lower.contains("of=/dev/nvme")
            || lower.contains("of=/dev/disk") =>
        {
            Some("a disk".to_owned())
        }
        name if name.starts_with("mkfs") => Some("a disk".to_owned()),
        "shred" if lower.contains("/dev/") || lower.contains('~') => Some(all.clone()),
        "diskutil" if lower.contains("erasedisk") => Some("a disk".to_owned()),
        "vssadmin" if lower.contains("delete shadows") => {
            Some("copies that could bring files back".to_owned())
        }
        _ => None,
    };
    if let Some(what) = destroyed {
        scene.add(call.range, Does::Destroy { what });
    }
    let weakened = match program {
        "xattr" => (lower.contains("quarantine")
            || lower.starts_with("-c")
            || lower.starts_with("-rc")
            || lower.starts_with("-cr"))
        .then_some("the system's check of downloads"),
        "spctl" => lower.contains("disable").then_some("the system's check of programs"),
        "csrutil" => lower.contains("disable").then_some("the system's own protection"),
        "setenforce" => (all.trim() == "0").then_some("SELinux"),
        "ufw" => lower.contains("disable").then_some("the firewall"),
        "iptables" => (all.trim() == "-F").then_some("the firewall"),
        "set-mppreference" | "add-mppreference" => Some("the virus scanner"),
        "history" => (all.trim() == "-c").then_some("the record of commands"),
        "unset" => lower.contains("histfile").then_some("the record of commands"),
        _ => None,
    };
    if let Some(what) = weakened {
        scene.add(call.range, Does::Weaken { what: what.to_owned() });
    }
    if matches!(program, "xmrig" | "minerd" | "cpuminer" | "ethminer" | "nbminer" | "t-rex")
        || lower.contains("stratum+tcp")
        || lower.contains("stratum+ssl")
    {
        scene.add(call.range, Does::Mine { what: program.to_owned() });
    }
}
