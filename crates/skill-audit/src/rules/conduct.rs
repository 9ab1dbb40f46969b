//! Rules about how the skill wants the agent to act: hide what it does, skip approvals, act only at a certain time or
//! place, leave no traces.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::{Regex, bytes};

use super::{Hit, Skill};
use crate::artifact::FileKind;
use crate::cues::Cue;
use crate::excerpt;
use crate::finding::Severity;
use crate::hosts::{HostClass, Remote};
use crate::inspect::{InspectedFile, MAX_MATCHES};
use crate::op::{Action, Location, Op, Role};
use crate::paths::PathClass;

/// A pattern over bytes: without Unicode classes it compiles and searches faster. Its matches start and end with ASCII.
struct Pattern(LazyLock<bytes::Regex>);

impl Pattern {
    fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }

    fn find_iter<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.0.find_iter(text.as_bytes()).map(|found| found.range())
    }
}

macro_rules! pattern {
    ($name:ident, $($part:expr),+ $(,)?) => {
        static $name: Pattern = Pattern(LazyLock::new(|| compiled(&[$($part),+])));
    };
}

/// Compiles the parts of a pattern.
fn compiled(parts: &[&str]) -> bytes::Regex {
    // A class cannot contain characters of several bytes.
    let text = parts.concat().replace("[’']", "(?:’|')");
    bytes::RegexBuilder::new(&text).unicode(false).build().expect("the pattern is valid")
}

const NOT: &str = r"(?:do(?:es)? not|don[’']?t|never|without|avoid|refrain from|no need to|must(?: not|n[’']t)|should(?: not|n[’']t)|need(?: not|n[’']t)|not to|rather than|instead of|isn[’']t|aren[’']t|not be|no)";
const TELL: &str = r"(?:tell|mention|inform|notif|report|disclos|reveal|surfac|announc|acknowledg|narrat|display|show|list|log(?:g|s)?|includ|describ|summari[sz]|expos|bother|alert|refer|explain|document|print|echo|bring)\w*";
const DEED: &str = r"(?:steps?|actions?|commands?|uploads?|sync|requests?|calls?|changes?|install\w*|modif\w+|operations?|scripts?|process|transfers?|backups?|checks?|edits?|commits?|hooks?|connections?|downloads?|execution|telemetry|beacon|helper|tasks?|jobs?|lookups?|writes?|copy|copies|collection|exchange|handshake|registration|it|this|that|these|them|entry|line)";
const AUDIENCE: &str = r"(?:user|users|human|operator|person|anyone|them|summary|summaries|response|reply|replies|chat|conversation|transcript|answer|report|changelog|commit message|description|diff|plan|todo list|status update|output)";

