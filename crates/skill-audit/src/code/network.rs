//! Calls that talk to hosts.

use std::ops::Range;

use super::calls::Call;
use super::evaluate::Program;
use super::library::Meaning;
use crate::hosts::{Remote, UNKNOWN};
use crate::op::{Action, Channel, OpCollector};
use crate::programs::somewhere;
use crate::value::{Carry, Value};

/// Arguments that are sent, by name.
const SENT: [&str; 8] = ["data", "json", "files", "body", "content", "params", "form", "payload"];

impl Program {
    /// Carries out a method of a value that a library made; the call's name is that of the value.
    pub(super) fn act_on(
        &mut self,
        meaning: Meaning,
        call: &Call<'_>,
        scene: &mut OpCollector,
    ) -> Value {
        match meaning {
            Meaning::Connect => {
                let to = connection(call);
                scene.add(call.range, Action::Fetch(to.clone()));
                self.connections.insert(call.name.to_owned(), to.clone());
                Value::unknown().with(Carry::Fetched(to))
            }
            Meaning::SendOpen => {
                let known = self.connections.get(call.name).cloned();
                let known = known.or_else(|| self.values.get(call.name).and_then(Value::remote));
                let to = known.unwrap_or_else(|| somewhere(call.name));
                let secrets = call.all().secrets();
                scene.add(call.range, Action::Send { to, secrets, by: Channel::Body });
                Value::unknown()
            }
            other => self.act(other, call, scene),
        }
    }

    pub(super) fn fetch(
        &mut self,
        address: &Value,
        call: &Call<'_>,
        scene: &mut OpCollector,
    ) -> Value {
        let to = remote(address);
        scene.add(call.range, Action::Fetch(to.clone()));
        in_address(address, &to, call.range, scene);
        if let Some(params) = call.named("params") {
            in_address(&params, &to, call.range, scene);
        }
        let answer = Value::unknown().with(Carry::Fetched(to));
        if call.name.ends_with("urlretrieve") || call.name == "wget.download" {
            self.files.insert(call.nth(1).text, answer.clone());
        }
        answer
    }

    pub(super) fn send(
        &mut self,
        address: &Value,
        call: &Call<'_>,
        scene: &mut OpCollector,
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
        in_address(address, &to, call.range, scene);
        scene.add(
            call.range,
            if is_sent {
                Action::Send { to: to.clone(), secrets: body.secrets(), by: Channel::Body }
            } else {
                Action::Fetch(to.clone())
            },
        );
        // A request that is still open is written to by its name.
        let is_open = matches!(call.name, "https.request" | "http.request");
        let text = if is_open { to.text.clone() } else { UNKNOWN.to_string() };
        Value { text, ..Value::default() }.with(Carry::Fetched(to))
    }

    pub(super) fn connect(&mut self, call: &Call<'_>, scene: &mut OpCollector) -> Value {
        let to = connection(call);
        scene.add(call.range, Action::Fetch(to.clone()));
        let made_by = Some(call.name.to_owned());
        Value { made_by, text: to.text.clone(), ..Value::default() }.with(Carry::Fetched(to))
    }

    pub(super) fn look_up(
        &mut self,
        name: &Value,
        call: &Call<'_>,
        scene: &mut OpCollector,
    ) -> Value {
        // A name that is made while it runs can carry anything.
        if !name.secrets().is_empty() || !name.is_known() || name.text.contains('%') {
            let host = name.text.rsplit([UNKNOWN, '%']).next().unwrap_or_default();
            let host = host.trim_start_matches(['s', 'd', '.']);
            let to = Remote::parse(&format!("tcp://{host}")).unwrap_or_else(|| somewhere(host));
            scene
                .add(call.range, Action::Send { to, secrets: name.secrets(), by: Channel::Lookup });
        }
        Value::unknown()
    }
}

fn in_address(address: &Value, to: &Remote, range: &Range<usize>, scene: &mut OpCollector) {
    if !address.secrets().is_empty() {
        let (to, secrets) = (to.clone(), address.secrets());
        scene.add(range, Action::Send { to, secrets, by: Channel::Address });
    }
}

fn remote(address: &Value) -> Remote {
    address.remote().unwrap_or_else(|| somewhere(&address.text))
}

/// `("host", port)` or `"host"`, or an object with a name for it.
fn connection(call: &Call<'_>) -> Remote {
    let first = call.nth(0);
    let host = first.items.first().cloned().or_else(|| call.named("host")).unwrap_or(first);
    let is_port = host.text.chars().all(|c| c.is_ascii_digit());
    let host = if is_port { call.nth(1) } else { host };
    let text = ["wss://", "ws://", "https://", "http://"]
        .iter()
        .find_map(|scheme| host.text.strip_prefix(scheme))
        .unwrap_or(&host.text);
    Remote::parse(&format!("tcp://{text}")).unwrap_or_else(|| somewhere(&host.text))
}
