//! Matches rules against tool calls.

use std::path::{Component, Path, PathBuf};

use shell::{Certainty, Redirect, Word};
use skill::ToolRule;
use skill::capabilities::{Cover, Host};

use super::call::{FileArgument, OTHER_SHELLS, READERS, SHELLS, WRITERS, attached};
use super::path::{FileRule, PathKind};
use super::programs::{Locations, Mismatch, OutputWrites, WriteMode, is_outside, steers};
use super::{
    CallContext, Decision, Launchers, ToolCall, ToolInput, Verdict, bash, deny, rule_reads,
};

/// Returns what an allowlist decides about a call.
pub(super) fn allows(
    rules: &[&ToolRule],
    call: &ToolCall,
    context: &CallContext,
    launchers: Launchers,
) -> Verdict {
    let own: Vec<Option<&str>> = rules.iter().filter_map(|rule| about(rule, &call.tool)).collect();
    if own.is_empty() {
        let reason = format!("no rule allows `{}`", call.tool);
        return Verdict::new(Decision::Deny, reason);
    }
    let is_whole = own.iter().any(Option::is_none);
    let specifiers: Vec<&str> = own.into_iter().flatten().collect();
    if let ToolInput::Command { line, unsupported_keys, .. } = &call.input
        && let Some(at) = locations(call, context)
    {
        let tools = ["Write", "Edit"].iter().chain(&SHELLS);
        let may_write = |tool: &&str| rules.iter().any(|rule| about(rule, tool) == Some(None));
        let is_written = tools.into_iter().any(may_write);
        let output_writes = if is_written { OutputWrites::Allowed } else { OutputWrites::Denied };
        let at = Locations { output_writes, ..at };
        let may_open = |file: &Redirect| may_open(rules, file, &at);
        let specifiers = specifiers.as_slice();
        let allowed = bash::ShellRules { specifiers, is_whole, launchers, may_open, at };
        let verdict = allowed.judge(line);
        return match unsupported_keys.first() {
            Some(key) => verdict.stricter(Verdict::new(
                Decision::Ask,
                format!("the input key `{key}` is not supported: it may change how the command line runs"),
            )),
            None => verdict,
        };
    }
    if WRITERS.contains(&call.tool.as_str()) && matches!(call.input, ToolInput::Other) {
        let reason = format!("no file path found in the input of `{}`", call.tool);
        let decision = if is_whole { Decision::Ask } else { Decision::Deny };
        return Verdict::new(decision, reason);
    }
    if is_whole && is_shell_tool(&call.tool) && launchers == Launchers::Ask {
        // Another shell, or a call without a command line that can be found: it may run anything.
        return bash::any_code(&format!(
            "`{}` runs a command line that openskills cannot parse",
            call.tool
        ));
    }
    let steering = steering(call, context);
    if is_whole {
        let reason = format!("`{}` is allowed", call.tool);
        return steering.unwrap_or_else(|| Verdict::new(Decision::Allow, reason));
    }
    let is_allowed = match &call.input {
        ToolInput::Files(files) => {
            // Each file must be allowed by some rule.
            let mut files = files.iter().filter(|file| !file.may_be_text);
            files.all(|file| specifiers.iter().any(|rule| allows_file(rule, file, context)))
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
        let reason = format!("allowed by {rules}");
        return steering.unwrap_or_else(|| Verdict::new(Decision::Allow, reason));
    }
    Verdict::new(Decision::Deny, format!("no rule allows `{}` with this input", call.tool))
}

/// Returns a verdict that asks for approval if a call writes a file that configures other programs or is outside the
/// workspace. A file rule covers the user's work, not the settings of git or an agent.
fn steering(call: &ToolCall, context: &CallContext) -> Option<Verdict> {
    let ToolInput::Files(files) = &call.input else { return None };
    if !WRITERS.contains(&call.tool.as_str()) {
        return None;
    }
    let mut paths = files.iter().flat_map(|file| file.paths.iter().map(move |path| (path, file)));
    paths.find_map(|(path, file)| {
        let is_odd = path.to_string_lossy().contains(char::is_control);
        let why = if file.is_in_repository || is_odd || steers(path, context) {
            "configures other programs"
        } else if !file.may_be_text && is_outside(path, context) {
            "is outside the workspace"
        } else {
            return None;
        };
        Some(Verdict::new(Decision::Ask, format!("`{}` {why}", path.display())))
    })
}

fn allows_file(rule: &str, file: &FileArgument, context: &CallContext) -> bool {
    let leads_up = |path: &PathBuf| path.components().any(|part| part == Component::ParentDir);
    let kind = if file.is_searched { PathKind::FileOrFolder } else { PathKind::File };
    let rule = FileRule::new(rule, &context.workspace, context);
    !file.paths.iter().any(leads_up) && file.paths.iter().all(|path| rule.holds(path, kind))
}

/// Returns whether a rule covers a host; `None` if the rule is malformed.
fn host_rule(rule: &str, host: &Host) -> Option<bool> {
    let rule = rule.strip_prefix("domain:").and_then(Host::parse)?;
    Some(rule.covers(host))
}

/// Returns what a deny rule decides about a call: deny, ask if it may cover part of the call, or nothing. Malformed
/// rules and commands that cannot be parsed are denied, because they may be what the rule is about.
pub(super) fn denies(rule: &ToolRule, call: &ToolCall, context: &CallContext) -> Option<Decision> {
    if is_broken_about(rule, &call.tool) {
        return Some(Decision::Deny);
    }
    if let ToolInput::Command { .. } = &call.input
        && let Some(decision) = denies_files_of_line(rule, call, context)
    {
        return Some(decision);
    }
    if let ToolInput::Command { line: Ok(line), .. } = &call.input
        && denied(rule, "WebFetch").is_some()
        && bash::opens(line).any(|file| is_network(&file.target.text))
    {
        return Some(Decision::Deny);
    }
    let specifier = denied(rule, &call.tool)?;
    let Some(specifier) = specifier else { return Some(Decision::Deny) };
    match &call.input {
        ToolInput::Command { line, .. } => match locations(call, context) {
            Some(at) => deny::denies(specifier, line, &at),
            None => Some(Decision::Deny),
        },
        ToolInput::Files(files) => {
            files.iter().filter_map(|file| denies_file(specifier, file, context)).min()
        }
        ToolInput::Hosts(hosts) => {
            let is_denied = |host: &Option<Host>| {
                // A URL that cannot be parsed may lead to the denied host.
                host.as_ref().is_none_or(|host| host_rule(specifier, host) != Some(false))
            };
            hosts.iter().any(is_denied).then_some(Decision::Deny)
        }
        ToolInput::Other => Some(Decision::Deny),
    }
}

fn denies_file(rule: &str, file: &FileArgument, context: &CallContext) -> Option<Decision> {
    let rule = FileRule::new(rule, &roots(context), context);
    if rule.is_unclear() || file.paths.iter().any(|path| rule.holds(path, PathKind::FileOrFolder)) {
        return Some(Decision::Deny);
    }
    let ending = file.ending.as_deref();
    let may_reach =
        file.is_searched && file.paths.iter().any(|path| rule.may_be_below(path, ending));
    may_reach.then_some(Decision::Ask)
}

/// Returns every folder that a deny rule may be relative to.
fn roots(context: &CallContext) -> Vec<PathBuf> {
    context.workspace.iter().chain(&context.cwd).cloned().collect()
}

/// Applies file rules to the files that a command line opens or mentions, as far as those are known.
fn denies_files_of_line(
    rule: &ToolRule,
    call: &ToolCall,
    context: &CallContext,
) -> Option<Decision> {
    let ToolInput::Command { text, line, lookup, .. } = &call.input else { return None };
    let tools: [&[&str]; 2] = [&READERS, &WRITERS];
    let [reads, writes] = tools.map(|tools| {
        tools.iter().any(|tool| denied(rule, tool).is_some() || is_broken_about(rule, tool))
    });
    if !reads && !writes {
        return None;
    }
    let specifier = match rule {
        ToolRule::Rule { specifier, .. } => {
            specifier.as_deref().map(str::trim).filter(|text| *text != "*")
        }
        ToolRule::Malformed(_) => None,
    };
    let Ok(line) = line else {
        // A line that cannot be parsed may open anything, and most likely what it mentions.
        let name = specifier
            .and_then(|rule| rule.rsplit('/').find(|part| !part.is_empty() && !part.contains('*')));
        let is_named = name.is_none_or(|name| text.contains(name));
        return Some(if writes || is_named { Decision::Deny } else { Decision::Ask });
    };
    let Some(specifier) = specifier else {
        let is_meant = |file: &Redirect| if file.is_read { reads } else { writes };
        return bash::opens(line).any(is_meant).then_some(Decision::Deny);
    };
    let files = FileRule::new(specifier, &roots(context), context);
    if files.is_unclear() {
        return Some(Decision::Deny);
    }
    let holds = |path: &Path| files.holds(path, PathKind::FileOrFolder);
    let is_denied = |word: &Word| {
        let is_home = word.certainty != Certainty::Exact;
        lookup.found.get(&word.text).is_some_and(|real| holds(real))
            || attached(&word.text).iter().any(|text| {
                // Longer texts cannot be paths. A quoted `~` is not expanded.
                let paths = if is_home { context.paths(text) } else { context.plain_paths(text) };
                paths.is_some_and(|paths| paths.iter().any(|path| holds(path)))
            })
    };
    let opened = bash::opens(line).any(|file| {
        let is_meant = if file.is_read { reads } else { writes };
        is_meant && (file.target.certainty != Certainty::Exact || is_denied(&file.target))
    });
    let words = || line.commands.iter().flat_map(|command| command.words.iter().skip(1));
    let is_known = |word: &Word| word.certainty == Certainty::Exact || word.text.starts_with('~');
    if opened || words().any(|word| is_known(word) && is_denied(word)) {
        return Some(Decision::Deny);
    }
    // A word that may expand to any file may expand to the denied one. So may a path relative to another folder, and
    // anything below a folder.
    let at = rule_reads::FileDenyRule { files: &files, lookup, context, specifier };
    let is_read = reads && at.may_read(line);
    let writes_more = writes && at.may_write(line);
    // So may a program that runs code which cannot be analyzed here.
    let runs_more = locations(call, context).is_none_or(|at| deny::may_run_more(line, &at));
    let named = specifier.rsplit('/').find(|part| !part.is_empty() && !part.contains('*'));
    if runs_more && named.is_some_and(|name| text.contains(name)) {
        return Some(Decision::Deny);
    }
    // Files that a line moves, copies or checks out have other names afterwards.
    let brings = line.commands.len() > 1
        && locations(call, context).is_none_or(|at| bash::brings_files(line, &at));
    (is_read || writes_more || runs_more || brings || bash::moves(line)).then_some(Decision::Ask)
}

/// Returns what is known about the paths of a command line.
fn locations<'a>(call: &'a ToolCall, context: &'a CallContext) -> Option<Locations<'a>> {
    let ToolInput::Command { line, lookup, .. } = &call.input else { return None };
    let is_moved = line.as_ref().map_or(true, bash::moves);
    Some(Locations { context, lookup, is_moved, output_writes: OutputWrites::Allowed })
}

fn is_shell_tool(tool: &str) -> bool {
    SHELLS.contains(&tool) || tool == "PowerShell"
}

/// Returns true for a malformed rule that may have been about a tool.
fn is_broken_about(rule: &ToolRule, called: &str) -> bool {
    let ToolRule::Malformed(text) = rule else { return false };
    let tool = text.split('(').next().unwrap_or_default().trim();
    tool.is_empty() || same_tool(tool, called) || is_function_named(tool, called)
}

/// Returns the specifier of a rule about a tool: `Some(None)` for the whole tool.
fn about<'a>(rule: &'a ToolRule, called: &str) -> Option<Option<&'a str>> {
    let ToolRule::Rule { tool, specifier } = rule else { return None };
    let specifier = specifier.as_deref().map(str::trim).filter(|text| *text != "*");
    same_tool(tool, called).then_some(specifier)
}

