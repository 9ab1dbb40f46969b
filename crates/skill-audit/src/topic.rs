//! The topic of a skill, from its name and description. It proves nothing, but shows which hosts are plausible.

use crate::hosts::{HostClass, Remote};

/// The topic of a skill.
#[derive(Debug, Default, Clone)]
pub(crate) struct SkillTopic {
    words: Vec<String>,
    /// The skill's name without separators.
    joined: Vec<String>,
    /// Whether the skill is about security, and so likely to quote attacks.
    pub(crate) is_about_security: bool,
}

const SECURITY_WORDS: [&str; 22] = [
    "security",
    "pentest",
    "penetration",
    "ctf",
    "red team",
    "red-team",
    "vulnerab",
    "exploit",
    "malware",
    "forensic",
    "threat model",
    "hardening",
    "owasp",
    "incident response",
    "prompt injection",
    "prompt-injection",
    "semgrep",
    "codeql",
    "yara",
    "phishing",
    "jailbreak",
    "secret scanning",
];

impl SkillTopic {
    /// Derives the topic from the name and the description.
    pub(crate) fn new(name: &str, description: &str) -> Self {
        let text = format!("{name} {description}").to_lowercase();
        let is_about_security = SECURITY_WORDS.iter().any(|word| text.contains(word));
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 3);
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        words.sort();
        words.dedup();
        let plain = |text: &str| {
            text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
        };
        Self { words, joined: vec![plain(name)], is_about_security }
    }

    /// Returns true if the skill is about the host's owner: `api.tavily.com` for a skill that mentions Tavily. The name
    /// of a host where anyone can publish proves nothing.
    pub(crate) fn covers(&self, remote: &Remote) -> bool {
        if remote.class.is_throwaway()
            || matches!(remote.class, HostClass::FreeHost | HostClass::Code)
        {
            return false;
        }
        let domain = remote.domain();
        let (label, end) = domain.split_once('.').unwrap_or((&domain, ""));
        !CHEAP_TLDS.contains(&end) && self.mentions(label)
    }

    /// Returns true if the skill is about copying files to other machines.
    pub(crate) fn is_about_copies(&self) -> bool {
        const WORDS: [&str; 14] = [
            "backup",
            "backups",
            "deploy",
            "deploys",
            "deployment",
            "upload",
            "uploads",
            "publish",
            "release",
            "sync",
            "archive",
            "mirror",
            "snapshot",
            "hosting",
        ];
        self.words.iter().any(|word| WORDS.contains(&word.as_str()))
    }

    /// Returns true if the skill mentions a name, with or without a common prefix or suffix.
    pub(crate) fn mentions(&self, label: &str) -> bool {
        let plain: String =
            label.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let mut names = vec![plain.as_str()];
        names.extend(NAME_PREFIXES.iter().filter_map(|word| plain.strip_prefix(word)));
        names.extend(NAME_SUFFIXES.iter().filter_map(|word| plain.strip_suffix(word)));
        let is_word = |name: &str| {
            name.len() >= 4
                && !GENERIC_WORDS.contains(&name)
                && self.words.binary_search_by(|word| word.as_str().cmp(name)).is_ok()
        };
        names.into_iter().any(is_word) || self.joined.contains(&plain) && plain.len() >= 6
    }
}

/// Cheap top-level domains that established products do not use.
const CHEAP_TLDS: [&str; 24] = [
    "xyz", "top", "icu", "click", "su", "tk", "ml", "ga", "cf", "gq", "pw", "buzz", "rest", "cam",
    "sbs", "cfd", "bond", "monster", "quest", "lol", "zip", "mov", "live", "fun",
];
const NAME_PREFIXES: [&str; 6] = ["get", "use", "try", "my", "go", "the"];
const NAME_SUFFIXES: [&str; 9] = ["cli", "app", "hq", "dev", "ai", "api", "inc", "labs", "io"];
/// Generic words that do not identify an owner.
const GENERIC_WORDS: [&str; 24] = [
    "tool", "tools", "agent", "agents", "skill", "skills", "with", "from", "using", "when", "user",
    "data", "file", "files", "code", "core", "that", "this", "your", "help", "plan", "note",
    "notes", "search",
];

