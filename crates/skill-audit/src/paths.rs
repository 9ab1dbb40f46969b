//! Classifies paths: secrets, startup files, files that steer an agent.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// The class of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathClass {
    /// A key, a token or a credentials file.
    Secret,
    /// Browser, wallet or keychain data.
    Vault,
    /// Secrets of the project: `.env` and similar files.
    ProjectSecret,
    /// Takes effect when a shell, a session or the machine starts.
    Startup,
    /// A git hook.
    GitHook,
    /// Instructions that an agent reads in every session.
    AgentMemory,
    /// An agent's permissions, hooks or servers.
    AgentSettings,
    /// A system file.
    System,
    /// Another file in the user's home.
    Home,
    /// A temporary file.
    Temporary,
    /// A file in the workspace, or unknown.
    Other,
}

/// Parts of paths and their classes; the first match in this order counts.
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

static AUTOMATON: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::new(KNOWN.iter().map(|(part, _)| part)).expect("the word list is small")
});

impl PathClass {
    /// Classifies a path, wherever the home folder is.
    pub fn of(path: &str) -> Self {
        let path = path.to_lowercase().replace('\\', "/");
        // A part matches only at the start of a name, whatever follows it.
        let is_part = |found: &aho_corasick::Match| {
            let known = KNOWN[found.pattern().as_usize()].0;
            let before = found.start().checked_sub(1).map(|at| path.as_bytes()[at]);
            let after = path.as_bytes().get(found.end());
            // `.azurewebsites.net` is not in `.azure`.
            let is_longer = known.starts_with('.')
                && !known.contains('/')
                && after.is_some_and(u8::is_ascii_alphanumeric);
            let starts = known.starts_with('/')
                || known == ".pub"
                || !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'}');
            starts && !is_longer
        };
        let found = AUTOMATON.find_overlapping_iter(&path).filter(is_part);
        if let Some(first) = found.map(|found| found.pattern().as_usize()).min() {
            return KNOWN[first].1;
        }
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(&path);
        // These folders contain keys and conversations, if they are those of the user.
        if path.contains('/')
            && matches!(
                name,
                ".openclaw"
                    | ".clawdbot"
                    | ".moltbot"
                    | ".claude"
                    | ".codex"
                    | ".docker"
                    | ".kube"
                    | ".mozilla"
            )
        {
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

    /// Returns true for paths whose content must not leave the machine.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::Vault | Self::ProjectSecret)
    }

    /// Returns true for paths that have an effect after the skill is gone.
    pub fn is_persistent(self) -> bool {
        matches!(self, Self::Startup | Self::GitHook | Self::AgentMemory | Self::AgentSettings)
    }

    /// Returns the description.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "credentials",
            Self::Vault => "browser, wallet or keychain data",
            Self::ProjectSecret => "project secrets",
            Self::Startup => "startup files",
            Self::GitHook => "git hooks",
            Self::AgentMemory => "agent instructions",
            Self::AgentSettings => "agent settings",
            Self::System => "system files",
            Self::Home => "user files",
            Self::Temporary => "temporary files",
            Self::Other => "the workspace",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_classified() {
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