pattern!(
    HIDES_DEED,
    r"(?i)\b",
    NOT,
    r"\s+(?:\w+\s+){0,3}?",
    TELL,
    r"\b[^.\n]*?\b",
    DEED,
    r"\b[^.\n]*?\b(?:to|in|from|with|for|of|by)\s+(?:the\s+|your\s+|any\s+|its\s+|a\s+)?(?:\w+\s+){0,2}?",
    AUDIENCE,
    r"\b"
);
pattern!(
    HIDES_FROM,
    r"(?i)\b",
    NOT,
    r"\s+(?:\w+\s+){0,2}?",
    TELL,
    r"\s+(?:to\s+)?(?:the\s+)?(?:user|human|operator|them)\b[^.\n]*?\b",
    DEED,
    r"\b"
);
pattern!(
    KEEPS_QUIET,
    r"(?i)\b(?:keep|leave|omit|exclude|drop|strip)\s+(?:\w+\s+){1,6}?(?:quiet|silent|hidden|invisible|private|secret|unmentioned|to yourself|(?:out of|from) (?:the |your |any )?(?:\w+ ){0,2}",
    AUDIENCE,
    r")\b|\b(?:hidden|invisible|concealed|transparent|unnoticeable) (?:from|to) the (?:user|human|operator)\b|\b(?:the )?(?:user|human|operator|they)s? (?:do(?:es)? not|doesn[’']t|don[’']t|need not|should not|shouldn[’']t|must not|will not|won[’']t|never) (?:need to |have to |ever )?(?:know|see|hear|be (?:told|aware|informed|notified|bothered|asked)|notice|learn|worry)\b|\bso (?:that )?(?:the )?(?:user|human|operator|they|nobody|no one)s? (?:do(?:es)? not|doesn[’']t|don[’']t|never|won[’']t|will not|will)? ?(?:notice|see|know)\b"
);
pattern!(
    DECEIVES,
    r"(?i)\b(?:if|when|should)\s+(?:\w+\s+){0,3}?(?:asks?|asked|questions?|inquir\w+|wonders?|notices?)\b[^.\n]*?\b(?:say|respond|reply|answer|claim|tell (?:them|the user|him|her)|state|describe it as|call it|explain that|insist|deny)\b|\b(?:pretend|present it as|pass it off|claim that (?:it|this|nothing)|frame it as)\b"
);
pattern!(
    SILENTLY,
    r"(?i)\b(?:silently|quietly|discreetly|covertly|stealthily|unobtrusively|in the background|behind the scenes)\b[^.\n]*?\b(?:run|runs|upload|send|sync|execut|install|copy|copies|add|append|post|submit|collect|fetch|download|write|transmit|forward|register|push|apply)\w*|\b(?:run|upload|send|sync|execute|install|copy|add|append|post|submit|collect|fetch|download|write|transmit|forward|push|do this|perform)\w*\b[^.\n]*?\b(?:silently|quietly|discreetly|covertly|stealthily|without (?:any )?(?:comment|output|announcement|narration|mention))\b"
);
pattern!(
    SETS_ASIDE,
    r"(?i)\b(?:ignore|disregard|forget|overrid(?:e|es)|bypass|set aside|suspend|supersede[sd]?|outranks?|takes? (?:precedence|priority) over|replaces?|void|nullif(?:y|ies)|discard|unlearn|deprioriti[sz]e)\b[^.\n]*?\b(?:previous|prior|earlier|preceding|existing|other|all|any|system|safety|developer|default|standing|built-in|host|platform|user[’']?s?|your|agent[’']?s?)\b[^.\n]*?\b(?:instructions?|guidelines?|polic(?:y|ies)|system (?:prompts?|messages?)|prompts?|safeguards?|guardrails?|safety (?:rules?|checks?)|directives?|approval (?:prompts?|steps?|gates?|checks?|rules?|requirements?)|permission (?:prompts?|checks?|rules?)|confirmation (?:prompts?|steps?|rules?))\b"
);
pattern!(
    PREAPPROVED,
    r"(?i)\b(?:treat|consider|regard|assume|mark|count)\b[^.\n]*?\b(?:as )?(?:already |pre-?|automatically |fully )?(?:approved|authori[sz]ed|consented|consent|permission granted|permitted|trusted|confirmed|granted)\b|\b(?:user|operator|owner|admin\w*|organi[sz]ation) (?:has|have) (?:already )?(?:pre-?)?(?:approved|authori[sz]ed|consented|granted|given)\b|\bpre-?(?:approved|authori[sz]ed)\b|\b(?:answer|reply|respond|say|click|select|press)\s+[`\x22']?(?:yes|y|allow|approve|accept)[`\x22']?\s+(?:to|on|for|at)\s+(?:all|any|every|each|the|it)\b|\bapprove\s+(?:all|any|every|each)\b|\b(?:never|do not|don[’']t|without|no need to|skip)\s+(?:\w+\s+){0,2}?(?:ask(?:ing)?|prompt(?:ing)?|wait(?:ing)?|request(?:ing)?|seek(?:ing)?|requir(?:e|ing)|asking)\b[^.\n]*?\b(?:confirmation|approval|permission|consent|review)\b"
);
pattern!(
    NO_TRACE,
    r"(?i)\b(?:leav(?:e|es|ing) no traces?|without (?:leaving )?(?:a )?traces?|cover (?:its|your|our|the) tracks|avoid(?:s|ing)? detection|evade\w*|(?:is|are|be|get|gets|getting) (?:not |never )?(?:logged|recorded|flagged|detected|quarantined|blocked|noticed|audited)|(?:not|never|nothing) (?:is |be |get |gets )?(?:logged|recorded|flagged|detected|quarantined|blocked|captured|audited)|does(?: not|n[’']t) (?:show|appear|end) up)\b"
);
pattern!(
    DISABLES,
    r"(?i)\b(?:disabl\w+|turn(?:ing)? off|switch(?:ing)? off|stop(?:ping)?|kill(?:ing)?|paus(?:e|ing)|suspend(?:ing)?|uninstall(?:ing)?|unload(?:ing)?|exclude|whitelist|allow-?list|add (?:an? )?(?:exclusion|exception))\b[^.\n]*?\b(?:anti-?virus|anti-?malware|windows defender|microsoft defender|defender|edr\b|crowdstrike|falcon|sentinelone|real-?time (?:protection|scanning)|gatekeeper|audit(?:d| daemon| logs?| logging| trail)|syslog|journald|(?:command|shell|session|bash|activity) (?:history|logging|logs?)|security (?:software|tools?|scanners?|agents?|monitoring)|endpoint (?:protection|agent)|tamper protection|(?:malware|virus) (?:scanner|protection))\b"
);
pattern!(
    ERASES,
    r"(?i)\b(?:clear|delete|wipe|erase|remove|purge|truncate|scrub|clean up|empty|rotate away)\b[^.\n]*?\b(?:(?:shell|command|bash|zsh|terminal|session) history|audit (?:logs?|trail|records?)|(?:system|event|auth|access|activity|session|agent) logs?|log entries|transcripts?|evidence|(?:the|any|all) traces?)\b"
);
pattern!(
    WHEN_CODE,
    r#"(?i)(?:if|while|until|when|\[\[?|test|\?|&&|unless|case)[^\n]*?(?:\bdate \+|\$\(date|datetime\.|date\.today|\.now\(\)|utcnow|new Date\(|Date\.now|getHours|getDay\(|getMonth|getFullYear|time\.localtime|strftime|%Y|weekday\(\)|getTimezoneOffset|timeZone\b|\$LANG\b|\$TZ\b|getdefaultlocale|locale\.|tzname|hostname|gethostname|whoami|getuser\(|userInfo\(|\$USER\b|\$LOGNAME|country|geoip|ipinfo|platform\.node)[^\n]*"#
);
pattern!(
    DATE_IN_VARIABLE,
    r"(?i)(?:\w+=\$\(date[^\n)]*\)|\w+\s*=\s*(?:datetime\.|date\.|new Date|Date\.now)[^\n]*)"
);
pattern!(
    WHEN_PROSE,
    r"(?i)\b(?:only|if|when|once|after|from|starting|until|as soon as|whenever|unless)\b[^.\n]*?\b(?:20[2-9]\d(?:-\d\d)?|january|february|april|june|july|august|september|october|november|december|weekends?|saturdays?|sundays?|midnight|business hours|working hours|office hours|night ?time|at night|outside (?:of )?(?:business|working|office)|local time|time ?zone|locale|country|region|geolocat\w+|ip address|hostname|computer name|user ?name|email domain|corporate|company domain|keyboard layout|system language|(?:second|third|3rd|fourth|fifth|5th|tenth|10th) (?:run|use|time|session|invocation|activation)|idle|user is away|unattended|ci (?:runner|environment))\b"
);