/// Like [`about`], for deny rules. They also apply to equivalent tools, to names with a `*`, and regardless of case.
fn denied<'a>(rule: &'a ToolRule, called: &str) -> Option<Option<&'a str>> {
    if let Some(specifier) = about(rule, called) {
        return Some(specifier);
    }
    let ToolRule::Rule { tool, specifier } = rule else { return None };
    let is_of =
        |tools: &[&str], name: &str| tools.iter().any(|tool| tool.eq_ignore_ascii_case(name));
    let does_the_same = (tool.eq_ignore_ascii_case("Read") && is_of(&READERS, called))
        || (is_of(&WRITERS, tool) && is_of(&WRITERS, called))
        || (is_of(&SHELLS, tool) && (is_of(&SHELLS, called) || is_of(&OTHER_SHELLS, called)));
    let called = called.trim();
    let (lower, name) = (tool.trim().to_ascii_lowercase(), called.to_ascii_lowercase());
    // Every tool of a denied server is denied, whatever characters its name contains.
    let is_served = lower.starts_with("mcp__") && name.starts_with(&format!("{lower}__"));
    let is_it = does_the_same
        || is_served
        || is_function_named(tool, called)
        || same_tool(&lower, &name)
        || super::glob(&lower, &name);
    is_it.then(|| specifier.as_deref().map(str::trim).filter(|text| *text != "*"))
}

