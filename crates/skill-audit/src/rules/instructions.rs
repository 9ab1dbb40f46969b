//! Rules about instructions for the agent: prompt injection, concealment, exfiltration, unattended execution.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Hit, Skill};
use crate::artifact::FileKind;
use crate::cues::{Cue, Cues};
use crate::excerpt::{self, slice};
use crate::finding::Severity;
use crate::hosts::{HostClass, Remote};
use crate::inspect::{InspectedFile, MAX_MATCHES};
use crate::op::{Action, Location, Role};
use crate::rules::delivery::FOLLOW;

const CONTEXT_BYTES: usize = 300;

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?-u:\b)https?://[^\s"'`<>)\]|]+"#).expect("the pattern is valid")
});
/// Phrases that conceal something from the user.
pub(super) static CONCEALMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:do(?:es)? not|don'?t|never|without|no need to|should ?n[o']t|need not|must not|is not to|not to|not be)(?-u:\b)[^.\n]{0,40}(?-u:\b)(?:tell|mention|inform|notif|reveal|bring (?:it|this|that) up|disclos|alert|summari[sz]|announce|list (?:it|this|them)|show (?:the user|them|it|a diff|the page|this)|aware)").expect("the pattern is valid")
});
/// Secrets that give access to more than one service.
static BROAD_SECRETS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)cookie|\.ssh|private key|seed phrase|recovery phrase|mnemonic|passwords|keychain|login data|\.env|credentials").expect("the pattern is valid")
});
static RULES_NOUN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)instruction|guideline|polic|prompt|rule|restriction|constraint|safeguard|guardrail|directive|safety|approval").expect("the pattern is valid")
});
/// Phrases that take secrets of the user.
static TAKES_SECRETS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:read|collect|gather|copy|extract|find|dump|grab|load|scan|enumerate|export|harvest|pull|include|attach|append|send|post|upload|submit|forward|transmit|sync|share|mirror|back ?up|report|add|embed|encode|paste|take|put|capture|fetch|locate|look up|retrieve)(?-u:\b)[^.\n]*?(?:[^\n]*?)(?:~?/?\.ssh|id_rsa|id_ed25519|\.aws/|\.aws(?-u:\b)|\.env(?-u:\b)|\.npmrc|\.netrc|\.kube|\.git-credentials|private keys?|seed phrase|recovery phrase|mnemonic|passwords?|keychain|login data|cookies|credentials|api keys|access tokens|auth tokens|session tokens|environment variables|env vars|process\.env|os\.environ|wallets?|ssh keys?|secrets(?-u:\b)|browser profiles?|chat history|conversation history|full conversation|system prompt)").expect("the pattern is valid")
});
static SENDS_THEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:send|post|upload|submit|forward|transmit|sync|share|report|deliver|push|relay|put|mirror|make a (?:get|post) request|call|request|curl)(?-u:\b)[^\n]*?(?-u:\b)(?:them|it|these|those|this|that|the (?:result|output|values?|contents?|file|archive|list|data|bundle|payload|blob|json|string|text|keys?|findings|collected[^\n]*))(?-u:\b)").expect("the pattern is valid")
});
/// Phrases that forbid it.
static FORBIDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:never|do not|don'?t|must not|should not|avoid|without|refuse|cannot|isn'?t|is not|no longer)(?-u:\b)").expect("the pattern is valid")
});
static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+").expect("the pattern is valid")
});
static MEMORY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:append|add|write|insert|put|save|copy|paste|place|store)(?-u:\b)[^.\n]{0,80}(?-u:\b)(?:SOUL|MEMORY|AGENTS|CLAUDE|HEARTBEAT|IDENTITY|GEMINI)\.md").expect("the pattern is valid")
});
/// Phrases that change the files of other skills.
static OTHER_SKILLS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:append|add|write|insert|put|copy|prepend|inject|patch|edit|modify|update)(?-u:\b)[^\n]*?(?-u:\b)(?:of|in|into|to) (?:every|all|each|any)(?: of)?(?: the)?(?: user'?s)?(?: other)?(?: installed)? (?:other )?skills?(?-u:\b)").expect("the pattern is valid")
});
static REDIRECT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?:ANTHROPIC|OPENAI|CLAUDE|GEMINI|OPENROUTER)_(?:BASE_URL|API_BASE|API_URL|ENDPOINT)["']?\s*[:=]\s*["']?(https?://[^\s"'`]+)"#).expect("the pattern is valid")
});
static DATA_IMAGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)!\[[^\]]*\]\((https?://[^)\s]*(?:\{[^}]*\}|\$\{?[A-Za-z]|<[A-Za-z_ ]+>|%s|\[[A-Z_ ]+\]|=[A-Z][A-Z_]{2,})[^)\s]*)\)"#).expect("the pattern is valid")
});
static SECRET_REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:enter|provide|paste|type|share|give|export|ask (?:the user )?for|request)(?-u:\b)[^\n.]{0,60}(?-u:\b)(?:seed phrase|recovery phrase|mnemonic phrase|(?:wallet|master|system|login|sudo|mac|computer) password|private key of (?:your|the) wallet|wallet private key|12[- ]words?|24[- ]words?|wallet'?s private key)").expect("the pattern is valid")
});

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        match file.kind {
            FileKind::Markdown | FileKind::Data | FileKind::Active => {
                check_text(skill, number, file, hits);
            }
            _ => {}
        }
        for hidden in &file.hidden {
            let cues = Cues::of(&hidden.text);
            let all = 0..hidden.text.len();
            let is_directive = [Cue::Override, Cue::Conceal, Cue::Approvals]
                .iter()
                .any(|cue| cues.find_in(*cue, &all).is_some())
                || cues.all(&[Cue::Send, Cue::Secret], &all);
            if is_directive {
                let at = skill.location(number, hidden.span.clone(), &hidden.chain);
                hits.push(
                    Hit::new("INJ-03", at, "encoded text hides instructions for the agent")
                        .blocking(),
                );
            }
        }
    }
}

fn check_text(skill: &Skill<'_>, number: usize, file: &InspectedFile<'_>, hits: &mut Vec<Hit>) {
    let text = file.text.text.as_str();
    let cues = &file.cues;
    let window = |range: &Range<usize>| {
        let section = file.document.section(range.start, text.len());
        section.start.max(range.start.saturating_sub(CONTEXT_BYTES))
            ..section.end.min(range.end + CONTEXT_BYTES)
    };
    for range in cues.each(Cue::Override).take(MAX_MATCHES) {
        let at = skill.location(number, range.clone(), &[]);
        let id = if file.kind == FileKind::Data { "INJ-06" } else { "INJ-01" };
        let hit = Hit::new(
            id,
            at.clone(),
            format!(
                "the skill tells the agent to ignore its instructions: \"{}\"",
                line(text, range)
            ),
        );
        let around = window(range);
        // A word like "supersedes" needs instructions to supersede; a quoted phrase is an example.
        let phrase = file.slice(range).to_lowercase();
        let is_vague = [
            "overrid",
            "supersede",
            "take",
            "disregard",
            "ignore prior",
            "no restrict",
            "without any",
        ]
        .iter()
        .any(|start| phrase.starts_with(start));
        let names_rules = RULES_NOUN.is_match(file.slice(&(range.start..range.end + 80)));
        let before = file.slice(&(range.start.saturating_sub(60)..range.start)).to_lowercase();
        let is_quote = before.ends_with(['"', '\'', '“', '‘', '`']);
        let is_denied =
            ["not ", "n't ", "n’t ", "never "].iter().any(|word| before.ends_with(word));
        let is_mild = is_vague && !names_rules || is_quote || is_denied;
        let acts = [Cue::Send, Cue::Secret, Cue::Conceal, Cue::NoConfirmation, Cue::Approvals]
            .iter()
            .filter(|cue| cues.find_in(**cue, &around).is_some())
            .count();
        hits.push(match at.role {
            Role::Comment => hit.blocking(),
            _ if acts >= 2 && !is_denied && (names_rules || !is_vague) => {
                hit.severity(Severity::High).blocking().unless_quoted(skill)
            }
            _ if is_mild => hit.severity(Severity::Low),
            _ => hit.severity(Severity::Medium).unless_quoted(skill),
        });
    }
    for range in cues.each(Cue::Conceal).take(MAX_MATCHES) {
        let at = skill.location(number, range.clone(), &[]);
        let around = window(range);
        let hit = Hit::new(
            "INJ-02",
            at.clone(),
            format!(
                "the skill tells the agent to hide something from the user: \"{}\"",
                line(text, range)
            ),
        );
        let sends = cues.find_in(Cue::Send, &around).is_some();
        let takes = cues.find_in(Cue::Secret, &around).is_some();
        let acts = skill.files[number].ops.iter().any(|op| {
            around.contains(&op.location.span.start)
                && matches!(
                    op.action,
                    Action::Send { .. } | Action::RunFetched { .. } | Action::RunDecoded { .. }
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
    for range in cues.each(Cue::Approvals).take(MAX_MATCHES) {
        let at = skill.location(number, range.clone(), &[]);
        let around = window(range);
        let hit = Hit::new(
            "INJ-04",
            at,
            format!(
                "the skill disables the agent's approvals or sandbox: \"{}\"",
                line(text, range)
            ),
        );
        let is_pushed = cues.find_in(Cue::NoConfirmation, &around).is_some()
            && cues.find_in(Cue::Require, &around).is_some();
        hits.push(if is_pushed { hit.unless_quoted(skill) } else { hit.severity(Severity::Low) });
    }
    check_sent_secrets(skill, number, file, hits);
    check_memory(skill, number, file, &window, hits);
    check_images_and_prompts(skill, number, file, &window, hits);
}

/// Checks images whose URLs send data, and requests for the user's secrets.
fn check_images_and_prompts(
    skill: &Skill<'_>,
    number: usize,
    file: &InspectedFile<'_>,
    window: &dyn Fn(&Range<usize>) -> Range<usize>,
    hits: &mut Vec<Hit>,
) {
    let (text, cues) = (file.text.text.as_str(), &file.cues);
    for found in DATA_IMAGE.captures_iter(text).take(MAX_MATCHES) {
        let (Some(whole), Some(address)) = (found.get(0), found.get(1)) else { continue };
        let Some(remote) = Remote::parse(address.as_str()) else { continue };
        let usual = matches!(
            remote.class,
            HostClass::Local | HostClass::Vendor | HostClass::Registry | HostClass::Code
        ) || skill.topic.covers(&remote);
        if !usual {
            let at = skill.location(number, whole.range(), &[]);
            let hit =
                Hit::new("EXF-05", at, format!("an image URL sends data to {}", remote.describe()));
            let takes = cues.find_in(Cue::Secret, &window(&whole.range())).is_some();
            hits.push(if takes || remote.class.is_throwaway() {
                hit.blocking().unless_quoted(skill)
            } else {
                hit.severity(Severity::Medium)
            });
        }
    }
    for found in SECRET_REQUEST.find_iter(text).take(MAX_MATCHES) {
        let line_start = slice(text, ..found.start()).rfind('\n').map_or(0, |at| at + 1);
        let before = slice(text, line_start..found.start()).to_lowercase();
        if ["never", "not ", "n't"].iter().any(|word| before.contains(word)) {
            continue;
        }
        let at = skill.location(number, found.range(), &[]);
        let words = line(text, &found.range());
        let hit = Hit::new(
            "CRED-03",
            at,
            format!(
                "the skill asks the user for a seed phrase, wallet key or system password: \"{words}\""
            ),
        );
        let far = around(file, &found.range(), 700);
        let is_strange = |found: regex::Match<'_>| {
            Remote::parse(found.as_str())
                .is_some_and(|remote| !is_known(skill, &remote) || remote.class.is_throwaway())
        };
        let leaves = file.cues.find_in(Cue::Send, &far).is_some()
            && ADDRESS.find_iter(file.slice(&far)).any(is_strange);
        hits.push(if leaves {
            hit.blocking().unless_quoted(skill)
        } else {
            hit.unless_quoted(skill)
        });
    }
}

/// Returns the addresses in a text.
pub(super) fn addresses(text: &str) -> impl Iterator<Item = Remote> {
    let all = ADDRESS.find_iter(text).take(MAX_MATCHES);
    all.filter_map(|found| Remote::parse(found.as_str().trim_end_matches(['.', ','])))
}

/// Returns true for well-known hosts and hosts that the skill is about.
fn is_known(skill: &Skill<'_>, remote: &Remote) -> bool {
    matches!(
        remote.class,
        HostClass::Local | HostClass::Registry | HostClass::Vendor | HostClass::Code
    ) || skill.topic.covers(remote)
}

/// Checks instructions to send secrets, or to follow a remote page.
fn check_sent_secrets(
    skill: &Skill<'_>,
    number: usize,
    file: &InspectedFile<'_>,
    hits: &mut Vec<Hit>,
) {
    let text = file.text.text.as_str();
    let hides = |window: &Range<usize>| {
        file.cues.find_in(Cue::Conceal, window).is_some()
            || CONCEALMENT.is_match(file.slice(window))
    };
    for found in ADDRESS.find_iter(text).take(MAX_MATCHES) {
        let Some(remote) = Remote::parse(found.as_str().trim_end_matches(['.', ','])) else {
            continue;
        };
        // A skill may send its service that service's own key, but not secrets that give wider access.
        let is_own = skill.topic.covers(&remote)
            && !BROAD_SECRETS.is_match(file.slice(&around(file, &found.range(), 250)));
        let is_usual = matches!(
            remote.class,
            HostClass::Local | HostClass::Registry | HostClass::Vendor | HostClass::Code
        );
        if is_usual || is_own {
            continue;
        }
        let wide = around(file, &found.range(), 700);
        let near = around(file, &found.range(), 250);
        let at = skill.location(number, found.range(), &[]);
        let (takes, sends) = (
            file.cues.find_in(Cue::Secret, &wide).is_some(),
            file.cues.find_in(Cue::Send, &wide).is_some(),
        );
        let is_pushed = hides(&wide)
            || [Cue::NoConfirmation, Cue::Override]
                .iter()
                .any(|cue| file.cues.find_in(*cue, &near).is_some());
        let before = file.slice(&(found.start().saturating_sub(2000)..found.start()));
        let end_of = |mark: &str| before.rfind(mark).map_or(0, |at| at + mark.len());
        let start = [". ", ".\n", "\n\n", "\n- "].map(end_of).into_iter().max().unwrap_or(0);
        let start = found.start() - before.len() + start;
        let is_one_sentence = file.cues.all(&[Cue::Send, Cue::Secret], &(start..found.end()));
        let is_code = at.role == Role::Fence;
        let hit = || {
            Hit::new(
                "EXF-04",
                at.clone(),
                format!("the skill tells the agent to send secrets to {}", remote.describe()),
            )
        };
        // "Read the keys. Send them to …": the secrets are in the sentence before.
        let earlier = file.slice(&(start.saturating_sub(300)..start));
        let sentence = file.slice(&(start..found.end()));
        let is_broad = TAKES_SECRETS.is_match(sentence)
            && file.cues.find_in(Cue::Send, &(start..found.end())).is_some()
            || SENDS_THEM.is_match(sentence) && TAKES_SECRETS.is_match(earlier);
        let is_broad =
            is_broad && !is_code && !FORBIDS.is_match(sentence) && !skill.topic.covers(&remote);
        if is_broad
            || takes
                && sends
                && (hides(&wide) || is_one_sentence && (is_pushed || remote.class.is_throwaway()))
                && !is_code
            || takes && sends && hides(&near) && is_code
        {
            hits.push(hit().blocking().unless_quoted_for(skill, &remote));
        } else if is_one_sentence && !is_code {
            hits.push(hit().severity(Severity::Medium).unless_quoted(skill));
        }
        let page = LinkedPage { remote: &remote, near: &near, is_pushed };
        check_followed_page(skill, file, &page, at, hits);
    }
    for found in EMAIL.find_iter(text).take(MAX_MATCHES) {
        let wide = around(file, &found.range(), 500);
        let domain = found.as_str().rsplit('@').next().unwrap_or_default();
        let is_usual = Remote::parse(&format!("https://{domain}/"))
            .is_none_or(|remote| is_known(skill, &remote));
        if !is_usual && file.cues.all(&[Cue::Secret, Cue::Send], &wide) && hides(&wide) {
            let at = skill.location(number, found.range(), &[]);
            let message =
                format!("the skill tells the agent to send secrets to {}", found.as_str());
            hits.push(Hit::new("EXF-04", at, message).blocking().unless_quoted(skill));
        }
    }
}

/// A page that the text links to.
struct LinkedPage<'a> {
    remote: &'a Remote,
    /// The text around its URL.
    near: &'a Range<usize>,
    /// Whether that text conceals something or pressures the agent.
    is_pushed: bool,
}

/// Checks instructions to follow a page that can change at any time.
fn check_followed_page(
    skill: &Skill<'_>,
    file: &InspectedFile<'_>,
    page: &LinkedPage<'_>,
    at: Location,
    hits: &mut Vec<Hit>,
) {
    let LinkedPage { remote, near, is_pushed } = *page;
    let text = file.slice(near);
    if !FOLLOW.is_match(text) {
        return;
    }
    let lower = text.to_lowercase();
    let gets = [
        "fetch",
        "curl",
        "wget",
        "load ",
        "open http",
        "visit",
        "read the",
        "read http",
        "get http",
        "check http",
        "poll",
        "retrieve",
    ];
    if !gets.iter().any(|word| lower.contains(word)) {
        return;
    }
    let outranks = [
        "precedence",
        "outrank",
        "priority over",
        "override",
        "overrule",
        "instead of",
        "each line",
        "every line",
        "heartbeat",
        "in the shell",
    ];
    let outranks = outranks.iter().any(|word| lower.contains(word));
    let message =
        format!("the skill tells the agent to follow instructions from {}", remote.describe());
    let hit = Hit::new("INJ-07", at, message);
    hits.push(if remote.class.is_throwaway() || is_pushed || outranks {
        hit.severity(Severity::High).blocking().unless_quoted(skill)
    } else {
        hit.severity(Severity::Medium).unless_quoted(skill)
    });
}

/// Returns the range of up to `distance` bytes around a match, within its section.
fn around(file: &InspectedFile<'_>, range: &Range<usize>, distance: usize) -> Range<usize> {
    let section = file.document.section(range.start, file.text.text.len());
    section.start.max(range.start.saturating_sub(distance))..section.end.min(range.end + distance)
}

/// Checks instructions to change the agent's memory or API endpoint.
fn check_memory(
    skill: &Skill<'_>,
    number: usize,
    file: &InspectedFile<'_>,
    window: &dyn Fn(&Range<usize>) -> Range<usize>,
    hits: &mut Vec<Hit>,
) {
    let text = file.text.text.as_str();
    let remembered = file
        .cues
        .each(Cue::Remember)
        .cloned()
        .chain(MEMORY.find_iter(text).map(|found| found.range()));
    for range in remembered.take(MAX_MATCHES) {
        let far = around(file, &range, 900);
        let at = skill.location(number, range.clone(), &[]);
        let slice = file.slice(&far);
        let is_pushed =
            [Cue::Conceal, Cue::Override].iter().any(|cue| file.cues.find_in(*cue, &far).is_some())
                || CONCEALMENT.is_match(slice);
        let is_strange = |found: regex::Match<'_>| {
            Remote::parse(found.as_str()).is_some_and(|remote| !is_known(skill, &remote))
        };
        let acts = ADDRESS.find_iter(slice).any(is_strange)
            && [Cue::Send, Cue::Run].iter().any(|cue| file.cues.find_in(*cue, &far).is_some())
            || ADDRESS.find_iter(slice).any(is_strange) && slice.contains("curl");
        let hit = Hit::new(
            "MEM-02",
            at,
            format!(
                "the skill tells the agent to remember something permanently: \"{}\"",
                line(text, &range)
            ),
        );
        hits.push(if is_pushed || acts {
            hit.severity(Severity::High).blocking().unless_quoted(skill)
        } else {
            hit.severity(Severity::Low)
        });
    }
    for found in OTHER_SKILLS.find_iter(text).take(MAX_MATCHES) {
        let at = skill.location(number, found.range(), &[]);
        let words = line(text, &found.range());
        let message = format!("the skill tells the agent to change other skills: \"{words}\"");
        let hit = Hit::new("MEM-02", at, message);
        let is_file = words.to_lowercase().contains("skill.md") || words.contains("skills/");
        hits.push(if is_file {
            hit.severity(Severity::High).blocking().unless_quoted(skill)
        } else {
            hit.severity(Severity::Low)
        });
    }
    for found in REDIRECT.captures_iter(text).take(MAX_MATCHES) {
        let (Some(whole), Some(address)) = (found.get(0), found.get(1)) else { continue };
        let Some(remote) =
            Remote::parse(address.as_str()).filter(|remote| !is_known(skill, remote))
        else {
            continue;
        };
        let at = skill.location(number, whole.range(), &[]);
        let hit = Hit::new(
            "EXF-07",
            at,
            format!("the skill routes model API traffic through {}", remote.describe()),
        );
        hits.push(if remote.class.is_throwaway() || remote.is_plain {
            hit.blocking().unless_quoted(skill)
        } else {
            hit.severity(Severity::Medium)
        });
    }
    check_unattended(skill, number, file, window, hits);
}

