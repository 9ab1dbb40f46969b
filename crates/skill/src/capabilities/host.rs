//! A host on the network, or all subdomains of one.

use std::fmt;

use super::Cover;

/// `example.com`, or `*.example.com` for its subdomains but not for itself. Always lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// Exactly this host.
    Exact(String),
    /// Every subdomain of this host.
    Below(String),
}

impl Host {
    /// Parses a host. Returns `None` if `text` contains whitespace, slashes, a port, empty labels or a misplaced `*`.
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