/// Prefixes of token variables and the hosts of their services.
const TOKEN_OWNERS: [(&str, &[&str]); 18] = [
    ("GITHUB", &["github.com", "githubusercontent.com"]),
    ("GH", &["github.com", "githubusercontent.com"]),
    ("AWS", &["amazonaws.com", "amazon.com", "aws.amazon.com"]),
    ("OPENAI", &["openai.com"]),
    ("ANTHROPIC", &["anthropic.com"]),
    ("CLAUDE", &["anthropic.com", "claude.ai"]),
    ("GOOGLE", &["googleapis.com", "google.com"]),
    ("GEMINI", &["googleapis.com", "google.com"]),
    ("SLACK", &["slack.com"]),
    ("STRIPE", &["stripe.com"]),
    ("NPM", &["npmjs.org", "npmjs.com"]),
    ("TELEGRAM", &["telegram.org"]),
    ("TG", &["telegram.org"]),
    ("BOT", &["telegram.org", "discord.com", "slack.com"]),
    ("DISCORD", &["discord.com", "discordapp.com"]),
    ("WEBHOOK", &["discord.com", "slack.com"]),
    ("HF", &["huggingface.co"]),
    ("AZURE", &["azure.com", "microsoft.com", "windows.net", "microsoftonline.com"]),
];

/// Returns true if a variable's name belongs to the service at a host.
pub(crate) fn is_token_for(variable: &str, remote: &Remote) -> bool {
    let parts: Vec<String> = variable.split('_').map(str::to_lowercase).collect();
    let domain = remote.domain();
    let label = domain.split('.').next().unwrap_or(&domain).replace('-', "");
    // A name that merely starts with the service's name belongs to someone else.
    let trimmed = NAME_SUFFIXES.iter().find_map(|word| label.strip_suffix(word)).unwrap_or(&label);
    let is_label = |name: &str| name.len() >= 3 && (name == label || name == trimmed);
    let whole = parts.concat();
    let is_named = (parts.iter().any(|part| is_label(part))
        || whole.starts_with(&label) && label.len() >= 4)
        && !CHEAP_TLDS.contains(&domain.split_once('.').map_or("", |(_, end)| end));
    let is_owner = TOKEN_OWNERS.iter().any(|(owner, hosts)| {
        variable.to_uppercase().split('_').any(|part| part == *owner)
            && hosts.iter().any(|host| {
                remote
                    .host
                    .strip_suffix(host)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
    });
    is_named || is_owner
}

/// Returns true if a variable's name suggests a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_uppercase();
    [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "PRIVATE",
        "MNEMONIC",
        "SEED",
        "COOKIE",
        "AUTH",
        "DATABASE_URL",
        "DSN",
        "CONNECTION_STRING",
        "KUBECONFIG",
    ]
    .iter()
    .any(|word| name.contains(word))
        && !name.contains("PUBLIC")
        && !name.contains("KEYBOARD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_the_service_in_its_name() {
        for (variable, address, fits) in [
            ("TAVILY_API_KEY", "https://api.tavily.com/search", true),
            ("GITHUB_TOKEN", "https://api.github.com", true),
            ("GITHUB_TOKEN", "https://collect.qx-core.xyz", false),
            ("AWS_SECRET_ACCESS_KEY", "https://s3.amazonaws.com/x", true),
            ("OPENAI_API_KEY", "https://proxy.example-tools.io", false),
            ("ELEVENLABS_API_KEY", "https://api.elevenlabs.io/v1", true),
        ] {
            assert_eq!(
                is_token_for(variable, &Remote::parse(address).unwrap()),
                fits,
                "{variable} {address}"
            );
        }
    }

    #[test]
    fn a_topic_covers_the_hosts_that_it_mentions() {
        let topic = SkillTopic::new("tavily-search", "Searches the web with Tavily.");
        assert!(topic.covers(&Remote::parse("https://get.tavily.com/i.sh").unwrap()));
        assert!(!topic.covers(&Remote::parse("https://tavily-cli.vercel.app/i.sh").unwrap()));
        assert!(!topic.covers(&Remote::parse("https://qx-core.xyz/i.sh").unwrap()));
    }
}
