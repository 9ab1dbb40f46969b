//! Classifies hosts: registries, known vendors, hosts where anyone can publish.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::LazyLock;

use crate::excerpt::slice;

/// The class of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostClass {
    /// This machine, a private network, or an example host.
    Local,
    /// A package registry, with accounts and takedowns.
    Registry,
    /// A company or project that many skills use.
    Vendor,
    /// A code host: anyone can publish, with an account and a history.
    Code,
    /// Not in any list.
    Unknown,
    /// Free hosting, where anyone can publish pages.
    FreeHost,
    /// A paste site: anyone can publish text without an account.
    Paste,
    /// A temporary file host.
    FileDrop,
    /// A link shortener, which hides the target.
    Shortener,
    /// A tunnel to a private machine.
    Tunnel,
    /// A webhook or request bin, which collects data for whoever created the URL.
    Hook,
    /// A bare IP address.
    Address,
}

impl HostClass {
    /// Returns the description.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local or example host",
            Self::Registry => "package registry",
            Self::Vendor => "known vendor",
            Self::Code => "code host",
            Self::Unknown => "unknown host",
            Self::FreeHost => "free hosting",
            Self::Paste => "paste site",
            Self::FileDrop => "temporary file host",
            Self::Shortener => "link shortener",
            Self::Tunnel => "tunnel to a private machine",
            Self::Hook => "webhook or request bin",
            Self::Address => "bare IP address",
        }
    }

    /// Returns true if no legitimate project hosts its installer or service there.
    pub fn is_throwaway(self) -> bool {
        match self {
            Self::Paste
            | Self::FileDrop
            | Self::Shortener
            | Self::Tunnel
            | Self::Hook
            | Self::Address => true,
            Self::Local
            | Self::Registry
            | Self::Vendor
            | Self::Code
            | Self::Unknown
            | Self::FreeHost => false,
        }
    }
}

impl fmt::Display for HostClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A remote address, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remote {
    /// The address as written, without the unknown parts.
    pub text: String,
    /// The host in lower case; empty if it is dynamic.
    pub host: String,
    /// The class of the host.
    pub class: HostClass,
    /// Whether the connection is unencrypted, so that anyone on the path can change the response.
    pub is_plain: bool,
}

impl Remote {
    /// Parses an address; returns `None` if it is not one. As in commands, the scheme is optional.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['"', '\'', '<', '>', '`', '(', ')']);
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (scheme.to_lowercase(), rest),
            None => (String::new(), text),
        };
        if !matches!(scheme.as_str(), "" | "http" | "https" | "ftp" | "ws" | "wss" | "tcp") {
            return None;
        }
        let end = rest.find(['/', '?', '#', UNKNOWN, ' ', '\\', '"']).unwrap_or(rest.len());
        let host = slice(rest, ..end).rsplit('@').next()?.to_lowercase();
        let is_bracketed = host.starts_with('[');
        let host = if is_bracketed {
            host.trim_start_matches('[').split(']').next()?.to_owned()
        } else {
            host.split(':').next()?.trim_end_matches('.').to_owned()
        };
        let is_host = !host.is_empty()
            && (is_bracketed
                || (host.contains('.') || host == "localhost" || is_numeric_address(&host))
                    && host.split('.').all(|part| {
                        !part.is_empty()
                            && part.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
                    }));
        // Without a scheme, many words look like hosts: `file.txt`, `os.path`.
        if !is_host || (scheme.is_empty() && !is_bare_host(&host)) {
            return None;
        }
        let class = class(&host, slice(rest, end..));
        Some(Self {
            text: text.to_owned(),
            host,
            class,
            is_plain: scheme == "http" || scheme == "ftp",
        })
    }

    /// Returns the host with its class, for messages: `91.92.242.30 (bare IP address)`.
    pub(crate) fn describe(&self) -> String {
        if self.host.is_empty() {
            "a dynamic host".to_owned()
        } else {
            format!("{} ({})", self.host, self.class)
        }
    }

    /// Returns the well-known name that an unknown host imitates: `docker` for `docker-desktop-setup.com`.
    pub(crate) fn imitates(&self) -> Option<&'static str> {
        if !matches!(self.class, HostClass::Unknown | HostClass::FreeHost) {
            return None;
        }
        let domain = self.domain();
        // On free hosting, the name is the one that the user chose.
        let label = match self.class {
            HostClass::FreeHost => self.host.split('.').next().unwrap_or_default(),
            _ => domain.split('.').next().unwrap_or_default(),
        };
        let is_near = |word: &str, brand: &str| {
            word == brand
                || brand.len() >= 6
                    && word.len() >= 5
                    && strsim::osa_distance(&unfold(word), brand) <= 1
        };
        let mut words = label.split(['-', '_']).filter(|word| word.len() >= 3);
        let whole = BRANDS.iter().find(|brand| {
            let rest = label.strip_prefix(**brand).or_else(|| label.strip_suffix(**brand));
            brand.len() >= 5 && rest.is_some_and(|rest| LURES.contains(&rest.trim_matches('-')))
        });
        let found = words.find_map(|word| BRANDS.iter().find(|brand| is_near(word, brand)));
        found.or(whole).copied()
    }

    /// Returns the registrable domain: `example.co.uk` for `a.b.example.co.uk`.
    pub fn domain(&self) -> String {
        domain(&self.host)
    }
}

