//! Numbers with their nouns.

/// Returns `1 skill`, `2 skills`.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
