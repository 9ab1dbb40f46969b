//! Full-text search over names, descriptions and bodies of skills.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use rayon::prelude::*;
use skill::{MAX_SKILL_FILE_BYTES, frontmatter_end};

use crate::Skill;
use crate::disclose::load::open;
use crate::discover::index::SkillLocation;

/// The maximum number of search terms.
const MAX_TERMS: usize = 16;
/// The maximum length of a term. The query is truncated to [`MAX_TERMS`] terms of this length.
const MAX_TERM_BYTES: usize = 128;
/// Weights of a match in name, description and body.
const WEIGHTS: [f64; 3] = [8.0, 4.0, 1.0];
/// Bonus if the name equals one of the terms.
const EXACT_NAME: f64 = 12.0;
/// Weight of a match that is only the prefix of a longer word.
const PREFIX_MATCH: f64 = 0.25;
/// How quickly further occurrences of a term stop adding to the score.
const SATURATION: f64 = 1.2;
/// Skills per thread below which parallelism costs more than it saves.
const MIN_PER_THREAD: usize = 64;

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Relevance; higher is better.
    pub score: f64,
    /// The fields with matches: `name`, `description`, `body`.
    pub found_in: Vec<&'static str>,
}

/// How often each term occurs in name, description and body.
type Counts = [Vec<f64>; 3];

/// Returns the skills that contain at least one word of `query`, best match first.
pub(crate) fn search(skills: &[Arc<Skill>], query: &str) -> Vec<SearchHit> {
    let terms = terms(query);
    let Some(finder) = Finder::new(&terms) else { return Vec::new() };
    let counted: Vec<(Counts, &Arc<Skill>)> = skills
        .par_iter()
        .with_min_len(MIN_PER_THREAD)
        .map(|skill| (finder.count(skill), skill))
        .collect();
    let mut documents = vec![0_u32; terms.len()];
    for (counts, _) in &counted {
        for (term, seen) in documents.iter_mut().enumerate() {
            *seen += u32::from(counts.iter().any(|field| field[term] > 0.0));
        }
    }
    let all = f64::from(u32::try_from(skills.len()).unwrap_or(u32::MAX));
    let rarity: Vec<f64> =
        documents.iter().map(|seen| (1.0 + all / (1.0 + f64::from(*seen))).ln()).collect();
    let mut hits: Vec<SearchHit> = counted
        .into_iter()
        .filter_map(|(counts, skill)| hit(&counts, skill, &terms, &rarity))
        .collect();
    hits.sort_by(|one, other| {
        other.score.total_cmp(&one.score).then_with(|| one.skill.id.cmp(&other.skill.id))
    });
    hits
}

fn hit(counts: &Counts, skill: &Arc<Skill>, terms: &[String], rarity: &[f64]) -> Option<SearchHit> {
    let mut score = 0.0;
    let mut matched = 0.0;
    for (term, rare) in rarity.iter().enumerate() {
        let occurrences = counts.iter().map(|field| field[term]);
        let worth: f64 = occurrences
            .zip(WEIGHTS)
            .map(|(count, weight)| weight * count / (count + SATURATION))
            .sum();
        matched += f64::from(u8::from(worth > 0.0));
        score += worth * rare;
    }
    if matched == 0.0 {
        return None;
    }
    if terms.contains(&skill.name.to_lowercase()) {
        score += EXACT_NAME;
    }
    // A skill with all the terms beats one that repeats a few of them.
    score *= matched / f64::from(u32::try_from(terms.len()).unwrap_or(1));
    let names = ["name", "description", "body"];
    let is_found = |field: &Vec<f64>| field.iter().any(|count| *count > 0.0);
    let found_in = counts.iter().zip(names).filter(|(field, _)| is_found(field));
    let found_in = found_in.map(|(_, name)| name).collect();
    Some(SearchHit { skill: skill.clone(), score, found_in })
}

