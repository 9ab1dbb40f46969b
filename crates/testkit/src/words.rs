//! Finds words that this project no longer uses in text for people, with the words to use instead.
//!
//! This is a reminder for the next change, not a measure of good English.

/// A phrase that is not used any more, and what to write instead.
pub struct Retired {
    /// The phrase, in lower case; it matches whole words only, in any case.
    pub phrase: &'static str,
    /// The established term.
    pub instead: &'static str,
}

/// A place where a retired phrase is right.
pub struct Exception {
    /// The file, or a folder with a trailing `/`, from the root of the repository.
    pub path: &'static str,
    /// The phrase.
    pub phrase: &'static str,
    /// Why it stays.
    pub reason: &'static str,
}

const fn retired(phrase: &'static str, instead: &'static str) -> Retired {
    Retired { phrase, instead }
}

/// Every retired phrase.
pub const RETIRED: &[Retired] = &[
    retired("mend", "fix"),
    retired("mends", "fixes"),
    retired("mended", "fixed"),
    retired("mending", "fixing"),
    retired("is told", "csk warns, prints or reports"),
    retired("are told", "csk warns, prints or reports"),
    retired("be told", "csk warns, prints or reports"),
    retired("told to the agent", "instructions"),
    retired("a stranger", "untrusted, third-party"),
    retired("a stranger's", "untrusted, third-party"),
    retired("strangers", "untrusted, third-party"),
    retired("your word", "approval"),
    retired("user's word", "approval"),
    retired("skill's word", "the skill's declaration"),
    retired("is not let", "is not allowed"),
    retired("to be let", "permission"),
    retired("held to", "restricted to, enforced, checked against"),
    retired("held in full", "full sandbox"),
    retired("nobody is there", "not a terminal, cannot prompt"),
    retired("nobody is asked", "no prompt"),
    retired("somebody", "someone; name the actor"),
    retired("stands twice", "duplicate"),
    retired("is called so", "is named; usage:"),
    retired("not written out", "dynamic"),
    retired("switched off", "disabled"),
    retired("switched on", "enabled"),
    retired("for all that you do", "for your user account"),
    retired("otherwise than", "differently; changes the existing entry"),
    retired("to be looked at", "needs review"),
    retired("stands in the way", "problems"),
    retired("to be had", "can be fetched"),
    retired("cannot be had", "cannot be fetched"),
    retired("powers", "capabilities"),
    retired("says by nothing", "cannot tell"),
    retired("this very", "this"),
    retired("is in the way", "blocks"),
    retired("what became of", "the result of"),
];

/// Returns each line with a retired phrase that no exception allows, and each exception that allows nothing.
///
/// `files` are pairs of a path from the root of the repository and its text.
pub fn word_offences(
    files: &[(String, String)],
    retired: &[Retired],
    exceptions: &[Exception],
) -> Vec<String> {
    let mut offences = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            for Retired { phrase, instead } in retired {
                if !has_words(&lower, phrase) {
                    continue;
                }
                let allowed = exceptions.iter().position(|exception| {
                    let covers = match exception.path.strip_suffix('/') {
                        Some(_) => path.starts_with(exception.path),
                        None => path == exception.path,
                    };
                    covers && exception.phrase == *phrase
                });
                match allowed {
                    Some(index) => used[index] = true,
                    None => {
                        let place = format!("{path}:{}", number + 1);
                        offences.push(format!("{place}: write `{instead}` for `{phrase}`"));
                    }
                }
            }
        }
    }
    let unused = exceptions.iter().zip(used).filter(|(_, used)| !used);
    offences.extend(unused.map(|(exception, _)| {
        format!("{}: the exception for `{}` allows nothing", exception.path, exception.phrase)
    }));
    offences
}

/// Whether `line` has `phrase` with no letter, digit or underscore around it.
fn has_words(line: &str, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(phrase).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + phrase.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}
