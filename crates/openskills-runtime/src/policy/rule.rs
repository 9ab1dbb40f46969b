//! Whether rules match a call.

use std::path::{Component, PathBuf};

use shell::{Certainty, Line, Word};
use skill::ToolRule;
use skill::capabilities::{Cover, Host};

use super::call::{FileArgument, MAX_PATH, READERS, WRITERS};
use super::path::{Files, Looked};
use super::{Decision, Surroundings, ToolCall, ToolInput, Verdict, bash};

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
    if let ToolInput::Command { line, .. } = &call.input {
        return bash::allows(&specifiers, line, || may_write(rules));
    }
    let is_allowed = match &call.input {
        ToolInput::Files(files) => {
            // Every file by one rule or another.
            files.iter().all(|file| specifiers.iter().any(|rule| allows_file(rule, file, around)))
        }
        ToolInput::Hosts(hosts) => {
            let is_in =
                |host: &Host| specifiers.iter().any(|rule| host_rule(rule, host) == Some(true));
            hosts.iter().all(|host| host.as_ref().is_some_and(is_in))
        }
        ToolInput::Command { .. } | ToolInput::Other => false,
    };
    if is_allowed {
        let rules = specifiers.iter().map(|rule| format!("`{}({rule})`", call.tool));
        let rules = rules.collect::<Vec<_>>().join(", ");
        return Verdict::new(Decision::Allow, format!("it is part of {rules}"));
    }
    Verdict::new(Decision::Deny, format!("no rule allows `{}` with this input", call.tool))
}

fn allows_file(rule: &str, file: &FileArgument, around: &Surroundings) -> bool {
    let leads_up = |path: &PathBuf| path.components().any(|part| part == Component::ParentDir);
    let kind = if file.is_searched { Looked::AsFolder } else { Looked::AsFile };
    let rule = Files::new(rule, &around.workspace, around);
    !file.paths.iter().any(leads_up) && file.paths.iter().all(|path| rule.holds(path, kind))
}

/// Returns whether a rule is about a host; `None` where the rule cannot be read.
fn host_rule(rule: &str, host: &Host) -> Option<bool> {
    let rule = rule.strip_prefix("domain:").and_then(Host::parse)?;
    Some(rule.covers(host))
}

/// Returns what a rule that denies makes of a call: deny, ask where it may be about a part of it, or nothing. What cannot
/// be read as a rule, and a command that cannot be understood, is denied: it may be what was meant.
pub(super) fn denies(rule: &ToolRule, call: &ToolCall, around: &Surroundings) -> Option<Decision> {
    if is_broken_about(rule, &call.tool) {
        return Some(Decision::Deny);
    }
    if let ToolInput::Command { line, .. } = &call.input
        && let Some(decision) = denies_files_of_line(rule, line, around)
    {
        return Some(decision);
    }
    let specifier = denied(rule, &call.tool)?;
    let Some(specifier) = specifier else { return Some(Decision::Deny) };
    match &call.input {
        ToolInput::Command { line, .. } => bash::denies(specifier, line).then_some(Decision::Deny),
        ToolInput::Files(files) => {
            files.iter().filter_map(|file| denies_file(specifier, file, around)).min()
        }
        ToolInput::Hosts(hosts) => {
            let is_denied = |host: &Option<Host>| {
                // What cannot be read may be what is denied.
                host.as_ref().is_none_or(|host| host_rule(specifier, host) != Some(false))
            };
            hosts.iter().any(is_denied).then_some(Decision::Deny)
        }
        ToolInput::Other => Some(Decision::Deny),
    }
}

fn denies_file(rule: &str, file: &FileArgument, around: &Surroundings) -> Option<Decision> {
    let rule = Files::new(rule, &roots(around), around);
    if rule.is_unclear() || file.paths.iter().any(|path| rule.holds(path, Looked::AsFolder)) {
        return Some(Decision::Deny);
    }
    let may_reach = file.is_searched && file.paths.iter().any(|path| rule.may_be_below(path));
    may_reach.then_some(Decision::Ask)
}