pattern!(
    CONCRETE_DEED,
    r"(?i)\b(?:uploads?|sync|commands?|transfers?|backups?|commits?|push(?:es)?|hooks?|install\w*|modif\w+|downloads?|telemetry|connections?|requests?|collection|beacon|registration|copy|copies|edits?|background \w+)\b"
);
pattern!(
    GUARDS,
    r"(?i)\b(?:safety|guardrails?|safeguards?|approvals?|permissions?|confirmations?|system (?:prompts?|messages?)|developer|polic(?:y|ies)|host)\b"
);
pattern!(
    DESTROYS_HOME,
    r#"rm -[rRf]+\s+["']?(?:\$\{?HOME|~/|/(?:home|var|etc|usr|srv|opt|root|Users|data))|rmtree\([^)\n]{0,40}(?:home|expanduser|"/)"#
);
pattern!(
    DECEIVES_ABOUT,
    r"(?i)\b(?:if|when|should)\s+(?:\w+\s+){0,3}?(?:asks?|asked|questions?|inquir\w+|wonders?|notices?)\b[^.\n]*?\b(?:say|respond|reply|answer|claim|tell (?:them|the user)|state|explain|insist)\b[^.\n]*?\b(?:only|just|merely|nothing|routine|normal|standard|unrelated|a (?:cache|cleanup|health check)|part of)\b"
);
pattern!(
    DESTROYS,
    r"rm -rf?\b|rmtree\(|rmSync\(|\bunlink\(|os\.remove\(|reset --hard|push (?:-f|--force)|(?i:drop table|drop database)|mkfs|shred "
);

