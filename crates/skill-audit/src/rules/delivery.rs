//! Rules about delivery of malware: downloads that run, password-protected archives, instructions to the reader.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Hit, Skill};
use crate::artifact::FileKind;
use crate::cues::Cue;
use crate::excerpt::slice;
use crate::finding::Severity;
use crate::hosts::{HostClass, Remote};
use crate::inspect::{InspectedFile, MAX_MATCHES};
use crate::op::{Action, Location, Op, Role};

/// How many bytes around a match are searched for related words.
const CONTEXT_BYTES: usize = 400;

pub(super) static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?-u:\b)(?:https?|hxxps?|ftp)(?:://|\[:\]//|%3a%2f%2f)[^\s"'`<>)\]|]+|(?-u:\b)[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]+)?/[^\s"'`<>)\]|]+|(?-u:\b)[a-z0-9-]+(?:\.[a-z0-9-]+)+/[A-Za-z0-9_./-]*\.(?:zip|rar|7z|exe|dmg|pkg|msi)(?-u:\b)"#)
        .expect("the pattern is valid")
});
pub(super) static BUNDLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\.(?:zip|rar|7z|exe|msi|dmg|pkg|scr|iso|bat|ps1|apk|jar|vbs|command)(?:[?#\s)\]`*,.]|$)").expect("the pattern is valid")
});

/// Matches the URL of a page that people read.
static PAGE_TO_READ: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)//(?:docs?|wiki|blog|help|support|learn|api|developer|developers|guide|status|community|forum|console|dashboard|app)\.|/(?:docs?|documentation|wiki|blog|guides?|reference|manual|tutorials?|learn|help|faq|api|articles?|posts?|papers?|pricing|signup|login|register|settings|account|dashboard|keys?|tokens?|console)(?:[/#?]|$)|\.(?:html?|pdf|md|png|svg)(?:[#?]|$)").expect("the pattern is valid")
});
/// Headings of what a skill needs.
static NEEDS_HEADING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)prerequisit|requirement|required|require|before you (?:start|begin)|first step|set ?up|install|download|dependenc|getting started|you(?:'ll| will)? need|needed|onboarding|activation|companion|helper")
        .expect("the pattern is valid")
});
/// Nouns for a program that people install.
static TOOL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:app|application|tool|helper|agent|client|runtime|driver|connector|companion|desktop|utility|installer|package|binary|executable|extension|sdk|cli|daemon|service|bridge|launcher|plugin|module|engine|core|component|software|program|setup|build|release)s?(?-u:\b)")
        .expect("the pattern is valid")
});
/// Verbs that tell the reader to get a program.
static DOWNLOADS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:download|grab|fetch|obtain|get (?:it|the)|install (?:it|the)? ?[^.\n]*from|available (?:at|from|here)|pick up|pull (?:it|the)|head (?:over )?to|go to|visit)(?-u:\b)").expect("the pattern is valid")
});
/// Organizations on code hosts whose releases are well known.
const KNOWN_OWNERS: [&str; 60] = [
    "microsoft",
    "google",
    "googlecloudplatform",
    "facebook",
    "apache",
    "hashicorp",
    "docker",
    "moby",
    "kubernetes",
    "kubernetes-sigs",
    "nodejs",
    "python",
    "rust-lang",
    "golang",
    "cli",
    "git-for-windows",
    "git",
    "jqlang",
    "stedolan",
    "burntsushi",
    "sharkdp",
    "junegunn",
    "astral-sh",
    "openai",
    "anthropics",
    "aws",
    "awslabs",
    "azure",
    "hetznercloud",
    "cloudflare",
    "vercel",
    "supabase",
    "denoland",
    "oven-sh",
    "pnpm",
    "yarnpkg",
    "nvm-sh",
    "pyenv",
    "conda-forge",
    "mamba-org",
    "ollama",
    "ggml-org",
    "huggingface",
    "pandoc",
    "jgm",
    "tesseract-ocr",
    "ub-mannheim",
    "ffmpeg",
    "btbn",
    "yt-dlp",
    "aquasecurity",
    "anchore",
    "semgrep",
    "github",
    "gitleaks",
    "trufflesecurity",
    "mikefarah",
    "helm",
    "argoproj",
    "grafana",
];

