//! What a client sends, looked at before the library reads it: every request is answered, whatever is wrong with it.

use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, GetPromptRequestParams, InitializeRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, SubscriptionsListenRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// What came.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// Nothing but white space.
    Nothing,
    /// One message, or the answer to what is none.
    One(Message),
    /// Several at once, as the revision 2025-03-26 allows.
    Batch(Vec<Message>),
}

/// A message that can be read, or what is answered to one that cannot.
pub(super) type Message = Result<Value, Value>;

/// Reads what came.
pub(super) fn read(bytes: &[u8]) -> Incoming {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Incoming::Nothing;
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Array(all)) if all.is_empty() => {
            Incoming::One(Err(refusal(&Value::Null, INVALID_REQUEST, "the batch is empty")))
        }
        Ok(Value::Array(all)) => Incoming::Batch(all.into_iter().map(in_batch).collect()),
        Ok(one) => Incoming::One(checked(one)),
        // One message of a batch that cannot be read keeps no other from being answered.
        Err(error) => match elements(bytes) {
            Some(all) => Incoming::Batch(all.into_iter().map(read_one).collect()),
            None => Incoming::One(Err(unreadable(bytes, &error))),
        },
    }
}

fn read_one(bytes: &[u8]) -> Message {
    serde_json::from_slice(bytes).map_err(|error| unreadable(bytes, &error)).and_then(in_batch)
}

fn unreadable(bytes: &[u8], error: &serde_json::Error) -> Value {
    let what = format!("invalid JSON: {error}");
    refusal(&id_in(bytes), PARSE_ERROR, &what)
}

/// Returns the answer to a message whose id another one has that is not answered yet.
pub(super) fn in_use(id: &Value) -> Value {
    refusal(id, INVALID_REQUEST, "another request with this `id` is still in progress")
}

/// Returns the answer to a message that is longer than any may be.
pub(super) fn too_long(id: &IdFinder, most: usize) -> Value {
    let what = format!("the message is longer than {most} bytes");
    refusal(&id.found(), INVALID_REQUEST, &what)
}

fn in_batch(message: Value) -> Message {
    if message.get("method").and_then(Value::as_str) == Some("initialize") {
        let what = "`initialize` must not be part of a batch";
        return Err(refusal(&id_of(&message), INVALID_REQUEST, what));
    }
    checked(message)
}

/// Checks the frame of a message, and the parameters of methods that are known.
fn checked(message: Value) -> Message {
    let id = id_of(&message);
    let wrong = |code: i32, what: &str| Err(refusal(&id, code, what));
    let Some(fields) = message.as_object() else {
        return wrong(INVALID_REQUEST, "a message must be an object");
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong(INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
    }
    let is_answer = fields.contains_key("result") || fields.contains_key("error");
    let method = match fields.get("method") {
        Some(Value::String(method)) => method,
        Some(_) => return wrong(INVALID_REQUEST, "`method` must be a text"),
        None if is_answer => return Ok(message),
        None => return wrong(INVALID_REQUEST, "`method` is missing"),
    };
    let has_id = match fields.get("id") {
        None => false,
        Some(Value::String(_)) => true,
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => true,
        Some(_) => return wrong(INVALID_REQUEST, "`id` must be a text or a whole number"),
    };
    let params = fields.get("params").unwrap_or(&Value::Null);
    if !params.is_object() && !params.is_null() {
        return wrong(INVALID_PARAMS, "`params` must be an object");
    }
    if params.get("_meta").is_some_and(|meta| !meta.is_object()) {
        return wrong(INVALID_PARAMS, "`_meta` must be an object");
    }
    match check_params(method, params) {
        Err(what) if has_id => wrong(INVALID_PARAMS, &format!("`{method}`: {what}")),
        Ok(()) | Err(_) => Ok(message),
    }
}

fn check_params(method: &str, params: &Value) -> Result<(), String> {
    match method {
        "initialize" => fits::<InitializeRequestParams>(params),
        "tools/call" => fits::<CallToolRequestParams>(params),
        "resources/read" => fits::<ReadResourceRequestParams>(params),
        "prompts/get" => fits::<GetPromptRequestParams>(params),
        "subscriptions/listen" => fits::<SubscriptionsListenRequestParams>(params),
        "completion/complete" => fits::<CompleteRequestParams>(params),
        "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list"
            if !params.is_null() =>
        {
            fits::<PaginatedRequestParams>(params)
        }
        _ => Ok(()),
    }
}

fn fits<T: DeserializeOwned>(params: &Value) -> Result<(), String> {
    let params = if params.is_null() { json!({}) } else { params.clone() };
    serde_json::from_value::<T>(params).map(drop).map_err(|error| error.to_string())
}

fn refusal(id: &Value, code: i32, what: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": what}})
}

/// Returns the id of a message, as far as it is one.
fn id_of(message: &Value) -> Value {
    match message.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    }
}

