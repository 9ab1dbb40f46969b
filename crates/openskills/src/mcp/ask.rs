//! Asks the user through the client where a run needs a word of theirs.
//!
//! A client of an older revision is asked while its call waits. One of 2026-07-28 is answered with the question, and calls again with what the user said and the
//! number of the question. What the user sees is what is granted: the answer holds for that question alone, once.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::http::request::Parts;
use openskills_runtime::permit::Request;
use openskills_runtime::{Answer, Approver};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    InputRequest, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};
use skill::Digest;
use term::safe_line;
use tokio_util::sync::CancellationToken;

use super::http::sessions::Listens;
use crate::ask::shown;

/// How long the user may think.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// How many questions may be open.
const MOST_OPEN: usize = 1024;
/// The name of the only question of a call.
const QUESTION: &str = "approval";
const DECISION: &str = "decision";

/// Whether what a client says that its user said counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// The client proved who it is: it started the server, or it knows the token.
    Proven,
    /// It may be anybody on this machine.
    Anybody,
}

/// What users were asked and said, as long as this server runs.
#[derive(Clone, Default)]
pub(super) struct Questions {
    asked: Arc<Mutex<Asked>>,
    /// Where skills are looked for, as words of a command.
    look: Arc<str>,
}

#[derive(Default)]
struct Asked {
    /// Questions without an answer: what each is about.
    open: HashMap<String, Digest>,
    order: VecDeque<String>,
    /// What was granted to a client for as long as the server runs.
    granted: HashSet<(String, Digest)>,
}

/// What the user said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Once,
    /// As long as this server runs.
    Session,
    No,
    /// Nothing that could be understood, or in time.
    Nothing,
}

impl Said {
    /// Reads what a client says that the user said. Whatever is not a clear yes lets nothing run.
    fn read(answer: &Value) -> Self {
        let decision = answer.pointer("/content/decision").and_then(Value::as_str);
        match (answer.get("action").and_then(Value::as_str), decision) {
            (Some("accept"), Some("once")) => Self::Once,
            (Some("accept"), Some("session")) => Self::Session,
            (Some("accept" | "decline" | "cancel"), _) => Self::No,
            _ => Self::Nothing,
        }
    }
}

/// Returns what is granted for as long as the server runs: this content with these powers, whatever of it is called how.
fn granted(request: &Request) -> Digest {
    let Request { subject, grant, .. } = request;
    let said = format!("{}\n{}\n{}\n{grant:?}", subject.skill_id, subject.origin, subject.bundle);
    Digest::of(said.as_bytes())
}

/// Returns what a question is about: that, the very call, and who made it.
fn about(request: &Request, client: &str, call: &str) -> Digest {
    Digest::of(format!("{}\n{client}\n{call}", granted(request)).as_bytes())
}

/// Returns the question as the client shows it.
fn question(request: &Request, call: &str, look: &str) -> Option<ElicitRequestParams> {
    let message = format!(
        "A script of a skill is to run, called with {}\n{}To approve it for good, run in a terminal: {}",
        safe_line(&shortened(call)),
        shown(request),
        request.command(look)
    );
    let schema = json!({
        "type": "object",
        "properties": { DECISION: {
            "type": "string",
            "title": "Run it?",
            "description": "once: this very call; session: any script of this content, as long as this server runs; no: not at all",
            "enum": ["once", "session", "no"],
        }},
        "required": [DECISION],
    });
    let requested_schema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The most of a call that is shown.
const MAX_SHOWN: usize = 600;

fn shortened(call: &str) -> String {
    match call.char_indices().nth(MAX_SHOWN) {
        None => call.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &call[..end], call.len()),
    }
}

/// How the user of one call is asked.
pub(super) struct Asking {
    questions: Questions,
    client: String,
    /// The arguments of the call, as they came.
    call: String,
    way: Way,
    /// The question that the call cannot go on without.
    left: Arc<Mutex<Option<Request>>>,
}

#[derive(Clone)]
enum Way {
    /// The client cannot ask, or is not to be believed.
    Nobody,
    /// While the call waits.
    Waiting(Peer<RoleServer>, tokio::runtime::Handle, CancellationToken),
    /// With the next call; this is what came with this one.
    NextCall { about: Option<Digest>, said: Said },
}

impl Questions {
    pub(super) fn new(look: &str) -> Self {
        Self { asked: Arc::default(), look: Arc::from(look) }
    }

    /// Returns how the user of a call is asked.
    pub(super) fn of_call(
        &self,
        context: &RequestContext<RoleServer>,
        client: &str,
        call: &CallToolRequestParams,
        trust: Trust,
    ) -> Asking {
        let capabilities = context.client_capabilities();
        let form = capabilities.and_then(|all| all.elicitation).is_some_and(|asks| {
            // A client that says nothing of forms or addresses means forms.
            asks.form.is_some() || asks.url.is_none()
        });
        let is_new = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        // By HTTP a client of an older revision hears the question only if it listens.
        let parts = context.extensions.get::<Parts>();
        let listens = parts
            .is_none_or(|parts| parts.extensions.get::<Listens>().is_some_and(|listens| listens.0));
        let can_be_asked = form && trust == Trust::Proven && (is_new || listens);
        let way = match (can_be_asked, is_new) {
            (false, _) => Way::Nobody,
            (true, false) => {
                let runtime = tokio::runtime::Handle::current();
                Way::Waiting(context.peer.clone(), runtime, context.ct.clone())
            }
            (true, true) => self.next_call(call),
        };
        let arguments = call.arguments.clone().unwrap_or_default();
        let call = Value::Object(arguments).to_string();
        let (questions, client) = (self.clone(), client.to_owned());
        Asking { questions, client, call, way, left: Arc::default() }
    }

