//! Calls of csk and openskills: those that change trust need approval, regardless of what a skill allows.

use super::programs::{
    CommandClass, Locations, OutputWrites, base_name, classify, is_own, runs_others,
    without_wrappers,
};
use super::{CallContext, Decision, ToolCall, ToolInput, Verdict};

/// Returns a verdict that asks for approval if a call changes, or may change, what the user trusts.
pub(super) fn asks(call: &ToolCall, context: &CallContext) -> Option<Verdict> {
    let ToolInput::Command { text, line, lookup, .. } = &call.input else { return None };
    let at = Locations { context, lookup, is_moved: true, output_writes: OutputWrites::Allowed };
    let is_asked = match line {
        Ok(line) => {
            let commands = line.commands.iter().filter(|command| !command.words.is_empty());
            commands.into_iter().any(|command| changes_trust(&command.words, &at))
        }
        // A line that cannot be parsed may call them in any spelling.
        Err(_) => names_own(text),
    };
    let reason = "only the user may approve, trust, install or enable skills";
    is_asked.then(|| Verdict::new(Decision::Ask, reason))
}

fn changes_trust(words: &[shell::Word], at: &Locations<'_>) -> bool {
    let words = without_wrappers(words);
    let program = words[0].text.as_str();
    let is_ours = is_own(base_name(program));
    let names_it = || words[1..].iter().any(|word| names_own(&word.text));
    match classify(words, at) {
        CommandClass::ChangesTrust(_) => true,
        CommandClass::Fits | CommandClass::SensitiveAccess(_) => runs_others(program) && names_it(),
        // An unknown subcommand of these programs may change trust.
        CommandClass::Undescribed(_) if is_ours => true,
        CommandClass::Launcher(_) if is_ours => false,
        CommandClass::Launcher(_) | CommandClass::Unknown | CommandClass::Undescribed(_) => {
            names_it()
        }
    }
}

/// Returns true for text that mentions csk or openskills, ignoring quotes and escapes.
fn names_own(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let mut parts =
        plain.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
    parts.any(|part| is_own(part) || part.contains("openskills"))
}