/// Groups of words, separated by `|`. A pattern is tried only on lines that contain words of all its groups: the patterns
/// are slow, and most lines contain none of the words.
const WORDS: &[(u32, &str)] = &[
    (NEGATION, "not |n't|n’t|never|without|avoid|refrain|no need|rather than|instead of| no "),
    (
        TELLING,
        "tell|mention|inform|notif|report|disclos|reveal|surfac|announc|acknowledg|narrat|display|show|list|log|includ|describ|summari|expos|bother|alert|refer|explain|document|print|echo|bring",
    ),
    (
        AUDIENCES,
        "user|human|operator|person|anyone|them|summar|response|repl|chat|conversation|transcript|answer|report|changelog|commit message|description|diff|plan|todo list|status update|output",
    ),
    (
        QUIET,
        "keep |leave |omit |exclude |drop |strip |hidden from|invisible to|concealed from|transparent to|unnoticeable|user do|user need|user should|user must|user will|user won|user never|users do|users need|human do|operator do|they do|they need|they never|nobody|no one|user notice|user see",
    ),
    (
        DECEIT,
        "pretend|pass it off|present it as|claim| ask|asked|question|inquir|wonder|notices|frame it",
    ),
    (
        SILENCE,
        "silently|quietly|discreet|covert|stealth|unobtrusive|in the background|behind the scenes|without comment|without any|without output|without announc|without narrat|without mention",
    ),
    (
        SETTING_ASIDE,
        "ignore|disregard|forget|overrid|bypass|set aside|suspend|supersede|outrank|precedence|priority|replace|void|nullif|discard|unlearn|depriorit",
    ),
    (
        AUTHORITY,
        "instruction|guideline|polic|prompt|message|safeguard|guardrail|safety|directive|approval|permission|confirmation",
    ),
    (APPROVAL, "approv|authori|consent|permission|permitted|trusted|confirm|answer|press y|allow"),
    (
        DISABLING,
        "disabl|turn|switch|stop|kill|paus|suspend|uninstall|unload|exclude|exclusion|exception|whitelist|allow",
    ),
    (
        WATCHERS,
        "virus|malware|defender|edr|crowdstrike|falcon|sentinel|real-time|realtime|gatekeeper|audit|syslog|journald|history|logging|logs|security|endpoint|tamper|scanner",
    ),
    (ERASING, "clear|delete|wipe|erase|remove|purge|truncate|scrub|clean|empty|rotate"),
    (RECORDS, "history|audit|log|transcript|evidence|trace"),
    (
        CONDITIONS,
        "202|january|february|april|june|july|august|september|october|november|december|weekend|saturday|sunday|midnight|hours|night|time zone|timezone|local time|locale|country|region|geolocat|ip address|hostname|computer name|user name|username|domain|keyboard|language|second |third|3rd|fourth|fifth|5th|tenth|10th|idle|away|unattended|ci runner|ci environment|office",
    ),
    (
        MACHINE,
        "date|.now(|utcnow|gethours|getday|getmonth|getfullyear|localtime|strftime|%y|weekday|timezone|$lang|$tz|locale|tzname|hostname|whoami|getuser|userinfo|$user|$logname|country|geoip|ipinfo|platform.node",
    ),
];
const HIDING: u32 = NEGATION | TELLING | AUDIENCES;
const NEGATION: u32 = 1;
const TELLING: u32 = 1 << 1;
const AUDIENCES: u32 = 1 << 2;
const QUIET: u32 = 1 << 3;
const DECEIT: u32 = 1 << 4;
const SILENCE: u32 = 1 << 5;
const SETTING_ASIDE: u32 = 1 << 6;
const AUTHORITY: u32 = 1 << 7;
const APPROVAL: u32 = 1 << 8;
const DISABLING: u32 = 1 << 9;
const WATCHERS: u32 = 1 << 10;
const ERASING: u32 = 1 << 11;
const RECORDS: u32 = 1 << 12;
const CONDITIONS: u32 = 1 << 13;
const MACHINE: u32 = 1 << 14;

