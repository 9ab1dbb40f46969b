//! Reads the event of a hook.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: standard input and the agent's variables"
)]

use std::io::Read;
use std::path::PathBuf;

use openskills_runtime::RuntimeError;
use serde_json::Value;
use skill::ByteSize;

use crate::context::Context;

/// Size limit of an event, in bytes.
const MAX_EVENT: u64 = 16 << 20;
/// The variable in which the agent names its project.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// The permission mode in which the agent does not ask.
pub(crate) const BYPASS: &str = "bypassPermissions";

/// An event of a session.
#[derive(Debug, Clone)]
pub(crate) struct HookEvent {
    pub(crate) session: String,
    pub(crate) cwd: PathBuf,
    /// The agent's project.
    pub(crate) project: Option<PathBuf>,
    /// The agent's file about this session. The agent keeps long output of tools beside it.
    pub(crate) transcript: Option<PathBuf>,
    /// The agent's permission mode.
    pub(crate) mode: Option<String>,
    /// Whether the tool call has failed.
    pub(crate) is_failure: bool,
    pub(crate) occasion: Occasion,
}

/// What the agent reports.
#[derive(Debug, Clone)]
pub(crate) enum Occasion {
    /// A tool is about to be called.
    BeforeTool(ToolUse),
    /// A tool call has ended.
    AfterTool(ToolUse),
    /// A slash command is about to be expanded.
    Expansion(SlashCommand),
    SessionEnd,
    Other,
}

/// A slash command of the user.
#[derive(Debug, Clone)]
pub(crate) struct SlashCommand {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// A tool call of the agent.
#[derive(Debug, Clone)]
pub(crate) struct ToolUse {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// ID of the call; empty if the agent does not give one.
    pub(crate) id: String,
}

impl HookEvent {
    /// Returns true if the agent runs a call without a question, even if a hook tells it to ask.
    pub(crate) fn is_never_asked(&self) -> bool {
        self.mode.as_deref() == Some(BYPASS)
    }

    /// Reads an event from standard input.
    pub(crate) fn read(context: &Context) -> Result<Self, RuntimeError> {
        let mut text = String::new();
        std::io::stdin()
            .take(MAX_EVENT + 1)
            .read_to_string(&mut text)
            .map_err(|error| invalid(&format!("cannot read the event: {error}")))?;
        if text.len() as u64 > MAX_EVENT {
            return Err(invalid(&format!("the event is larger than {}", ByteSize(MAX_EVENT))));
        }
        let event: Value = serde_json::from_str(&text)
            .map_err(|error| invalid(&format!("the event is not valid JSON: {error}")))?;
        let field = |key: &str| event[key].as_str().map(str::to_owned);
        let cwd = match &event["cwd"] {
            Value::Null => context.cwd.as_path().to_owned(),
            Value::String(cwd) => PathBuf::from(cwd),
            _ => return Err(invalid("the event's `cwd` is not a string")),
        };
        let call = || -> Result<ToolUse, RuntimeError> {
            let tool = field("tool_name").ok_or_else(|| invalid("the event has no `tool_name`"))?;
            let id = field("tool_use_id").unwrap_or_default();
            Ok(ToolUse { tool, input: event["tool_input"].clone(), id })
        };
        let occasion = match event["hook_event_name"].as_str() {
            None | Some("PreToolUse") => Occasion::BeforeTool(call()?),
            Some("PostToolUse" | "PostToolUseFailure") => Occasion::AfterTool(call()?),
            Some("UserPromptExpansion") => Occasion::Expansion(SlashCommand {
                name: field("command_name")
                    .ok_or_else(|| invalid("the event has no `command_name`"))?,
                arguments: field("command_args").unwrap_or_default(),
            }),
            Some("SessionEnd") => Occasion::SessionEnd,
            Some(_) => Occasion::Other,
        };
        // Without a session no skill would be active, and nothing would be restricted.
        let session = field("session_id").filter(|session| !session.is_empty());
        Ok(Self {
            session: session.ok_or_else(|| invalid("the event has no `session_id`"))?,
            cwd,
            project: std::env::var_os(PROJECT).map(PathBuf::from),
            transcript: field("transcript_path").map(PathBuf::from),
            mode: field("permission_mode"),
            is_failure: event["hook_event_name"] == "PostToolUseFailure",
            occasion,
        })
    }
}

fn invalid(message: &str) -> RuntimeError {
    let hint = Some("for examples, run `openskills check-tool --help`".to_owned());
    RuntimeError::Setup { message: message.to_owned(), hint }
}