/// Phrases for a page that shows a command.
static SHOWS_COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:page|site|link|guide|it)(?-u:\b)[^.\n]{0,60}(?-u:\b)(?:shows?|has|gives|contains|displays|provides|holds)(?-u:\b)[^.\n]{0,40}(?:command|code|snippet|one-liner)").expect("the pattern is valid")
});
/// Keystrokes that paste and run what a web page put on the clipboard.
static PASTE_KEYS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?is)(?:win(?:dows)?(?: key)?\s*\+\s*r(?-u:\b)|(?:open|launch|start) (?:the )?terminal).{0,160}?(?:ctrl|cmd|command|⌘)\s*\+\s*v.{0,80}?(?:enter|return)").expect("the pattern is valid")
});
/// Phrases that tell the reader to follow instructions found elsewhere.
pub(super) static FOLLOW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:follow|carry out|execute|perform|obey|apply|run|treat)(?-u:\b)[^.\n]{0,60}(?-u:\b)(?:instructions?|steps|commands?|directives?|tasks|each line|every line|all lines|whatever)|(?-u:\b)do (?:exactly )?(?:as|what) (?:it|they|the page|that page) says?").expect("the pattern is valid")
});

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        for op in &file.ops {
            check_fetched(skill, op, hits);
        }
        if matches!(file.kind, FileKind::Markdown | FileKind::Data) {
            check_text(skill, number, file, hits);
        }
    }
}

/// Checks commands that run downloaded or decoded code.
fn check_fetched(skill: &Skill<'_>, op: &Op, hits: &mut Vec<Hit>) {
    match &op.action {
        // An ellipsis is a placeholder, so the text only describes the command.
        Action::RunFetched { from, .. }
            if from.host.is_empty() && (from.text.contains("...") || from.text.contains('…')) => {
        }
        Action::RunFetched { from, by } => {
            let hit = Hit::new(
                if op.location.role == Role::Frontmatter { "DEL-07" } else { "DEL-01" },
                op.location.clone(),
                format!("`{by}` executes the response from {}", from.describe()),
            );
            hits.push(rated(skill, op, from, hit));
        }
        Action::RunDecoded { encoding, by, text } => {
            let decoded =
                text.as_deref().map(|text| format!(": {}", short(text))).unwrap_or_default();
            let message = format!("`{by}` executes encoded text ({}){decoded}", encoding.as_str());
            let hit = Hit::new("DEL-02", op.location.clone(), message);
            // Harmless decoded text is unusual, but not dangerous.
            let is_harmless = text.as_deref().is_some_and(|text| !looks_active(text));
            // Escapes and the like are common in legitimate scripts.
            let is_odd = matches!(
                encoding,
                crate::Encoding::Escapes | crate::Encoding::Percent | crate::Encoding::Reversed
            ) && !text.as_deref().is_some_and(looks_active);
            let is_shell_or_code = op.location.role != Role::Inline || text.is_some();
            hits.push(if is_harmless || is_odd || !is_shell_or_code {
                hit.severity(Severity::Medium)
            } else if text.is_none() && matches!(op.location.role, Role::Inline | Role::Prose) {
                // The text mentions how to decode, but not what.
                hit.severity(Severity::Low)
            } else if text.is_none() && op.location.role != Role::Script {
                // The decoded text is not in the skill, so this may be an example of decoding.
                hit.severity(Severity::High).unless_quoted(skill)
            } else {
                hit.blocking()
            });
        }
        _ => {}
    }
}

