//! Models the programs that scripts start: what they read, send, run and print.

mod dangers;
mod install;
mod interpret;
mod network;
mod texts;

pub(crate) use install::{package_name, registry};

use skill::interpreters::{self, InterpreterLanguage};

use crate::hosts::{HostClass, Remote, UNKNOWN};
use crate::op::{Action, OpCollector};
use crate::paths::PathClass;
use crate::shell_code::{Invocation, Shell};
use crate::value::{Taint, Value};
use dangers::{dangers, keychain, persistence};
pub(crate) use dangers::{erased, weakening_variable};
use install::install;
use interpret::interpret;
use network::{connect, copy_to_remote, look_up, publish, transfer};
use texts::{encode_or_decode, environment, filter, print, reversed, translated};

/// Returns a program's name without its folder, in lower case.
pub(crate) fn base(text: &str) -> String {
    let name = text.trim().rsplit(['/', '\\']).next().unwrap_or(text).to_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

/// Returns the program that a package is named after: `axis` for `@netlify/axis`.
fn program_name(package: &str) -> String {
    package.rsplit(['/', ':']).next().unwrap_or(package).to_lowercase()
}

/// Returns a remote address whose host is unknown.
pub(crate) fn unknown_remote(text: &str) -> Remote {
    Remote {
        text: text.to_owned(),
        host: String::new(),
        class: HostClass::Unknown,
        is_plain: false,
    }
}

/// Returns the number of words before the wrapped command; 0 if the program is not a wrapper.
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
    // `env` and similar wrappers are commands themselves if no command follows.
    if at < words.len() { at } else { 0 }
}

/// Collects what a command does and returns its output.
pub(crate) fn run(shell: &mut Shell, call: &Invocation<'_>, collector: &mut OpCollector) -> Value {
    let range = call.range;
    let program = call.program.as_str();
    let name = if program.contains(UNKNOWN) { String::new() } else { program.to_owned() };
    collector.add(range, Action::Run { program: name });
    dangers(call, collector);
    match interpreters::find_ignoring_case(program) {
        Some(known) if known.language == InterpreterLanguage::Awk => {
            return filter(shell, call, collector);
        }
        Some(known) if !known.code_flags.is_empty() => {
            let is_python = known.language == InterpreterLanguage::Python;
            if is_python && install::module(shell, call, collector) {
                return Value::unknown();
            }
            return interpret(shell, call, Some(known), collector);
        }
        Some(_) | None => {}
    }
    match program {
        "echo" | "printf" => print(call),
        "cat" | "head" | "tail" | "tac" | "less" | "more" | "nl" | "strings" | "grep" | "egrep"
        | "rg" | "sed" | "sort" | "uniq" | "cut" | "jq" | "column" | "fold" | "type"
        | "get-content" => filter(shell, call, collector),
        "rev" => reversed(&call.stdin),
        "tr" => translated(call),
        "base64" | "gbase64" | "base32" | "xxd" | "openssl" | "gunzip" | "zcat" | "gzip"
        | "certutil" | "uudecode" => encode_or_decode(shell, call, collector),
        "env" | "printenv" | "set" | "export" | "declare" => environment(call, collector),
        "hostname" | "whoami" | "uname" | "id" | "ifconfig" | "sw_vers" => {
            Value::unknown().with(Taint::Machine)
        }
        "curl" | "wget" | "http" | "https" | "xh" | "aria2c" | "curlie" | "lynx" | "w3m"
        | "links" | "fetch" | "get" => transfer(shell, call, collector),
        // Shell builtins and Windows commands that execute their arguments.
        "eval" | "source" | "." | "iex" | "mshta" | "rundll32" | "regsvr32" => {
            interpret(shell, call, None, collector)
        }
        "nc" | "ncat" | "netcat" | "socat" | "telnet" => connect(call, collector),
        "dig" | "nslookup" | "host" | "ping" | "drill" => look_up(call, collector),
        "scp" | "rsync" | "sftp" | "rclone" | "aws" | "gsutil" | "s3cmd" => {
            copy_to_remote(shell, call, collector)
        }
        "tee" | "sponge" => {
            for arg in call.args.iter().filter(|arg| !arg.text.starts_with('-')) {
                shell.write_to(arg, &call.stdin, range, collector);
            }
            call.stdin.clone()
        }
        "read" => {
            // `read` stores its input in variables.
            for name in call.args.iter().filter(|arg| !arg.text.starts_with('-')) {
                shell.variables.insert(name.text.clone(), call.stdin.without_text());
            }
            Value::default()
        }
        "unzip" | "bsdtar" | "unrar" | "7za" | "hdiutil" | "ditto" => unpack(shell, call),
        "tar" | "7z" if is_unpacking(call) => unpack(shell, call),
        "cp" | "mv" | "ln" | "install" | "tar" | "zip" | "7z" | "gpg" | "dd" => {
            pack(shell, call, collector)
        }
        "security" | "secret-tool" | "kwallet-query" | "keyctl" => keychain(call, collector),
        "crontab" | "launchctl" | "systemctl" | "schtasks" | "at" | "reg" => {
            persistence(shell, call, collector)
        }
        _ if registry(program).is_some() => install(shell, call, collector),
        "git" if has(call, &["clone", "fetch", "pull", "submodule", "ls-remote"]) => {
            fetch_repository(shell, call, collector)
        }
        "git" if has(call, &["archive", "bundle"]) => pack_repository(shell, call),
        "gh" => publish(shell, call, collector),
        // These programs use keys legitimately, or do not read file contents.
        "ssh" | "ssh-add" | "ssh-keygen" | "ssh-copy-id" | "git" | "docker" | "kubectl"
        | "chmod" | "ls" | "mkdir" | "touch" | "test" | "[" | "stat" | "find" | "code" | "vim"
        | "nano" => Value::unknown(),
        _ => {
            // Any other program is assumed to read the files in its arguments.
            let mut value = Value::unknown();
            for arg in &call.args {
                if PathClass::of(&arg.text).is_secret() && !arg.text.starts_with('-') {
                    let read = shell.read(arg, range, collector);
                    value.absorb(&read);
                }
                value.absorb(arg);
            }
            value.absorb(&call.stdin);
            // The program may write the secret into a file: `exiftool -Comment="$TOKEN" logo.png`.
            if !value.secrets().is_empty() {
                let is_file = |arg: &&Value| {
                    arg.text.contains('.') && !arg.text.starts_with('-') && arg.is_known()
                };
                for file in call.args.iter().filter(is_file) {
                    shell.files.insert(file.text.trim().to_owned(), value.without_text());
                }
            }
            value
        }
    }
}

