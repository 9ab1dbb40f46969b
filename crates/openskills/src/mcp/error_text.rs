//! What a client is told when something fails. Whoever reads it is a model: it is told which tool helps, and what only the user can do, and
//! never where on this machine something is.

use openskills_runtime::{RuntimeError, one_line};

use super::Served;
use super::tools::Tool;

/// Returns what went wrong without where on this machine: clients know skills by their ids and files by their paths in them.
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

/// Returns what went wrong, and what a model can do about it.
pub(super) fn for_model(error: &RuntimeError, served: &Served) -> String {
    let what = one_line(&for_client(error));
    match hint(error, served) {
        Some(hint) => format!("{what}\nhint: {}", one_line(&hint)),
        None => what,
    }
}

fn hint(error: &RuntimeError, served: &Served) -> Option<String> {
    let tool = |tool: Tool| tool.name(served.names);
    let meant = |nearest: &Option<String>| {
        nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"))
    };
    match error {
        RuntimeError::SkillNotFound { nearest, .. } => {
            Some(meant(nearest).unwrap_or_else(|| format!("{} lists all skills", tool(Tool::List))))
        }
        RuntimeError::ResourceNotFound { nearest, .. } => Some(
            meant(nearest)
                .unwrap_or_else(|| format!("{} lists the files of a skill", tool(Tool::Read))),
        ),
        RuntimeError::NeedsApproval { hint: Some(hint), .. } => {
            // Clients must not learn which folders the server was started with.
            let folders = if served.look.is_empty() {
                ""
            } else {
                " (with the same --dir folders as this server)"
            };
            Some(format!(
                "only the user can approve it; ask them to use a terminal: {hint}{folders}"
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
        // What else helps is done on the command line, by the user.
        _ => None,
    }
}