/// Sets the severity of running a response, depending on the host.
pub(super) fn rated(skill: &Skill<'_>, op: &Op, from: &Remote, hit: Hit) -> Hit {
    let is_hidden = !op.location.chain.is_empty();
    match from.class {
        HostClass::Local => hit.severity(Severity::Low),
        HostClass::Vendor | HostClass::Registry if is_hidden => hit.severity(Severity::High),
        HostClass::Vendor | HostClass::Registry => hit.severity(Severity::Low),
        HostClass::Code => {
            let hit = hit.severity(Severity::Medium);
            // Concealment suggests that the download is harmful.
            let is_secret = is_concealed(skill, &op.location);
            let is_own =
                from.text.split('/').skip(3).take(2).any(|part| skill.topic.mentions(part));
            if is_own && !is_hidden && !is_secret {
                return hit.severity(Severity::Low);
            }
            if is_hidden || is_secret {
                hit.severity(Severity::High).blocking().unless_quoted_for(skill, from)
            } else {
                hit
            }
        }
        HostClass::Unknown if from.host.is_empty() => hit.severity(Severity::Medium),
        HostClass::Unknown if skill.topic.covers(from) && !is_hidden && !from.is_plain => {
            hit.severity(Severity::Medium)
        }
        HostClass::Unknown | HostClass::FreeHost => {
            hit.severity(Severity::High).blocking().unless_quoted_for(skill, from)
        }
        HostClass::Paste
        | HostClass::FileDrop
        | HostClass::Shortener
        | HostClass::Tunnel
        | HostClass::Hook
        | HostClass::Address => {
            hit.severity(Severity::Critical).blocking().unless_quoted_for(skill, from)
        }
    }
}

/// Returns true if the text around a location tells the agent to conceal it from the user.
fn is_concealed(skill: &Skill<'_>, at: &Location) -> bool {
    let file = &skill.files[at.file];
    let around = at.span.start.saturating_sub(CONTEXT_BYTES)..at.span.end + CONTEXT_BYTES;
    file.cues.find_in(Cue::Conceal, &around).is_some()
        || super::instructions::CONCEALMENT.is_match(file.slice(&around))
}

/// Checks instructions to download and run something.
fn check_text(skill: &Skill<'_>, number: usize, file: &InspectedFile<'_>, hits: &mut Vec<Hit>) {
    let text = file.text.text.as_str();
    let links = file
        .document
        .links
        .iter()
        .filter(|link| !link.is_image)
        .map(|link| (link.span.clone(), link.target.clone()));
    let bare = ADDRESS.find_iter(text).map(|found| {
        (
            found.range(),
            found.as_str().replace("hxxp", "http").replace("[:]", ":").replace("[.]", "."),
        )
    });
    let mut seen: Vec<Range<usize>> = Vec::new();
    let mut all: Vec<(Range<usize>, String)> = links.chain(bare).collect();
    all.sort_by_key(|(span, _)| span.start);
    all.truncate(MAX_MATCHES);
    for (span, address) in all {
        let Some(remote) = Remote::parse(address.trim_end_matches(['.', ',', '*'])) else {
            continue;
        };
        let section = file.document.section(span.start, text.len());
        let around = section.start.max(span.start.saturating_sub(CONTEXT_BYTES))
            ..section.end.min(span.end + CONTEXT_BYTES);
        // For a throwaway host, related words count even across section headings.
        let around = if remote.class.is_throwaway() || remote.imitates().is_some() {
            span.start.saturating_sub(CONTEXT_BYTES)..(span.end + CONTEXT_BYTES).min(text.len())
        } else {
            around
        };
        let wide = section.start.max(span.start.saturating_sub(3 * CONTEXT_BYTES))
            ..section.end.min(span.end + 3 * CONTEXT_BYTES);
        let at = skill.location(number, span.clone(), &[]);
        let is_new = !seen.iter().any(|before| before.start < span.end && span.start < before.end);
        if let Some(hit) = command_from_page(skill, file, &remote, &around, &at)
            .or_else(|| {
                required_download(
                    skill,
                    file,
                    &remote,
                    &UrlContext { around: &around, wide: &wide },
                    &at,
                )
            })
            .or_else(|| bare_requirement(skill, file, &remote, &section, &at))
            .filter(|_| is_new)
        {
            seen.push(span);
            hits.push(hit);
        }
    }
    for found in PASTE_KEYS.find_iter(text).take(MAX_MATCHES) {
        let at = skill.location(number, found.range(), &[]);
        let message =
            "the skill tells the reader to paste and run what a web page put on the clipboard";
        hits.push(Hit::new("DEL-08", at, message).blocking().unless_quoted(skill));
    }
}

