//! Protected names: files in a workspace that other programs run or obey later. No run may write them.
//!
//! Programs read these files on their own, just because they enter the folder: shells, editors, agents, version
//! control. Files that only run when the user runs them, such as a `Makefile` or a project's tests, are not protected.

use std::collections::HashSet;
use std::sync::LazyLock;

/// The names, grouped by the programs that read them.
const GROUPS: [&[&str]; 8] = [
    // Version control: hooks, filters and settings that run programs.
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
    // Other hook managers.
    &[
        ".pre-commit-config.yaml",
        "lefthook.yml",
        ".lefthook.yml",
        "lefthook.yaml",
        ".lefthook.yaml",
    ],
    // CI systems, which run these on the project's machines at the next push.
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
    // Shells, and tools that a shell calls when it enters a folder.
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
    // Editors, debuggers and REPLs, which read settings from the folder that they are started in.
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
    // Package managers, whose settings define programs to run and package sources.
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
    // Agents: their settings and instructions.
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
    // User-wide settings, keys and credentials, in case the workspace is a home folder.
    &[".cocoaskills", ".config", ".ssh", ".netrc", ".gnupg"],
];

/// File extensions that are protected as well: editors run commands from these files.
const EXTENSIONS: [&str; 1] = [".code-workspace"];

/// Returns every protected name, except those that [`is_protected`] recognizes by their extension.
pub fn protected() -> impl Iterator<Item = &'static str> {
    GROUPS.into_iter().flatten().copied()
}

/// Returns true if a name is protected, or if some system treats it as a protected name or as a path containing one.
pub fn is_protected(name: &str) -> bool {
    name.split('\\').any(|part| {
        // On NTFS, `name:stream` is an alternate data stream of the same file.
        let folded = skill::folded_name(part.split(':').next().unwrap_or(part));
        FOLDED.contains(&folded)
            || EXTENSIONS.iter().any(|extension| folded.ends_with(extension))
            || folded.contains('~') && protected().any(|known| skill::is_name_of(part, known))
    })
}

/// The protected names, folded once because many names are compared with them.
static FOLDED: LazyLock<HashSet<String>> =
    LazyLock::new(|| protected().map(skill::folded_name).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_every_protected_name() {
        let page = include_str!("../../../docs/reference.md");
        let table = page.split("**Protected names**").nth(1).expect("the page lists them");
        let table = table.split("\n## ").next().expect("`split` returns at least one part");
        let listed: HashSet<&str> = table.split([' ', '`', '\n', '|']).collect();
        let missing: Vec<&str> = protected().filter(|name| !listed.contains(name)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "missing from docs/reference.md");
    }

    #[test]
    fn names_are_protected_in_every_spelling() {
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
