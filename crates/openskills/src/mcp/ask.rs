//! Asks the user for approval through the client (elicitation), if a run needs it.
//!
//! A client of an older revision is asked while its call waits. A client of revision 2026-07-28 gets the question as
//! the result, and repeats the call with the user's answer and the ID of the question. An answer grants exactly what
//! the question showed, and only once.

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

use super::http::sessions::IsListening;
use crate::ask::request_text;

/// How long to wait for the user's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The maximum number of unanswered questions.
const MAX_OPEN: usize = 1024;
/// The key of the only question of a call.
const QUESTION_KEY: &str = "approval";
/// The key of the answer in the form.
const DECISION_KEY: &str = "decision";

/// Whether the server trusts a client to pass on its user's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientProof {
    /// The client has proved its identity: it started the server, or sends the token.
    Proven,
    /// The client may belong to any user of this machine.
    Unproven,
}

/// The questions and answers since the server started.
#[derive(Clone, Default)]
pub(super) struct Questions {
    state: Arc<Mutex<QuestionState>>,
    /// The flags that say where to look for skills, for the command in the question.
    discovery_flags: Arc<str>,
}

#[derive(Default)]
struct QuestionState {
    /// The unanswered questions: the digest of each by its ID.
    open: HashMap<String, Digest>,
    /// The IDs of the questions, oldest first.
    order: VecDeque<String>,
    /// What was granted until the server ends: the client and the digest of the grant.
    granted: HashSet<(String, Digest)>,
}

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Once,
    /// Until the server ends.
    Session,
    No,
    /// There was no valid answer in time.
    Missing,
}

impl Decision {
    /// Parses the client's answer. Only an explicit yes allows the run.
    fn parse(answer: &Value) -> Self {
        let decision = answer.pointer("/content/decision").and_then(Value::as_str);
        match (answer.get("action").and_then(Value::as_str), decision) {
            (Some("accept"), Some("once")) => Self::Once,
            (Some("accept"), Some("session")) => Self::Session,
            (Some("accept" | "decline" | "cancel"), _) => Self::No,
            _ => Self::Missing,
        }
    }
}

/// Returns the digest of what the answer `session` grants: this content with these capabilities, for any script and any
/// arguments.
fn grant_digest(request: &Request) -> Digest {
    let Request { subject, grant, .. } = request;
    let text = format!("{}\n{}\n{}\n{grant:?}", subject.skill_id, subject.origin, subject.bundle);
    Digest::of(text.as_bytes())
}

/// Returns the digest of a question: of the grant, the client and the exact call.
fn question_digest(request: &Request, client: &str, call: &str) -> Digest {
    Digest::of(format!("{}\n{client}\n{call}", grant_digest(request)).as_bytes())
}

/// Returns the question for the user.
fn elicitation(
    request: &Request,
    call: &str,
    discovery_flags: &str,
) -> Option<ElicitRequestParams> {
    let message = format!(
        "The client wants to run a skill script with these tool arguments: {}\n\
         {}To approve the skill permanently, run in a terminal: {}",
        safe_line(&shortened(call)),
        request_text(request),
        request.command(discovery_flags)
    );
    let schema = json!({
        "type": "object",
        "properties": { DECISION_KEY: {
            "type": "string",
            "title": "Run it?",
            "description": "once: allow only this call; session: allow all scripts of this version \
                of the skill until the server stops; no: do not run it",
            "enum": ["once", "session", "no"],
        }},
        "required": [DECISION_KEY],
    });
    let requested_schema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The maximum number of characters of a call that are shown.
const MAX_SHOWN: usize = 600;

fn shortened(call: &str) -> String {
    match call.char_indices().nth(MAX_SHOWN) {
        None => call.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &call[..end], call.len()),
    }
}

/// Gets the user's approval for one call.
pub(super) struct CallApproval {
    questions: Questions,
    client: String,
    /// The arguments of the call, as JSON.
    call: String,
    method: AskMethod,
    /// The request that the call cannot continue without.
    unanswered: Arc<Mutex<Option<Request>>>,
}