/// Returns true if a bare name is a function of some package: `write_page` matches `pensar::write_page` and
/// `pensar_write_page`. Without colons it is unclear where the package name ends, so any `_` may be the separator.
/// Tools of MCP servers have their own naming scheme.
fn is_function_named(bare: &str, called: &str) -> bool {
    let (bare, called) = (bare.trim().to_ascii_lowercase(), called.trim().to_ascii_lowercase());
    if bare.is_empty() || bare.contains(':') || called.starts_with("mcp__") {
        return false;
    }
    let before = |mark: &str| called.strip_suffix(&bare)?.strip_suffix(mark).map(str::to_owned);
    before("::").or_else(|| before("_")).is_some_and(|package| !package.is_empty())
}

/// Compares tool names; the name of an MCP server covers all of its tools.
fn same_tool(rule: &str, called: &str) -> bool {
    if let Some(start) = rule.strip_suffix("__*") {
        return same_tool(start, called);
    }
    // A function of a package is written `pkg::fn`, or `pkg_fn` where names cannot contain colons.
    let plain = |name: &str| name.replace("::", "_");
    rule == called
        || (rule.contains("::") != called.contains("::") && plain(rule) == plain(called))
        || is_of_server(rule, called)
}

/// Returns true if a rule names an MCP server and the tool belongs to it. A tool's own name covers only that tool, and
/// a server name never matches another server by prefix.
fn is_of_server(rule: &str, called: &str) -> bool {
    let Some(server) = rule.strip_prefix("mcp__") else { return false };
    let tool = called.strip_prefix(rule).and_then(|rest| rest.strip_prefix("__"));
    !server.contains("__") && tool.is_some_and(|tool| !tool.is_empty() && !tool.contains("__"))
}