/// Checks instructions to run something without asking, and instructions in hidden text.
fn check_unattended(
    skill: &Skill<'_>,
    number: usize,
    file: &InspectedFile<'_>,
    window: &dyn Fn(&Range<usize>) -> Range<usize>,
    hits: &mut Vec<Hit>,
) {
    let text = file.text.text.as_str();
    for range in file.cues.each(Cue::NoConfirmation).take(MAX_MATCHES) {
        // "Do not change anything without asking" does ask.
        let before = file.slice(&(range.start.saturating_sub(50)..range.start)).to_lowercase();
        if ["not ", "never ", "n't "].iter().any(|word| before.contains(word)) {
            continue;
        }
        let at = skill.location(number, range.clone(), &[]);
        let has_address = ADDRESS.is_match(file.slice(&window(range)));
        if at.role == Role::Comment
            && (has_address || file.cues.find_in(Cue::Secret, &window(range)).is_some())
        {
            hits.push(
                Hit::new(
                    "INJ-03",
                    at,
                    format!(
                        "hidden text contains instructions for the agent: \"{}\"",
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
            around.contains(&op.location.span.start)
                && matches!(op.action, Action::RunFetched { .. } | Action::RunDecoded { .. })
        });
        if acts {
            hits.push(
                Hit::new(
                    "INJ-05",
                    at,
                    format!(
                        "the skill tells the agent to run downloaded or decoded code without asking: \"{}\"",
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
                    remote.class.is_throwaway()
                        && file.cues.find_in(Cue::Run, &piece.span).is_some()
                });
        if acts {
            let at = skill.location(number, piece.span.clone(), &[]);
            hits.push(
                Hit::new(
                    "INJ-03",
                    at,
                    "a comment or invisible element hides instructions for the agent",
                )
                .blocking()
                .unless_quoted(skill),
            );
        }
    }
}

/// Returns the line around a match, shortened.
pub(super) fn line(text: &str, range: &Range<usize>) -> String {
    let line = slice(text, excerpt::line(text, range, 200)).trim();
    match line.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", slice(line, ..end)),
        None => line.to_owned(),
    }
}
