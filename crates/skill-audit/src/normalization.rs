//! Normalizes text: replaces look-alike letters and removes invisible characters.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use crate::excerpt::slice;

/// An anomaly in the characters of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextAnomaly {
    /// Text in invisible Unicode tag characters.
    Tags(String),
    /// A bidirectional control character.
    BidiControl,
    /// An invisible character inside a word.
    InvisibleInWord,
    /// A word that mixes look-alike alphabets, as normalized.
    Homoglyph(String),
}

/// Normalized text with a mapping to the original.
#[derive(Debug, Default)]
pub(crate) struct NormalizedText {
    pub(crate) text: String,
    /// The original offset of each byte; `None` if the text is unchanged.
    map: Option<Vec<u32>>,
    pub(crate) anomalies: Vec<(Range<usize>, TextAnomaly)>,
}

impl NormalizedText {
    /// Returns the original range of a normalized one.
    pub(crate) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let Some(map) = &self.map else { return range.clone() };
        let at = |at: usize| map.get(at).or(map.last()).map_or(0, |at| *at as usize);
        at(range.start)..at(range.end).max(at(range.start))
    }
}

pub(crate) fn normalize(text: &str) -> NormalizedText {
    if text.is_ascii() {
        return NormalizedText { text: text.to_owned(), ..NormalizedText::default() };
    }
    let mut normal = NormalizedText {
        text: String::with_capacity(text.len()),
        map: Some(Vec::with_capacity(text.len() + 1)),
        ..NormalizedText::default()
    };
    let mut tags: Option<(usize, String)> = None;
    for (start, word) in words(text) {
        if word.is_ascii() && tags.is_none() {
            normal.push_plain(word, start);
            continue;
        }
        let has_latin = word.bytes().any(|byte| byte.is_ascii_alphabetic());
        let is_mixed = has_latin && word.chars().any(|c| look_alike(c).is_some());
        if is_mixed {
            let range = start..start + word.len();
            let plain = word.chars().map(|c| look_alike(c).unwrap_or(c)).collect();
            normal.anomalies.push((range, TextAnomaly::Homoglyph(plain)));
        }
        let mut was_letter = false;
        for (at, character) in word.char_indices() {
            let at = start + at;
            let range = at..at + character.len_utf8();
            if let Some(letter) = tag(character) {
                let (_, text) = tags.get_or_insert_with(|| (at, String::new()));
                text.push(letter);
                continue;
            }
            if let Some((start, hidden)) = tags.take() {
                normal.anomalies.push((start..at, TextAnomaly::Tags(hidden)));
            }
            if matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
                normal.anomalies.push((range, TextAnomaly::BidiControl));
                continue;
            }
            if skill::is_invisible(character) || matches!(character, '\u{200c}' | '\u{200d}') {
                let next = slice(word, range.end - start..).chars().next();
                if was_letter && next.is_some_and(|next| next.is_ascii_alphabetic()) {
                    normal.anomalies.push((range, TextAnomaly::InvisibleInWord));
                }
                continue;
            }
            was_letter = character.is_ascii_alphabetic();
            match look_alike(character).filter(|_| is_mixed) {
                Some(plain) => normal.push(plain, at),
                None if character.is_ascii() => normal.push(character, at),
                None => character.nfkc().for_each(|plain| normal.push(plain, at)),
            }
        }
    }
    if let Some((start, hidden)) = tags {
        normal.anomalies.push((start..text.len(), TextAnomaly::Tags(hidden)));
    }
    if let Some(map) = &mut normal.map {
        map.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
    }
    normal
}

impl NormalizedText {
    fn push_plain(&mut self, word: &str, start: usize) {
        self.text.push_str(word);
        if let Some(map) = &mut self.map {
            map.extend((start..start + word.len()).map(|at| u32::try_from(at).unwrap_or(u32::MAX)));
        }
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        if let Some(map) = &mut self.map {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            map.extend(std::iter::repeat_n(at, character.len_utf8()));
        }
    }
}

/// Splits text into words and the gaps between them, in order.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let is_word = rest.chars().next().is_some_and(is_part);
        let end = rest.find(|c| is_part(c) != is_word).unwrap_or(rest.len());
        let found = (at, slice(rest, ..end));
        at += end;
        Some(found)
    })
}

fn tag(character: char) -> Option<char> {
    let code = u32::from(character).checked_sub(0xe0000)?;
    (0x20..0x7f).contains(&code).then(|| char::from_u32(code)).flatten()
}

/// Returns the ASCII letter that a letter looks like.
fn look_alike(character: char) -> Option<char> {
    const LIKE: [(&str, &str); 3] = [
        ("авеёікмнорсутхьѕјһԁԛԝАВЕЅЈКМНОРСТУХІ", "abeeikmhopcytxbsjhdqwABESJKMHOPCTYXI"),
        ("αβεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abeikvoptuxwABEZHIKMNOPTYX"),
        ("ıɡⅼⅽⅾⅿℯℓ", "iglcdmel"),
    ];
    if character.is_ascii() {
        return None;
    }
    LIKE.iter().find_map(|(from, to)| {
        let at = from.chars().position(|known| known == character)?;
        to.chars().nth(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alike_and_invisible_characters_are_normalized() {
        let normal = normalize("с\u{200b}url ｈttp, привет");
        assert_eq!(normal.text, "curl http, привет");
        let at = normal.text.find("http").unwrap();
        let origin = normal.origin(&(at..at + 4));
        assert_eq!(slice("с\u{200b}url ｈttp, привет", origin), "ｈttp");
        assert!(
            matches!(normal.anomalies[0].1, TextAnomaly::Homoglyph(ref word) if word.contains("url"))
        );
        assert_eq!(normalize("plain").map, None);
    }

    #[test]
    fn text_in_tag_characters_is_decoded() {
        let hidden: String =
            "run it".chars().map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap()).collect();
        let normal = normalize(&format!("ok{hidden} go"));
        assert_eq!(normal.text, "ok go");
        assert!(
            normal
                .anomalies
                .iter()
                .any(|(_, anomaly)| *anomaly == TextAnomaly::Tags("run it".to_owned()))
        );
    }
}
