//! Programs that print, filter and decode text.

use super::{has, has_letter};
use crate::decode::{self, Encoding};
use crate::hosts::UNKNOWN;
use crate::op::{Action, OpCollector};
use crate::shell_code::{Invocation, Shell};
use crate::value::{Taint, Value};

pub(super) fn print(call: &Invocation<'_>) -> Value {
    let is_option =
        |arg: &&Value| matches!(arg.text.as_str(), "-e" | "-n" | "-ne" | "-en" | "-E" | "--");
    let escapes = call.program == "printf" || has_letter(call, 'e');
    let mut value = Value::default();
    let mut args = call.args.iter().filter(|arg| !is_option(arg));
    if call.program == "printf"
        && call.args.len() > 1
        && let Some(format) = args.next()
    {
        // Each `%s` in the format takes the next argument, if there is one.
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
            value.taints.insert(Taint::Decoded(Encoding::Escapes));
        }
    }
    value
}

pub(super) fn filter(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Value {
    let mut value =
        if call.program == "cat" { call.stdin.clone() } else { call.stdin.without_text() };
    for arg in call.args.iter().filter(|arg| !arg.text.starts_with('-')) {
        let looks_like_file =
            arg.text.contains(['/', '.', '~']) && !arg.text.contains(['\n', '{', '|']);
        if call.program == "cat" || call.program == "get-content" || looks_like_file {
            let read = shell.read(arg, call.range, collector);
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

pub(super) fn reversed(stdin: &Value) -> Value {
    let mut value = stdin.clone().with(Taint::Decoded(Encoding::Reversed));
    value.text = value.text.trim_end().chars().rev().collect();
    value
}

pub(super) fn translated(call: &Invocation<'_>) -> Value {
    let sets: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let is_rot13 = matches!(sets.as_slice(), [from, to] if from.to_uppercase().contains("A-Z") && to.to_uppercase().contains("N-Z"));
    let mut value = call.stdin.clone();
    if is_rot13 {
        value.text = decode::rot13(&value.text);
        return value.with(Taint::Decoded(Encoding::Rot13));
    }
    match sets.as_slice() {
        ["-d", set] => value.text.retain(|c| !shell::sketch::escapes(set).contains(c)),
        [from, to] if from.chars().count() == 1 && to.chars().count() == 1 => {
            value.text = value.text.replace(*from, to);
        }
        _ if !value.text.is_empty() => value = value.without_text(),
        _ => {}
    }
    value
}

/// Traces programs that encode and decode.
pub(super) fn encode_or_decode(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Value {
    let file = call.args.iter().rfind(|arg| {
        !arg.text.starts_with('-') && !matches!(arg.text.as_str(), "enc" | "base64" | "decode")
    });
    let mut input = call.stdin.clone();
    if let Some(file) = file
        && input.text.is_empty()
    {
        input = shell.read(file, call.range, collector);
    }
    let decodes = match call.program.as_str() {
        "gunzip" | "zcat" | "uudecode" => true,
        "xxd" => has_letter(call, 'r'),
        _ => has(call, &["--decode", "--decompress", "-decode", "-D"]) || has_letter(call, 'd'),
    };
    if !decodes {
        return input.without_text();
    }
    let bytes = match call.program.as_str() {
        "base32" => decode::base32(&input.text).map(|bytes| (Encoding::Base32, bytes)),
        "xxd" => decode::hex(&input.text).map(|bytes| (Encoding::Hex, bytes)),
        "gunzip" | "zcat" | "gzip" => {
            // Compressed bytes are not available as text here.
            return input.without_text().with(Taint::Decoded(Encoding::Gzip));
        }
        _ => decode::base64(&input.text).map(|bytes| (Encoding::Base64, bytes)),
    };
    let (encoding, bytes) = bytes.unwrap_or((Encoding::Base64, Vec::new()));
    let text = decode::text(&bytes, &mut Vec::new()).filter(|text| !text.is_empty());
    let mut value = input.without_text().with(Taint::Decoded(encoding));
    if let Some(text) = text.filter(|_| input.is_known()) {
        value.text = text;
    }
    value
}

pub(super) fn environment(call: &Invocation<'_>, collector: &mut OpCollector) -> Value {
    let named = call.args.iter().find(|arg| !arg.text.starts_with('-'));
    match (call.program.as_str(), named) {
        ("printenv", Some(name)) => {
            collector.add(call.range, Action::Variable(Some(name.text.clone())));
            Value::unknown().with(Taint::Variable(name.text.clone()))
        }
        ("env" | "printenv", None) => {
            collector.add(call.range, Action::Variable(None));
            Value::unknown().with(Taint::Environment)
        }
        ("set" | "export" | "declare", None)
            if call.args.iter().all(|arg| matches!(arg.text.as_str(), "-p" | "-x")) =>
        {
            Value::unknown().with(Taint::Environment)
        }
        _ => Value::default(),
    }
}