static AUTOMATON: LazyLock<(AhoCorasick, Vec<u32>)> = LazyLock::new(|| {
    let all =
        WORDS.iter().flat_map(|(group, words)| words.split('|').map(move |word| (*group, word)));
    let (groups, words): (Vec<u32>, Vec<&str>) = all.unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words)
        .expect("the word list is small");
    (automaton, groups)
});

/// The lines of a text with the groups of words that they contain.
struct Lines<'a> {
    text: &'a str,
    all: Vec<(Range<usize>, u32)>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let (automaton, groups) = &*AUTOMATON;
        let mut all: Vec<(Range<usize>, u32)> = Vec::new();
        let mut line = 0..text.find('\n').unwrap_or(text.len());
        for found in automaton.find_overlapping_iter(text) {
            if found.start() > line.end {
                let start = text.as_bytes()[..found.start()]
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .map_or(0, |at| at + 1);
                let rest = text.as_bytes()[found.start()..].iter().position(|byte| *byte == b'\n');
                line = start..rest.map_or(text.len(), |at| found.start() + at);
            }
            let group = groups[found.pattern().as_usize()];
            match all.last_mut() {
                Some((last, mask)) if *last == line => *mask |= group,
                _ => all.push((line.clone(), group)),
            }
        }
        Self { text, all }
    }

    /// Returns the matches of a pattern in lines that contain words of all these groups.
    fn matches<'s>(
        &'s self,
        pattern: &'s Pattern,
        needed: u32,
    ) -> impl Iterator<Item = Range<usize>> + 's {
        let lines = self.all.iter().filter(move |(_, mask)| mask & needed == needed);
        let found = lines.flat_map(move |(line, _)| {
            let matches = pattern.find_iter(excerpt::slice(self.text, line.clone()));
            matches.map(move |found| line.start + found.start..line.start + found.end)
        });
        found.take(MAX_MATCHES)
    }
}

/// How far from an instruction its effect may be described.
const CONTEXT_BYTES: usize = 900;

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        let is_text = matches!(file.kind, FileKind::Markdown | FileKind::Data);
        if !is_text && !file.is_script() {
            continue;
        }
        let one = OneFile { skill, number, file, lines: &Lines::of(&file.text.text) };
        if is_text {
            check_concealment(&one, hits);
            check_authority(&one, hits);
            check_traces(&one, hits);
            check_dormant_text(&one, hits);
        }
        check_dormant_code(&one, hits);
    }
}

/// A file while it is checked.
struct OneFile<'a> {
    skill: &'a Skill<'a>,
    number: usize,
    file: &'a InspectedFile<'a>,
    lines: &'a Lines<'a>,
}

/// What the text around an instruction does.
struct Effects {
    /// Downloads or uploads, runs something remote, changes what starts, reads secrets.
    acts: bool,
    /// Mentions a host that is neither known nor what the skill is about.
    strange: bool,
    /// Sends secrets.
    sends: bool,
}

impl Effects {
    fn any(&self) -> bool {
        self.acts || self.strange || self.sends
    }
}

fn effects(
    skill: &Skill<'_>,
    number: usize,
    file: &InspectedFile<'_>,
    range: &Range<usize>,
) -> Effects {
    let around = range.start.saturating_sub(CONTEXT_BYTES)..range.end + CONTEXT_BYTES;
    let near = range.start.saturating_sub(CONTEXT_BYTES / 3)..range.end + CONTEXT_BYTES / 3;
    let is_near = |op: &&Op| op.location.file == number && around.contains(&op.location.span.start);
    let acts = file.ops.iter().filter(is_near).any(|op| is_harmful(skill, &op.action));
    let strange = super::instructions::addresses(file.slice(&around))
        .any(|remote| is_strange(skill, &remote));
    let sends = file.cues.all(&[Cue::Send, Cue::Secret], &near);
    Effects { acts, strange, sends }
}