/// Finds instructions to copy a command from a page into a terminal.
fn command_from_page(
    skill: &Skill<'_>,
    file: &InspectedFile<'_>,
    remote: &Remote,
    around: &Range<usize>,
    at: &Location,
) -> Option<Hit> {
    let cues = &file.cues;
    let text = file.slice(around);
    let lower = text.to_lowercase();
    let has_command = [
        "command",
        "code",
        "snippet",
        "one-liner",
        "script",
        "命令",
        "команд",
        "comando",
        "befehl",
        "commande",
        "コマンド",
    ];
    let has_command = has_command.iter().any(|word| lower.contains(word));
    let has = |cue: Cue| cues.find_in(cue, around).is_some();
    let is_page = remote
        .text
        .split("://")
        .nth(1)
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(_, path)| !path.is_empty());
    let to_terminal = has(Cue::Terminal) && (has(Cue::Copy) || SHOWS_COMMAND.is_match(text));
    let is_instructed = match remote.class {
        HostClass::Paste => {
            // A skill about the paste site itself mentions it all the time.
            let is_about_it =
                skill.topic.mentions(remote.domain().split('.').next().unwrap_or_default());
            let is_command = is_page && has_command && (has(Cue::Run) || has(Cue::Copy));
            !is_about_it && (is_command || FOLLOW.is_match(text))
        }
        HostClass::Shortener | HostClass::FileDrop | HostClass::Address | HostClass::Tunnel => {
            has_command && (to_terminal || has(Cue::Copy) && has(Cue::Run))
        }
        HostClass::FreeHost | HostClass::Unknown => {
            has_command && to_terminal && !skill.topic.covers(remote)
        }
        HostClass::Code => is_snippet(remote) && has_command && to_terminal,
        HostClass::Local | HostClass::Registry | HostClass::Vendor | HostClass::Hook => false,
    };
    if !is_instructed {
        return None;
    }
    let message = format!("the skill tells the reader to run a command from {}", remote.describe());
    let hit = Hit::new("DEL-04", at.clone(), message);
    let is_pushed = has(Cue::Require)
        || ["administrator", "admin rights", "sudo", "as root", "win+r", "win + r"]
            .iter()
            .any(|word| lower.contains(word));
    Some(match remote.class {
        HostClass::Code => hit.severity(Severity::Medium),
        HostClass::FreeHost if is_page_of_project(remote) && !is_pushed => {
            hit.severity(Severity::Medium)
        }
        HostClass::Unknown if !is_pushed => hit.severity(Severity::Medium),
        _ => hit.blocking().unless_quoted_for(skill, remote),
    })
}

fn is_snippet(remote: &Remote) -> bool {
    remote.host.starts_with("gist.")
}

/// The text around a URL: the close range and a wider one.
struct UrlContext<'a> {
    around: &'a Range<usize>,
    wide: &'a Range<usize>,
}

