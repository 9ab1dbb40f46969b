//! What is known about the tools of the agent.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// Tools that run command lines, and whose input can be rewritten.
const SHELLS: [&str; 2] = ["Bash", "Monitor"];
/// Tools that do nothing outside of the agent, or nothing that permission rules of the agent do not cover.
const KNOWN: [&str; 38] = [
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillBash",
    "KillShell",
    "ListAgents",
    "ListMcpResources",
    "ListMcpResourcesTool",
    "LS",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "Read",
    "ReadMcpResource",
    "ReadMcpResourceTool",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];
/// Tools that write files.
const WRITERS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
/// Folders of the agent that control what it runs.
const AGENT_FOLDERS: [&str; 2] = [".claude", ".claude-plugin"];

/// Returns true for a tool that runs command lines.
pub(super) fn is_shell(tool: &str) -> bool {
    SHELLS.contains(&tool)
}

/// Returns true for a tool that writes files.
pub(super) fn is_writer(tool: &str) -> bool {
    WRITERS.contains(&tool)
}

/// Returns true for a tool that is known to run nothing.
pub(super) fn is_known(tool: &str) -> bool {
    KNOWN.contains(&tool)
}

/// Returns the file that a call would change although it controls what may run: settings of the agent, or a file in one
/// of `own`, the folders of openskills and csk. `meanings` returns every path that a text may stand for.
pub(super) fn protected_file(
    tool: &str,
    input: &Value,
    cwd: &Path,
    own: &[PathBuf],
    meanings: impl Fn(&Path) -> Vec<PathBuf>,
) -> Option<String> {
    let is_writer = WRITERS.contains(&tool);
    if !is_writer && KNOWN.contains(&tool) {
        return None;
    }
    texts(input, writer_keys(tool)).into_iter().find_map(|text| {
        let is_protected = |path: &PathBuf| {
            let is_agents = path.components().any(|part| match part {
                Component::Normal(name) => AGENT_FOLDERS
                    .iter()
                    .any(|folder| skill::is_name_of(&name.to_string_lossy(), folder)),
                _ => false,
            });
            // A tool that is not known may move or remove a whole folder.
            let is_around =
                |own: &PathBuf| !is_writer && own.starts_with(path) && path.iter().count() > 1;
            is_agents || own.iter().any(|own| path.starts_with(own) || is_around(own))
        };
        let home = text.strip_prefix("~/").map(|rest| own_home(own).join(rest));
        let path = home.unwrap_or_else(|| cwd.join(&text));
        meanings(&path).iter().any(is_protected).then_some(text)
    })
}

/// Returns the home folder, which contains the folders of openskills unless they were moved.
fn own_home(own: &[PathBuf]) -> PathBuf {
    let found =
        own.iter().find_map(|own| own.to_str()?.split_once("/.").map(|(home, _)| home.into()));
    found.unwrap_or_default()
}

/// Returns the keys of the texts that a tool writes to files.
fn writer_keys(tool: &str) -> &'static [&'static str] {
    const TEXT_KEYS: &[&str] = &["content", "new_string", "old_string", "new_source", "edits"];
    if WRITERS.contains(&tool) { TEXT_KEYS } else { &[] }
}

/// Returns every text in an input that may be a path, except those under the keys `skipped`.
fn texts(input: &Value, skipped: &[&str]) -> Vec<String> {
    let plain = |text: &str| {
        let text = text.trim();
        (text.len() <= 4096 && !text.contains('\n')).then(|| text.to_owned())
    };
    match input {
        Value::String(text) => plain(text).into_iter().collect(),
        Value::Object(fields) => {
            let named = fields.iter().filter(|(key, _)| !skipped.contains(&key.as_str()));
            named
                .flat_map(|(key, value)| plain(key).into_iter().chain(texts(value, skipped)))
                .collect()
        }
        Value::Array(values) => values.iter().flat_map(|value| texts(value, skipped)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_that_control_what_runs_are_protected_from_every_tool() {
        let protected = |tool: &str, input: &Value| {
            let own = [PathBuf::from("/home/me/.local/state/openskills")];
            let meanings = |path: &Path| match path.strip_prefix("/p/link") {
                Ok(rest) => vec![Path::new("/home/me/.claude").join(rest)],
                Err(_) => vec![path.to_owned()],
            };
            protected_file(tool, input, Path::new("/p"), &own, meanings).is_some()
        };
        for (tool, input) in [
            ("Write", json!({ "file_path": "/home/me/.claude/settings.json", "content": "{}" })),
            (
                "Edit",
                json!({ "file_path": ".claude/settings.local.json", "old_string": "a", "new_string": "b" }),
            ),
            ("Edit", json!({ "file_path": ".CLAUDE/settings.json" })),
            ("Write", json!({ "file_path": "link/settings.json" })),
            ("Write", json!({ "file_path": "/home/me/.local/state/openskills/approvals.json" })),
            ("mcp__files__write", json!({ "where": { "path": "/home/me/.claude/settings.json" } })),
            (
                "mcp__x__edit",
                json!({ "edits": [{ "path": "/home/me/.local/state/openskills/x" }] }),
            ),
            ("mcp__x__edit", json!({ "/home/me/.local/state/openskills/x": "text" })),
            ("mcp__x__edit", json!({ "path": "~/.local/state/openskills/x\n" })),
            ("mcp__x__move", json!({ "from": "/home/me/.local/state" })),
            ("FutureTool", json!({ "paths": ["/home/me/.local/state/openskills/tickets/x"] })),
        ] {
            assert!(protected(tool, &input), "{tool} {input}");
        }
        for (tool, input) in [
            ("Read", json!({ "file_path": "/home/me/.claude/settings.json" })),
            ("Write", json!({ "file_path": "src/a.rs", "content": "see .claude/settings.json" })),
            (
                "Edit",
                json!({ "file_path": "notes.md", "old_string": ".claude/x", "new_string": "y" }),
            ),
        ] {
            assert!(!protected(tool, &input), "{tool} {input}");
        }
    }
}