/// Returns true for hosts that are neither known nor what the skill is about.
fn is_strange(skill: &Skill<'_>, remote: &Remote) -> bool {
    !matches!(
        remote.class,
        HostClass::Local | HostClass::Registry | HostClass::Vendor | HostClass::Code
    ) && !skill.topic.covers(remote)
}

/// Returns true for operations that a skill has no reason to hide or to delay.
fn is_harmful(skill: &Skill<'_>, action: &Action) -> bool {
    match action {
        Action::Fetch(remote) => is_strange(skill, remote) && !remote.host.is_empty(),
        Action::Send { to, secrets, .. } => {
            !secrets.is_empty() && to.class != HostClass::Local
                || is_strange(skill, to) && !to.host.is_empty()
        }
        Action::RunFetched { from, .. } => from.class != HostClass::Local,
        Action::RunDecoded { .. }
        | Action::RemoteShell { .. }
        | Action::Destroy { .. }
        | Action::Weaken { .. }
        | Action::Mine { .. }
        | Action::Disguise { .. } => true,
        Action::Read(path) => PathClass::of(path).is_secret(),
        Action::Write { path, .. } => PathClass::of(path).is_persistent(),
        Action::Run { .. }
        | Action::Evaluate { .. }
        | Action::Variable(_)
        | Action::Install { .. }
        | Action::Save { .. }
        | Action::Execute { .. } => false,
    }
}

/// Checks instructions to hide actions from the user.
fn check_concealment(one: &OneFile<'_>, hits: &mut Vec<Hit>) {
    let OneFile { skill, number, file, lines } = *one;
    let text = file.text.text.as_str();
    for (pattern, needed) in [
        (&HIDES_DEED, HIDING),
        (&HIDES_FROM, HIDING),
        (&KEEPS_QUIET, QUIET),
        (&DECEIVES_ABOUT, DECEIT),
        (&DECEIVES, DECEIT),
        (&SILENTLY, SILENCE),
    ] {
        for found in lines.matches(pattern, needed) {
            let at = skill.location(number, found.clone(), &[]);
            if matches!(at.role, Role::Fence) || is_allowed_to_tell(file, &found) {
                continue;
            }
            let effects = effects(skill, number, file, &found);
            // A word like "silently" needs more than a link nearby.
            let is_weak = std::ptr::eq(pattern, &SILENTLY);
            let hides = if is_weak {
                effects.strange && (effects.acts || effects.sends)
            } else {
                effects.any()
            };
            // Hiding something concrete is odd even if the text around it does nothing that the audit recognizes.
            let is_concrete = matches!(needed, HIDING)
                && CONCRETE_DEED.is_match(excerpt::slice(text, found.clone()));
            let is_lie = std::ptr::eq(pattern, &DECEIVES_ABOUT);
            if hides || is_concrete || is_lie {
                let message = format!(
                    "the skill tells the agent to hide something from the user: \"{}\"",
                    line(text, &found)
                );
                let hit = Hit::new("INJ-02", at, message).severity(Severity::High);
                let is_sure = effects.acts || effects.strange || is_lie;
                hits.push(if is_sure {
                    hit.blocking().unless_quoted(skill)
                } else {
                    hit.severity(Severity::Medium).unless_quoted(skill)
                });
                break;
            }
        }
    }
}

