//! Names as file systems fold them.

use proptest::prelude::*;
use skill::{FileNames, RelPath, folded_name, is_git_folder, is_ignorable};
use unicode_normalization::UnicodeNormalization;

/// How the reader of archives told names apart before there was one function for all.
fn former_key(name: &str) -> String {
    let folded = name.nfkc().collect::<String>().to_uppercase().to_lowercase();
    folded.nfc().collect()
}

/// Ways to write a letter that some file system takes for it.
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

/// A name that is `.git` to some file system.
fn repository() -> impl Strategy<Value = String> {
    let letter = |letter: char| prop::sample::select(disguises(letter));
    let unseen = || {
        let all: Vec<char> = ('\0'..=char::MAX).filter(|c| is_ignorable(*c)).collect();
        prop::collection::vec(prop::sample::select(all), 0..2)
    };
    let part = |c: char| {
        (letter(c), unseen()).prop_map(|(text, unseen)| text + &String::from_iter(unseen))
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

    /// What the reader of archives took for one name still is one.
    #[test]
    fn what_was_one_name_is_one(name in "\\PC{0,12}", odd in "[ßẞſﬁﬆİıΣςKǅéÉ]{0,8}") {
        // The iota below a Greek letter is a mark in small letters and a letter of its own in capitals; the former key put marks behind
        // it in another order.
        prop_assume!(!name.nfd().any(|mark| mark == '\u{345}'));
        for name in [name, odd] {
            prop_assert_eq!(folded_name(&former_key(&name)), folded_name(&name));
        }
    }

    #[test]
    fn a_repository_is_refused_however_it_is_written(name in repository()) {
        prop_assert!(is_git_folder(&name), "{:?}", name);
        let path = format!("references/{name}/config");
        if let Ok(path) = RelPath::new(path) {
            prop_assert!(FileNames::default().file(&path).is_err());
        }
    }
}
