//! Rules about archives whose password keeps scanners out.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::delivery::{ADDRESS, BUNDLE};
use super::{Hit, Skill};
use crate::artifact::FileKind;
use crate::cues::Cue;
use crate::excerpt::slice;
use crate::finding::Severity;
use crate::hosts::{HostClass, Remote};
use crate::inspect::{InspectedFile, MAX_MATCHES};

/// How many bytes around a password are searched for related words.
const CONTEXT_BYTES: usize = 400;

static PASSWORD: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"pass(?:word|code|phrase|wd)?|pwd|contraseña|clave|senha|passwort|kennwort|mot de passe|密码|口令|пароль|パスワード|비밀번호";
    let given = r#"\s*(?:is|for[^\n.:]*is|от[^\n.:]*|de[^\n.:]*|lautet|ist|es|は|为|[:=：\-–→|])\s*[:：]?\s*[`"'*_(|]*[^\s`"'*_()|]{2,}"#;
    let quoted = r#"\s*[`"'*]+[^\s`"'*]{2,}"#;
    let spoken = r"(?:archive|zip|bundle|file|package|it|installer)[^.\n]*(?:is |are )?(?:password[- ]protected|encrypted|locked|protected|sealed)[^.\n]*?(?:with|using|by|use|enter|type|:|is)\s*(?:the )?(?:[a-z]+ ){0,3}?[`*(\x22'“]+[^\s`*)\x22'”]{3,}|(?:enter|type|supply|provide|input)\s+(?:the )?(?:[a-z]+ ){0,2}?[`*\x22'“]+[^\s`*\x22'”]{3,}[`*\x22'”]+\s+(?:when (?:prompted|asked)|as (?:the )?(?:pass|key|code|unlock)|to (?:unlock|decrypt|open|extract|unpack|unzip))|unzip\s+-P\s*\S{3,}|7z\s+x\s[^\n]*-p\S{3,}|(?:unlock|extraction|decryption|archive|access) (?:code|key|phrase|pin|word)\s*(?:is|:|=|-|–|—|\|)\s*[`*\x22'“]*[^\s`*\x22'”]{3,}";
    let asked =
        r"(?:asks?|prompts?|prompted) for (?:a |the )?(?:key|code|pin|password)[^\n]*?[`*]*\d{3,}";
    let option = r"-p['\x22]?[A-Za-z0-9!@#_]{3,}\s+\S+\.(?:zip|7z|rar)";
    let locked = r"(?:key|code|unlock(?:ed)? with|unpack(?: it)? with|unzip(?: it)? with|extract(?: it)? with|locked|protected)\s*(?:is|es|:|=|,|-)?\s*(?:the |code |key )?[`*(\x22'“]+[A-Za-z0-9_!@#-]{3,}";
    Regex::new(&format!("(?i)(?:{words})(?:{given}|{quoted})|{locked}|{spoken}|{asked}|{option}"))
        .expect("the pattern is valid")
});

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        if matches!(file.kind, FileKind::Markdown | FileKind::Data) {
            check_text(skill, number, file, hits);
        }
    }
}

fn check_text(skill: &Skill<'_>, number: usize, file: &InspectedFile<'_>, hits: &mut Vec<Hit>) {
    let text = file.text.text.as_str();
    for found in passwords(file) {
        // The link, the password and the program are often in sections of their own.
        let around = found.start.saturating_sub(2 * CONTEXT_BYTES)
            ..(found.end + 2 * CONTEXT_BYTES).min(text.len());
        if let Some(hit) = password_archive(skill, number, file, found.clone(), &around) {
            hits.push(hit);
            break;
        }
    }
}

/// Returns where passwords are given. The pattern is slow, so it is tried only on lines with a word for one.
fn passwords(file: &InspectedFile<'_>) -> Vec<Range<usize>> {
    static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let words = "pass|pwd|unlock|locked|protected|encrypt|sealed|key|code|pin|asks for|ask for|prompt|unzip|7z |archive|contraseña|clave|senha|kennwort|mot de|密码|口令|пароль|パスワード|비밀번호|-p";
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(words.split('|'))
            .expect("the word list is small")
    });
    let text = file.text.text.as_str();
    let mut all: Vec<Range<usize>> = Vec::new();
    if file.cues.each(Cue::Archive).next().is_none() {
        return all;
    }
    let mut done = 0;
    for found in WORDS.find_iter(text) {
        if found.start() < done || all.len() >= MAX_MATCHES {
            continue;
        }
        // A password may be on the line after its label.
        let start = slice(text, done..found.start()).rfind('\n').map_or(done, |at| done + at + 1);
        let rest = slice(text, found.end()..);
        let end = rest.match_indices('\n').nth(1).map_or(text.len(), |(at, _)| found.end() + at);
        let lines = PASSWORD.find_iter(slice(text, start..end));
        all.extend(lines.map(|found| start + found.start()..start + found.end()));
        done = end;
    }
    all
}

/// Finds an archive and the password that keeps scanners out of it.
fn password_archive(
    skill: &Skill<'_>,
    number: usize,
    file: &InspectedFile<'_>,
    span: Range<usize>,
    around: &Range<usize>,
) -> Option<Hit> {
    let cues = &file.cues;
    let close = around.start.max(span.start.saturating_sub(300))..around.end.min(span.end + 300);
    let text = file.slice(around).to_lowercase();
    let has_archive = cues.find_in(Cue::Archive, &close).is_some();
    let odd_address = ADDRESS
        .find_iter(file.slice(around))
        .filter_map(|found| Remote::parse(found.as_str().trim_end_matches(['.', ',', ')'])))
        .any(|remote| {
            !matches!(remote.class, HostClass::Local | HostClass::Vendor | HostClass::Registry)
        });
    let comes_from_elsewhere = odd_address || cues.find_in(Cue::Download, around).is_some();
    let runs =
        cues.find_in(Cue::Run, around).is_some() || cues.find_in(Cue::Program, around).is_some();
    let is_made = [
        "create a zip",
        "create an archive",
        "create the archive",
        "password-protect",
        "protect the",
        "protect your",
        "encrypt the",
        "encrypt your",
        "encrypt a",
        "add a password",
        "set a password",
        "database",
        "postgres",
        "mysql",
        "username",
    ]
    .iter()
    .any(|word| text.contains(word));
    // A link to the archive next to its password is enough.
    let is_linked = BUNDLE.is_match(file.slice(&close)) && odd_address;
    if !has_archive || !comes_from_elsewhere || !(runs || is_linked) || is_made && !odd_address {
        return None;
    }
    let at = skill.location(number, span, &[]);
    let hit = Hit::new(
        "DEL-03",
        at,
        "the skill tells the reader to download, extract and run a password-protected archive",
    );
    Some(if odd_address && !is_made {
        hit.blocking()
    } else if is_made {
        hit.severity(Severity::Medium)
    } else {
        hit.severity(Severity::High).blocking().unless_quoted(skill)
    })
}