/// Names that attackers imitate.
const BRANDS: [&str; 64] = [
    "github",
    "gitlab",
    "docker",
    "python",
    "nodejs",
    "anthropic",
    "claude",
    "openai",
    "chatgpt",
    "microsoft",
    "windows",
    "google",
    "chrome",
    "chromium",
    "homebrew",
    "pypi",
    "npmjs",
    "huggingface",
    "openclaw",
    "clawhub",
    "clawdbot",
    "cloudflare",
    "ubuntu",
    "debian",
    "vscode",
    "jetbrains",
    "ffmpeg",
    "pandoc",
    "openssl",
    "kubernetes",
    "kubectl",
    "terraform",
    "postgresql",
    "postgres",
    "mongodb",
    "nvidia",
    "discord",
    "telegram",
    "obsidian",
    "metamask",
    "phantom",
    "binance",
    "coinbase",
    "solana",
    "ethereum",
    "playwright",
    "puppeteer",
    "selenium",
    "tesseract",
    "imagemagick",
    "libreoffice",
    "windsurf",
    "supabase",
    "vercel",
    "netlify",
    "paypal",
    "dropbox",
    "onedrive",
    "acrobat",
    "rustup",
    "golang",
    "powershell",
    "slack",
    "notion",
];
/// What imitations append to a name.
const LURES: [&str; 26] = [
    "download",
    "downloads",
    "setup",
    "install",
    "installer",
    "update",
    "updates",
    "updater",
    "cli",
    "app",
    "apps",
    "tool",
    "tools",
    "helper",
    "desktop",
    "client",
    "get",
    "my",
    "official",
    "pkg",
    "packages",
    "cdn",
    "mirror",
    "mirrors",
    "releases",
    "runtime",
];

/// Replaces digits that look like letters.
fn unfold(word: &str) -> String {
    word.replace('0', "o")
        .replace('1', "l")
        .replace('3', "e")
        .replace('5', "s")
        .replace("rn", "m")
        .replace("vv", "w")
}

/// Placeholder for an unknown part of a text.
pub(crate) const UNKNOWN: char = '\u{fffc}';

fn domain(host: &str) -> String {
    psl::domain_str(host).unwrap_or(host).to_owned()
}

