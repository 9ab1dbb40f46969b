//! What the agent is told: to forget, to hide, to send, to run without a word.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Hit, Skill};
use crate::artifact::Kind;
use crate::cues::{Cue, Cues};
use crate::finding::Severity;
use crate::hosts::{HostClass, Remote};
use crate::inspect::Inspected;
use crate::op::{Does, Role};

const NEAR: usize = 300;

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?-u:\b)https?://[^\s"'`<>)\]|]+"#).expect("a pattern that is tested")
});
static PIXEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)!\[[^\]]*\]\((https?://[^)\s]*(?:\{[^}]*\}|\$\{?[A-Za-z]|<[A-Za-z_ ]+>|%s|\[[A-Z_ ]+\])[^)\s]*)\)"#).expect("a pattern that is tested")
});
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:enter|provide|paste|type|share|give|ask (?:the user )?for|request)(?-u:\b)[^\n.]{0,60}(?-u:\b)(?:seed phrase|recovery phrase|mnemonic phrase|(?:wallet|master|system|login|sudo|mac|computer) password|private key of (?:your|the) wallet|wallet private key|12[- ]word|24[- ]word)").expect("a pattern that is tested")
});

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        match file.kind {
            Kind::Markdown | Kind::Data | Kind::Active => told(skill, number, file, hits),
            _ => {}
        }
        for hidden in &file.hidden {
            let cues = Cues::of(&hidden.text);
            let all = 0..hidden.text.len();
            let is_directive = [Cue::Override, Cue::Conceal, Cue::Approvals]
                .iter()
                .any(|cue| cues.near(*cue, &all).is_some())
                || cues.all(&[Cue::Send, Cue::Secret], &all);
            if is_directive {
                let at = skill.at(number, hidden.span.clone(), &hidden.chain);
                hits.push(
                    Hit::new("INJ-03", at, "instructions are hidden in encoded text").blocking(),
                );
            }
        }
    }
}

fn told(skill: &Skill<'_>, number: usize, file: &Inspected<'_>, hits: &mut Vec<Hit>) {
    let text = file.text.text.as_str();
    let cues = &file.cues;
    let window = |range: &Range<usize>| {
        let section = file.document.section(range.start, text.len());
        section.start.max(range.start.saturating_sub(NEAR))..section.end.min(range.end + NEAR)
    };
    for range in cues.each(Cue::Override) {
        let at = skill.at(number, range.clone(), &[]);
        let id = if file.kind == Kind::Data { "INJ-06" } else { "INJ-01" };
        let hit = Hit::new(
            id,
            at.clone(),
            format!("the agent is told to set its instructions aside: \"{}\"", line(text, range)),
        );
        let around = window(range);
        let acts = [Cue::Send, Cue::Secret, Cue::Conceal, Cue::Unasked, Cue::Approvals]
            .iter()
            .filter(|cue| cues.near(**cue, &around).is_some())
            .count();
        hits.push(match at.role {
            Role::Comment => hit.blocking(),
            _ if acts >= 2 => hit.severity(Severity::High).blocking().unless_quoted(skill),
            _ => hit.severity(Severity::Medium).unless_quoted(skill),
        });
    }
    for range in cues.each(Cue::Conceal) {
        let at = skill.at(number, range.clone(), &[]);
        let around = window(range);
        let hit = Hit::new(
            "INJ-02",
            at.clone(),
            format!("something is to be kept from the user: \"{}\"", line(text, range)),
        );
        let sends = cues.near(Cue::Send, &around).is_some();
        let takes = cues.near(Cue::Secret, &around).is_some();
        let acts = skill.files[number].ops.iter().any(|op| {
            around.contains(&op.at.span.start)
                && matches!(
                    op.does,
                    Does::Send { .. } | Does::RunFetched { .. } | Does::RunDecoded { .. }
                )
        });
        hits.push(match at.role {
            Role::Comment => hit.severity(Severity::High).blocking(),
            _ if sends && takes || acts => {
                hit.severity(Severity::High).blocking().unless_quoted(skill)
            }
            _ => hit.severity(Severity::Low),
        });
    }
    for range in cues.each(Cue::Approvals) {
        let at = skill.at(number, range.clone(), &[]);
        let around = window(range);
        let hit = Hit::new(
            "INJ-04",
            at,
            format!("approvals are to be switched off: \"{}\"", line(text, range)),
        );
        let is_pushed = cues.near(Cue::Unasked, &around).is_some()
            && cues.near(Cue::Require, &around).is_some();
        hits.push(if is_pushed { hit.unless_quoted(skill) } else { hit.severity(Severity::Low) });
    }
    sent(skill, number, file, &window, hits);
    kept(skill, number, file, &window, hits);
    for found in PIXEL.captures_iter(text) {
        let (Some(whole), Some(address)) = (found.get(0), found.get(1)) else { continue };
        let Some(remote) = Remote::parse(address.as_str()) else { continue };
        let usual = matches!(
            remote.class,
            HostClass::Local | HostClass::Vendor | HostClass::Registry | HostClass::Code
        ) || skill.about.fits(&remote);
        if !usual {
            let at = skill.at(number, whole.range(), &[]);
            let hit = Hit::new(
                "EXF-05",
                at,
                format!("a picture's address carries data to {} ({})", remote.host, remote.class),
            );
            let takes = cues.near(Cue::Secret, &window(&whole.range())).is_some();
            hits.push(if takes || remote.class.is_throwaway() {
                hit.blocking().unless_quoted(skill)
            } else {
                hit.severity(Severity::Medium)
            });
        }
    }
    for found in ASKS.find_iter(text) {
        let line_start = text[..found.start()].rfind('\n').map_or(0, |at| at + 1);
        let before = text[line_start..found.start()].to_lowercase();
        if ["never", "not ", "n't"].iter().any(|word| before.contains(word)) {
            continue;
        }
        let at = skill.at(number, found.range(), &[]);
        hits.push(
            Hit::new(
                "CRED-03",
                at,
                format!(
                    "the user is asked for what nobody may have: \"{}\"",
                    line(text, &found.range())
                ),
            )
            .unless_quoted(skill),
        );
    }
}

