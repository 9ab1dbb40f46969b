//! Rules about packages that a skill installs, and names that imitate popular ones.

use super::{Hit, Skill};
use crate::finding::Severity;
use crate::hosts::HostClass;
use crate::op::{Action, Op, Role};

/// Popular packages that attackers imitate.
const POPULAR_PACKAGES: [&str; 70] = [
    "requests",
    "numpy",
    "pandas",
    "flask",
    "django",
    "fastapi",
    "pydantic",
    "urllib3",
    "boto3",
    "scipy",
    "matplotlib",
    "pillow",
    "beautifulsoup4",
    "selenium",
    "playwright",
    "openai",
    "anthropic",
    "langchain",
    "tensorflow",
    "torch",
    "transformers",
    "scikit-learn",
    "cryptography",
    "paramiko",
    "pyyaml",
    "click",
    "setuptools",
    "virtualenv",
    "pytest",
    "sqlalchemy",
    "express",
    "lodash",
    "react",
    "axios",
    "chalk",
    "commander",
    "typescript",
    "webpack",
    "eslint",
    "prettier",
    "next",
    "vite",
    "dotenv",
    "moment",
    "mongoose",
    "puppeteer",
    "socket.io",
    "node-fetch",
    "cross-env",
    "nodemon",
    "jsonwebtoken",
    "bcrypt",
    "request",
    "underscore",
    "async",
    "body-parser",
    "uuid",
    "yargs",
    "inquirer",
    "rimraf",
    "colors",
    "ethers",
    "web3",
    "solana",
    "discord.js",
    "telegraf",
    "electron",
    "jquery",
    "vue",
    "angular",
];
/// Popular skills that attackers imitate.
const POPULAR_SKILLS: [&str; 12] = [
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
];

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for op in skill.files.iter().flat_map(|file| &file.ops) {
        if let Action::Install { by, what } = &op.action {
            check_install(skill, op, by, what, hits);
        }
    }
    if let Some(known) =
        POPULAR_SKILLS.iter().find(|known| is_near(skill.name, known) && known.len() >= 7)
    {
        let at = skill.location(0, 0..0, &[]);
        hits.push(Hit::new(
            "DEP-03",
            at,
            format!(
                "the skill name `{}` is one edit away from the popular skill `{known}`",
                skill.name
            ),
        ));
    }
}

fn check_install(skill: &Skill<'_>, op: &Op, by: &str, what: &str, hits: &mut Vec<Hit>) {
    let name = what
        .trim_start_matches("git+")
        .split(['@', '=', '<', '>', '[', '~', '!'])
        .find(|part| !part.is_empty())
        .unwrap_or(what)
        .to_lowercase();
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
    if let Some(known) =
        POPULAR_PACKAGES.iter().find(|known| known.len() >= 5 && is_near(&name, known))
    {
        let hit = Hit::new(
            "DEP-01",
            op.location.clone(),
            format!(
                "the package name `{name}` is one edit away from the popular package `{known}`"
            ),
        );
        hits.push(if op.location.role == Role::Script { hit } else { hit.unless_quoted(skill) });
    }
}

/// Returns true if the names are one insertion, deletion, substitution or transposition apart.
fn is_near(name: &str, known: &str) -> bool {
    const LEGITIMATE: [&str; 16] = [
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
    ];
    name != known
        && !LEGITIMATE.contains(&name)
        && name.len().abs_diff(known.len()) <= 1
        && name.chars().next() == known.chars().next()
        && strsim::osa_distance(name, known) == 1
        && name.strip_suffix('s') != Some(known)
        && known.strip_suffix('s') != Some(name)
        && !name.ends_with(|c: char| c.is_ascii_digit())
}
