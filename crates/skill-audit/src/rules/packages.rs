//! Rules about packages that a skill installs, and names that imitate popular ones.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Hit, Skill};
use crate::finding::Severity;
use crate::hosts::HostClass;
use crate::op::{Action, Op, Role};
use crate::programs::package_name;

/// Popular packages by registry.
static POPULAR_PACKAGES: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let (mut known, mut registry) = (HashMap::<_, Vec<_>>::new(), "");
    for line in include_str!("../packages.txt").lines().filter(|line| !line.starts_with("# ")) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => registry = name,
            None => known.entry(registry).or_default().extend(line.split_whitespace()),
        }
    }
    known
});
/// Scopes of popular npm packages.
const POPULAR_SCOPES: [&str; 24] = [
    "angular",
    "anthropic-ai",
    "aws-sdk",
    "azure",
    "babel",
    "cloudflare",
    "docusaurus",
    "electron",
    "firebase",
    "github",
    "google",
    "google-cloud",
    "huggingface",
    "langchain",
    "microsoft",
    "modelcontextprotocol",
    "nestjs",
    "octokit",
    "openai",
    "playwright",
    "prisma",
    "supabase",
    "tanstack",
    "typescript-eslint",
];
/// Popular skills that attackers imitate.
const POPULAR_SKILLS: [&str; 34] = [
    "pdf",
    "docx",
    "xlsx",
    "pptx",
    "skill-creator",
    "mcp-builder",
    "frontend-design",
    "webapp-testing",
    "clawhub",
    "openclaw",
    "claude-code",
    "superpowers",
    "algorithmic-art",
    "brand-guidelines",
    "canvas-design",
    "internal-comms",
    "slack-gif-creator",
    "theme-factory",
    "web-artifacts-builder",
    "brainstorming",
    "systematic-debugging",
    "test-driven-development",
    "writing-plans",
    "executing-plans",
    "agent-browser",
    "find-skills",
    "remotion-best-practices",
    "github",
    "tavily-search",
    "self-improving-agent",
    "weather",
    "summarize",
    "nano-banana-pro",
    "obsidian",
];
/// Owners of popular repositories of skills.
const SKILL_OWNERS: [&str; 18] = [
    "anthropics",
    "anthropic",
    "openai",
    "vercel-labs",
    "vercel",
    "microsoft",
    "google-labs-code",
    "github",
    "supabase",
    "getsentry",
    "cloudflare",
    "huggingface",
    "wshobson",
    "remotion-dev",
    "addyosmani",
    "stripe",
    "netlify",
    "obra",
];
/// Brands in the names of skills.
const BRANDS: [&str; 30] = [
    "github",
    "gitlab",
    "docker",
    "kubernetes",
    "anthropic",
    "claude",
    "openai",
    "chatgpt",
    "google",
    "gmail",
    "microsoft",
    "outlook",
    "notion",
    "slack",
    "discord",
    "telegram",
    "obsidian",
    "stripe",
    "paypal",
    "supabase",
    "vercel",
    "netlify",
    "cloudflare",
    "playwright",
    "puppeteer",
    "terraform",
    "postgres",
    "mongodb",
    "openclaw",
    "tavily",
];

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for op in skill.files.iter().flat_map(|file| &file.ops) {
        if let Action::Install { by, registry, what } = &op.action {
            check_install(skill, op, &Package { by, registry, what }, hits);
        }
    }
    if let Some(known) = imitated_skill(skill.name) {
        let at = skill.location(0, 0..0, &[]);
        let message = format!("the skill name `{}` is one edit away from `{known}`", skill.name);
        let hit = Hit::new("DEP-03", at, message);
        // A misspelled name together with something to fetch or run is a trap.
        let is_armed = skill.files.iter().flat_map(|file| &file.ops).any(|op| match &op.action {
            Action::Fetch(remote)
            | Action::RunFetched { from: remote, .. }
            | Action::Send { to: remote, .. } => {
                !matches!(
                    remote.class,
                    HostClass::Local | HostClass::Vendor | HostClass::Registry | HostClass::Code
                ) && !remote.host.is_empty()
            }
            Action::RunDecoded { .. } | Action::Disguise { .. } | Action::RemoteShell { .. } => {
                true
            }
            Action::Read(path) => crate::paths::PathClass::of(path).is_secret(),
            _ => false,
        });
        hits.push(if is_armed {
            hit.severity(Severity::High).blocking()
        } else {
            hit.severity(Severity::Medium)
        });
    }
}