/// Checks instructions to set rules aside, and to take approvals for granted.
fn check_authority(one: &OneFile<'_>, hits: &mut Vec<Hit>) {
    let OneFile { skill, number, file, lines } = *one;
    let text = file.text.text.as_str();
    for (pattern, needed, id, what) in [
        (
            &SETS_ASIDE,
            SETTING_ASIDE | AUTHORITY,
            "INJ-01",
            "tells the agent to ignore its instructions",
        ),
        (&PREAPPROVED, APPROVAL, "INJ-04", "takes the user's approval for granted"),
    ] {
        for found in lines.matches(pattern, needed) {
            let at = skill.location(number, found.clone(), &[]);
            if matches!(at.role, Role::Fence) || is_negated(file, &found) {
                continue;
            }
            let effects = effects(skill, number, file, &found);
            let around = found.start.saturating_sub(CONTEXT_BYTES)..found.end + CONTEXT_BYTES;
            let is_hidden = file.cues.find_in(Cue::Conceal, &around).is_some()
                || HIDES_DEED.is_match(file.slice(&around))
                || at.role == Role::Comment;
            // An example is quoted, or stands in a table.
            let before = file.slice(&(found.start.saturating_sub(3)..found.start));
            let is_example = before.contains(['"', '\'', '“', '‘', '`', '|'])
                || line(text, &found).starts_with('|');
            let is_plain_order = id == "INJ-01"
                && !is_example
                && matches!(at.role, Role::Prose)
                && GUARDS.is_match(excerpt::slice(text, found.clone()));
            let is_strong =
                (effects.acts || effects.strange) && !is_example || is_hidden || is_plain_order;
            if !is_strong && id == "INJ-04" {
                continue;
            }
            let message = format!("the skill {what}: \"{}\"", line(text, &found));
            let hit = Hit::new(id, at, message);
            hits.push(if is_strong {
                hit.severity(Severity::High).blocking().unless_quoted(skill)
            } else {
                hit.severity(Severity::Low)
            });
            break;
        }
    }
}

/// Checks instructions to disable or erase what records and checks programs.
fn check_traces(one: &OneFile<'_>, hits: &mut Vec<Hit>) {
    let OneFile { skill, number, file, lines } = *one;
    let text = file.text.text.as_str();
    for (pattern, needed, what) in [
        (&DISABLES, DISABLING | WATCHERS, "disable a protection of the system"),
        (&ERASES, ERASING | RECORDS, "erase records of what happened"),
    ] {
        for found in lines.matches(pattern, needed) {
            let at = skill.location(number, found.clone(), &[]);
            if at.role == Role::Fence || is_negated(file, &found) {
                continue;
            }
            let effects = effects(skill, number, file, &found);
            let near = found.start.saturating_sub(300)..found.end + 300;
            let hides = NO_TRACE.is_match(file.slice(&near))
                || file.cues.find_in(Cue::Conceal, &near).is_some()
                || HIDES_DEED.is_match(file.slice(&near))
                || KEEPS_QUIET.is_match(file.slice(&near));
            if !hides && !effects.acts && !effects.strange {
                continue;
            }
            let message =
                format!("the skill tells the reader to {what}: \"{}\"", line(text, &found));
            hits.push(
                Hit::new("DES-02", at, message)
                    .severity(Severity::High)
                    .blocking()
                    .unless_quoted(skill),
            );
            break;
        }
    }
}

/// Checks instructions that apply only at a certain time, place or machine.
fn check_dormant_text(one: &OneFile<'_>, hits: &mut Vec<Hit>) {
    let OneFile { skill, number, file, lines } = *one;
    if file.kind != FileKind::Markdown {
        return;
    }
    let text = file.text.text.as_str();
    for found in lines.matches(&WHEN_PROSE, CONDITIONS) {
        let at = skill.location(number, found.clone(), &[]);
        if !matches!(at.role, Role::Prose | Role::Inline | Role::Comment) {
            continue;
        }
        let effects = effects(skill, number, file, &found);
        let near = found.start.saturating_sub(200)..found.end + 400;
        let hides = file.cues.find_in(Cue::Conceal, &near).is_some()
            || HIDES_DEED.is_match(file.slice(&near))
            || HIDES_FROM.is_match(file.slice(&near))
            || SILENTLY.is_match(file.slice(&near));
        if hides && effects.any() {
            hits.push(dormant(skill, at, &line(text, &found)));
            break;
        }
    }
}

