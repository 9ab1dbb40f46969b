//! A call of a tool, as a host describes it.

use std::path::PathBuf;

use serde_json::Value;
use skill::capabilities::Host;

/// A tool and what it is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// What it is called with, as far as rules can be about it.
    pub input: ToolInput,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolInput {
    /// A line for a shell.
    Command(String),
    /// A file: as it was named, and where it really is if a link is on the way. Both are absolute.
    File {
        /// As it was named.
        path: PathBuf,
        /// Where it really is.
        real: Option<PathBuf>,
    },
    /// A host on the network; absent where the address cannot be read.
    Host(Option<Host>),
    /// Anything else.
    Other,
}

/// What rules are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The folder that the work is done in.
    pub workspace: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
}

impl ToolCall {
    /// Reads the input of a tool as agents write it. `real` says where a path really is; it is asked for files only.
    pub fn from_json(
        tool: &str,
        input: &Value,
        around: &Surroundings,
        real: impl FnOnce(&PathBuf) -> Option<PathBuf>,
    ) -> Self {
        let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(key)?.as_str());
        let read = match tool {
            // Other shells read lines otherwise: rules about parts of them are not understood.
            "Bash" | "Terminal" => {
                text(&["command"]).map(|command| ToolInput::Command(command.to_owned()))
            }
            "Read" | "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "Glob" | "Grep" | "LS" => {
                text(&["file_path", "notebook_path", "path"]).map(|path| {
                    let path = around.workspace.join(path);
                    ToolInput::File { real: real(&path), path }
                })
            }
            "WebFetch" | "Fetch" => text(&["url"]).map(|url| ToolInput::Host(host_of(url))),
            _ => None,
        };
        Self { tool: tool.to_owned(), input: read.unwrap_or(ToolInput::Other) }
    }
}

/// Returns the host of an address. One with a user in it is none: it is written to be misread.
fn host_of(url: &str) -> Option<Host> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    if authority.contains('@') {
        return None;
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    // A `*` in an address is no pattern.
    Host::parse(host).filter(|host| matches!(host, Host::Exact(_)))
}