/// Returns the popular skill or brand that a skill's name is one edit away from.
fn imitated_skill(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    if POPULAR_SKILLS.contains(&name.as_str()) {
        return None;
    }
    let whole = POPULAR_SKILLS.iter().find(|known| known.len() >= 7 && is_near(&name, known));
    let words = || name.split(['-', '_', ' ']).filter(|word| word.len() >= 5);
    let is_brand = |word: &&str| BRANDS.contains(word);
    let brand = || {
        let near =
            |word: &str| BRANDS.iter().find(|known| known.len() >= 6 && is_near(word, known));
        words().filter(|word| !is_brand(word)).find_map(near)
    };
    whole.or_else(brand).copied()
}

/// A package, as a command installs it.
struct Package<'a> {
    by: &'a str,
    registry: &'a str,
    what: &'a str,
}

/// Returns the popular package that a name imitates.
fn imitated_package(registry: &str, name: &str) -> Option<String> {
    if registry == "skill" {
        let owner = name.trim_start_matches("https://github.com/").split('/').next()?;
        let near = SKILL_OWNERS.iter().find(|known| known.len() >= 6 && is_near(owner, known));
        return near.filter(|_| !SKILL_OWNERS.contains(&owner)).map(|known| (*known).to_owned());
    }
    let known = POPULAR_PACKAGES.get(registry)?;
    let plain = |name: &str| name.replace(['-', '_', '.'], "").to_lowercase();
    if known.contains(&name) || name.len() < 4 {
        return None;
    }
    if let Some((scope, rest)) = name.strip_prefix('@').and_then(|name| name.split_once('/')) {
        if POPULAR_SCOPES.contains(&scope) {
            return None;
        }
        let near = POPULAR_SCOPES.iter().find(|known| known.len() >= 5 && is_near(scope, known));
        // `@openai-official/codex`
        let official = POPULAR_SCOPES.iter().find(|known| {
            known.len() >= 5
                && scope.strip_prefix(**known).is_some_and(|rest| {
                    ["-official", "-inc", "-sdk", "-cli", "-dev", "-team", "s", "-js", "hq"]
                        .contains(&rest)
                })
        });
        return near.or(official).map(|known| format!("@{known}/{rest}"));
    }
    let near = known.iter().find(|known| known.len() >= 5 && is_near(name, known));
    // `python-requests`, `requests-py`, `node-axios`, `crossenv`: another name for the same thing.
    const AFFIXES: [&str; 10] = [
        "python-",
        "py-",
        "node-",
        "-python",
        "-py",
        "-js",
        "-node",
        "-official",
        "-latest",
        "-stable",
    ];
    let bare = AFFIXES.iter().find_map(|affix| match affix.strip_suffix('-') {
        Some(_) => name.strip_prefix(affix),
        None => name.strip_suffix(affix),
    });
    let affixed = known
        .iter()
        .find(|known| known.len() >= 6 && bare == Some(**known) && AFFIXED.contains(known));
    let joined = known.iter().find(|known| {
        known.contains(['-', '.'])
            && known.len() >= 8
            && plain(known) == plain(name)
            && !name.contains(['-', '_', '.'])
    });
    near.or(affixed).or(joined).map(|known| (*known).to_owned())
}

/// Packages whose imitations with an affix are known from attacks.
const AFFIXED: [&str; 14] = [
    "requests",
    "pandas",
    "urllib3",
    "colorama",
    "selenium",
    "lodash",
    "express",
    "discord.js",
    "cross-env",
    "chalk",
    "openai",
    "anthropic",
    "playwright",
    "beautifulsoup4",
];

