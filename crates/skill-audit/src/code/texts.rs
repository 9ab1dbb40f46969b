//! String operations: join, reverse, decode.

use super::calls::{Args, Call};
use super::evaluate::Program;
use crate::decode::{self, Encoding};
use crate::hosts::UNKNOWN;
use crate::op::{Action, OpCollector};
use crate::value::{Taint, Value};

impl Program {
    /// Applies a method of a string, a file or a response.
    pub(super) fn method(
        &mut self,
        object: &Value,
        call: &Call<'_>,
        collector: &mut OpCollector,
    ) -> Value {
        let (first, args) = (call.nth(0), call.args);
        let same = |text: String| Value { text, ..object.clone() };
        match call.name {
            "read" | "readlines" | "readline" | "json" | "text" | "items" | "copy"
            | "iter_content"
                if !object.taints.is_empty() =>
            {
                object.without_text()
            }
            "read" | "text" => object.clone(),
            "read_text" | "read_bytes" => self.read(object, call, collector),
            "write_text" | "write_bytes" => {
                self.write(object, &first, call.range, collector);
                Value::unknown()
            }
            "unlink" => {
                if let Some((what, protection)) = crate::programs::erased(&object.text) {
                    collector.add(call.range, Action::Weaken { what: what.to_owned(), protection });
                }
                Value::unknown()
            }
            "save" if !call.all().secrets().is_empty() || !object.secrets().is_empty() => {
                let mut content = object.without_text();
                content.absorb(&call.all());
                self.files.insert(first.text.clone(), content);
                Value::unknown()
            }
            "write" if object.made_by.as_deref() == Some("open:w") => {
                let path = Value::plain(object.text.clone());
                self.write(&path, &first, call.range, collector);
                Value::unknown()
            }
            "decode" | "encode" | "strip" | "trim" | "toString" | "expanduser" | "resolve"
            | "as_posix" | "lower" | "toLowerCase" | "rstrip" | "lstrip"
                if first.text == "rot13" || first.text == "rot_13" =>
            {
                same(decode::rot13(&object.text)).with(Taint::Decoded(Encoding::Rot13))
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
                let mut value = same(object.text.replace(&first.text, &call.nth(1).text));
                value.taints.extend(call.nth(1).taints);
                value
            }
            "split" if object.is_known() && object.text.len() > 4096 => object.without_text(),
            "split" if object.is_known() && first.text.is_empty() => Value {
                items: object.text.chars().map(|c| Value::plain(c.to_string())).collect(),
                ..object.without_text()
            },
            "split" if object.is_known() => Value {
                items: object.text.split(&first.text).map(Value::plain).collect(),
                ..object.without_text()
            },
            "reverse" if !object.items.is_empty() => {
                Value { items: object.items.iter().rev().cloned().collect(), ..object.clone() }
                    .with(Taint::Decoded(Encoding::Reversed))
            }
            "fromCharCode" | "fromCodePoint" => characters(args),
            "from" if first.is_known() => match call.nth(1).text.as_str() {
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
                let mut value = object.without_text();
                args.iter().for_each(|(_, arg)| value.absorb(arg));
                value
            }
        }
    }
}

pub(super) fn decoded(value: &Value, encoding: Encoding) -> Value {
    let bytes = match encoding {
        Encoding::Base64 => decode::base64(&value.text),
        Encoding::Base32 => decode::base32(&value.text),
        Encoding::Hex => decode::hex(&value.text),
        Encoding::Percent => Some(decode::percent(&value.text).into_bytes()),
        _ => None,
    };
    let text =
        bytes.filter(|_| value.is_known()).and_then(|bytes| decode::text(&bytes, &mut Vec::new()));
    let mut decoded = value.without_text();
    if encoding != Encoding::Percent || text.as_deref() != Some(value.text.as_str()) {
        decoded.taints.insert(Taint::Decoded(encoding));
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
    whole.taints.extend(list.taints.iter().cloned());
    whole
}

/// Converts character codes to text.
pub(super) fn characters(args: &Args) -> Value {
    let list = args.iter().flat_map(|(_, value)| {
        if value.items.is_empty() { vec![value.clone()] } else { value.items.clone() }
    });
    let text: Option<String> =
        list.map(|value| value.text.parse::<u32>().ok().and_then(char::from_u32)).collect();
    match text {
        Some(text) => Value::plain(text).with(Taint::Decoded(Encoding::Escapes)),
        None => Value::unknown().with(Taint::Decoded(Encoding::Escapes)),
    }
}
