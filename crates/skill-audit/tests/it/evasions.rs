//! Mechanical ways to hide what is found: most of them are found all the same.

use base64::Engine;
use skill_audit::Verdict;

use crate::fixtures::{Case, cases, report};

/// A way to hide something: a name, and what it makes of the files of a case; `None` where it changes nothing.
type Transform = (&'static str, fn(&Case) -> Option<Vec<(String, Vec<u8>)>>);

const TRANSFORMS: [Transform; 9] = [
    ("quotes in words", |case| {
        replaced(
            case,
            &[
                ("curl", "cu''rl"),
                ("bash", "ba''sh"),
                ("base64", "ba\"se\"64"),
                ("wget", "w''get"),
                ("nc ", "n''c "),
            ],
        )
    }),
    ("texts put together", |case| code(case, split_texts)),
    ("commands in variables", |case| {
        replaced(
            case,
            &[
                ("```bash\ncurl", "```bash\nA=cu; B=rl\n$A$B"),
                ("```bash\nwget", "```bash\nA=wg; B=et\n$A$B"),
                ("| bash", "| $(echo ba)sh"),
                ("| sh", "| $(printf s)h"),
            ],
        )
    }),
    ("addresses in variables", addresses_in_variables),
    ("look-alike letters", |case| {
        replaced(
            case,
            &[
                ("password", "p\u{0430}ssword"),
                ("terminal", "t\u{0435}rminal"),
                ("download", "d\u{043e}wnload"),
                ("Download", "D\u{043e}wnload"),
                ("install", "inst\u{0430}ll"),
                ("curl", "\u{0441}url"),
                ("copy", "c\u{043e}py"),
                ("instructions", "instru\u{0441}tions"),
            ],
        )
    }),
    ("invisible letters", |case| {
        replaced(
            case,
            &[
                ("password", "pass\u{200b}word"),
                ("terminal", "ter\u{200b}minal"),
                ("ownload", "own\u{200b}load"),
                ("install", "ins\u{200b}tall"),
                ("curl", "cu\u{200b}rl"),
                ("copy", "co\u{200b}py"),
                ("previous", "prev\u{200b}ious"),
            ],
        )
    }),
    ("base64 around it", encoded),
    ("a part in another file", address_in_a_file),
    ("lines broken", |case| {
        replaced(
            case,
            &[(" | bash", " \\\n  | bash"), (" | sh", " \\\n  | sh"), ("curl -", "curl \\\n  -")],
        )
    }),
];

#[test]
fn most_ways_to_hide_something_are_seen_through() {
    let (mut caught, mut all, mut missed) = (0, 0, Vec::new());
    for case in cases().iter().filter(|case| case.kind == "block") {
        for (name, transform) in TRANSFORMS {
            let Some(files) = transform(case) else { continue };
            all += 1;
            let verdict = report(&files).verdict;
            if verdict >= Verdict::Unanalyzable {
                caught += 1;
            } else {
                missed.push(format!("{} {}, {name}: {verdict}", case.rule, case.name));
            }
        }
    }
    println!("{caught} of {all} are caught; missed:\n{}", missed.join("\n"));
    assert!(all > 100, "only {all} cases");
    assert!(caught * 100 >= all * 80, "{caught} of {all} are caught:\n{}", missed.join("\n"));
}

/// Changes every text file; `None` if nothing changes.
fn each(case: &Case, change: impl Fn(&str, &str) -> String) -> Option<Vec<(String, Vec<u8>)>> {
    let files = case.files.iter().map(|(path, bytes)| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        (path.clone(), change(path, &text).into_bytes())
    });
    let files: Vec<_> = files.collect();
    (files != case.files).then_some(files)
}

fn replaced(case: &Case, pairs: &[(&str, &str)]) -> Option<Vec<(String, Vec<u8>)>> {
    // In code other than the shell's, such a word would be another one.
    each(case, |path, text| {
        if path.ends_with(".py") || path.ends_with("js") {
            return text.to_owned();
        }
        let changed = pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        // What a block of code is called is no command.
        changed.replace("```ba''sh", "```bash")
    })
}

fn code(case: &Case, change: impl Fn(&str) -> String) -> Option<Vec<(String, Vec<u8>)>> {
    each(case, |path, text| {
        let is_code = path.ends_with(".py") || path.ends_with("js");
        if is_code { change(text) } else { text.to_owned() }
    })
}

/// `"abcdef"` becomes `"abc" + "def"`.
fn split_texts(text: &str) -> String {
    let mut parts = text.split('"');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    while let Some(inner) = parts.next() {
        let middle = inner.char_indices().nth(inner.chars().count() / 2).map_or(0, |(at, _)| at);
        let is_name = inner.len() < 6
            || inner.contains('\\')
            || inner.starts_with("node:")
            || inner == "child_process";
        if is_name {
            whole += &format!("\"{inner}\"");
        } else {
            whole += &format!("\"{}\" + \"{}\"", &inner[..middle], &inner[middle..]);
        }
        whole += parts.next().unwrap_or_default();
    }
    whole
}

fn address(text: &str) -> Option<String> {
    let start = text.find("http")?;
    let rest = &text[start..];
    let end = rest.find([' ', '\n', '"', '\'', '`', ')']).unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

fn addresses_in_variables(case: &Case) -> Option<Vec<(String, Vec<u8>)>> {
    each(case, |path, text| {
        let marks = if path.ends_with(".sh") { "#!/bin/bash\n" } else { "```bash\n" };
        match address(text).filter(|_| text.contains(marks)) {
            Some(address) => {
                let (host, rest) = address.split_at(address.len() / 2);
                text.replacen(marks, &format!("{marks}U={host}\nV={rest}\n"), 1).replacen(
                    &format!(" {address}"),
                    " \"$U$V\"",
                    1,
                )
            }
            None => text.to_owned(),
        }
    })
}

/// The first line of shell code becomes one that decodes itself.
fn encoded(case: &Case) -> Option<Vec<(String, Vec<u8>)>> {
    let engine = base64::engine::general_purpose::STANDARD;
    each(case, |path, text| {
        if path.ends_with(".py") {
            return format!("import base64\nexec(base64.b64decode(\"{}\"))\n", engine.encode(text));
        }
        if path.ends_with(".sh") {
            return format!("#!/bin/bash\neval \"$(echo {} | base64 -d)\"\n", engine.encode(text));
        }
        let Some((before, rest)) = text.split_once("```bash\n") else { return text.to_owned() };
        let (block, after) = rest.split_once("```").unwrap();
        format!(
            "{before}```bash\necho {} | base64 --decode | bash\n```{after}",
            engine.encode(block)
        )
    })
}

fn address_in_a_file(case: &Case) -> Option<Vec<(String, Vec<u8>)>> {
    let mut moved = None;
    let files = each(case, |path, text| {
        let is_shell = path.ends_with(".sh") || text.contains("```bash\n");
        match address(text).filter(|address| is_shell && text.contains(&format!(" {address}"))) {
            Some(address) => {
                text.replacen(&format!(" {address}"), " \"$(cat assets/address.txt)\"", 1)
            }
            None => text.to_owned(),
        }
    })?;
    for (_, bytes) in &case.files {
        moved = moved.or_else(|| address(&String::from_utf8_lossy(bytes)));
    }
    let mut files = files;
    files.push(("assets/address.txt".to_owned(), moved?.into_bytes()));
    Some(files)
}
