//! What is known about hosts: who keeps packages, who is a vendor that many skills talk to, where anybody can put anything.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::LazyLock;

/// What kind of host it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostClass {
    /// This machine, or a name that stands for one in a text.
    Local,
    /// It keeps packages, with accounts and a way to have things taken down.
    Registry,
    /// A company or project that many skills talk to.
    Vendor,
    /// Code of anybody, with an account and a history.
    Code,
    /// Nothing is known about it.
    Unknown,
    /// Pages of anybody, for free.
    FreeHost,
    /// Text of anybody, without an account.
    Paste,
    /// Files of anybody, for a while.
    FileDrop,
    /// It hides where it leads.
    Shortener,
    /// It leads to somebody's own machine.
    Tunnel,
    /// It keeps whatever it is sent, for whoever made the address.
    Hook,
    /// An address without a name.
    Address,
}

impl HostClass {
    /// Returns the words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "this machine",
            Self::Registry => "a registry",
            Self::Vendor => "a known vendor",
            Self::Code => "a code host",
            Self::Unknown => "an unknown host",
            Self::FreeHost => "a free hosting service",
            Self::Paste => "a paste site",
            Self::FileDrop => "a file drop",
            Self::Shortener => "a link shortener",
            Self::Tunnel => "a tunnel to somebody's machine",
            Self::Hook => "a collector of requests",
            Self::Address => "a bare address",
        }
    }

    /// Returns true if nobody who means well has his installer or his service there.
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

/// An address on the network, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remote {
    /// As it is written, without what is not known of it.
    pub text: String,
    /// The host, in small letters.
    pub host: String,
    /// What kind of host that is.
    pub class: HostClass,
    /// Whether anybody on the way can change what comes.
    pub is_plain: bool,
}

impl Remote {
    /// Reads an address; `None` for what is none. A scheme may be missing, as in commands.
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
        let host = rest[..end].rsplit('@').next()?.to_lowercase();
        let is_bracketed = host.starts_with('[');
        let host = if is_bracketed {
            host.trim_start_matches('[').split(']').next()?.to_owned()
        } else {
            host.split(':').next()?.trim_end_matches('.').to_owned()
        };
        let is_host = !host.is_empty()
            && (is_bracketed
                || (host.contains('.') || host == "localhost" || is_odd_address(&host))
                    && host.split('.').all(|part| {
                        !part.is_empty()
                            && part.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
                    }));
        // Without a scheme many words look like hosts: `file.txt`, `os.path`.
        if !is_host || (scheme.is_empty() && !is_named(&host)) {
            return None;
        }
        let class = class(&host, &rest[end..]);
        Some(Self {
            text: text.to_owned(),
            host,
            class,
            is_plain: scheme == "http" || scheme == "ftp",
        })
    }

    /// Returns the name that somebody registered: `example.co.uk` of `a.b.example.co.uk`.
    pub fn domain(&self) -> String {
        domain(&self.host)
    }
}

/// What stands for a part of a text that is not known.
pub(crate) const UNKNOWN: char = '\u{fffc}';

fn domain(host: &str) -> String {
    psl::domain_str(host).unwrap_or(host).to_owned()
}

/// A number instead of a name: `2130706433`, `0x7f000001`.
fn is_odd_address(host: &str) -> bool {
    let hex = host.strip_prefix("0x").is_some_and(|digits| digits.len() == 8);
    hex || (host.len() >= 8 && host.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true for what is a host even without a scheme before it.
fn is_named(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
        || is_odd_address(host)
        || host == "localhost"
        || psl::suffix(host.as_bytes()).is_some_and(|suffix| {
            // What ends a file's name is often the name of a country as well.
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

/// Says what kind of host it is. What comes after the host can matter: a web hook of a chat is one.
fn class(host: &str, rest: &str) -> HostClass {
    if let Ok(address) = host.parse::<IpAddr>() {
        let is_local = match address {
            IpAddr::V4(four) => four.is_loopback() || four.is_private() || four.is_unspecified(),
            IpAddr::V6(six) => six.is_loopback() || six.is_unspecified(),
        };
        return if is_local || is_for_examples(address) {
            HostClass::Local
        } else {
            HostClass::Address
        };
    }
    if is_odd_address(host) {
        return HostClass::Address;
    }
    let path = rest.to_lowercase();
    let is_hook_of_chat = match host {
        "discord.com" | "discordapp.com" | "canary.discord.com" | "ptb.discord.com" => {
            path.starts_with("/api/webhooks")
        }
        "api.telegram.org" => path.starts_with("/bot"),
        "hooks.slack.com" => path.starts_with("/services"),
        _ => false,
    };
    if is_hook_of_chat {
        return HostClass::Hook;
    }
    if let Some(class) = is_anybodys(host, &path) {
        return class;
    }
    if let Some(class) = names(host).find_map(|name| KNOWN.get(name)) {
        return *class;
    }
    let last = host.rsplit('.').next().unwrap_or(host);
    match last {
        "localhost" | "local" | "internal" | "test" | "example" | "invalid" | "svc" => {
            HostClass::Local
        }
        "gov" | "edu" | "mil" | "int" => HostClass::Vendor,
        _ if is_placeholder(host) => HostClass::Local,
        // Where a state gives out names, only the state has them.
        _ if psl::suffix_str(host)
            .is_some_and(|suffix| suffix.starts_with("gov.") || suffix.starts_with("ac.")) =>
        {
            HostClass::Vendor
        }
        _ => HostClass::Unknown,
    }
}

/// Addresses that are set aside for documents.
fn is_for_examples(address: IpAddr) -> bool {
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

/// Names that stand for any host in a text, and that nobody can have any more.
fn is_placeholder(host: &str) -> bool {
    const LABELS: &str = "example yourdomain your-domain your-site yoursite your-server your-app your-api yourapp your-company \
        yourcompany mydomain my-domain mycompany my-server mysite myapp my-app attacker evil malicious evil-site hacker domain \
        company website victim contoso fabrikam placeholder yourserver evilcorp";
    let name = domain(host);
    let (label, end) = name.split_once('.').unwrap_or((&name, ""));
    LABELS.split_whitespace().any(|known| known == label)
        && matches!(end, "com" | "org" | "net" | "io" | "dev" | "")
}

/// Files of anybody at a host that is somebody's.
fn is_anybodys(host: &str, path: &str) -> Option<HostClass> {
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

/// Returns a host and all names above it: `a.b.c`, `b.c`, `c`.
fn names(host: &str) -> impl Iterator<Item = &str> {
    let dots = host.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| &host[at + 1..]);
    std::iter::once(host).chain(dots)
}

/// Hosts that are known, by name.
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
    fn every_known_host_has_one_kind() {
        assert!(KNOWN.values().all(|class| *class != HostClass::Unknown));
        let names: Vec<&str> = include_str!("hosts.txt")
            .lines()
            .filter(|line| !line.starts_with(['#', '[']))
            .flat_map(str::split_whitespace)
            .collect();
        let mut once = names.clone();
        once.sort_unstable();
        let twice: Vec<_> = once.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn hosts_have_a_kind() {
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