pub(super) fn has(call: &Invocation<'_>, flags: &[&str]) -> bool {
    call.args.iter().any(|arg| flags.contains(&arg.text.as_str()))
}

/// Returns true if a letter is among the short options, which can be combined: `-sSfL` has `f`.
pub(super) fn has_letter(call: &Invocation<'_>, letter: char) -> bool {
    call.args.iter().any(|arg| {
        arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains(letter)
    })
}

/// Returns true if an archive is extracted rather than created.
fn is_unpacking(call: &Invocation<'_>) -> bool {
    call.args.first().is_some_and(|arg| {
        arg.text.contains('x') && !arg.text.contains('.') && !arg.text.starts_with("--")
    }) || has(call, &["--extract", "-x"])
}

fn fetch_repository(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Value {
    if let Some(from) =
        call.args.iter().filter(|arg| arg.text.contains("://")).find_map(Value::remote)
    {
        collector.add(call.range, Action::Fetch(from.clone()));
        let is_usual = matches!(
            from.class,
            HostClass::Code | HostClass::Vendor | HostClass::Registry | HostClass::Local
        );
        if has(call, &["clone"]) && !is_usual {
            shell.unpacked = Some(from);
        }
    }
    Value::unknown()
}

/// Packs the whole repository, with its history.
fn pack_repository(shell: &mut Shell, call: &Invocation<'_>) -> Value {
    let content = Value::unknown().with(Taint::Workspace);
    let names = call.args.iter().filter(|arg| arg.text.contains('.') && !arg.text.starts_with('-'));
    let names: Vec<String> = names.map(|arg| arg.text.trim().to_owned()).collect();
    names.into_iter().for_each(|name| drop(shell.files.insert(name, content.clone())));
    content
}

/// Files from a downloaded archive come from its host. Archives from well-known hosts are common and not tracked.
fn unpack(shell: &mut Shell, call: &Invocation<'_>) -> Value {
    let named = call.args.iter().filter_map(|arg| shell.written(arg.text.trim()));
    let from = named.chain([call.stdin.clone()]).find_map(|value| value.fetched().cloned());
    if let Some(from) = from.filter(|from| {
        !matches!(
            from.class,
            HostClass::Code | HostClass::Vendor | HostClass::Registry | HostClass::Local
        )
    }) {
        shell.unpacked = Some(from);
    }
    Value::unknown()
}

/// Traces programs that copy or archive files.
fn pack(shell: &mut Shell, call: &Invocation<'_>, collector: &mut OpCollector) -> Value {
    let files: Vec<&Value> = call.args.iter().filter(|arg| !arg.text.starts_with('-')).collect();
    let mut content = call.stdin.without_text();
    for file in &files {
        if PathClass::of(&file.text).is_secret() || shell.written(file.text.trim()).is_some() {
            let read = shell.read(file, call.range, collector);
            content.absorb(&read);
        }
        content.absorb(file);
    }
    let is_archive = matches!(call.program.as_str(), "tar" | "zip" | "7z");
    let is_whole = |arg: &Value| {
        matches!(arg.text.trim_end_matches("/*").trim_end_matches('/'), "." | "~" | ".." | "/home")
    };
    if is_archive && call.args.iter().any(is_whole) {
        content.taints.insert(Taint::Workspace);
    }
    let target = match call.program.as_str() {
        "tar" => {
            // The archive follows the option letters that include `f`.
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
        if is_copy && PathClass::of(&target.text).is_persistent() {
            collector.add(
                call.range,
                Action::Write { path: target.text.clone(), text: UNKNOWN.to_string() },
            );
        }
    }
    content
}
