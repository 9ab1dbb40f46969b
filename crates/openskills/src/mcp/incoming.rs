//! Checks what a client sends before the library parses it, so that every invalid request gets an error response.

use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, GetPromptRequestParams, InitializeRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, SubscriptionsListenRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// A parsed line or request body.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// Nothing but white space.
    Empty,
    /// One message.
    Single(Message),
    /// Several messages at once, as revision 2025-03-26 allows.
    Batch(Vec<Message>),
}

/// A valid message, or the error response to an invalid one.
pub(super) type Message = Result<Value, Value>;

/// Parses a line or a request body.
pub(super) fn read(bytes: &[u8]) -> Incoming {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Incoming::Empty;
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Array(all)) if all.is_empty() => Incoming::Single(Err(error_response(
            &Value::Null,
            INVALID_REQUEST,
            "the batch is empty",
        ))),
        Ok(Value::Array(all)) => Incoming::Batch(all.into_iter().map(check_in_batch).collect()),
        Ok(one) => Incoming::Single(check(one)),
        // An invalid message in a batch must not prevent responses to the others.
        Err(error) => match elements(bytes) {
            Some(all) => Incoming::Batch(all.into_iter().map(read_in_batch).collect()),
            None => Incoming::Single(Err(parse_error(bytes, &error))),
        },
    }
}

fn read_in_batch(bytes: &[u8]) -> Message {
    serde_json::from_slice(bytes)
        .map_err(|error| parse_error(bytes, &error))
        .and_then(check_in_batch)
}

fn parse_error(bytes: &[u8], error: &serde_json::Error) -> Value {
    let message = format!("invalid JSON: {error}");
    error_response(&id_in(bytes), PARSE_ERROR, &message)
}

/// Returns the error response to a request whose id another unanswered request has.
pub(super) fn duplicate_id(id: &Value) -> Value {
    error_response(id, INVALID_REQUEST, "another request with this `id` is still in progress")
}

/// Returns the error response to a message that is too long.
pub(super) fn too_long(finder: &IdFinder, max_bytes: usize) -> Value {
    let message = format!("the message is longer than {max_bytes} bytes");
    error_response(&finder.id(), INVALID_REQUEST, &message)
}

fn check_in_batch(message: Value) -> Message {
    if message.get("method").and_then(Value::as_str) == Some("initialize") {
        let error = "`initialize` must not be part of a batch";
        return Err(error_response(&id_of(&message), INVALID_REQUEST, error));
    }
    check(message)
}

/// Checks the JSON-RPC fields of a message, and the parameters of known methods.
fn check(message: Value) -> Message {
    let id = id_of(&message);
    let fail = |code: i32, error: &str| Err(error_response(&id, code, error));
    let Some(fields) = message.as_object() else {
        return fail(INVALID_REQUEST, "a message must be an object");
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return fail(INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
    }
    let is_response = fields.contains_key("result") || fields.contains_key("error");
    let method = match fields.get("method") {
        Some(Value::String(method)) => method,
        Some(_) => return fail(INVALID_REQUEST, "`method` must be a string"),
        None if is_response => return Ok(message),
        None => return fail(INVALID_REQUEST, "`method` is missing"),
    };
    let has_id = match fields.get("id") {
        None => false,
        Some(Value::String(_)) => true,
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => true,
        Some(_) => return fail(INVALID_REQUEST, "`id` must be a string or an integer"),
    };
    let params = fields.get("params").unwrap_or(&Value::Null);
    if !params.is_object() && !params.is_null() {
        return fail(INVALID_PARAMS, "`params` must be an object");
    }
    if params.get("_meta").is_some_and(|meta| !meta.is_object()) {
        return fail(INVALID_PARAMS, "`_meta` must be an object");
    }
    match check_params(method, params) {
        Err(error) if has_id => fail(INVALID_PARAMS, &format!("`{method}`: {error}")),
        Ok(()) | Err(_) => Ok(message),
    }
}

fn check_params(method: &str, params: &Value) -> Result<(), String> {
    match method {
        "initialize" => parse_as::<InitializeRequestParams>(params),
        "tools/call" => parse_as::<CallToolRequestParams>(params),
        "resources/read" => parse_as::<ReadResourceRequestParams>(params),
        "prompts/get" => parse_as::<GetPromptRequestParams>(params),
        "subscriptions/listen" => parse_as::<SubscriptionsListenRequestParams>(params),
        "completion/complete" => parse_as::<CompleteRequestParams>(params),
        "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list"
            if !params.is_null() =>
        {
            parse_as::<PaginatedRequestParams>(params)
        }
        _ => Ok(()),
    }
}

fn parse_as<T: DeserializeOwned>(params: &Value) -> Result<(), String> {
    let params = if params.is_null() { json!({}) } else { params.clone() };
    serde_json::from_value::<T>(params).map(drop).map_err(|error| error.to_string())
}

fn error_response(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Returns the id of a message; null if it is missing or invalid.
fn id_of(message: &Value) -> Value {
    match message.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    }
}

/// Finds the id of a message that cannot be parsed: it has a lone surrogate, is nested too deeply or is cut off.
fn id_in(bytes: &[u8]) -> Value {
    let mut finder = IdFinder::default();
    finder.feed(bytes);
    finder.id()
}

/// The maximum length of an id, in bytes.
const MAX_ID: usize = 1024;

/// Finds the `id` of the outermost object in bytes that need not be valid JSON. The bytes can come in parts and be
/// nested to any depth.
#[derive(Debug, Default)]
pub(super) struct IdFinder {
    depth: usize,
    /// `Some` inside a string: whether the next byte is escaped.
    in_string: Option<bool>,
    /// The string that may be a key of the outermost object.
    key: Vec<u8>,
    position: MemberPosition,
    id: Vec<u8>,
    is_found: bool,
}

/// The position in the outermost object.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum MemberPosition {
    /// Before or in a key.
    #[default]
    Key,
    /// In the value of `id`.
    IdValue,
    /// In any other value.
    OtherValue,
}

