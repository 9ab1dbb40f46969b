//! Calls that communicate with hosts.

use std::ops::Range;

use super::calls::Call;
use super::evaluate::Program;
use super::library::CallEffect;
use crate::hosts::{Remote, UNKNOWN};
use crate::op::{Action, Channel, OpCollector};
use crate::programs::unknown_remote;
use crate::value::{Taint, Value};

/// Keyword arguments that are sent.
const SENT: [&str; 9] =
    ["data", "json", "files", "body", "content", "params", "form", "payload", "fields"];

impl Program {
    /// Applies a method of a library object; the call's name is the variable that contains the object.
    pub(super) fn apply_method(
        &mut self,
        effect: CallEffect,
        object: &Value,
        call: &Call<'_>,
        collector: &mut OpCollector,
    ) -> Value {
        // A client with a base URL takes paths.
        let base = object
            .remote()
            .filter(|_| !object.text.contains(UNKNOWN) || object.text.contains("://"));
        let path = if effect == CallEffect::Request { call.nth(1) } else { call.nth(0) };
        let is_relative =
            matches!(effect, CallEffect::Fetch | CallEffect::Send | CallEffect::Request)
                && path.remote().is_none();
        if let Some(to) = base.filter(|_| is_relative) {
            let secrets = call.all().secrets();
            let action = if effect == CallEffect::Fetch && secrets.is_empty() {
                Action::Fetch(to.clone())
            } else {
                Action::Send { to: to.clone(), secrets: sent(call).secrets(), by: Channel::Body }
            };
            collector.add(call.range, action);
            return Value::unknown().with(Taint::Fetched(to));
        }
        match effect {
            CallEffect::Connect => {
                let to = connection(call);
                collector.add(call.range, Action::Fetch(to.clone()));
                self.connections.insert(call.name.to_owned(), to.clone());
                Value::unknown().with(Taint::Fetched(to))
            }
            CallEffect::SendOpen => {
                let known = self.connections.get(call.name).cloned().or_else(|| object.remote());
                let known = known.or_else(|| self.values.get(call.name).and_then(Value::remote));
                let to = known.unwrap_or_else(|| unknown_remote(call.name));
                let secrets = call.all().secrets();
                collector.add(call.range, Action::Send { to, secrets, by: Channel::Body });
                Value::unknown()
            }
            other => self.apply_effect(other, call, collector),
        }
    }

    pub(super) fn fetch(
        &mut self,
        address: &Value,
        call: &Call<'_>,
        collector: &mut OpCollector,
    ) -> Value {
        let to = remote(address);
        collector.add(call.range, Action::Fetch(to.clone()));
        in_address(address, &to, call.range, collector);
        in_headers(call, &to, collector);
        if let Some(params) = call.named("params") {
            in_address(&params, &to, call.range, collector);
        }
        let answer = Value::unknown().with(Taint::Fetched(to));
        if call.name.ends_with("urlretrieve") || call.name == "wget.download" {
            let path = call.nth(1).text;
            if let Some(from) = answer.fetched().filter(|_| !path.is_empty()) {
                collector.add(call.range, Action::Save { from: from.clone(), path: path.clone() });
            }
            self.files.insert(path, answer.clone());
        }
        answer
    }

    pub(super) fn send(
        &mut self,
        address: &Value,
        call: &Call<'_>,
        collector: &mut OpCollector,
    ) -> Value {
        let to = remote(address);
        let (mut body, mut is_sent) = (Value::default(), false);
        for (at, (name, value)) in call.args.iter().enumerate() {
            let is_body = match name {
                Some(name) => SENT.contains(&name.as_str()),
                // `fetch(url, {body})` and `axios.post(url, data)`.
                None => at > 0,
            };
            if is_body {
                is_sent = true;
                body.absorb(value);
            }
        }
        in_address(address, &to, call.range, collector);
        in_headers(call, &to, collector);
        collector.add(
            call.range,
            if is_sent {
                Action::Send { to: to.clone(), secrets: body.secrets(), by: Channel::Body }
            } else {
                Action::Fetch(to.clone())
            },
        );
        // A request that is still open is written to later, through its variable.
        let is_open = matches!(call.name, "https.request" | "http.request");
        let text = if is_open { to.text.clone() } else { UNKNOWN.to_string() };
        Value { text, ..Value::default() }.with(Taint::Fetched(to))
    }

