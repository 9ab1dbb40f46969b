//! What a skill says it is about. Words alone prove nothing; they say what is usual for it.

use crate::hosts::{HostClass, Remote};

/// What a skill says of itself.
#[derive(Debug, Default, Clone)]
pub(crate) struct About {
    words: Vec<String>,
    /// The name of the skill, in one word.
    joined: Vec<String>,
    /// Whether it teaches security, and so quotes what it warns of.
    pub(crate) is_teaching: bool,
}

const TEACHING: [&str; 22] = [
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

impl About {
    /// Reads it from the name and the description.
    pub(crate) fn new(name: &str, description: &str) -> Self {
        let text = format!("{name} {description}").to_lowercase();
        let is_teaching = TEACHING.iter().any(|word| text.contains(word));
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 3);
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        words.sort();
        words.dedup();
        let plain = |text: &str| {
            text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
        };
        Self { words, joined: vec![plain(name)], is_teaching }
    }

    /// Returns true if a host is of what the skill is about: `api.tavily.com` for one that speaks of Tavily. Where anybody can put
    /// anything, a name says nothing.
    pub(crate) fn fits(&self, remote: &Remote) -> bool {
        if remote.class.is_throwaway()
            || matches!(remote.class, HostClass::FreeHost | HostClass::Code)
        {
            return false;
        }
        let domain = remote.domain();
        let (label, end) = domain.split_once('.').unwrap_or((&domain, ""));
        !CHEAP.contains(&end) && self.knows(label)
    }

    /// Returns true if a word is one of the skill's own: by itself, or with what is often put before or after a name.
    pub(crate) fn knows(&self, label: &str) -> bool {
        let plain: String =
            label.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let mut names = vec![plain.as_str()];
        names.extend(BEFORE.iter().filter_map(|word| plain.strip_prefix(word)));
        names.extend(AFTER.iter().filter_map(|word| plain.strip_suffix(word)));
        let is_word = |name: &str| {
            name.len() >= 4
                && !COMMON.contains(&name)
                && self.words.binary_search_by(|word| word.as_str().cmp(name)).is_ok()
        };
        names.into_iter().any(is_word) || self.joined.contains(&plain) && plain.len() >= 6
    }
}

/// Ends of names that cost next to nothing, and that nobody's product has.
const CHEAP: [&str; 24] = [
    "xyz", "top", "icu", "click", "su", "tk", "ml", "ga", "cf", "gq", "pw", "buzz", "rest", "cam",
    "sbs", "cfd", "bond", "monster", "quest", "lol", "zip", "mov", "live", "fun",
];
const BEFORE: [&str; 6] = ["get", "use", "try", "my", "go", "the"];
const AFTER: [&str; 9] = ["cli", "app", "hq", "dev", "ai", "api", "inc", "labs", "io"];
/// Words that say nothing about whose something is.
const COMMON: [&str; 24] = [
    "tool", "tools", "agent", "agents", "skill", "skills", "with", "from", "using", "when", "user",
    "data", "file", "files", "code", "core", "that", "this", "your", "help", "plan", "note",
    "notes", "search",
];

/// Services and words that their tokens are named by.
const OWNERS: [(&str, &[&str]); 18] = [
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

/// Returns true if a variable is for that host: it is called like it.
pub(crate) fn belongs(variable: &str, remote: &Remote) -> bool {
    let parts: Vec<String> = variable.split('_').map(str::to_lowercase).collect();
    let domain = remote.domain();
    let label = domain.split('.').next().unwrap_or(&domain).replace('-', "");
    // A name that only begins like the service's is somebody else's.
    let trimmed = AFTER.iter().find_map(|word| label.strip_suffix(word)).unwrap_or(&label);
    let is_label = |name: &str| name.len() >= 3 && (name == label || name == trimmed);
    let whole = parts.concat();
    let is_named = (parts.iter().any(|part| is_label(part))
        || whole.starts_with(&label) && label.len() >= 4)
        && !CHEAP.contains(&domain.split_once('.').map_or("", |(_, end)| end));
    let is_owner = OWNERS.iter().any(|(owner, hosts)| {
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

/// Returns true for a variable that holds a secret, by its name.
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
    fn a_token_belongs_to_the_service_it_is_called_by() {
        for (variable, address, fits) in [
            ("TAVILY_API_KEY", "https://api.tavily.com/search", true),
            ("GITHUB_TOKEN", "https://api.github.com", true),
            ("GITHUB_TOKEN", "https://collect.qx-core.xyz", false),
            ("AWS_SECRET_ACCESS_KEY", "https://s3.amazonaws.com/x", true),
            ("OPENAI_API_KEY", "https://proxy.example-tools.io", false),
            ("ELEVENLABS_API_KEY", "https://api.elevenlabs.io/v1", true),
        ] {
            assert_eq!(
                belongs(variable, &Remote::parse(address).unwrap()),
                fits,
                "{variable} {address}"
            );
        }
    }

    #[test]
    fn a_host_fits_a_skill_that_speaks_of_it() {
        let about = About::new("tavily-search", "Searches the web with Tavily.");
        assert!(about.fits(&Remote::parse("https://get.tavily.com/i.sh").unwrap()));
        assert!(!about.fits(&Remote::parse("https://tavily-cli.vercel.app/i.sh").unwrap()));
        assert!(!about.fits(&Remote::parse("https://qx-core.xyz/i.sh").unwrap()));
    }
}
