//! Error messages for clients. Models read them, so they say which tool helps and what only the user can do. They never
//! contain paths of this machine.

use openskills_runtime::{RuntimeError, one_line};

use super::ServeConfig;
use super::tools::Tool;

/// Returns the message of an error without paths of this machine. Clients know skills by their IDs, and files by their
/// paths in the skill.
pub(super) fn for_client(error: &RuntimeError) -> String {
    let path = match error {
        RuntimeError::Files(error) => error.path(),
        RuntimeError::InvalidManifest { file, .. } | RuntimeError::InvalidConfig { file, .. } => {
            file
        }
        _ => return error.to_string(),
    };
    let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("a file");
    error.to_string().replace(path, name)
}

/// Returns the message of an error and a hint for the model.
pub(super) fn for_model(error: &RuntimeError, config: &ServeConfig) -> String {
    let message = one_line(&for_client(error));
    match hint(error, config) {
        Some(hint) => format!("{message}\nhint: {}", one_line(&hint)),
        None => message,
    }
}

fn hint(error: &RuntimeError, config: &ServeConfig) -> Option<String> {
    let tool = |tool: Tool| tool.name(config.tool_names);
    let did_you_mean = |nearest: &Option<String>| {
        nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"))
    };
    match error {
        RuntimeError::SkillNotFound { nearest, .. } => {
            let call = || format!("call {} to list all skills", tool(Tool::List));
            Some(did_you_mean(nearest).unwrap_or_else(call))
        }
        RuntimeError::ResourceNotFound { nearest, .. } => {
            let call = || format!("call {} to list a skill's files", tool(Tool::Read));
            Some(did_you_mean(nearest).unwrap_or_else(call))
        }
        RuntimeError::NeedsApproval { hint: Some(hint), .. } => {
            // Clients must not learn which folders the server was started with.
            let folders = if config.discovery_flags.is_empty() {
                ""
            } else {
                " (with the same --dir folders as this server)"
            };
            Some(format!(
                "only the user can approve it; in a terminal, the user must {hint}{folders}"
            ))
        }
        RuntimeError::Declined { .. } => {
            Some("do not run it again unless the user asks for it".to_owned())
        }
        RuntimeError::TooDeep { .. } => {
            Some(format!("call {} with `nested` set to true", tool(Tool::ReadResource)))
        }
        RuntimeError::Arguments { .. }
        | RuntimeError::MissingLibraries { .. }
        | RuntimeError::Script { .. }
        | RuntimeError::WasmError { .. }
        | RuntimeError::SandboxUnavailable { .. } => error.hint(),
        RuntimeError::SkillChanged { .. } => Some(format!("call {} again", tool(Tool::Read))),
        // Other hints are about the command line and would not help the model.
        _ => None,
    }
}