/// Finds required tools from hosts where anyone can upload files.
fn required_download(
    skill: &Skill<'_>,
    file: &InspectedFile<'_>,
    remote: &Remote,
    spans: &UrlContext<'_>,
    at: &Location,
) -> Option<Hit> {
    let UrlContext { around, wide } = *spans;
    let cues = &file.cues;
    let is_bundle = BUNDLE.is_match(&format!("{} ", remote.text));
    let is_told = || {
        matches!(remote.class, HostClass::Unknown | HostClass::FreeHost)
            && DOWNLOADS.is_match(file.slice(around))
    };
    let gets = cues.find_in(Cue::Download, around).is_some() || is_bundle || is_told();
    let runs = cues.find_in(Cue::Run, around).is_some();
    let must = cues.find_in(Cue::Require, wide).is_some();
    let is_odd = remote.class.is_throwaway();
    let is_packed =
        [Cue::Archive, Cue::Program].iter().any(|cue| cues.find_in(*cue, around).is_some());
    if !(gets || is_odd && is_packed) || !runs {
        return None;
    }
    let message = |how: &str| format!("the skill {how} from {}", remote.describe());
    let hit =
        |how: &str| Hit::new(if must { "DEL-05" } else { "DEL-06" }, at.clone(), message(how));
    match remote.class {
        HostClass::Local | HostClass::Registry | HostClass::Vendor => None,
        HostClass::Paste
        | HostClass::FileDrop
        | HostClass::Shortener
        | HostClass::Tunnel
        | HostClass::Address => Some(
            hit("tells the reader to download and run a file")
                .severity(Severity::Critical)
                .blocking()
                .unless_quoted_for(skill, remote),
        ),
        HostClass::Hook => None,
        HostClass::Code if is_bundle && must => {
            let is_own =
                remote.text.split('/').nth(3).is_some_and(|owner| skill.topic.mentions(owner))
                    && remote.text.split('/').nth(4).is_some_and(|name| skill.topic.mentions(name));
            let hit = hit("requires downloading a program");
            // A binary for one platform, straight from a release, for the reader to start.
            let is_for_people = cues.find_in(Cue::Program, around).is_some()
                || cues.find_in(Cue::Archive, around).is_some();
            let is_known = remote
                .text
                .split('/')
                .nth(3)
                .is_some_and(|owner| KNOWN_OWNERS.contains(&owner.to_lowercase().as_str()));
            if is_known {
                return None;
            }
            Some(if is_for_people && !is_own {
                hit.blocking().unless_quoted_for(skill, remote)
            } else {
                hit.severity(Severity::Medium)
            })
        }
        HostClass::Code if is_bundle && is_own_release(remote) => None,
        HostClass::Code if is_bundle => {
            Some(hit("tells the reader to download and run a program").severity(Severity::Medium))
        }
        HostClass::Code => None,
        HostClass::FreeHost if must && !is_page_of_project(remote) => {
            Some(hit("requires downloading a tool").blocking().unless_quoted_for(skill, remote))
        }
        HostClass::FreeHost => None,
        HostClass::Unknown if skill.topic.covers(remote) => None,
        HostClass::Unknown if remote.imitates().is_some() && (must || is_bundle) => {
            Some(hit("requires downloading a tool").blocking().unless_quoted_for(skill, remote))
        }
        HostClass::Unknown if is_bundle && must => {
            Some(hit("requires downloading a program").blocking().unless_quoted_for(skill, remote))
        }
        HostClass::Unknown if must && insists(file, around) => Some(
            hit("requires downloading a tool")
                .severity(Severity::High)
                .blocking()
                .unless_quoted_for(skill, remote),
        ),
        HostClass::Unknown if is_bundle => {
            Some(hit("tells the reader to download and run a program").severity(Severity::Medium))
        }
        HostClass::Unknown
            if must
                && TOOL.is_match(file.slice(around))
                && DOWNLOADS.is_match(file.slice(around))
                && !PAGE_TO_READ.is_match(&remote.text)
                && !is_list_of_tools(file, wide) =>
        {
            Some(hit("requires downloading a tool").blocking().unless_quoted_for(skill, remote))
        }
        HostClass::Unknown => None,
    }
}

