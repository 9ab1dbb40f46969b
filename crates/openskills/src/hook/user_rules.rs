//! Reads the user's permission rules from all layers of the agent's settings.

use std::path::{Path, PathBuf};

use openskills_runtime::{AgentRules, RuntimeError};
use serde_json::Value;

use super::event::HookEvent;

/// The settings that an administrator manages.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// Reads the rules that apply to an event. A file that cannot be read is an error, because it may contain rules.
pub(super) fn load_rules(event: &HookEvent) -> Result<AgentRules, RuntimeError> {
    let mut rules = AgentRules::default();
    for file in settings_files(event) {
        add(&mut rules, &file)?;
    }
    Ok(rules)
}

fn add(rules: &mut AgentRules, file: &Path) -> Result<(), RuntimeError> {
    let wrong = |reason: String| RuntimeError::Setup {
        message: format!("cannot read the agent's settings `{}`: {reason}", file.display()),
        hint: Some("fix the file".to_owned()),
    };
    let text = match read(file) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(()),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(());
    }
    let settings: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    for (key, list) in
        [("allow", &mut rules.allow), ("ask", &mut rules.ask), ("deny", &mut rules.deny)]
    {
        match &settings["permissions"][key] {
            Value::Null => {}
            Value::Array(found) => {
                for rule in found {
                    let rule = rule.as_str();
                    let rule =
                        rule.ok_or_else(|| wrong(format!("a rule in `{key}` is not a text")))?;
                    list.push(rule.trim().to_owned());
                }
            }
            _ => return Err(wrong(format!("`permissions.{key}` is not a list"))),
        }
    }
    Ok(())
}

/// Returns the folders of the agent: the user's and the project's.
pub(super) fn agent_folders(event: &HookEvent) -> Vec<PathBuf> {
    let files = settings_files(event);
    let mut folders: Vec<PathBuf> =
        files.iter().filter_map(|file| file.parent()).map(Path::to_owned).collect();
    folders.dedup();
    folders
}

/// Returns the files of all layers.
#[expect(clippy::disallowed_methods, reason = "the edge: the agent's own variables")]
fn settings_files(event: &HookEvent) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let user = variable("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".claude")));
    let project = event.project.as_ref().unwrap_or(&event.cwd);
    let mut files = vec![PathBuf::from(MANAGED)];
    files.extend(user.map(|folder| folder.join("settings.json")));
    let mut folders = vec![project];
    if event.cwd != *project {
        folders.push(&event.cwd);
    }
    for folder in folders {
        files.push(folder.join(".claude/settings.json"));
        files.push(folder.join(".claude/settings.local.json"));
    }
    files
}

/// Reads a file; `None` if it does not exist.
#[expect(clippy::disallowed_methods, reason = "the edge: the agent's settings")]
fn read(file: &Path) -> std::io::Result<Option<String>> {
    /// Larger files are an error.
    const MAX_BYTES: u64 = 4 << 20;
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match std::fs::metadata(file) {
        Ok(found) if found.len() > MAX_BYTES => Err(std::io::Error::other("it is too large")),
        Ok(found) if !found.is_file() => Err(std::io::Error::other("it is not a file")),
        Ok(_) => std::fs::read_to_string(file).map(Some),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
