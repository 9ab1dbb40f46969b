//! Counts with singular and plural nouns.

/// Returns `1 skill`, `2 skills`.
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