/// A rule that denies holds from wherever it may have been meant.
fn roots(around: &Surroundings) -> Vec<PathBuf> {
    around.workspace.iter().chain(&around.cwd).cloned().collect()
}

/// Rules about files hold for the files that a line opens or names as well, as far as those can be known.
fn denies_files_of_line(
    rule: &ToolRule,
    line: &Result<Line, shell::Refusal>,
    around: &Surroundings,
) -> Option<Decision> {
    let tools: [&[&str]; 2] = [&READERS, &WRITERS];
    let [reads, writes] = tools.map(|tools| {
        tools.iter().any(|tool| denied(rule, tool).is_some() || is_broken_about(rule, tool))
    });
    if !reads && !writes {
        return None;
    }
    // What nobody can read may open anything; but a line may be full of things that only its own rules know.
    let Ok(line) = line else { return writes.then_some(Decision::Deny) };
    let ToolRule::Rule { specifier, .. } = rule else {
        return bash::opens(line).any(|file| !file.is_read).then_some(Decision::Deny);
    };
    let specifier = specifier.as_deref().map(str::trim).filter(|text| *text != "*");
    let Some(specifier) = specifier else {
        let is_meant = |file: &shell::Redirect| if file.is_read { reads } else { writes };
        return bash::opens(line).any(is_meant).then_some(Decision::Deny);
    };
    let files = Files::new(specifier, &roots(around), around);
    let is_denied = |text: &str| {
        let text = text.rsplit('=').next().unwrap_or(text);
        // No kernel opens what is longer, so it is no file.
        if text.len() > MAX_PATH {
            return false;
        }
        let paths = around.paths(text);
        paths.is_none_or(|paths| paths.iter().any(|path| files.holds(path, Looked::AsFolder)))
    };
    let opened = bash::opens(line).any(|file| {
        let is_meant = if file.is_read { reads } else { writes };
        is_meant && (file.target.certainty != Certainty::Exact || is_denied(&file.target.text))
    });
    let words = || line.commands.iter().flat_map(|command| command.words.iter().skip(1));
    let is_known = |word: &Word| word.certainty == Certainty::Exact || word.text.starts_with('~');
    let named = words().any(|word| is_known(word) && is_denied(&word.text));
    if opened || named || files.is_unclear() {
        return Some(Decision::Deny);
    }
    // What may become any file may become that one.
    words().any(|word| word.certainty != Certainty::Exact).then_some(Decision::Ask)
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

/// As [`about`], for a rule that denies. It holds for tools that do the same thing, for names with a `*`, and however the
/// name is written.
fn denied<'a>(rule: &'a ToolRule, called: &str) -> Option<Option<&'a str>> {
    if let Some(specifier) = about(rule, called) {
        return Some(specifier);
    }
    let ToolRule::Rule { tool, specifier } = rule else { return None };
    let is_of =
        |tools: &[&str], name: &str| tools.iter().any(|tool| tool.eq_ignore_ascii_case(name));
    let does_the_same = (tool.eq_ignore_ascii_case("Read") && is_of(&READERS, called))
        || (is_of(&WRITERS, tool) && is_of(&WRITERS, called));
    let (lower, name) = (tool.to_ascii_lowercase(), called.to_ascii_lowercase());
    let is_it = does_the_same || same_tool(&lower, &name) || super::glob(&lower, &name);
    is_it.then(|| specifier.as_deref().map(str::trim).filter(|text| *text != "*"))
}

/// Compares names of tools; a server of tools stands for all of its tools.
fn same_tool(rule: &str, called: &str) -> bool {
    let rule = rule.strip_suffix("__*").unwrap_or(rule);
    rule == called
        || (rule.starts_with("mcp__")
            && called.strip_prefix(rule).is_some_and(|rest| rest.starts_with("__")))
}

/// Returns true if the rules let every file be written, which is what a redirection does: where one leads is not known
/// here, so a rule for some files is not enough.
fn may_write(rules: &[&ToolRule]) -> bool {
    ["Write", "Edit"].iter().any(|tool| rules.iter().any(|rule| about(rule, tool) == Some(None)))
}
