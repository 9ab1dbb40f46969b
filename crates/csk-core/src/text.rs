//! Lines of csk's own in a text of the user's.

/// Returns a text of the user's with csk's own lines after it, under a line that says whose they are.
pub fn with_block(old: &str, lines: &str) -> String {
    let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    format!("{old}{gap}# CocoaSkill\n{lines}\n")
}
