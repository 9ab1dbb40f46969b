//! A host on the network, or all hosts below one.

use std::fmt;

use super::Cover;

/// `example.com`, or `*.example.com` for every host below it and not for itself. Always in small letters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// This one.
    Exact(String),
    /// Those whose name ends in a dot and this.
    Below(String),
}

impl Host {
    /// Reads a host; `None` for what is none: white space, slashes, ports, empty parts, a `*` elsewhere.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches('.').to_lowercase();
        let is_part = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        };
        let is_host = |host: &str| host.split('.').all(is_part);
        match text.strip_prefix("*.") {
            Some(below) => is_host(below).then(|| Self::Below(below.to_owned())),
            None => is_host(&text).then_some(Self::Exact(text)),
        }
    }
}

impl Cover for Host {
    fn covers(&self, other: &Self) -> bool {
        let is_below = |host: &str, domain: &str| {
            host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
        };
        match (self, other) {
            (Self::Exact(host), Self::Exact(other)) => host == other,
            (Self::Exact(_), Self::Below(_)) => false,
            (Self::Below(domain), Self::Exact(host)) => is_below(host, domain),
            (Self::Below(domain), Self::Below(other)) => domain == other || is_below(other, domain),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(host) => f.write_str(host),
            Self::Below(domain) => write!(f, "*.{domain}"),
        }
    }
}
