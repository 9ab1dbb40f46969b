//! Recognizes that a call loads a skill, so that the skill restricts everything from then on.

#![expect(clippy::disallowed_methods, reason = "the edge: the agent's files and variables")]

use std::fs;
use std::path::{Path, PathBuf};

use openskills_runtime::{
    OpenSkillRuntime, RuntimeError, arguments_may_run, may_run_when_loaded, words_of,
};

use super::event::{HookEvent, ToolUse};
use super::tools::is_shell;
use super::user_rules::agent_folders;

/// Returns true if a call may load a skill: then all skills must be known, not only the active ones.
pub(super) fn may_load_skill(call: &ToolUse, cwd: &Path) -> bool {
    match call.tool.as_str() {
        "Skill" | "SlashCommand" => true,
        // The skills in subfolders of a project, which only a full discovery finds, are in folders of this name.
        "Read" | "Grep" | "Glob" => {
            let text = |key: &str| call.input[key].as_str();
            let path = expanded(text("file_path").or(text("path")).unwrap_or("."), cwd);
            fs::canonicalize(path).is_ok_and(|real| real.iter().any(|name| name == "skills"))
        }
        tool if is_shell(tool) => {
            let line = call.input["command"].as_str().unwrap_or_default();
            let is_near = |text: &str| text.contains("skill") || text.contains(".md");
            is_near(&line.to_lowercase())
                || line.contains(['*', '?', '[', '{'])
                || is_near(&cwd.to_string_lossy())
        }
        _ => false,
    }
}

/// Records that a call loads a skill, so that the skill restricts everything from then on.
pub(super) fn activate_loaded(
    runtime: &mut OpenSkillRuntime,
    event: &HookEvent,
    call: &ToolUse,
) -> Result<(), RuntimeError> {
    let text = |key: &str| call.input[key].as_str();
    match call.tool.as_str() {
        "Skill" | "SlashCommand" => {
            let called = text("skill").or(text("command")).or(text("name")).unwrap_or_default();
            let (name, rest) = called.split_once(char::is_whitespace).unwrap_or((called, ""));
            let arguments = text("args").or(text("arguments")).unwrap_or_default();
            load_skill(runtime, event, name, &format!("{rest} {arguments}"))
        }
        "Read" | "Grep" | "Glob" => {
            let path = text("file_path").or(text("path")).map(|path| expanded(path, &event.cwd));
            let Some(path) = path else { return Ok(()) };
            let names = if call.tool == "Read" {
                runtime.skill_with_file(&path).into_iter().collect()
            } else {
                runtime.skills_with_path(&path)
            };
            names.iter().try_for_each(|name| runtime.activated_elsewhere(name).map(drop))
        }
        tool if is_shell(tool) => {
            let cwd = runtime.next_folder(&event.cwd);
            let mut names = runtime.skills_with_path(&cwd);
            for word in words_of(text("command").unwrap_or_default()) {
                let pattern = word.find(['*', '?', '[', '{']);
                let literal = match pattern.map(|at| word[..at].rsplit_once('/')) {
                    None => word.as_str(),
                    Some(Some((folder, _))) => folder,
                    Some(None) => ".",
                };
                let path = expanded(literal, &cwd);
                names.extend(match pattern {
                    Some(_) => runtime.skills_with_pattern(&path),
                    None => runtime.skills_with_path(&path),
                });
                names.extend(runtime.skill_with_file(&path));
            }
            names.iter().try_for_each(|name| runtime.activated_elsewhere(name).map(drop))
        }
        _ => Ok(()),
    }
}

/// Records that the agent is about to load a skill by its name, with these arguments.
pub(super) fn load_skill(
    runtime: &mut OpenSkillRuntime,
    event: &HookEvent,
    called: &str,
    arguments: &str,
) -> Result<(), RuntimeError> {
    const FIX: &str = "ask the user to fix the file";
    let name = called.trim_start_matches('/');
    // The name of a skill of a plugin is preceded by the plugin's.
    let name = name.rsplit(':').next().unwrap_or(name);
    let refused = |reason: &str, hint: &str| RuntimeError::PermissionDenied {
        message: format!("`{name}` cannot be loaded: {reason}"),
        hint: Some(hint.to_owned()),
    };
    let active = runtime.activated_elsewhere(name)?;
    let commands = command_files(event, name);
    if (!active.is_empty() || !commands.is_empty()) && arguments_may_run(arguments) {
        return Err(refused(
            "its arguments would run without the sandbox while the agent loads it",
            "pass arguments without `!` and backquotes",
        ));
    }
    // The agent's own kind of commands: texts that are no skills, but are loaded in the same way.
    for file in commands {
        let text = fs::read_to_string(&file)
            .map_err(|error| refused(&format!("cannot read `{}`: {error}", file.display()), FIX))?;
        if may_run_when_loaded(&text) {
            return Err(refused("commands in its text (!`…`) would run without the sandbox", FIX));
        }
    }
    Ok(())
}

/// Returns the files of the agent's commands with this name, in any subfolder.
fn command_files(event: &HookEvent, name: &str) -> Vec<PathBuf> {
    const MAX_DEPTH: usize = 8;
    fn collect(folder: &Path, name: &str, depth: usize, found: &mut Vec<PathBuf>) {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for path in entries.map(|entry| entry.path()) {
            let is_named = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case(name));
            if is_named && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
                found.push(path);
            } else if depth < MAX_DEPTH && path.is_dir() {
                collect(&path, name, depth + 1, found);
            }
        }
    }
    let mut found = Vec::new();
    for folder in agent_folders(event) {
        collect(&folder.join("commands"), name, 0, &mut found);
    }
    found
}

/// Returns the path that a shell or an agent makes of a text.
fn expanded(text: &str, cwd: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    for (prefix, folder) in [
        ("~/", home.as_path()),
        ("$HOME/", &home),
        ("${HOME}/", &home),
        ("$PWD/", cwd),
        ("${PWD}/", cwd),
    ] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return folder.join(rest);
        }
    }
    cwd.join(text)
}