#[derive(Clone)]
enum AskMethod {
    /// The client cannot ask the user, or is not trusted to.
    Unavailable,
    /// The client is asked while the call waits.
    Blocking(Peer<RoleServer>, tokio::runtime::Handle, CancellationToken),
    /// The answer comes with a repeated call. These are the digest of the answered question and the answer in this
    /// call.
    NextCall { question: Option<Digest>, decision: Decision },
}

impl Questions {
    pub(super) fn new(discovery_flags: &str) -> Self {
        Self { state: Arc::default(), discovery_flags: Arc::from(discovery_flags) }
    }

    /// Returns how to get the user's approval for a call.
    pub(super) fn for_call(
        &self,
        context: &RequestContext<RoleServer>,
        client: &str,
        call: &CallToolRequestParams,
        proof: ClientProof,
    ) -> CallApproval {
        let capabilities = context.client_capabilities();
        let has_forms = capabilities.and_then(|all| all.elicitation).is_some_and(|elicitation| {
            // A client that declares neither form nor URL mode supports forms.
            elicitation.form.is_some() || elicitation.url.is_none()
        });
        let is_newest = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        // Over HTTP, a client of an older revision receives the question only if it has an event stream open.
        let parts = context.extensions.get::<Parts>();
        let is_listening = parts.is_none_or(|parts| {
            parts.extensions.get::<IsListening>().is_some_and(|listening| listening.0)
        });
        let can_ask = has_forms && proof == ClientProof::Proven && (is_newest || is_listening);
        let method = match (can_ask, is_newest) {
            (false, _) => AskMethod::Unavailable,
            (true, false) => {
                let runtime = tokio::runtime::Handle::current();
                AskMethod::Blocking(context.peer.clone(), runtime, context.ct.clone())
            }
            (true, true) => self.next_call(call),
        };
        let arguments = call.arguments.clone().unwrap_or_default();
        let call = Value::Object(arguments).to_string();
        let (questions, client) = (self.clone(), client.to_owned());
        CallApproval { questions, client, call, method, unanswered: Arc::default() }
    }

    fn next_call(&self, call: &CallToolRequestParams) -> AskMethod {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // A question can be answered only once.
        let question = call.request_state.as_ref().and_then(|id| state.open.remove(id));
        let answer =
            call.input_responses.as_ref().and_then(|all: &InputResponses| all.get(QUESTION_KEY));
        AskMethod::NextCall {
            question,
            decision: answer.map_or(Decision::Missing, Decision::parse),
        }
    }

    /// Records a question and returns its ID.
    fn open(&self, question: Digest) -> Option<String> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).ok()?;
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.order.len() >= MAX_OPEN {
            let oldest = state.order.pop_front()?;
            state.open.remove(&oldest);
        }
        state.order.push_back(id.clone());
        state.open.insert(id.clone(), question);
        Some(id)
    }

    fn is_granted(&self, client: &str, grant: Digest) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.granted.contains(&(client.to_owned(), grant))
    }

    fn answer(&self, client: &str, request: &Request, decision: Decision) -> Answer {
        match decision {
            Decision::No => return Answer::No,
            Decision::Missing => return Answer::Nothing,
            Decision::Once => {}
            Decision::Session => {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.granted.insert((client.to_owned(), grant_digest(request)));
            }
        }
        Answer::Once(request.grant.clone())
    }
}

