//! What is known about files: which hold secrets, which run something later, which steer an agent.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// What kind of file a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathClass {
    /// A key, a token, a file of credentials.
    Secret,
    /// What a browser, a wallet or a keychain keeps.
    Vault,
    /// The values of a project: `.env` and its kin.
    ProjectSecret,
    /// It runs something when a shell, a machine or a session starts.
    Startup,
    /// It runs something when git does.
    GitHook,
    /// What an agent is told in every session.
    AgentMemory,
    /// What an agent may do, and what runs beside it.
    AgentSettings,
    /// Files of the system.
    System,
    /// Other files of the user.
    Home,
    /// Temporary files.
    Temporary,
    /// The workspace, or not known.
    Other,
}

/// Parts of paths, and what they mean. The first that fits counts.
const KNOWN: &[(&str, PathClass)] = &[
    (".ssh/authorized_keys", PathClass::Startup),
    (".ssh/config", PathClass::Home),
    (".ssh/known_hosts", PathClass::Home),
    (".pub", PathClass::Other),
    (".ssh", PathClass::Secret),
    ("id_rsa", PathClass::Secret),
    ("id_ed25519", PathClass::Secret),
    ("id_ecdsa", PathClass::Secret),
    (".aws/config", PathClass::Home),
    (".aws/credentials", PathClass::Secret),
    (".aws", PathClass::Secret),
    (".azure", PathClass::Secret),
    (".config/gcloud", PathClass::Secret),
    ("application_default_credentials", PathClass::Secret),
    (".kube/config", PathClass::Secret),
    (".docker/config.json", PathClass::Secret),
    (".netrc", PathClass::Secret),
    (".npmrc", PathClass::Secret),
    (".pypirc", PathClass::Secret),
    (".git-credentials", PathClass::Secret),
    (".config/gh/hosts", PathClass::Secret),
    (".gnupg", PathClass::Secret),
    (".pgpass", PathClass::Secret),
    (".my.cnf", PathClass::Secret),
    (".cargo/credentials", PathClass::Secret),
    (".terraform.d/credentials", PathClass::Secret),
    (".config/op/", PathClass::Secret),
    (".vault-token", PathClass::Secret),
    (".claude/.credentials", PathClass::Secret),
    (".claude.json", PathClass::Secret),
    (".codex/auth.json", PathClass::Secret),
    (".openclaw/.env", PathClass::Secret),
    (".clawdbot/.env", PathClass::Secret),
    (".moltbot/.env", PathClass::Secret),
    (".openclaw/credentials", PathClass::Secret),
    (".openclaw/openclaw.json", PathClass::Secret),
    (".clawdbot/clawdbot.json", PathClass::Secret),
    ("auth-profiles.json", PathClass::Secret),
    ("/etc/shadow", PathClass::Secret),
    ("/etc/sudoers", PathClass::Startup),
    ("/proc/self/environ", PathClass::Secret),
    ("login data", PathClass::Vault),
    ("cookies.sqlite", PathClass::Vault),
    ("logins.json", PathClass::Vault),
    ("key4.db", PathClass::Vault),
    ("local state", PathClass::Vault),
    ("google/chrome", PathClass::Vault),
    ("google-chrome", PathClass::Vault),
    ("bravesoftware", PathClass::Vault),
    ("microsoft edge", PathClass::Vault),
    ("firefox/profiles", PathClass::Vault),
    (".mozilla/firefox", PathClass::Vault),
    ("library/keychains", PathClass::Vault),
    ("login.keychain", PathClass::Vault),
    ("wallet.dat", PathClass::Vault),
    (".bitcoin", PathClass::Vault),
    (".electrum", PathClass::Vault),
    (".config/solana", PathClass::Vault),
    ("keystore/utc", PathClass::Vault),
    ("exodus/exodus.wallet", PathClass::Vault),
    ("metamask", PathClass::Vault),
    ("telegram desktop/tdata", PathClass::Vault),
    ("discord/local storage", PathClass::Vault),
    (".password-store", PathClass::Vault),
    (".bash_history", PathClass::Vault),
    (".zsh_history", PathClass::Vault),
    (".env.example", PathClass::Other),
    (".env.sample", PathClass::Other),
    (".env.template", PathClass::Other),
    (".bashrc", PathClass::Startup),
    (".bash_profile", PathClass::Startup),
    (".bash_login", PathClass::Startup),
    (".zshrc", PathClass::Startup),
    (".zprofile", PathClass::Startup),
    (".zshenv", PathClass::Startup),
    (".zlogin", PathClass::Startup),
    (".profile", PathClass::Startup),
    ("config.fish", PathClass::Startup),
    ("/etc/profile", PathClass::Startup),
    ("/etc/cron", PathClass::Startup),
    ("/var/spool/cron", PathClass::Startup),
    ("library/launchagents", PathClass::Startup),
    ("library/launchdaemons", PathClass::Startup),
    ("/etc/systemd", PathClass::Startup),
    (".config/systemd", PathClass::Startup),
    (".config/autostart", PathClass::Startup),
    ("/etc/rc.local", PathClass::Startup),
    ("/etc/ld.so.preload", PathClass::Startup),
    ("start menu/programs/startup", PathClass::Startup),
    ("currentversion/run", PathClass::Startup),
    ("microsoft.powershell_profile", PathClass::Startup),
    (".git/hooks", PathClass::GitHook),
    ("git-templates/hooks", PathClass::GitHook),
    ("git-template/hooks", PathClass::GitHook),
    (".githooks/", PathClass::GitHook),
    (".husky/", PathClass::GitHook),
    (".claude/settings", PathClass::AgentSettings),
    (".claude/hooks", PathClass::AgentSettings),
    (".mcp.json", PathClass::AgentSettings),
    (".cursor/mcp.json", PathClass::AgentSettings),
    ("claude_desktop_config", PathClass::AgentSettings),
    (".codex/config", PathClass::AgentSettings),
    (".gemini/settings", PathClass::AgentSettings),
    (".vscode/settings", PathClass::AgentSettings),
    (".vscode/tasks", PathClass::AgentSettings),
    ("claude.md", PathClass::AgentMemory),
    ("agents.md", PathClass::AgentMemory),
    ("gemini.md", PathClass::AgentMemory),
    ("soul.md", PathClass::AgentMemory),
    ("memory.md", PathClass::AgentMemory),
    ("heartbeat.md", PathClass::AgentMemory),
    ("identity.md", PathClass::AgentMemory),
    (".cursorrules", PathClass::AgentMemory),
    (".cursor/rules", PathClass::AgentMemory),
    (".windsurfrules", PathClass::AgentMemory),
    ("copilot-instructions.md", PathClass::AgentMemory),
    (".claude/skills", PathClass::AgentMemory),
    (".claude/commands", PathClass::AgentMemory),
    (".openclaw/workspace", PathClass::AgentMemory),
];