/// Looks for the id of a message that is no JSON: a half surrogate, too deep, or cut off.
fn id_in(bytes: &[u8]) -> Value {
    let mut finder = IdFinder::default();
    finder.look(bytes);
    finder.found()
}

/// The longest id that is looked for.
const MAX_ID: usize = 1024;

/// Walks over bytes that are nearly JSON, part by part and however deep they are, and finds the `id` of the outermost object.
#[derive(Debug, Default)]
pub(super) struct IdFinder {
    depth: usize,
    /// Inside a text; and whether the next byte of it is taken as it is.
    text: Option<bool>,
    /// The text that may be a key of the outermost object.
    key: Vec<u8>,
    place: Place,
    id: Vec<u8>,
    is_found: bool,
}

/// Where in the outermost object a walk is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before a key, or in one.
    #[default]
    Key,
    /// Behind the key of something else.
    Other,
    /// Behind the key of the id.
    Id,
}

impl IdFinder {
    /// Looks at the next bytes.
    pub(super) fn look(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.is_found {
                return;
            }
            self.step(*byte);
        }
    }

    /// Returns the id, if it was found and is one.
    pub(super) fn found(&self) -> Value {
        let id = if self.is_found { serde_json::from_slice(&self.id).ok() } else { None };
        id.filter(|id: &Value| id.is_string() || id.is_number()).unwrap_or(Value::Null)
    }

    fn step(&mut self, byte: u8) {
        let is_outermost = self.depth == 1;
        if let Some(is_escaped) = self.text {
            self.keep(byte);
            self.text = match (is_escaped, byte) {
                (false, b'\\') => Some(true),
                (false, b'"') => None,
                _ => Some(false),
            };
            if self.text.is_none() && is_outermost && self.place == Place::Id {
                self.is_found = true;
            }
            return;
        }
        match byte {
            b'"' => {
                if is_outermost && self.place == Place::Key {
                    self.key.clear();
                }
                self.text = Some(false);
                self.keep(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' | b',' if is_outermost => {
                self.is_found = self.place == Place::Id && !self.id.is_empty();
                self.place = Place::Key;
                self.depth -= usize::from(byte != b',');
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if is_outermost && self.place == Place::Key => {
                self.place = if self.key == b"\"id\"" { Place::Id } else { Place::Other };
            }
            byte if !byte.is_ascii_whitespace() => self.keep(byte),
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth != 1 {
            return;
        }
        let kept = match self.place {
            Place::Key => &mut self.key,
            Place::Id => &mut self.id,
            Place::Other => return,
        };
        if kept.len() < MAX_ID {
            kept.push(byte);
        }
    }
}

/// Returns the elements of what is nearly an array of JSON; `None` if it is none.
fn elements(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let inside = bytes.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    let (mut all, mut start, mut depth, mut text) = (Vec::new(), 0, 0_usize, None);
    for (place, byte) in inside.iter().enumerate() {
        match (text, byte) {
            (Some(true), _) => text = Some(false),
            (Some(false), b'\\') => text = Some(true),
            (Some(false), b'"') => text = None,
            (Some(false), _) => {}
            (None, b'"') => text = Some(false),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => depth = depth.checked_sub(1)?,
            (None, b',') if depth == 0 => {
                all.push(&inside[start..place]);
                start = place + 1;
            }
            (None, _) => {}
        }
    }
    all.push(&inside[start..]);
    (depth == 0 && text.is_none()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> (i64, Value) {
        let Incoming::One(Err(answer)) = read(bytes) else { panic!("{}", bytes.escape_ascii()) };
        (answer["error"]["code"].as_i64().unwrap_or_default(), answer["id"].clone())
    }

    #[test]
    fn what_cannot_be_read_is_answered_by_its_id() {
        let deep = format!(
            "{{\"jsonrpc\":\"2.0\",\"params\":{}{},\"id\":\"deep\"}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        for (message, code, id) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"x":"\ud800"}}"#,
                -32700,
                json!(7),
            ),
            (
                r#"{"jsonrpc":"2.0","params":{"a":[1,{"b":"}]"}]},"id":"x","method":"\ud83d"}"#,
                -32700,
                json!("x"),
            ),
            (deep.as_str(), -32700, json!("deep")),
            (
                r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"x","arg"#,
                -32700,
                json!(8),
            ),
            (r#"{"id":"\ud800","method":"x"}"#, -32700, Value::Null),
            ("nonsense", -32700, Value::Null),
            ("\"", -32700, Value::Null),
            ("{", -32700, Value::Null),
            (r#"{"a\"#, -32700, Value::Null),
            ("[]", -32600, Value::Null),
            ("3", -32600, Value::Null),
            (r#"{"id":1,"method":"ping"}"#, -32600, json!(1)),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600, json!(1)),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600, json!(1)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(1.5)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":3}"#, -32602, json!(1)),
        ] {
            assert_eq!(refused(message.as_bytes()), (code, id), "{:.80}", message);
        }
    }

    #[test]
    fn one_message_of_a_batch_that_cannot_be_read_hides_no_other() {
        let batch = r#"[{"jsonrpc":"2.0","id":"b4","method":"ping","params":{"a":"\ud800 ],\"["}}, {"jsonrpc":"2.0","id":5,"method":"ping"}]"#;
        let Incoming::Batch(all) = read(batch.as_bytes()) else { panic!("{batch}") };
        let ids: Vec<Value> = all
            .iter()
            .map(|one| {
                one.as_ref().map_or_else(|refused| refused["id"].clone(), |one| one["id"].clone())
            })
            .collect();
        assert_eq!(ids, [json!("b4"), json!(5)]);
        assert!(all[0].is_err() && all[1].is_ok());
        assert!(matches!(read(b"[{\"id\":1},"), Incoming::One(Err(_))));
    }

    #[test]
    fn an_id_is_found_wherever_it_stands_and_in_whatever_parts_it_comes() {
        let message = r#"{"params":{"id":1,"x":["}",{"id":2}]},"no":"\"id\":7","id" : "a\"b" }"#;
        for size in [1, 2, 3, 7, 1000] {
            let mut finder = IdFinder::default();
            message.as_bytes().chunks(size).for_each(|part| finder.look(part));
            assert_eq!(finder.found(), json!("a\"b"), "{size}");
        }
    }

    #[test]
    fn a_known_method_with_wrong_parameters_is_told_so() {
        for (method, params) in [
            ("initialize", json!({})),
            ("tools/call", json!({})),
            ("tools/call", json!({"name": 5})),
            ("tools/call", json!({"name": "x", "arguments": [1]})),
            ("resources/read", json!({"uri": null})),
            ("prompts/get", json!({"name": ["x"]})),
            ("completion/complete", json!({"ref": {}})),
            ("tools/list", json!({"cursor": 5})),
        ] {
            let message = json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": params});
            assert_eq!(refused(message.to_string().as_bytes()), (-32602, json!(3)), "{message}");
        }
        for message in [
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"cursor": ""}}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "x", "arguments": {}}}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "unknown/method", "params": {"x": 1}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 3, "result": {}}),
        ] {
            assert_eq!(read(message.to_string().as_bytes()), Incoming::One(Ok(message)));
        }
        assert_eq!(read(b" \r\n"), Incoming::Nothing);
        let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
        assert_eq!(read(format!("\u{feff}{ping}").as_bytes()), Incoming::One(Ok(ping)));
    }
}
