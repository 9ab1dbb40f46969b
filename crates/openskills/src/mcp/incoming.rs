//! What a client sends, looked at before the library reads it: every request is answered, whatever is wrong with it.

use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, GetPromptRequestParams, InitializeRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams,
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
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Incoming::Nothing;
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Array(all)) if all.is_empty() => {
            Incoming::One(Err(refusal(&Value::Null, INVALID_REQUEST, "a batch of nothing")))
        }
        Ok(Value::Array(all)) => Incoming::Batch(all.into_iter().map(in_batch).collect()),
        Ok(one) => Incoming::One(checked(one)),
        Err(error) => Incoming::One(Err(refusal(
            &id_in(bytes),
            PARSE_ERROR,
            &format!("this is no JSON that can be read: {error}"),
        ))),
    }
}

/// Returns the answer to a message that is longer than any may be; `start` is how it begins.
pub(super) fn too_long(start: &[u8], most: usize) -> Value {
    let what = format!("the message is longer than {most} bytes");
    refusal(&id_in(start), INVALID_REQUEST, &what)
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
    let mut at = Scanner { bytes, place: 0 };
    at.member("id").and_then(|raw| serde_json::from_slice(raw).ok()).map_or(Value::Null, |id| {
        match id {
            Value::String(_) | Value::Number(_) => id,
            _ => Value::Null,
        }
    })
}

/// Walks over bytes that are nearly JSON, without ever going deeper into itself.
struct Scanner<'a> {
    bytes: &'a [u8],
    place: usize,
}

impl<'a> Scanner<'a> {
    /// Returns the bytes of a member of the outermost object, if it is a text or a number.
    fn member(&mut self, key: &str) -> Option<&'a [u8]> {
        self.spaces();
        self.take(b'{')?;
        loop {
            self.spaces();
            let name = self.text()?;
            self.spaces();
            self.take(b':')?;
            self.spaces();
            let start = self.place;
            self.value()?;
            if &name[1..name.len() - 1] == key.as_bytes() {
                return Some(&self.bytes[start..self.place]);
            }
            self.spaces();
            self.take(b',')?;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.place).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.place += 1)
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.place += 1;
        }
    }

    /// Walks over a text, and returns it with its quotes.
    fn text(&mut self) -> Option<&'a [u8]> {
        let start = self.place;
        self.take(b'"')?;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.place += 2,
                _ => self.place += 1,
            }
        }
        self.place += 1;
        Some(&self.bytes[start..self.place])
    }

    /// Walks over a value, however deep it is.
    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            self.spaces();
            match self.peek()? {
                b'"' => drop(self.text()?),
                b'{' | b'[' => {
                    depth += 1;
                    self.place += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.place += 1;
                }
                b',' | b':' => self.place += 1,
                _ => {
                    let is_end =
                        |byte: &u8| b",:{}[]\"".contains(byte) || byte.is_ascii_whitespace();
                    let rest = &self.bytes[self.place..];
                    self.place += rest.iter().position(is_end)?;
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
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
    }
}