    pub(super) fn connect(&mut self, call: &Call<'_>, collector: &mut OpCollector) -> Value {
        let to = connection(call);
        collector.add(call.range, Action::Fetch(to.clone()));
        let made_by = Some(call.name.to_owned());
        Value { made_by, text: to.text.clone(), ..Value::default() }.with(Taint::Fetched(to))
    }

    pub(super) fn look_up(
        &mut self,
        name: &Value,
        call: &Call<'_>,
        collector: &mut OpCollector,
    ) -> Value {
        // A computed host name can contain any data.
        if !name.secrets().is_empty() || !name.is_known() || name.text.contains('%') {
            let host = name.text.rsplit([UNKNOWN, '%']).next().unwrap_or_default();
            let host = host.trim_start_matches(['s', 'd', '.']);
            let to =
                Remote::parse(&format!("tcp://{host}")).unwrap_or_else(|| unknown_remote(host));
            collector
                .add(call.range, Action::Send { to, secrets: name.secrets(), by: Channel::Lookup });
        }
        Value::unknown()
    }
}

/// Returns the arguments of a call that are sent in the body.
fn sent(call: &Call<'_>) -> Value {
    let mut body = Value::default();
    for (at, (name, value)) in call.args.iter().enumerate() {
        let is_body = name.as_ref().map_or(at > 0, |name| SENT.contains(&name.as_str()));
        if is_body {
            body.absorb(value);
        }
    }
    body
}

/// Collects secrets in the headers of a request.
fn in_headers(call: &Call<'_>, to: &Remote, collector: &mut OpCollector) {
    let headers =
        call.args.iter().filter(|(name, _)| matches!(name.as_deref(), Some("headers" | "cookies")));
    let mut all = Value::default();
    let mut foreign = Value::default();
    headers.for_each(|(_, value)| {
        all.absorb(value);
        foreign.taints.extend(value.foreign_fields());
        for (_, taints) in &value.fields {
            all.taints.extend(taints.iter().cloned());
        }
    });
    if !foreign.secrets().is_empty() {
        let (to, secrets) = (to.clone(), foreign.secrets());
        collector.add(call.range, Action::Send { to, secrets, by: Channel::Body });
    }
    if !all.secrets().is_empty() {
        let (to, secrets) = (to.clone(), all.secrets());
        collector.add(call.range, Action::Send { to, secrets, by: Channel::Header });
    }
}

fn in_address(address: &Value, to: &Remote, range: &Range<usize>, collector: &mut OpCollector) {
    if !address.secrets().is_empty() {
        let (to, secrets) = (to.clone(), address.secrets());
        collector.add(range, Action::Send { to, secrets, by: Channel::Address });
    }
}

fn remote(address: &Value) -> Remote {
    address.remote().unwrap_or_else(|| unknown_remote(&address.text))
}

/// Returns the address of a connection: `("host", port)`, `"host"`, or an options object.
fn connection(call: &Call<'_>) -> Remote {
    let first = call.nth(0);
    let host = first.items.first().cloned().or_else(|| call.named("host")).unwrap_or(first);
    let is_port = host.text.chars().all(|c| c.is_ascii_digit());
    let host = if is_port { call.nth(1) } else { host };
    let text = ["wss://", "ws://", "https://", "http://"]
        .iter()
        .find_map(|scheme| host.text.strip_prefix(scheme))
        .unwrap_or(&host.text);
    Remote::parse(&format!("tcp://{text}")).unwrap_or_else(|| unknown_remote(&host.text))
}