/// Secrets that the agent is told to send.
fn sent(
    skill: &Skill<'_>,
    number: usize,
    file: &Inspected<'_>,
    window: &dyn Fn(&Range<usize>) -> Range<usize>,
    hits: &mut Vec<Hit>,
) {
    let text = file.text.text.as_str();
    for found in ADDRESS.find_iter(text) {
        let Some(remote) = Remote::parse(found.as_str().trim_end_matches(['.', ','])) else {
            continue;
        };
        let role = file.document.role_at(found.start());
        let known = matches!(
            remote.class,
            HostClass::Local | HostClass::Registry | HostClass::Vendor | HostClass::Code
        ) || skill.about.fits(&remote);
        if known || role == Role::Fence && file.kind == Kind::Markdown {
            continue;
        }
        let around = window(&found.range());
        let near =
            around.start.max(found.start().saturating_sub(200))..around.end.min(found.end() + 200);
        if !file.cues.all(&[Cue::Send, Cue::Secret], &near) {
            continue;
        }
        let at = skill.at(number, found.range(), &[]);
        let hit = Hit::new(
            "EXF-04",
            at,
            format!("the agent is told to send secrets to {} ({})", remote.host, remote.class),
        );
        let is_pushed = [Cue::Conceal, Cue::Unasked, Cue::Override]
            .iter()
            .any(|cue| file.cues.near(*cue, &around).is_some());
        let is_one_sentence = {
            let before = &text[..found.start()];
            let end_of = |mark: &str| before.rfind(mark).map_or(0, |at| at + mark.len());
            let start = [". ", ".\n", "\n\n", "\n- "].map(end_of).into_iter().max().unwrap_or(0);
            file.cues.all(&[Cue::Send, Cue::Secret], &(start..found.end()))
        };
        hits.push(
            if remote.class.is_throwaway() && (is_one_sentence || is_pushed)
                || is_pushed && is_one_sentence
            {
                hit.blocking().unless_quoted(skill)
            } else {
                hit.severity(Severity::Medium).unless_quoted(skill)
            },
        );
    }
}

/// What is to stay in the agent's memory, and what is to run without a question.
fn kept(
    skill: &Skill<'_>,
    number: usize,
    file: &Inspected<'_>,
    window: &dyn Fn(&Range<usize>) -> Range<usize>,
    hits: &mut Vec<Hit>,
) {
    let text = file.text.text.as_str();
    for range in file.cues.each(Cue::Remember) {
        let around = window(range);
        let at = skill.at(number, range.clone(), &[]);
        let is_pushed =
            [Cue::Conceal, Cue::Override].iter().any(|cue| file.cues.near(*cue, &around).is_some());
        let hit = Hit::new(
            "MEM-02",
            at,
            format!("the agent is told to remember: \"{}\"", line(text, range)),
        );
        hits.push(if is_pushed {
            hit.severity(Severity::High).blocking().unless_quoted(skill)
        } else {
            hit.severity(Severity::Low)
        });
    }
    for range in file.cues.each(Cue::Unasked) {
        let at = skill.at(number, range.clone(), &[]);
        let has_address = ADDRESS.is_match(file.slice(&window(range)));
        if at.role == Role::Comment
            && (has_address || file.cues.near(Cue::Secret, &window(range)).is_some())
        {
            hits.push(
                Hit::new(
                    "INJ-03",
                    at,
                    format!(
                        "instructions stand where people do not see them: \"{}\"",
                        line(text, range)
                    ),
                )
                .severity(Severity::High)
                .blocking(),
            );
            continue;
        }
        let around = window(range);
        let acts = file.ops.iter().any(|op| {
            around.contains(&op.at.span.start)
                && matches!(op.does, Does::RunFetched { .. } | Does::RunDecoded { .. })
        });
        if acts {
            hits.push(
                Hit::new(
                    "INJ-05",
                    at,
                    format!(
                        "something fetched is to be run without a question: \"{}\"",
                        line(text, range)
                    ),
                )
                .severity(Severity::Medium)
                .unless_quoted(skill),
            );
        }
    }
    for piece in file.document.pieces.iter().filter(|piece| piece.role == Role::Comment) {
        let acts = file.cues.all(&[Cue::Send, Cue::Secret], &piece.span)
            || ADDRESS
                .find(file.slice(&piece.span))
                .and_then(|found| Remote::parse(found.as_str()))
                .is_some_and(|remote| {
                    remote.class.is_throwaway() && file.cues.near(Cue::Run, &piece.span).is_some()
                });
        if acts {
            let at = skill.at(number, piece.span.clone(), &[]);
            hits.push(
                Hit::new(
                    "INJ-03",
                    at,
                    "instructions stand in a comment, where people do not see them",
                )
                .blocking()
                .unless_quoted(skill),
            );
        }
    }
}

/// Returns the line that something stands in, shortened.
fn line(text: &str, range: &Range<usize>) -> String {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    let line = text[start..end].trim();
    match line.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