/// Returns true for an IP address written as one number: `2130706433`, `0x7f000001`.
fn is_numeric_address(host: &str) -> bool {
    let hex = host.strip_prefix("0x").is_some_and(|digits| digits.len() == 8);
    hex || (host.len() >= 8 && host.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if the text is a host even without a scheme.
fn is_bare_host(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
        || is_numeric_address(host)
        || host == "localhost"
        || psl::suffix(host.as_bytes()).is_some_and(|suffix| {
            // Many file extensions are also country domains.
            let suffix = String::from_utf8_lossy(suffix.as_bytes()).into_owned();
            suffix.len() < host.len()
                && suffix.split('.').all(|part| part.len() >= 2)
                && !matches!(
                    suffix.as_str(),
                    "sh" | "py"
                        | "md"
                        | "rs"
                        | "pl"
                        | "zip"
                        | "mov"
                        | "ts"
                        | "js"
                        | "cc"
                        | "so"
                        | "ps"
                        | "id"
                        | "name"
                )
                && psl::suffix(host.as_bytes()).is_some_and(|suffix| suffix.is_known())
        })
}

/// Classifies a host. The path can matter: chat webhooks share a host with the chat's API.
fn class(host: &str, rest: &str) -> HostClass {
    if let Ok(address) = host.parse::<IpAddr>() {
        let is_local = match address {
            IpAddr::V4(four) => four.is_loopback() || four.is_private() || four.is_unspecified(),
            IpAddr::V6(six) => six.is_loopback() || six.is_unspecified(),
        };
        return if is_local || is_documentation_address(address) {
            HostClass::Local
        } else {
            HostClass::Address
        };
    }
    if is_numeric_address(host) {
        return HostClass::Address;
    }
    let path = rest.to_lowercase();
    let is_chat_webhook = match host {
        "discord.com" | "discordapp.com" | "canary.discord.com" | "ptb.discord.com" => {
            path.starts_with("/api/webhooks")
        }
        "api.telegram.org" => path.starts_with("/bot"),
        "hooks.slack.com" => path.starts_with("/services"),
        _ => false,
    };
    if is_chat_webhook {
        return HostClass::Hook;
    }
    if let Some(class) = user_content_class(host, &path) {
        return class;
    }
    if let Some(class) = parent_domains(host).find_map(|name| KNOWN.get(name)) {
        return *class;
    }
    let last = host.rsplit('.').next().unwrap_or(host);
    match last {
        "localhost" | "local" | "internal" | "test" | "example" | "invalid" | "svc" => {
            HostClass::Local
        }
        "gov" | "edu" | "mil" | "int" => HostClass::Vendor,
        _ if is_placeholder(host) => HostClass::Local,
        // Only governments and universities can register these names.
        _ if psl::suffix_str(host)
            .is_some_and(|suffix| suffix.starts_with("gov.") || suffix.starts_with("ac.")) =>
        {
            HostClass::Vendor
        }
        _ => HostClass::Unknown,
    }
}

/// Returns true for addresses that documentation uses as examples.
fn is_documentation_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            matches!(four.octets(), [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _])
                || matches!(
                    four.octets(),
                    [1, 2, 3, 4]
                        | [8, 8, 8, 8]
                        | [8, 8, 4, 4]
                        | [1, 1, 1, 1]
                        | [169, 254, 169, 254]
                )
        }
        IpAddr::V6(_) => false,
    }
}

/// Returns true for placeholder names in documentation, none of which an attacker can register.
fn is_placeholder(host: &str) -> bool {
    const LABELS: &str = "example yourdomain your-domain your-site yoursite your-server your-app your-api yourapp your-company \
        yourcompany mydomain my-domain mycompany my-server mysite myapp my-app attacker evil malicious evil-site hacker domain \
        company website victim contoso fabrikam placeholder yourserver evilcorp";
    let name = domain(host);
    let (label, end) = name.split_once('.').unwrap_or((&name, ""));
    LABELS.split_whitespace().any(|known| known == label)
        && matches!(end, "com" | "org" | "net" | "io" | "dev" | "")
}

