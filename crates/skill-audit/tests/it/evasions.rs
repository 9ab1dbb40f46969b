//! Mechanical evasions: most of them are detected.

use base64::Engine;
use skill_audit::Verdict;

use crate::fixtures::{Case, cases, report};

/// An evasion: its name, and how it changes the files of a case; `None` if it changes nothing.
type Transform = (&'static str, fn(&Case) -> Option<Vec<(String, Vec<u8>)>>);

const TRANSFORMS: [Transform; 11] = [
    ("without frontmatter", |case| each(case, |_, text| without_frontmatter(text))),
    ("a byte-order mark", |case| {
        each(
            case,
            |path, text| {
                if path == "SKILL.md" { format!("\u{feff}{text}") } else { text.to_owned() }
            },
        )
    }),
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
    ("concatenated strings", |case| code(case, split_texts)),
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
    ("URLs in variables", addresses_in_variables),
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
    ("invisible characters", |case| {
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
    ("base64 encoding", encoded),
    ("URL in another file", address_in_a_file),
    ("line continuations", |case| {
        replaced(
            case,
            &[(" | bash", " \\\n  | bash"), (" | sh", " \\\n  | sh"), ("curl -", "curl \\\n  -")],
        )
    }),
];

#[test]
fn most_evasions_are_detected() {
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
    println!("detected {caught} of {all}; missed:\n{}", missed.join("\n"));
    assert!(all > 100, "only {all} cases");
    assert!(
        caught * 100 >= all * 80,
        "detected only {caught} of {all}; missed:\n{}",
        missed.join("\n")
    );
}

/// Changes every text file; returns `None` if nothing changes.
fn each(case: &Case, change: impl Fn(&str, &str) -> String) -> Option<Vec<(String, Vec<u8>)>> {
    let files = case.files.iter().map(|(path, bytes)| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        (path.clone(), change(path, &text).into_bytes())
    });
    let files: Vec<_> = files.collect();
    (files != case.files).then_some(files)
}

fn replaced(case: &Case, pairs: &[(&str, &str)]) -> Option<Vec<(String, Vec<u8>)>> {
    // In other languages than shell, the changed word would be a different one.
    each(case, |path, text| {
        if path.ends_with(".py") || path.ends_with("js") {
            return text.to_owned();
        }
        let changed = pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        // The language label of a code block is not a command.
        changed.replace("```ba''sh", "```bash")
    })
}

fn without_frontmatter(text: &str) -> String {
    let mut parts = text.splitn(3, "---\n");
    match (parts.next(), parts.next(), parts.next()) {
        (Some(""), Some(_), Some(body)) => body.to_owned(),
        _ => text.to_owned(),
    }
}

fn code(case: &Case, change: impl Fn(&str) -> String) -> Option<Vec<(String, Vec<u8>)>> {
    each(case, |path, text| {
        let is_code = path.ends_with(".py") || path.ends_with("js");
        if is_code { change(text) } else { text.to_owned() }
    })
}

/// Turns `"abcdef"` into `"abc" + "def"`.
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

/// Wraps the first code block or the whole script in code that decodes and runs it.
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