impl IdFinder {
    /// Reads the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.is_found {
                return;
            }
            self.step(*byte);
        }
    }

    /// Returns the id; null if none was found or it is invalid.
    pub(super) fn id(&self) -> Value {
        let id = if self.is_found { serde_json::from_slice(&self.id).ok() } else { None };
        id.filter(|id: &Value| id.is_string() || id.is_number()).unwrap_or(Value::Null)
    }

    fn step(&mut self, byte: u8) {
        let is_outermost = self.depth == 1;
        if let Some(is_escaped) = self.in_string {
            self.collect(byte);
            self.in_string = match (is_escaped, byte) {
                (false, b'\\') => Some(true),
                (false, b'"') => None,
                _ => Some(false),
            };
            if self.in_string.is_none() && is_outermost && self.position == MemberPosition::IdValue
            {
                self.is_found = true;
            }
            return;
        }
        match byte {
            b'"' => {
                if is_outermost && self.position == MemberPosition::Key {
                    self.key.clear();
                }
                self.in_string = Some(false);
                self.collect(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' | b',' if is_outermost => {
                self.is_found = self.position == MemberPosition::IdValue && !self.id.is_empty();
                self.position = MemberPosition::Key;
                self.depth -= usize::from(byte != b',');
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if is_outermost && self.position == MemberPosition::Key => {
                self.position = if self.key == b"\"id\"" {
                    MemberPosition::IdValue
                } else {
                    MemberPosition::OtherValue
                };
            }
            byte if !byte.is_ascii_whitespace() => self.collect(byte),
            _ => {}
        }
    }

    fn collect(&mut self, byte: u8) {
        if self.depth != 1 {
            return;
        }
        let collected = match self.position {
            MemberPosition::Key => &mut self.key,
            MemberPosition::IdValue => &mut self.id,
            MemberPosition::OtherValue => return,
        };
        if collected.len() < MAX_ID {
            collected.push(byte);
        }
    }
}

/// Splits an array into its elements, which need not be valid JSON; `None` if it is not an array.
fn elements(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let inside = bytes.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    let (mut all, mut start, mut depth, mut in_string) = (Vec::new(), 0, 0_usize, None);
    for (index, byte) in inside.iter().enumerate() {
        match (in_string, byte) {
            (Some(true), _) => in_string = Some(false),
            (Some(false), b'\\') => in_string = Some(true),
            (Some(false), b'"') => in_string = None,
            (Some(false), _) => {}
            (None, b'"') => in_string = Some(false),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => depth = depth.checked_sub(1)?,
            (None, b',') if depth == 0 => {
                all.push(&inside[start..index]);
                start = index + 1;
            }
            (None, _) => {}
        }
    }
    all.push(&inside[start..]);
    (depth == 0 && in_string.is_none()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(bytes: &[u8]) -> (i64, Value) {
        let Incoming::Single(Err(error)) = read(bytes) else { panic!("{}", bytes.escape_ascii()) };
        (error["error"]["code"].as_i64().unwrap_or_default(), error["id"].clone())
    }

    #[test]
    fn errors_carry_the_id_of_the_invalid_message() {
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
            assert_eq!(error_of(message.as_bytes()), (code, id), "{:.80}", message);
        }
    }

    #[test]
    fn an_invalid_message_in_a_batch_does_not_affect_the_others() {
        let batch = r#"[{"jsonrpc":"2.0","id":"b4","method":"ping","params":{"a":"\ud800 ],\"["}}, {"jsonrpc":"2.0","id":5,"method":"ping"}]"#;
        let Incoming::Batch(all) = read(batch.as_bytes()) else { panic!("{batch}") };
        let ids: Vec<Value> = all
            .iter()
            .map(|one| {
                one.as_ref().map_or_else(|error| error["id"].clone(), |one| one["id"].clone())
            })
            .collect();
        assert_eq!(ids, [json!("b4"), json!(5)]);
        assert!(all[0].is_err() && all[1].is_ok());
        assert!(matches!(read(b"[{\"id\":1},"), Incoming::Single(Err(_))));
    }

    #[test]
    fn an_id_is_found_at_any_position_and_across_parts() {
        let message = r#"{"params":{"id":1,"x":["}",{"id":2}]},"no":"\"id\":7","id" : "a\"b" }"#;
        for size in [1, 2, 3, 7, 1000] {
            let mut finder = IdFinder::default();
            message.as_bytes().chunks(size).for_each(|part| finder.feed(part));
            assert_eq!(finder.id(), json!("a\"b"), "{size}");
        }
    }

    #[test]
    fn parameters_of_known_methods_are_checked() {
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
            assert_eq!(error_of(message.to_string().as_bytes()), (-32602, json!(3)), "{message}");
        }
        for message in [
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"cursor": ""}}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "x", "arguments": {}}}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "unknown/method", "params": {"x": 1}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 3, "result": {}}),
        ] {
            assert_eq!(read(message.to_string().as_bytes()), Incoming::Single(Ok(message)));
        }
        assert_eq!(read(b" \r\n"), Incoming::Empty);
        let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
        assert_eq!(read(format!("\u{feff}{ping}").as_bytes()), Incoming::Single(Ok(ping)));
    }
}
