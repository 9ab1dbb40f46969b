//! Names in a workspace that run or steer something later; no run may write them.
//!
//! What is here is read by a program that nobody started for it: a shell, an editor, an agent or a version control that only enters the folder.
//! What runs because somebody runs it, such as a `Makefile` or the tests of a project, is an ordinary file.

use std::collections::HashSet;
use std::sync::LazyLock;

/// The names, by what reads them.
const GROUPS: [&[&str]; 8] = [
    // Version control: hooks, filters and settings that name programs.
    &[
        ".git",
        ".gitmodules",
        ".gitattributes",
        ".gitconfig",
        ".hg",
        ".hgrc",
        ".jj",
        ".svn",
        ".husky",
        ".githooks",
    ],
    // Other runners of hooks.
    &[
        ".pre-commit-config.yaml",
        "lefthook.yml",
        ".lefthook.yml",
        "lefthook.yaml",
        ".lefthook.yaml",
    ],
    // What runs on a machine of the project's at the next push.
    &[
        ".github",
        ".gitlab-ci.yml",
        ".gitea",
        ".forgejo",
        ".circleci",
        ".buildkite",
        ".travis.yml",
        ".drone.yml",
        ".woodpecker",
    ],
    // Shells, and what a shell asks when it enters a folder.
    &[
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".cshrc",
        ".tcshrc",
        ".kshrc",
        ".mkshrc",
        ".login",
        ".logout",
        ".xonshrc",
        ".envrc",
        ".mise",
        ".mise.toml",
        ".mise.local.toml",
        "mise.toml",
        "mise.local.toml",
        ".tool-versions",
        ".autoenv",
        ".autoenv.zsh",
    ],
    // Editors, debuggers and consoles, which take settings from where they are started.
    &[
        ".vscode",
        ".idea",
        ".zed",
        ".devcontainer",
        ".devcontainer.json",
        ".vimrc",
        ".exrc",
        ".nvimrc",
        ".nvim.lua",
        ".dir-locals.el",
        ".gdbinit",
        ".lldbinit",
        ".pdbrc",
        ".Rprofile",
        ".pryrc",
        ".irbrc",
    ],
    // Package managers, whose settings name programs and where packages come from.
    &[
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".yarn",
        ".pnpmfile.cjs",
        ".pnp.cjs",
        ".pnp.loader.mjs",
        "rust-toolchain",
        "rust-toolchain.toml",
        ".cargo",
        ".pypirc",
    ],
    // Agents: their settings, and what they are told.
    &[
        ".claude",
        ".codex",
        ".cursor",
        ".agents",
        ".gemini",
        ".qwen",
        ".kiro",
        ".roo",
        ".continue",
        ".junie",
        ".trae",
        ".windsurf",
        ".augment",
        ".opencode",
        "opencode.json",
        "opencode.jsonc",
        ".amazonq",
        ".aider.conf.yml",
        ".goosehints",
        ".factory",
        ".adal",
        ".bob",
        ".codebuddy",
        ".codemaker",
        ".commandcode",
        ".forge",
        ".grok",
        ".hermes",
        ".iflow",
        ".kode",
        ".lingma",
        ".mcpjam",
        ".mux",
        ".neovate",
        ".ona",
        ".pochi",
        ".qoder",
        ".tabnine",
        ".zencoder",
        ".mcp.json",
        "mcp.json",
        ".claude-plugin",
        ".rules",
        "AGENT.md",
        ".cursorrules",
        ".clinerules",
        ".windsurfrules",
        ".roorules",
        "CLAUDE.md",
        "CLAUDE.local.md",
        "AGENTS.md",
        "AGENTS.override.md",
        "GEMINI.md",
        "QWEN.md",
        "WARP.md",
        ".corteza",
        ".keep-up",
        "Skillfile.json",
        "Skillfile.lock",
    ],
    // Settings of a user for every program, where the workspace is a home; keys and logins.
    &[".cocoaskills", ".config", ".ssh", ".netrc", ".gnupg"],
];

/// Endings of such names: an editor runs what is in these.
const ENDINGS: [&str; 1] = [".code-workspace"];

/// Returns every name that is protected; those that [`is_protected`] knows by their ending are not among them.
pub fn protected() -> impl Iterator<Item = &'static str> {
    GROUPS.into_iter().flatten().copied()
}

/// Returns true for a name that is protected, or that some system takes for one or for a path with one.
pub fn is_protected(name: &str) -> bool {
    name.split('\\').any(|part| {
        // What comes after a colon is a part of the same file to some.
        let folded = skill::folded_name(part.split(':').next().unwrap_or(part));
        FOLDED.contains(&folded)
            || ENDINGS.iter().any(|ending| folded.ends_with(ending))
            || folded.contains('~') && protected().any(|known| skill::is_name_of(part, known))
    })
}

/// As they are compared: there are many names to look at.
static FOLDED: LazyLock<HashSet<String>> =
    LazyLock::new(|| protected().map(skill::folded_name).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_every_protected_name() {
        let page = include_str!("../../../docs/reference.md");
        let table = page.split("**Protected names**").nth(1).expect("the page has them");
        let table = table.split("\n## ").next().expect("it has a beginning");
        let listed: HashSet<&str> = table.split([' ', '`', '\n', '|']).collect();
        let missing: Vec<&str> = protected().filter(|name| !listed.contains(name)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "docs/reference.md does not list them");
    }

    #[test]
    fn names_are_protected_however_they_are_written() {
        for name in [
            ".git",
            ".GIT",
            ".git.",
            ".git ",
            ".envrc.",
            "git~1",
            "GIT~2",
            "AGENTS.md ",
            ".g\u{200c}it",
            ".git::$INDEX_ALLOCATION",
            "CLAUDE~1.MD",
            "AGENTſ.md",
            ".proﬁle",
            ".gi\u{fe0f}t",
            ".g\u{34f}it",
            "\u{ff0e}ｇｉｔ",
            ".git\\hooks",
            "sub\\.GIT\\hooks",
            "a.code-workspace",
            "A.Code-Workspace.",
            ".github",
            ".tcshrc",
            ".config",
            "skillfile.json",
        ] {
            assert!(is_protected(name), "{name}");
        }
        for name in [
            "git",
            ".gitignore",
            "readme.md",
            "a~1",
            "notes~",
            ".env",
            ".editorconfig",
            "Makefile",
            "package.json",
            "config",
            ".code-workspaces",
        ] {
            assert!(!is_protected(name), "{name}");
        }
    }
}