/// Returns the class of user content on a well-known host.
fn user_content_class(host: &str, path: &str) -> Option<HostClass> {
    const DRIVES: &str = "drive.google.com docs.google.com script.google.com script.googleusercontent.com \
        drive.usercontent.google.com firebasestorage.googleapis.com www.dropbox.com dropbox.com dl.dropboxusercontent.com \
        onedrive.live.com 1drv.ms";
    let is_bucket = host.ends_with("amazonaws.com")
        && [".s3.", ".s3-"].iter().any(|part| format!(".{host}").contains(part));
    if is_bucket || DRIVES.split_whitespace().any(|known| known == host) {
        return Some(HostClass::FreeHost);
    }
    let is_code = host == "cdn.jsdelivr.net" && path.starts_with("/gh/")
        || host.ends_with("huggingface.co") && path.contains("/resolve/");
    is_code.then_some(HostClass::Code)
}

/// Returns a host and its parent domains: `a.b.c`, `b.c`, `c`.
fn parent_domains(host: &str) -> impl Iterator<Item = &str> {
    let dots = host.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| slice(host, at + 1..));
    std::iter::once(host).chain(dots)
}

/// The listed hosts and their classes.
static KNOWN: LazyLock<HashMap<&'static str, HostClass>> = LazyLock::new(|| {
    let mut known = HashMap::with_capacity(2048);
    let mut class = HostClass::Unknown;
    for line in include_str!("hosts.txt").lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(word) => class = named_class(word),
            None => known.extend(line.split_whitespace().map(|name| (name, class))),
        }
    }
    known
});

fn named_class(word: &str) -> HostClass {
    match word {
        "local" => HostClass::Local,
        "registry" => HostClass::Registry,
        "vendor" => HostClass::Vendor,
        "code" => HostClass::Code,
        "free-host" => HostClass::FreeHost,
        "paste" => HostClass::Paste,
        "file-drop" => HostClass::FileDrop,
        "shortener" => HostClass::Shortener,
        "tunnel" => HostClass::Tunnel,
        "hook" => HostClass::Hook,
        _ => HostClass::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_host_has_one_class() {
        assert!(KNOWN.values().all(|class| *class != HostClass::Unknown));
        let names: Vec<&str> = include_str!("hosts.txt")
            .lines()
            .filter(|line| !line.starts_with(['#', '[']))
            .flat_map(str::split_whitespace)
            .collect();
        let mut once = names.clone();
        once.sort_unstable();
        let duplicates: Vec<_> = once.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(duplicates.is_empty(), "{duplicates:?}");
    }

    #[test]
    fn hosts_are_classified() {
        for (text, class) in [
            ("https://glot.io/snippets/x", HostClass::Paste),
            ("http://91.92.242.30/x", HostClass::Address),
            ("http://0x5b5cf21e/x", HostClass::Address),
            ("http://127.0.0.1:8080/x", HostClass::Local),
            ("https://user@bit.ly/x", HostClass::Shortener),
            ("https://raw.githubusercontent.com/a/b/x.sh", HostClass::Code),
            ("https://discord.com/api/webhooks/1/x", HostClass::Hook),
            ("https://discord.com/developers", HostClass::Vendor),
            ("https://x.ngrok-free.app/", HostClass::Tunnel),
            ("https://astral.sh/uv/install.sh", HostClass::Vendor),
            ("https://openhelper.vercel.app/", HostClass::FreeHost),
            ("https://your-domain.com", HostClass::Local),
            ("https://qx-core-tool.xyz/i.sh", HostClass::Unknown),
            ("qx-core-tool.xyz/i.sh", HostClass::Unknown),
        ] {
            assert_eq!(Remote::parse(text).map(|remote| remote.class), Some(class), "{text}");
        }
        for text in
            ["file.txt", "os.path", "a b", "", "mailto:a@b.c", "main.py", "$HOST/x", "install.sh"]
        {
            assert_eq!(Remote::parse(text), None, "{text}");
        }
    }
}