/// Returns true for a release of a project that has an organization of its own name.
fn is_own_release(remote: &Remote) -> bool {
    let parts: Vec<&str> = remote.text.split('/').skip(3).collect();
    matches!(parts.as_slice(), [owner, name, "releases", ..] if owner.eq_ignore_ascii_case(name))
}

/// Returns true for a list of tools with links to their sites; a lure has one link.
fn is_list_of_tools(file: &InspectedFile<'_>, range: &Range<usize>) -> bool {
    let links =
        ADDRESS.find_iter(file.slice(range)).filter_map(|found| Remote::parse(found.as_str()));
    let hosts: std::collections::BTreeSet<String> = links.map(|remote| remote.host).collect();
    hosts.len() >= 3
}

/// Finds a link to a strange host that is nearly all that a section about requirements contains.
fn bare_requirement(
    skill: &Skill<'_>,
    file: &InspectedFile<'_>,
    remote: &Remote,
    section: &Range<usize>,
    at: &Location,
) -> Option<Hit> {
    const MAX_SECTION: usize = 500;
    let is_strange = remote.class == HostClass::Unknown
        || remote.class == HostClass::FreeHost && !is_page_of_project(remote)
        || remote.class.is_throwaway() && remote.class != HostClass::Hook;
    if !is_strange
        || skill.topic.covers(remote)
        || at.role == Role::Frontmatter
        || section.len() > MAX_SECTION
    {
        return None;
    }
    let text = file.slice(section);
    let (heading, body) = text.split_once('\n')?;
    let is_page = PAGE_TO_READ.is_match(&remote.text);
    if !heading.starts_with('#') || !NEEDS_HEADING.is_match(heading) || is_page {
        return None;
    }
    let words = body.split_whitespace().filter(|word| !word.contains("://")).count();
    let is_pushed = remote.class.is_throwaway()
        || remote.class == HostClass::FreeHost
        || remote.imitates().is_some();
    let message = format!("the skill requires downloading something from {}", remote.describe());
    let hit = Hit::new("DEL-05", at.clone(), message);
    let has_code = body.contains("```");
    if has_code || words > 60 {
        return None;
    }
    Some(if is_pushed || TOOL.is_match(body) && words <= 30 {
        hit.blocking().unless_quoted_for(skill, remote)
    } else {
        hit.severity(Severity::Medium).unless_quoted(skill)
    })
}

/// Returns true for free hosts that projects also use for documentation.
fn is_page_of_project(remote: &Remote) -> bool {
    [
        "github.io",
        "gitlab.io",
        "readthedocs.io",
        "storage.googleapis.com",
        "supabase.co",
        "hf.space",
        "streamlit.app",
        "notion.site",
    ]
    .iter()
    .any(|known| remote.host.ends_with(known))
}

/// Returns true if the text says that the skill does not work without it.
fn insists(file: &InspectedFile<'_>, around: &Range<usize>) -> bool {
    let text = file.slice(around).to_lowercase();
    [
        "must be installed",
        "will not work",
        "won't work",
        "will not function",
        "cannot function",
        "not function without",
        "before using this skill",
        "before using the skill",
        "to function",
        "required for this skill",
        "this skill requires",
    ]
    .iter()
    .any(|phrase| text.contains(phrase))
}

/// Returns true if decoded text looks like code or commands.
fn looks_active(text: &str) -> bool {
    let lower = text.to_lowercase();
    [
        "curl",
        "wget",
        "http",
        "/bin/",
        "bash",
        "sh -",
        "python",
        "powershell",
        "iex",
        "exec",
        "eval",
        "import ",
        "subprocess",
        "socket",
        "rm -",
        "nc ",
        "base64",
        "chmod",
        "require(",
        "fetch(",
        "osascript",
        "/dev/tcp",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

fn short(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", slice(&line, ..end)),
        None => line,
    }
}