fn check_install(skill: &Skill<'_>, op: &Op, package: &Package<'_>, hits: &mut Vec<Hit>) {
    let Package { by, registry, what } = *package;
    if let Some(remote) =
        crate::Remote::parse(what.trim_start_matches("git+")).filter(|_| what.contains("://"))
    {
        let hit = Hit::new(
            "DEP-02",
            op.location.clone(),
            format!("`{by}` installs a package from {}", remote.describe()),
        );
        hits.push(match remote.class {
            HostClass::Local | HostClass::Vendor | HostClass::Registry | HostClass::Code => {
                hit.severity(Severity::Low)
            }
            _ if skill.topic.covers(&remote) => hit,
            _ if remote.class.is_throwaway() => {
                hit.severity(Severity::High).blocking().unless_quoted(skill)
            }
            _ => hit.unless_quoted(skill),
        });
        return;
    }
    let name = package_name(registry, what).to_lowercase();
    if let Some(known) = imitated_package(registry, &name) {
        let message = format!("the package name `{name}` imitates the popular package `{known}`");
        let hit = Hit::new("DEP-01", op.location.clone(), message);
        let is_long = known.len() >= 6;
        hits.push(match op.location.role {
            _ if !is_long => hit.severity(Severity::Low),
            Role::Script => hit.blocking(),
            _ => hit.blocking().unless_quoted(skill),
        });
    }
}

/// Returns true if the names are one insertion, deletion, substitution or transposition apart.
fn is_near(name: &str, known: &str) -> bool {
    const LEGITIMATE: [&str; 41] = [
        "preact",
        "vuex",
        "uuid4",
        "requests2",
        "nuxt",
        "vitest",
        "pytest6",
        "colors2",
        "httpx",
        "aiohttp",
        "asyncio",
        "clack",
        "async3",
        "nextra",
        "chalk5",
        "torchx",
        "polars",
        "pyyaml6",
        "pypdf3",
        "reacts",
        "expresso",
        "flasky",
        "panda",
        "click8",
        "kopia",
        "sharpe",
        "mocks",
        "jester",
        "tslint",
        "jslint",
        "rslint",
        "moments",
        "dockerx",
        "pdfkit",
        "prettierd",
        "eslint_d",
        "dockers",
        "slacker",
        "claudes",
        "googler",
        "openapi",
    ];
    name != known
        && !LEGITIMATE.contains(&name)
        && name.len().abs_diff(known.len()) <= 1
        && (known.len() >= 7 || name.chars().next() == known.chars().next())
        && strsim::osa_distance(name, known) == 1
        && name.strip_suffix('s') != Some(known)
        && known.strip_suffix('s') != Some(name)
        && (!name.ends_with(|c: char| c.is_ascii_digit())
            || known.ends_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imitations_of_popular_names_are_found() {
        for (registry, name, imitated) in [
            ("pip", "reqeusts", Some("requests")),
            ("pip", "beautifulsuop4", Some("beautifulsoup4")),
            ("pip", "python-requests", Some("requests")),
            ("npm", "crossenv", Some("cross-env")),
            ("npm", "@anthropc-ai/sdk", Some("@anthropic-ai/sdk")),
            ("npm", "@openai-official/codex", Some("@openai/codex")),
            ("npm", "expreess", Some("express")),
            ("pip", "requests", None),
            ("pip", "httpx", None),
            ("pip", "pymupdf4llm", None),
            ("npm", "react-dom", None),
            ("npm", "@modelcontextprotocol/server-slack", None),
            ("npm", "preact", None),
            ("brew", "jqq", None),
        ] {
            assert_eq!(imitated_package(registry, name).as_deref(), imitated, "{name}");
        }
        assert_eq!(imitated_skill("gihtub-helper"), Some("github"));
        assert_eq!(imitated_skill("skill-creater"), Some("skill-creator"));
        assert_eq!((imitated_skill("github-helper"), imitated_skill("weather")), (None, None));
    }
}
