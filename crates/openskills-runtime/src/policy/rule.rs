//! Whether rules match a call.

use std::path::{Component, Path, PathBuf};

use ignore::gitignore::GitignoreBuilder;
use skill::ToolRule;
use skill::capabilities::{Cover, Host};

use super::bash;
use super::{Decision, Surroundings, ToolCall, ToolInput, Verdict};

/// Returns what a list of rules makes of a call.
pub(super) fn allows(rules: &[&ToolRule], call: &ToolCall, around: &Surroundings) -> Verdict {
    let own: Vec<Option<&str>> = rules.iter().filter_map(|rule| about(rule, &call.tool)).collect();
    if own.iter().any(Option::is_none) {
        return Verdict::new(Decision::Allow, format!("`{}` is allowed", call.tool));
    }
    if own.is_empty() {
        let reason = format!("no rule allows `{}`", call.tool);
        return Verdict::new(Decision::Deny, reason);
    }
    let specifiers: Vec<&str> = own.into_iter().flatten().collect();
    if let ToolInput::Command(command) = &call.input {
        return bash::allows(&specifiers, command, || may_write(rules));
    }
    match specifiers.iter().find(|specifier| matches(specifier, call, around, Names::Every)) {
        Some(specifier) => {
            Verdict::new(Decision::Allow, format!("`{}({specifier})` allows it", call.tool))
        }
        None => {
            let reason = format!("no rule allows `{}` with this input", call.tool);
            Verdict::new(Decision::Deny, reason)
        }
    }
}

/// Returns true if a rule takes a call away. What cannot be read as a rule, and a command that cannot be understood, is
/// denied: it may be what was meant.
pub(super) fn denies(rule: &ToolRule, call: &ToolCall, around: &Surroundings) -> bool {
    if is_broken_about(rule, &call.tool) {
        return true;
    }
    match about(rule, &call.tool) {
        None => false,
        Some(None) => true,
        Some(Some(specifier)) => match &call.input {
            ToolInput::Command(command) => bash::denies(specifier, command),
            _ => matches(specifier, call, around, Names::Any),
        },
    }
}

/// Returns true for text that is no rule and may have been one about a tool.
fn is_broken_about(rule: &ToolRule, called: &str) -> bool {
    let ToolRule::Malformed(text) = rule else { return false };
    let tool = text.split('(').next().unwrap_or_default().trim();
    tool.is_empty() || same_tool(tool, called)
}

/// Returns the specifier of a rule about a tool: `Some(None)` for the whole tool.
fn about<'a>(rule: &'a ToolRule, called: &str) -> Option<Option<&'a str>> {
    let ToolRule::Rule { tool, specifier } = rule else { return None };
    let specifier = specifier.as_deref().map(str::trim).filter(|text| *text != "*");
    same_tool(tool, called).then_some(specifier)
}

/// Compares names of tools; a server of tools stands for all of its tools.
fn same_tool(rule: &str, called: &str) -> bool {
    let rule = rule.strip_suffix("__*").unwrap_or(rule);
    rule == called
        || (rule.starts_with("mcp__")
            && called.strip_prefix(rule).is_some_and(|rest| rest.starts_with("__")))
}

/// How many of a file's names must match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// The one that was given and where it really is, to be allowed.
    Every,
    /// One of them, to be denied.
    Any,
}

fn matches(specifier: &str, call: &ToolCall, around: &Surroundings, names: Names) -> bool {
    match &call.input {
        ToolInput::File { path, real } => {
            let mut paths = std::iter::once(path).chain(real);
            let is_in = |path: &PathBuf| path_matches(specifier, path, around);
            let leads_up = path.components().any(|part| part == Component::ParentDir);
            match names {
                Names::Every if leads_up => false,
                Names::Every => paths.all(is_in),
                Names::Any => paths.any(is_in),
            }
        }
        ToolInput::Host(host) => {
            let rule = specifier.strip_prefix("domain:").and_then(Host::parse);
            match (rule, host) {
                (Some(rule), Some(host)) => rule.covers(host),
                // What cannot be read may be what is denied, and is not what is allowed.
                (None, _) | (_, None) => names == Names::Any,
            }
        }
        // What is not understood may be what is denied, and is not what is allowed.
        ToolInput::Command(_) | ToolInput::Other => names == Names::Any,
    }
}

/// Matches by the rules of gitignore: `//x` is absolute, `~/x` in the home, all else in the workspace.
fn path_matches(pattern: &str, path: &Path, around: &Surroundings) -> bool {
    let path = &plain(path);
    let (root, pattern) =
        match (pattern.strip_prefix("//"), pattern.strip_prefix("~/"), &around.home) {
            (Some(below), _, _) => (Path::new("/"), format!("/{below}")),
            (None, Some(below), Some(home)) => (home.as_path(), format!("/{below}")),
            (None, Some(_), None) => return false,
            (None, None, _) => (
                around.workspace.as_path(),
                pattern.strip_prefix("./").unwrap_or(pattern).to_owned(),
            ),
        };
    let root = &plain(root);
    if !path.starts_with(root) || pattern.starts_with('!') {
        return false;
    }
    let mut builder = GitignoreBuilder::new(root);
    if builder.add_line(None, &pattern).is_err() {
        return false;
    }
    builder.build().is_ok_and(|rules| rules.matched_path_or_any_parents(path, false).is_ignore())
}

/// Returns a path without `.`, `..` and doubled slashes, by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                all.pop();
            }
            other => all.push(other),
        }
    }
    all
}

/// Returns true if the rules let every file be written, which is what a redirection does: where one leads is not known
/// here, so a rule for some files is not enough.
fn may_write(rules: &[&ToolRule]) -> bool {
    ["Write", "Edit"].iter().any(|tool| rules.iter().any(|rule| about(rule, tool) == Some(None)))
}

/// Returns true if a rule denies files to be written, and a line writes one.
pub(super) fn denies_writing(rule: &ToolRule, call: &ToolCall) -> bool {
    let is_about = ["Write", "Edit"]
        .iter()
        .any(|tool| about(rule, tool).is_some() || is_broken_about(rule, tool));
    match &call.input {
        ToolInput::Command(command) => is_about && bash::writes(command),
        ToolInput::File { .. } | ToolInput::Host(_) | ToolInput::Other => false,
    }
}