static AUTOMATON: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(KNOWN.iter().map(|(part, _)| part)).expect("few words"));

impl PathClass {
    /// Says what kind of file a path names, wherever the home is.
    pub fn of(path: &str) -> Self {
        let path = path.to_lowercase().replace('\\', "/");
        // A name is one from its start on; what it goes on with is part of it.
        let is_part = |found: &aho_corasick::Match| {
            let known = KNOWN[found.pattern().as_usize()].0;
            let before = found.start().checked_sub(1).map(|at| path.as_bytes()[at]);
            known.starts_with('/')
                || known == ".pub"
                || !before.is_some_and(|byte| byte.is_ascii_alphanumeric())
        };
        let found = AUTOMATON.find_overlapping_iter(&path).filter(is_part);
        if let Some(first) = found.map(|found| found.pattern().as_usize()).min() {
            return KNOWN[first].1;
        }
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(&path);
        // Whole folders of agents hold their keys, and what was said to them.
        if matches!(
            name,
            ".openclaw"
                | ".clawdbot"
                | ".moltbot"
                | ".claude"
                | ".codex"
                | ".docker"
                | ".kube"
                | ".mozilla"
        ) {
            return Self::Secret;
        }
        if name == ".env"
            || name.starts_with(".env.")
            || name == "credentials.json"
            || name == "secrets.json"
        {
            return Self::ProjectSecret;
        }
        let starts = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
        if starts(&["/tmp", "/var/tmp", "/dev/shm", "$tmpdir", "%temp%"]) {
            Self::Temporary
        } else if starts(&[
            "/etc",
            "/usr",
            "/bin",
            "/sbin",
            "/boot",
            "/lib",
            "/var",
            "/sys",
            "/root",
            "c:/windows",
            "/system",
        ]) {
            Self::System
        } else if starts(&[
            "~",
            "$home",
            "${home}",
            "/home/",
            "/users/",
            "%userprofile%",
            "%appdata%",
            "$env:",
        ]) {
            Self::Home
        } else {
            Self::Other
        }
    }

    /// Returns true for what nobody sends anywhere.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::Vault | Self::ProjectSecret)
    }

    /// Returns true for what runs or steers something later.
    pub fn is_lasting(self) -> bool {
        matches!(self, Self::Startup | Self::GitHook | Self::AgentMemory | Self::AgentSettings)
    }

    /// Returns the words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "credentials",
            Self::Vault => "data of a browser, wallet or keychain",
            Self::ProjectSecret => "secrets of the project",
            Self::Startup => "what runs at start-up",
            Self::GitHook => "git hooks",
            Self::AgentMemory => "what the agent is told",
            Self::AgentSettings => "what the agent may do",
            Self::System => "files of the system",
            Self::Home => "files of the user",
            Self::Temporary => "temporary files",
            Self::Other => "the workspace",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_a_kind() {
        for (path, class) in [
            ("~/.ssh/id_rsa", PathClass::Secret),
            ("/root/.ssh/id_ed25519.pub", PathClass::Other),
            ("$HOME/.aws/credentials", PathClass::Secret),
            (".env", PathClass::ProjectSecret),
            ("config/.env.production", PathClass::ProjectSecret),
            (".env.example", PathClass::Other),
            ("~/Library/Application Support/Google/Chrome/Default/Login Data", PathClass::Vault),
            ("~/.zshrc", PathClass::Startup),
            (".git/hooks/pre-commit", PathClass::GitHook),
            ("CLAUDE.md", PathClass::AgentMemory),
            ("~/.claude/settings.json", PathClass::AgentSettings),
            ("src/main.rs", PathClass::Other),
            ("my.claude.mdx", PathClass::AgentMemory),
            ("/etc/hosts", PathClass::System),
            ("~/notes", PathClass::Home),
        ] {
            assert_eq!(PathClass::of(path), class, "{path}");
        }
    }
}
