//! Finds the closest candidate for a mistyped word.

/// Longer words are unlikely to be typos, and comparing them takes time.
const MAX_WORD: usize = 64;

/// Returns the candidate closest to `word`, if it is close enough for `word` to be a typo.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let allowed = match word.chars().count() {
        0..=2 => return None,
        3..=5 => 1,
        6..=9 => 2,
        10..=MAX_WORD => 3,
        _ => return None,
    };
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typo_is_matched_but_an_unrelated_word_is_not() {
        for (word, found) in [
            ("descripton", Some("description")),
            ("Name", Some("name")),
            ("nmae", Some("name")),
            ("version", None),
            ("me", None),
        ] {
            assert_eq!(nearest(word, ["name", "description"]), found, "{word}");
        }
    }
}