/// Decides about a file that a redirection opens. This needs a rule for all files or for the whole shell; a rule for
/// some files is not enough. Files that configure other programs still need approval.
fn may_open(rules: &[&ToolRule], file: &Redirect, at: &Locations<'_>) -> Verdict {
    let target = &file.target;
    let text = target.text.as_str();
    let is_known = target.certainty == Certainty::Exact;
    if is_known && text == "/dev/null" {
        return Verdict::new(Decision::Allow, "`/dev/null` is always allowed");
    }
    if is_network(text) {
        return Verdict::new(Decision::Deny, format!("`{text}` opens a network connection"));
    }
    let tools: &[&str] = if file.is_read { &["Read"] } else { &["Write", "Edit"] };
    let is_whole = |tool: &&str| rules.iter().any(|rule| about(rule, tool) == Some(None));
    if !is_known || !tools.iter().chain(&SHELLS).any(is_whole) {
        return Verdict::new(Decision::Deny, format!("no rule allows opening the file `{text}`"));
    }
    if file.is_read {
        return Verdict::new(Decision::Allow, "a rule allows reading it");
    }
    match at.write(text, target.certainty, WriteMode::Itself) {
        Ok(()) => Verdict::new(Decision::Allow, "a rule allows writing it"),
        Err(Mismatch::SensitiveAccess(why) | Mismatch::Undescribed(why)) => {
            Verdict::new(Decision::Ask, why)
        }
    }
}

/// Returns true for paths that bash itself opens as network connections.
fn is_network(text: &str) -> bool {
    text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/")
}