impl CallApproval {
    /// Returns the approver for the runtime; `None` if the client cannot ask the user.
    pub(super) fn approver(&self) -> Option<Approver> {
        if matches!(self.method, AskMethod::Unavailable) {
            return None;
        }
        let (questions, client, method) =
            (self.questions.clone(), self.client.clone(), self.method.clone());
        let (unanswered, call) = (Arc::clone(&self.unanswered), self.call.clone());
        Some(Approver::new(move |request| {
            if questions.is_granted(&client, grant_digest(request)) {
                return Answer::Once(request.grant.clone());
            }
            let decision = match &method {
                AskMethod::Unavailable => Decision::No,
                AskMethod::Blocking(peer, runtime, call_cancelled) => runtime.block_on(async {
                    tokio::select! {
                        decision = ask(peer, request, &call, &questions.discovery_flags) => decision,
                        () = call_cancelled.cancelled() => Decision::Missing,
                    }
                }),
                AskMethod::NextCall { question: Some(question), decision }
                    if *question == question_digest(request, &client, &call) =>
                {
                    *decision
                }
                AskMethod::NextCall { .. } => {
                    *unanswered.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.clone());
                    Decision::Missing
                }
            };
            questions.answer(&client, request, decision)
        }))
    }

    /// Returns the result that asks the client for the missing answer.
    pub(super) fn question(&self) -> Option<InputRequiredResult> {
        let request = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let form = elicitation(&request, &self.call, &self.questions.discovery_flags)?;
        let input = InputRequest::Elicitation(ElicitRequest::new(form));
        let id = self.questions.open(question_digest(&request, &self.client, &self.call))?;
        let inputs = BTreeMap::from([(QUESTION_KEY.to_owned(), input)]);
        Some(InputRequiredResult::new(Some(inputs), Some(id)))
    }
}

/// Asks the client and waits for the answer. If the client disconnects, fails or takes too long, there is no answer.
async fn ask(
    peer: &Peer<RoleServer>,
    request: &Request,
    call: &str,
    discovery_flags: &str,
) -> Decision {
    let Some(form) = elicitation(request, call, discovery_flags) else {
        return Decision::Missing;
    };
    match peer.create_elicitation_with_timeout(form, Some(ANSWER_TIMEOUT)).await {
        Ok(ElicitResult { action: ElicitationAction::Accept, content, .. }) => {
            Decision::parse(&json!({"action": "accept", "content": content}))
        }
        Ok(_) => Decision::No,
        Err(_) => Decision::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_explicit_yes_allows_a_run() {
        for (answer, decision) in [
            (json!({"action": "accept", "content": {"decision": "once"}}), Decision::Once),
            (json!({"action": "accept", "content": {"decision": "session"}}), Decision::Session),
            (json!({"action": "accept", "content": {"decision": "no"}}), Decision::No),
            (json!({"action": "accept", "content": {"decision": true}}), Decision::No),
            (json!({"action": "accept", "content": {}}), Decision::No),
            (json!({"action": "accept"}), Decision::No),
            (json!({"action": "decline", "content": {"decision": "once"}}), Decision::No),
            (json!({"action": "cancel", "content": {"decision": "once"}}), Decision::No),
            (json!({"content": {"decision": "once"}}), Decision::Missing),
            (json!("accept"), Decision::Missing),
            (Value::Null, Decision::Missing),
        ] {
            assert_eq!(Decision::parse(&answer), decision, "{answer}");
        }
    }

    #[test]
    fn a_question_can_be_answered_once_and_the_oldest_is_dropped() {
        let questions = Questions::default();
        let question = Digest::of(b"x");
        let first = questions.open(question).unwrap();
        let call = |id: &str| {
            let mut call = CallToolRequestParams::new("skills.run_script");
            call.request_state = Some(id.to_owned());
            call
        };
        let answered = |id: &str| {
            let AskMethod::NextCall { question, .. } = questions.next_call(&call(id)) else {
                panic!("a call of the newest revision")
            };
            question
        };
        assert_eq!(answered(&first), Some(question));
        assert_eq!(answered(&first), None);
        assert_eq!(answered("0"), None);
        let oldest = questions.open(question).unwrap();
        for _ in 0..MAX_OPEN {
            questions.open(question).unwrap();
        }
        assert_eq!(answered(&oldest), None);
    }
}