    fn next_call(&self, call: &CallToolRequestParams) -> Way {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        // A question is answered once.
        let about = call.request_state.as_ref().and_then(|number| asked.open.remove(number));
        let answer =
            call.input_responses.as_ref().and_then(|all: &InputResponses| all.get(QUESTION));
        Way::NextCall { about, said: answer.map_or(Said::Nothing, Said::read) }
    }

    fn open(&self, about: Digest) -> Option<String> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).ok()?;
        let number: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        while asked.order.len() >= MOST_OPEN {
            let oldest = asked.order.pop_front()?;
            asked.open.remove(&oldest);
        }
        asked.order.push_back(number.clone());
        asked.open.insert(number.clone(), about);
        Some(number)
    }

    fn is_granted(&self, client: &str, about: Digest) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.granted.contains(&(client.to_owned(), about))
    }

    fn answer(&self, client: &str, request: &Request, said: Said) -> Answer {
        match said {
            Said::No => return Answer::No,
            Said::Nothing => return Answer::Nothing,
            Said::Once => {}
            Said::Session => {
                let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
                asked.granted.insert((client.to_owned(), granted(request)));
            }
        }
        Answer::Once(request.grant.clone())
    }
}

impl Asking {
    /// Returns who is asked.
    pub(super) fn approver(&self) -> Option<Approver> {
        if matches!(self.way, Way::Nobody) {
            return None;
        }
        let (questions, client, way) =
            (self.questions.clone(), self.client.clone(), self.way.clone());
        let (left, call) = (Arc::clone(&self.left), self.call.clone());
        Some(Approver::new(move |request| {
            if questions.is_granted(&client, granted(request)) {
                return Answer::Once(request.grant.clone());
            }
            let said = match &way {
                Way::Nobody => Said::No,
                Way::Waiting(peer, runtime, taken_back) => runtime.block_on(async {
                    tokio::select! {
                        said = wait(peer, request, &call, &questions.look) => said,
                        // Nobody waits for the answer any more.
                        () = taken_back.cancelled() => Said::Nothing,
                    }
                }),

                Way::NextCall { about: Some(asked), said }
                    if *asked == about(request, &client, &call) =>
                {
                    *said
                }
                Way::NextCall { .. } => {
                    *left.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.clone());
                    Said::Nothing
                }
            };
            questions.answer(&client, request, said)
        }))
    }

    /// Returns the question that the call was left with, as the answer to it.
    pub(super) fn question(&self) -> Option<InputRequiredResult> {
        let request = self.left.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let asked = InputRequest::Elicitation(ElicitRequest::new(question(
            &request,
            &self.call,
            &self.questions.look,
        )?));
        let number = self.questions.open(about(&request, &self.client, &self.call))?;
        let requests = BTreeMap::from([(QUESTION.to_owned(), asked)]);
        Some(InputRequiredResult::new(Some(requests), Some(number)))
    }
}

/// Asks and waits. A client that goes, fails or takes too long has not said yes.
async fn wait(peer: &Peer<RoleServer>, request: &Request, call: &str, look: &str) -> Said {
    let Some(question) = question(request, call, look) else { return Said::Nothing };
    match peer.create_elicitation_with_timeout(question, Some(PATIENCE)).await {
        Ok(ElicitResult { action: ElicitationAction::Accept, content, .. }) => {
            Said::read(&json!({"action": "accept", "content": content}))
        }
        Ok(_) => Said::No,
        Err(_) => Said::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (answer, said) in [
            (json!({"action": "accept", "content": {"decision": "once"}}), Said::Once),
            (json!({"action": "accept", "content": {"decision": "session"}}), Said::Session),
            (json!({"action": "accept", "content": {"decision": "no"}}), Said::No),
            (json!({"action": "accept", "content": {"decision": true}}), Said::No),
            (json!({"action": "accept", "content": {}}), Said::No),
            (json!({"action": "accept"}), Said::No),
            (json!({"action": "decline", "content": {"decision": "once"}}), Said::No),
            (json!({"action": "cancel", "content": {"decision": "once"}}), Said::No),
            (json!({"content": {"decision": "once"}}), Said::Nothing),
            (json!("accept"), Said::Nothing),
            (Value::Null, Said::Nothing),
        ] {
            assert_eq!(Said::read(&answer), said, "{answer}");
        }
    }

    #[test]
    fn a_question_is_answered_once_and_the_oldest_is_forgotten() {
        let questions = Questions::default();
        let about = Digest::of(b"x");
        let first = questions.open(about).unwrap();
        let call = |number: &str| {
            let mut call = CallToolRequestParams::new("skills.run_script");
            call.request_state = Some(number.to_owned());
            call
        };
        let known = |number: &str| {
            let Way::NextCall { about, .. } = questions.next_call(&call(number)) else {
                panic!("it is of the newest revision")
            };
            about
        };
        assert_eq!(known(&first), Some(about));
        assert_eq!(known(&first), None);
        assert_eq!(known("0"), None);
        let old = questions.open(about).unwrap();
        for _ in 0..MOST_OPEN {
            questions.open(about).unwrap();
        }
        assert_eq!(known(&old), None);
    }
}
