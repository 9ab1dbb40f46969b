//! Whether rules match a call.

use std::path::{Component, Path, PathBuf};

use shell::{Certainty, Redirect, Word};
use skill::ToolRule;
use skill::capabilities::{Cover, Host};

use super::call::{FileArgument, OTHER_SHELLS, READERS, SHELLS, WRITERS, attached};
use super::path::{Files, Looked};
use super::programs::{Doubt, Files as Writes, Locations, Written, is_outside, steers};
use super::{
    Decision, Launchers, Surroundings, ToolCall, ToolInput, Verdict, bash, deny, rule_reads,
};

/// Returns what a list of rules makes of a call.
pub(super) fn allows(
    rules: &[&ToolRule],
    call: &ToolCall,
    around: &Surroundings,
    launchers: Launchers,
) -> Verdict {
    let own: Vec<Option<&str>> = rules.iter().filter_map(|rule| about(rule, &call.tool)).collect();
    if own.is_empty() {
        let reason = format!("no rule allows `{}`", call.tool);
        return Verdict::new(Decision::Deny, reason);
    }
    let is_whole = own.iter().any(Option::is_none);
    let specifiers: Vec<&str> = own.into_iter().flatten().collect();
    if let ToolInput::Command { line, unread, .. } = &call.input
        && let Some(at) = locations(call, around)
    {
        let tools = ["Write", "Edit"].iter().chain(&SHELLS);
        let may_write = |tool: &&str| rules.iter().any(|rule| about(rule, tool) == Some(None));
        let is_written = tools.into_iter().any(may_write);
        let files = if is_written { Writes::MayBeWritten } else { Writes::AreNotWritten };
        let at = Locations { files, ..at };
        let may_open = |file: &Redirect| may_open(rules, file, &at);
        let specifiers = specifiers.as_slice();
        let allowed = bash::Allowed { specifiers, is_whole, launchers, may_open, at };
        let verdict = allowed.judge(line);
        return match unread.first() {
            Some(key) => verdict.stricter(Verdict::new(
                Decision::Ask,
                format!("`{key}` of the input changes how the line runs, and is not read here"),
            )),
            None => verdict,
        };
    }
    if WRITERS.contains(&call.tool.as_str()) && matches!(call.input, ToolInput::Other) {
        let because = format!("the input of `{}` names no file that can be read", call.tool);
        let decision = if is_whole { Decision::Ask } else { Decision::Deny };
        return Verdict::new(decision, because);
    }
    if is_whole && is_shell_tool(&call.tool) && launchers == Launchers::Ask {
        // Another shell, or a call whose line nobody finds: it may be anything.
        return bash::any_code(&format!("`{}` runs a line that is not read here", call.tool));
    }
    let steering = steering(call, around);
    if is_whole {
        let because = format!("`{}` is allowed", call.tool);
        return steering.unwrap_or_else(|| Verdict::new(Decision::Allow, because));
    }
    let is_allowed = match &call.input {
        ToolInput::Files(files) => {
            // Every file by one rule or another.
            let mut files = files.iter().filter(|file| !file.may_be_text);
            files.all(|file| specifiers.iter().any(|rule| allows_file(rule, file, around)))
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
        let because = format!("it is part of {rules}");
        return steering.unwrap_or_else(|| Verdict::new(Decision::Allow, because));
    }
    Verdict::new(Decision::Deny, format!("no rule allows `{}` with this input", call.tool))
}

/// Asks about writing a file that steers other programs or is outside of the workspace: a rule for files means files of the work, not settings
/// of git or an agent.
fn steering(call: &ToolCall, around: &Surroundings) -> Option<Verdict> {
    let ToolInput::Files(files) = &call.input else { return None };
    if !WRITERS.contains(&call.tool.as_str()) {
        return None;
    }
    let mut paths = files.iter().flat_map(|file| file.paths.iter().map(move |path| (path, file)));
    paths.find_map(|(path, file)| {
        let is_odd = path.to_string_lossy().contains(char::is_control);
        let why = if file.is_in_repository || is_odd || steers(path, around) {
            "steers other programs"
        } else if !file.may_be_text && is_outside(path, around) {
            "is outside of the workspace"
        } else {
            return None;
        };
        Some(Verdict::new(Decision::Ask, format!("`{}` {why}", path.display())))
    })
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
    if let ToolInput::Command { .. } = &call.input
        && let Some(decision) = denies_files_of_line(rule, call, around)
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
        ToolInput::Command { line, .. } => match locations(call, around) {
            Some(at) => deny::denies(specifier, line, &at),
            None => Some(Decision::Deny),
        },
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
    let ending = file.ending.as_deref();
    let may_reach =
        file.is_searched && file.paths.iter().any(|path| rule.may_be_below(path, ending));
    may_reach.then_some(Decision::Ask)
}

/// A rule that denies holds from wherever it may have been meant.
fn roots(around: &Surroundings) -> Vec<PathBuf> {
    around.workspace.iter().chain(&around.cwd).cloned().collect()
}

/// Rules about files hold for the files that a line opens or names as well, as far as those can be known.
fn denies_files_of_line(
    rule: &ToolRule,
    call: &ToolCall,
    around: &Surroundings,
) -> Option<Decision> {
    let ToolInput::Command { text, line, seen, .. } = &call.input else { return None };
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
        // What nobody can read may open anything, and surely what it names.
        let name = specifier
            .and_then(|rule| rule.rsplit('/').find(|part| !part.is_empty() && !part.contains('*')));
        let is_named = name.is_none_or(|name| text.contains(name));
        return Some(if writes || is_named { Decision::Deny } else { Decision::Ask });
    };
    let Some(specifier) = specifier else {
        let is_meant = |file: &Redirect| if file.is_read { reads } else { writes };
        return bash::opens(line).any(is_meant).then_some(Decision::Deny);
    };
    let files = Files::new(specifier, &roots(around), around);
    if files.is_unclear() {
        return Some(Decision::Deny);
    }
    let holds = |path: &Path| files.holds(path, Looked::AsFolder);
    let is_denied = |word: &Word| {
        let is_home = word.certainty != Certainty::Exact;
        seen.found.get(&word.text).is_some_and(|real| holds(real))
            || attached(&word.text).iter().any(|text| {
                // No kernel opens what is longer, so it is no file. A `~` in quotes is a letter.
                let paths = if is_home { around.paths(text) } else { around.plain_paths(text) };
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
    // What may become any file may become that one; so may what is named from another folder, and all that is below one.
    let at = rule_reads::Reading { files: &files, seen, around, specifier };
    let is_read = reads && at.may_read(line);
    let writes_more = writes && at.may_write(line);
    // So may whatever runs something that is not read here.
    let runs_more = locations(call, around).is_none_or(|at| deny::may_run_more(line, &at));
    let named = specifier.rsplit('/').find(|part| !part.is_empty() && !part.contains('*'));
    if runs_more && named.is_some_and(|name| text.contains(name)) {
        return Some(Decision::Deny);
    }
    // What a line moves, copies or checks out has other names afterwards.
    let brings = line.commands.len() > 1
        && locations(call, around).is_none_or(|at| bash::brings_files(line, &at));
    (is_read || writes_more || runs_more || brings || bash::moves(line)).then_some(Decision::Ask)
}

/// Returns where the paths of a line lead.
fn locations<'a>(call: &'a ToolCall, around: &'a Surroundings) -> Option<Locations<'a>> {
    let ToolInput::Command { line, seen, .. } = &call.input else { return None };
    let is_moved = line.as_ref().map_or(true, bash::moves);
    Some(Locations { around, seen, is_moved, files: Writes::MayBeWritten })
}

fn is_shell_tool(tool: &str) -> bool {
    SHELLS.contains(&tool) || tool == "PowerShell"
}

/// Returns true for text that is no rule and may have been one about a tool.
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
        || (is_of(&WRITERS, tool) && is_of(&WRITERS, called))
        || (is_of(&SHELLS, tool) && (is_of(&SHELLS, called) || is_of(&OTHER_SHELLS, called)));
    let called = called.trim();
    let (lower, name) = (tool.trim().to_ascii_lowercase(), called.to_ascii_lowercase());
    // What belongs to a server that is denied is denied, whatever its name holds.
    let is_served = lower.starts_with("mcp__") && name.starts_with(&format!("{lower}__"));
    let is_it = does_the_same
        || is_served
        || is_function_named(tool, called)
        || same_tool(&lower, &name)
        || super::glob(&lower, &name);
    is_it.then(|| specifier.as_deref().map(str::trim).filter(|text| *text != "*"))
}

/// Returns true if a bare name is that of a function of some package: `write_page` is that of `pensar::write_page`, and of `pensar_write_page`.
/// Where a name takes no colons nothing tells where the package ends, so every `_` may be that place. Tools of servers have names of their own.
fn is_function_named(bare: &str, called: &str) -> bool {
    let (bare, called) = (bare.trim().to_ascii_lowercase(), called.trim().to_ascii_lowercase());
    if bare.is_empty() || bare.contains(':') || called.starts_with("mcp__") {
        return false;
    }
    let before = |mark: &str| called.strip_suffix(&bare)?.strip_suffix(mark).map(str::to_owned);
    before("::").or_else(|| before("_")).is_some_and(|package| !package.is_empty())
}

/// Compares names of tools; a server of tools stands for all of its tools.
fn same_tool(rule: &str, called: &str) -> bool {
    if let Some(start) = rule.strip_suffix("__*") {
        return same_tool(start, called);
    }
    // A function of a package may be written `pkg::fn`, or `pkg_fn` where a name takes no colons.
    let plain = |name: &str| name.replace("::", "_");
    rule == called
        || (rule.contains("::") != called.contains("::") && plain(rule) == plain(called))
        || is_of_server(rule, called)
}

/// Returns true if a rule names a server, and a tool is one of that server's. A tool's own name allows that tool alone, and a server whose
/// name begins as another's is another one.
fn is_of_server(rule: &str, called: &str) -> bool {
    let Some(server) = rule.strip_prefix("mcp__") else { return false };
    let tool = called.strip_prefix(rule).and_then(|rest| rest.strip_prefix("__"));
    !server.contains("__") && tool.is_some_and(|tool| !tool.is_empty() && !tool.contains("__"))
}

/// Returns what the rules make of a file that a redirection opens. A rule for some files is not enough: only one for all of them
/// is, or one for the whole shell. Names that steer other programs are asked about all the same.
fn may_open(rules: &[&ToolRule], file: &Redirect, at: &Locations<'_>) -> Verdict {
    let target = &file.target;
    let text = target.text.as_str();
    let is_known = target.certainty == Certainty::Exact;
    if is_known && text == "/dev/null" {
        return Verdict::new(Decision::Allow, "it is nowhere");
    }
    if is_network(text) {
        return Verdict::new(
            Decision::Deny,
            format!("`{text}` is a connection to another machine"),
        );
    }
    let tools: &[&str] = if file.is_read { &["Read"] } else { &["Write", "Edit"] };
    let is_whole = |tool: &&str| rules.iter().any(|rule| about(rule, tool) == Some(None));
    if !is_known || !tools.iter().chain(&SHELLS).any(is_whole) {
        return Verdict::new(Decision::Deny, format!("no rule lets the file `{text}` be opened"));
    }
    if file.is_read {
        return Verdict::new(Decision::Allow, "it may be read");
    }
    match at.write(text, target.certainty, Written::Itself) {
        Ok(()) => Verdict::new(Decision::Allow, "it may be written"),
        Err(Doubt::Reaches(why) | Doubt::Undescribed(why)) => Verdict::new(Decision::Ask, why),
    }
}

/// bash itself connects to what is opened by these names.
fn is_network(text: &str) -> bool {
    text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/")
}
