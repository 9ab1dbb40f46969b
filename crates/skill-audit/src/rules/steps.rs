//! Rules about downloads in one place that take effect in another: in a later step, in another file, in metadata.

use std::sync::LazyLock;

use regex::Regex;

use super::delivery::{ADDRESS, rated};
use super::{Hit, Skill};
use crate::artifact::FileKind;
use crate::cues::Cue;
use crate::excerpt::slice;
use crate::finding::Severity;
use crate::hosts::{HostClass, Remote};
use crate::inspect::{InspectedFile, MAX_MATCHES};
use crate::op::{Action, Location, Role};

/// How many bytes around a match are searched for related words.
const CONTEXT_BYTES: usize = 400;

/// Matches a URL of a script or program.
static PROGRAM_FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\.(?:sh|bash|py|js|mjs|ts|pl|rb|ps1|bat|cmd|exe|msi|bin|run|appimage|command|jar|vbs|elf)(?:[?#]|$)")
        .expect("the pattern is valid")
});
/// The endings that [`PROGRAM_FILE`] matches most.
const PROGRAM_FILE_NAME: [&str; 12] = [
    ".sh",
    ".py",
    ".js",
    ".mjs",
    ".ps1",
    ".bat",
    ".exe",
    ".msi",
    ".bin",
    ".run",
    ".command",
    ".AppImage",
];
/// Matches a key of YAML or JSON.
static METADATA_KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"["']?[A-Za-z_][A-Za-z0-9_.-]*["']?\s*:\s*"#).expect("the pattern is valid")
});
pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        check_metadata(skill, number, file, hits);
    }
    check_steps(skill, hits);
}

/// A file that is downloaded in one place.
struct Download<'a> {
    from: Remote,
    name: &'a str,
    at: Location,
}

/// Finds files that are downloaded in one step and executed in another, possibly in another file of the skill.
fn check_steps(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    const MIN_NAME: usize = 4;
    let ops = || skill.files.iter().flat_map(|file| &file.ops);
    let is_untrusted = |remote: &Remote| {
        !remote.host.is_empty()
            && !matches!(
                remote.class,
                HostClass::Local | HostClass::Registry | HostClass::Vendor | HostClass::Code
            )
            && !skill.topic.covers(remote)
    };
    let mut downloads: Vec<Download<'_>> = ops()
        .filter_map(|op| match &op.action {
            Action::Save { from, path } if is_untrusted(from) => Some(Download {
                from: from.clone(),
                name: base_name(path),
                at: op.location.clone(),
            }),
            _ => None,
        })
        .collect();
    for (number, file) in
        skill.files.iter().enumerate().filter(|(_, file)| file.kind == FileKind::Markdown)
    {
        if !PROGRAM_FILE_NAME.iter().any(|end| file.text.text.contains(end)) {
            continue;
        }
        for found in ADDRESS.find_iter(&file.text.text).take(MAX_MATCHES) {
            let address = found.as_str().trim_end_matches(['.', ',', '*']);
            let near = found.start().saturating_sub(160)..found.end() + 160;
            let is_program =
                PROGRAM_FILE.is_match(address) && file.cues.find_in(Cue::Download, &near).is_some();
            if let Some(from) =
                Remote::parse(address).filter(|from| is_program && is_untrusted(from))
            {
                let name = base_name(address.split(['?', '#']).next().unwrap_or(address));
                downloads.push(Download {
                    from,
                    name,
                    at: skill.location(number, found.range(), &[]),
                });
            }
        }
    }
    downloads.retain(|download| download.name.len() >= MIN_NAME);
    if downloads.is_empty() {
        return;
    }
    for op in ops() {
        let Action::Execute { path } = &op.action else { continue };
        let name = base_name(path);
        let Some(download) = downloads.iter().find(|download| download.name == name) else {
            continue;
        };
        let message = format!(
            "`{name}` is downloaded from {} and executed in another step",
            download.from.describe()
        );
        let hit = Hit {
            from: Some((download.at.clone(), format!("downloads `{name}`"))),
            ..Hit::new("DEL-01", op.location.clone(), message)
        };
        hits.push(rated(skill, op, &download.from, hit));
    }
}

fn base_name(path: &str) -> &str {
    path.trim().rsplit('/').next().unwrap_or(path)
}

/// Finds downloads in the frontmatter's metadata.
fn check_metadata(skill: &Skill<'_>, number: usize, file: &InspectedFile<'_>, hits: &mut Vec<Hit>) {
    for piece in file.document.pieces.iter().filter(|piece| piece.role == Role::Frontmatter) {
        let text = file.slice(&piece.span);
        for found in ADDRESS.find_iter(text) {
            let Some(remote) = Remote::parse(found.as_str().trim_end_matches([',', '.', '"', '}']))
            else {
                continue;
            };
            let line = crate::excerpt::line(text, &found.range(), CONTEXT_BYTES);
            let before = slice(text, line.start..found.start());
            let key = METADATA_KEY
                .find_iter(before)
                .last()
                .map(|key| key.as_str().trim_matches([' ', '"', '\'', '-', '{', ',']));
            let key = key.unwrap_or_default().trim_end_matches([':', '"', ' ']).to_lowercase();
            // Links to read are ordinary metadata.
            const LINKS: [&str; 14] = [
                "homepage",
                "repository",
                "repo",
                "docs",
                "documentation",
                "license",
                "author",
                "website",
                "support",
                "issues",
                "bugs",
                "funding",
                "description",
                "icon",
            ];
            let context =
                slice(text, found.start().saturating_sub(CONTEXT_BYTES)..found.end() + 120)
                    .to_lowercase();
            let installs = [
                "install",
                "setup",
                "bootstrap",
                "download",
                "postinstall",
                "preinstall",
                "exec",
                "command",
                "script",
                "fetch",
                "curl",
                "wget",
                "run:",
            ]
            .iter()
            .any(|word| context.contains(word));
            let is_strange = matches!(remote.class, HostClass::Unknown | HostClass::FreeHost)
                || remote.class.is_throwaway();
            if LINKS.contains(&key.as_str())
                || !installs
                || !is_strange
                || skill.topic.covers(&remote)
            {
                continue;
            }
            let span = piece.span.start + found.start()..piece.span.start + found.end();
            let at = skill.location(number, span, &[]);
            let message = format!("the metadata of the skill downloads from {}", remote.describe());
            let is_used = key.contains("url")
                || [
                    "install",
                    "setup",
                    "download",
                    "script",
                    "command",
                    "exec",
                    "run",
                    "source",
                    "archive",
                    "binary",
                    "package",
                    "hook",
                    "fetch",
                    "init",
                    "bootstrap",
                    "post",
                    "pre",
                ]
                .iter()
                .any(|word| key.contains(word));
            let hit = Hit::new("DEL-07", at, message);
            hits.push(if is_used { hit.blocking() } else { hit.severity(Severity::Medium) });
        }
    }
}
