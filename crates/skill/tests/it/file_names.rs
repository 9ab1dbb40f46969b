//! Folding of file names.

use proptest::prelude::*;
use skill::{FileNames, RelPath, folded_name, is_git_folder, is_ignorable};
use unicode_normalization::UnicodeNormalization;

/// The key that the archive reader used before `folded_name` existed.
fn former_key(name: &str) -> String {
    let folded = name.nfkc().collect::<String>().to_uppercase().to_lowercase();
    folded.nfc().collect()
}

/// Returns spellings of a letter that some filesystem treats as equal.
fn disguises(letter: char) -> Vec<String> {
    let wide = char::from_u32(letter as u32 - 0x21 + 0xff01).unwrap();
    let mut all = vec![letter.to_string(), letter.to_uppercase().to_string(), wide.to_string()];
    match letter {
        '.' => all.push("\u{2024}".to_owned()),
        'i' => all.push("\u{2170}".to_owned()),
        't' => all.push("\u{1d42d}".to_owned()),
        _ => {}
    }
    all
}

/// Generates names that some filesystem treats as `.git`.
fn repository() -> impl Strategy<Value = String> {
    let letter = |letter: char| prop::sample::select(disguises(letter));
    let invisible = || {
        let all: Vec<char> = ('\0'..=char::MAX).filter(|c| is_ignorable(*c)).collect();
        prop::collection::vec(prop::sample::select(all), 0..2)
    };
    let part = |c: char| {
        (letter(c), invisible()).prop_map(|(text, invisible)| text + &String::from_iter(invisible))
    };
    let end = prop::sample::select(vec!["", ".", " ", ". .", "::$INDEX_ALLOCATION", ":x"]);
    (part('.'), part('g'), part('i'), part('t'), end)
        .prop_map(|(a, b, c, d, end)| format!("{a}{b}{c}{d}{end}"))
}

proptest! {
    #[test]
    fn folding_twice_is_folding_once(name in "\\PC{0,12}", odd in "[ßẞſﬁﬆİıΣςK.\u{200d}\u{fe0f}ﾞǅ ]{0,8}") {
        for name in [name.clone(), odd.clone(), format!("{name}{odd}")] {
            let folded = folded_name(&name);
            prop_assert_eq!(folded_name(&folded), folded);
        }
    }

    /// Names that the archive reader treated as equal are still equal.
    #[test]
    fn formerly_equal_names_are_still_equal(name in "\\PC{0,12}", odd in "[ßẞſﬁﬆİıΣςKǅéÉ]{0,8}") {
        // The iota subscript is a combining mark in lower case and a separate letter in upper case; the former key
        // ordered the marks after it differently.
        prop_assume!(!name.nfd().any(|mark| mark == '\u{345}'));
        for name in [name, odd] {
            prop_assert_eq!(folded_name(&former_key(&name)), folded_name(&name));
        }
    }

    #[test]
    fn a_git_folder_is_rejected_in_any_spelling(name in repository()) {
        prop_assert!(is_git_folder(&name), "{:?}", name);
        let path = format!("references/{name}/config");
        if let Ok(path) = RelPath::new(path) {
            prop_assert!(FileNames::default().file(&path).is_err());
        }
    }
}