/// Returns the distinct terms of a query. A hyphenated word counts as a term in addition to its parts.
fn terms(query: &str) -> Vec<String> {
    let query = &query[..query.floor_char_boundary(MAX_TERMS * MAX_TERM_BYTES)];
    let query = query.to_lowercase();
    let is_between = |c: char| !c.is_alphanumeric();
    let whole = query.split_whitespace().map(|word| word.trim_matches(is_between));
    let parts = query.split(is_between);
    let mut terms: Vec<String> = Vec::new();
    for term in parts.chain(whole).filter(|term| (1..=MAX_TERM_BYTES).contains(&term.len())) {
        if terms.len() < MAX_TERMS && !terms.iter().any(|known| known == term) {
            terms.push(term.to_owned());
        }
    }
    terms
}

struct Finder {
    automaton: AhoCorasick,
    terms: usize,
    /// Whether all terms are ASCII. The automaton ignores case only for ASCII, so other text is lowercased first.
    is_ascii: bool,
}

impl Finder {
    fn new(terms: &[String]) -> Option<Self> {
        let automaton = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(terms)
            .ok()?;
        let is_ascii = terms.iter().all(|term| term.is_ascii());
        (!terms.is_empty()).then_some(Self { automaton, terms: terms.len(), is_ascii })
    }

    fn count(&self, skill: &Skill) -> Counts {
        [
            self.occurrences(&skill.name),
            self.occurrences(&skill.listing()),
            self.occurrences(&body(skill)),
        ]
    }

    /// Counts the words that equal each term or start with it.
    fn occurrences(&self, text: &str) -> Vec<f64> {
        let mut counts = vec![0.0; self.terms];
        let lower;
        let text = if self.is_ascii {
            text
        } else {
            lower = text.to_lowercase();
            &lower
        };
        for found in self.automaton.find_overlapping_iter(text) {
            let before = text[..found.start()].chars().next_back();
            if before.is_none_or(|before| !continues_word(before)) {
                let after = text[found.end()..].chars().next();
                let is_whole = after.is_none_or(|after| !continues_word(after));
                counts[found.pattern().as_usize()] += if is_whole { 1.0 } else { PREFIX_MATCH };
            }
        }
        counts
    }
}

/// Returns true if `character` continues a word. Letters of scripts without spaces between words do not.
fn continues_word(character: char) -> bool {
    character.is_numeric() || character.is_lowercase() || character.is_uppercase()
}

/// Returns the body of a skill; empty if it cannot be read. Activating the skill reports why.
fn body(skill: &Skill) -> String {
    let bytes = match &skill.place {
        SkillLocation::Builtin(builtin) => return builtin.document().body.text,
        // A search does not fetch anything.
        SkillLocation::Served(_) => return String::new(),
        // Search only the exact file that was discovered, so that a replaced symlink reveals nothing.
        SkillLocation::Folder { file, stamp, .. } => open(skill).ok().flatten().and_then(|root| {
            let (bytes, read) = root.read_stamped(&file.path()?, MAX_SKILL_FILE_BYTES).ok()?;
            (read == *stamp).then_some(bytes)
        }),
    };
    let Some(mut bytes) = bytes else { return String::new() };
    let start = frontmatter_end(&bytes).unwrap_or(bytes.len());
    let body = bytes.split_off(start);
    String::from_utf8(body)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_include_words_and_hyphenated_names() {
        assert_eq!(terms("Fill PDF-forms, pdf"), ["fill", "pdf", "forms", "pdf-forms"]);
        assert_eq!(terms("  ,, "), Vec::<String>::new());
    }

    #[test]
    fn matches_start_at_word_boundaries_in_any_case_and_alphabet() {
        let count =
            |term: &str, text: &str| Finder::new(&[term.to_owned()]).unwrap().occurrences(text)[0];
        assert_eq!(count("pdf", "PDF pdfs a-pdf xpdf"), 2.25);
        assert_eq!(count("жук", "ЖУК и жуки, майжук"), 1.25);
        assert_eq!(count("技能", "这个技能"), 1.0);
    }
}
