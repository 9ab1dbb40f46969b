//! Our own programs: whatever changes trust is asked about, whatever a skill allows.

use super::programs::{
    Class, Files, Locations, base_name, classify, is_own, runs_others, without_wrappers,
};
use super::{Decision, Surroundings, ToolCall, ToolInput, Verdict};

/// Asks about calls of csk and openskills that change what the user trusts, and about those that may.
pub(super) fn asks(call: &ToolCall, around: &Surroundings) -> Option<Verdict> {
    let ToolInput::Command { text, line, seen, .. } = &call.input else { return None };
    let at = Locations { around, seen, is_moved: true, files: Files::MayBeWritten };
    let is_asked = match line {
        Ok(line) => {
            let commands = line.commands.iter().filter(|command| !command.words.is_empty());
            commands.into_iter().any(|command| changes_trust(&command.words, &at))
        }
        // A line that cannot be read may call them, however it spells their names.
        Err(_) => names_own(text),
    };
    let because = "only the user approves, trusts, installs and enables skills";
    is_asked.then(|| Verdict::new(Decision::Ask, because))
}

fn changes_trust(words: &[shell::Word], at: &Locations<'_>) -> bool {
    let words = without_wrappers(words);
    let program = words[0].text.as_str();
    let is_ours = is_own(base_name(program));
    let names_it = || words[1..].iter().any(|word| names_own(&word.text));
    match classify(words, at) {
        Class::ChangesTrust(_) => true,
        Class::Fits | Class::Reaches(_) => runs_others(program) && names_it(),
        // A word of theirs that is not known may be one that changes trust.
        Class::Undescribed(_) if is_ours => true,
        Class::Launcher(_) if is_ours => false,
        Class::Launcher(_) | Class::Unknown | Class::Undescribed(_) => names_it(),
    }
}

/// Returns true for text that names one of our programs, quotes and escapes apart.
fn names_own(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let mut parts =
        plain.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
    parts.any(|part| is_own(part) || part.contains("openskills"))
}
