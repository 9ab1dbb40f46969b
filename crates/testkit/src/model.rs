//! Decides what a scripted model answers to a request of an agent, without a connection.
//!
//! Input: a [`Script`] and the body of a `POST /v1/messages`. Output: a [`Reply`] as JSON or as server-sent events.
//! The next step is the number of tool results in the request, so a request that the agent repeats gets the same reply.

use serde_json::{Value, json};

/// The steps of a model, and of the models of its subagents.
#[derive(Debug, Clone, Default)]
pub struct Script {
    steps: Vec<Step>,
    agents: Vec<(String, Vec<Step>)>,
}

/// A script that cannot be used, and why.
#[derive(Debug)]
pub struct ScriptError(String);

/// What the model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Text without a tool call. It ends the turn.
    Text(String),
    /// A tool call.
    Tool {
        /// The name of the tool.
        name: String,
        /// Its arguments.
        input: Value,
    },
}

/// The reply to one request, and what to log about the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The words that select the subagent's steps; empty for the agent itself; `None` for a side request.
    pub script: Option<String>,
    /// The number of tool results in the request.
    pub number: usize,
    step: Step,
    model: Value,
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// Reads a list of steps, or `{"steps": […], "agents": {"WORDS": […]}}`. A request whose first message contains
    /// WORDS comes from a subagent and follows its steps. A step is `{"text": …}` or `{"tool": NAME, "input": {…}}`.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| ScriptError(error.to_string()))?;
        if value.is_array() {
            return Ok(Self { steps: steps(&value)?, agents: Vec::new() });
        }
        let agents = value["agents"].as_object().into_iter().flatten();
        let agents = agents.map(|(words, list)| Ok((words.clone(), steps(list)?)));
        Ok(Self { steps: steps(&value["steps"])?, agents: agents.collect::<Result<_, _>>()? })
    }

    /// Returns the reply to `request`. A request without tools is a side request (a title, a summary): it gets a text
    /// and no step. After the last step the model says `done`.
    pub fn reply(&self, request: &Value) -> Reply {
        let number = results(request).count();
        let model = request["model"].clone();
        if request["tools"].as_array().is_none_or(Vec::is_empty) {
            return Reply { script: None, number, step: Step::Text("ok".to_owned()), model };
        }
        let first = request["messages"][0]["content"].to_string();
        let agent = self.agents.iter().find(|(words, _)| first.contains(words));
        let (script, steps) =
            agent.map_or(("", &self.steps), |(words, steps)| (words.as_str(), steps));
        let step = steps.get(number).cloned().unwrap_or(Step::Text("done".to_owned()));
        Reply { script: Some(script.to_owned()), number, step, model }
    }
}

fn steps(list: &Value) -> Result<Vec<Step>, ScriptError> {
    let list = list.as_array().ok_or_else(|| ScriptError("expected a list of steps".to_owned()))?;
    list.iter().map(step).collect()
}

fn step(value: &Value) -> Result<Step, ScriptError> {
    match (value["text"].as_str(), value["tool"].as_str()) {
        (Some(text), None) => Ok(Step::Text(text.to_owned())),
        (None, Some(name)) if value["input"].is_object() => {
            Ok(Step::Tool { name: name.to_owned(), input: value["input"].clone() })
        }
        _ => Err(ScriptError(format!("expected `text`, or `tool` with `input`: {value}"))),
    }
}

/// Returns the tool results of a request, the oldest first.
pub fn results(request: &Value) -> impl Iterator<Item = &Value> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    blocks.filter(|block| block["type"] == "tool_result")
}

impl Reply {
    /// Returns the reply as one message, for a request without `stream`.
    pub fn message(&self) -> Value {
        let (stop, block) = match &self.step {
            Step::Text(text) => ("end_turn", json!({"type": "text", "text": text})),
            Step::Tool { name, input } => (
                "tool_use",
                json!({"type": "tool_use", "id": self.tool_id(), "name": name, "input": input}),
            ),
        };
        let mut message = self.start();
        message["content"] = json!([block]);
        message["stop_reason"] = json!(stop);
        message
    }

    /// Returns the reply as server-sent events.
    pub fn events(&self) -> String {
        let message = self.message();
        let block = &message["content"][0];
        let (start, delta) = match &self.step {
            Step::Text(text) => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
            }
            Step::Tool { input, .. } => (
                json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            ),
        };
        let end = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
        let events = [
            json!({"type": "message_start", "message": self.start()}),
            json!({"type": "content_block_start", "index": 0, "content_block": start}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ];
        let lines = events.iter().map(|event| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
        });
        lines.collect()
    }

    /// Returns a message without content. The IDs are derived from the step, so a repeated request gets equal bytes.
    fn start(&self) -> Value {
        json!({
            "id": format!("msg_{}", self.id()), "type": "message", "role": "assistant", "model": self.model,
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        })
    }

    fn tool_id(&self) -> String {
        format!("toolu_{}", self.id())
    }

    fn id(&self) -> String {
        let script = self.script.as_deref().unwrap_or("side");
        let letters: String = script.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("{letters}{:03}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &str, results: usize) -> Value {
        let result = json!({"type": "tool_result", "tool_use_id": "x", "content": "y"});
        let mut messages = vec![json!({"role": "user", "content": words})];
        messages.extend((0..results).map(|_| json!({"role": "user", "content": [result]})));
        json!({"model": "m", "tools": [{"name": "Bash"}], "messages": messages})
    }

    #[test]
    fn the_step_is_the_number_of_tool_results() {
        let script = Script::parse(r#"[{"tool": "Bash", "input": {"command": "ls"}}]"#).unwrap();
        let first = script.reply(&request("go", 0)).message();
        assert_eq!(first["content"][0]["input"]["command"], "ls");
        assert_eq!(first["stop_reason"], "tool_use");
        let last = script.reply(&request("go", 1)).message();
        assert_eq!(last["content"][0]["text"], "done");
        assert_eq!(last["stop_reason"], "end_turn");
    }

    #[test]
    fn side_requests_and_subagents_do_not_take_a_step() {
        let text = r#"{"steps": [{"text": "a"}], "agents": {"look around": [{"text": "b"}]}}"#;
        let script = Script::parse(text).unwrap();
        let mut side = request("go", 0);
        side["tools"] = json!([]);
        for (request, script_name, said) in [
            (request("go", 0), Some(""), "a"),
            (request("please look around", 0), Some("look around"), "b"),
            (side, None, "ok"),
        ] {
            let reply = script.reply(&request);
            assert_eq!(reply.script.as_deref(), script_name);
            assert_eq!(reply.message()["content"][0]["text"], said);
        }
    }

    #[test]
    fn events_carry_the_input_as_json_text() {
        let script = Script::parse(r#"[{"tool": "Read", "input": {"a": 1}}]"#).unwrap();
        let events = script.reply(&request("go", 0)).events();
        assert!(events.contains(r#""partial_json":"{\"a\":1}""#), "{events}");
        assert!(events.ends_with("data: {\"type\":\"message_stop\"}\n\n"), "{events}");
    }

    #[test]
    fn a_step_must_be_a_text_or_a_call() {
        for text in ["{}", "[{}]", r#"[{"tool": "Bash"}]"#, r#"[{"text": "a", "tool": "b"}]"#] {
            assert!(Script::parse(text).is_err(), "{text}");
        }
    }
}