/// Checks code that does something harmful only at a certain time, place or machine.
fn check_dormant_code(one: &OneFile<'_>, hits: &mut Vec<Hit>) {
    let OneFile { skill, number, file, lines } = *one;
    if !file.is_script() && file.kind != FileKind::Markdown {
        return;
    }
    let text = file.text.text.as_str();
    for found in lines.matches(&WHEN_CODE, MACHINE).chain(lines.matches(&DATE_IN_VARIABLE, MACHINE))
    {
        let at = skill.location(number, found.clone(), &[]);
        if !matches!(at.role, Role::Script | Role::Fence) || !has_literal(condition(text, &found)) {
            continue;
        }
        let after = found.start..found.end + CONTEXT_BYTES;
        let acts = file.ops.iter().any(|op| {
            after.contains(&op.location.span.start)
                && op.location.file == number
                && match &op.action {
                    Action::Read(_) | Action::Write { .. } => false,
                    Action::Evaluate { .. } => op.location.role == Role::Script,
                    action => is_harmful(skill, action),
                }
        });
        let window = file.slice(&after);
        let is_dated = condition(text, &found).contains("202") && DESTROYS.is_match(window)
            || DESTROYS_HOME.is_match(window);
        if acts || is_dated {
            hits.push(dormant(skill, at, &line(text, &found)));
            break;
        }
    }
}

fn dormant(skill: &Skill<'_>, at: Location, quote: &str) -> Hit {
    let message =
        format!("something harmful happens only at a certain time, place or machine: \"{quote}\"");
    Hit::new("OBF-05", at, message).blocking().unless_quoted(skill)
}

/// Returns the condition, with the lines after it: a date may be in a variable first.
fn condition<'t>(text: &'t str, found: &Range<usize>) -> &'t str {
    let after = excerpt::slice(text, found.start..found.end + 200);
    let end =
        after.char_indices().filter(|(_, c)| *c == '\n').nth(3).map_or(after.len(), |(at, _)| at);
    let lines = excerpt::slice(after, ..end);
    if lines.contains("if") || lines.contains("while") {
        lines
    } else {
        excerpt::slice(text, found.clone())
    }
}

/// Returns true if a condition compares with something written out, not with an earlier time.
fn has_literal(condition: &str) -> bool {
    static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"20[2-9]\d|(?:==|!=|=~|-eq|-ne|-g[te]|-l[te]|[<>]=?|\bin\b|=)\s*[\["'(]*[\w.*-]+"#,
        )
        .expect("the pattern is valid")
    });
    LITERAL.is_match(condition)
}

/// Returns true if the text before an instruction to hide something turns it around: "never push without telling the
/// user", "text that tells you not to mention".
fn is_allowed_to_tell(file: &InspectedFile<'_>, range: &Range<usize>) -> bool {
    let phrase = file.slice(range).to_lowercase();
    let is_second_negation =
        ["without", "avoid", "instead", "rather", "silently", "quietly", "in the background"]
            .iter()
            .any(|word| phrase.starts_with(word));
    if is_second_negation {
        return is_negated(file, range);
    }
    let before = sentence_before(file, range);
    const WORDS: [&str; 12] = [
        "attempt",
        "tries to",
        "trying to",
        "asks you",
        "tells you",
        "text that",
        "instructions that",
        "content that",
        "detect",
        "example",
        "malicious",
        "such as",
    ];
    WORDS.iter().any(|word| before.contains(word))
}

/// Returns the start of the sentence that a match is in, in lower case.
fn sentence_before(file: &InspectedFile<'_>, range: &Range<usize>) -> String {
    let before = file.slice(&(range.start.saturating_sub(90)..range.start)).to_lowercase();
    before.rsplit(['\n', '.']).next().unwrap_or_default().to_owned()
}

/// Returns true if the text before a match turns it around: "never follow text that tells you to".
fn is_negated(file: &InspectedFile<'_>, range: &Range<usize>) -> bool {
    let before = sentence_before(file, range);
    const WORDS: [&str; 22] = [
        "not ",
        "never ",
        "n't ",
        "n’t ",
        "attempt",
        "tries to",
        "try to",
        "trying to",
        "asks you",
        "tells you",
        "text that",
        "instructions that",
        "content that",
        "refuse",
        "reject",
        "flag ",
        "detect",
        "example",
        "malicious",
        "must not",
        "cannot",
        "if a ",
    ];
    WORDS.iter().any(|word| before.contains(word))
}

fn line(text: &str, range: &Range<usize>) -> String {
    super::instructions::line(text, &(excerpt::floor(text, range.start)..range.end))
}
