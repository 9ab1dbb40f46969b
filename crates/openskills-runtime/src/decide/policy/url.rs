//! Extracts the host of a URL, if every URL parser agrees on it.

use skill::capabilities::Host;

/// Returns the host of a URL. Ambiguous URLs have none: those with user information, a backslash, non-ASCII characters,
/// or a number that only some parsers treat as an IP address.
pub(super) fn host_of(url: &str) -> Option<Host> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    if authority.contains(['@', '\\', '%']) || !authority.is_ascii() {
        return None;
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let last = host.trim_end_matches('.').rsplit('.').next()?;
    let is_number = last.starts_with(|c: char| c.is_ascii_digit());
    if is_number && !is_plain_address(host) {
        return None;
    }
    // A `*` in a URL is not a pattern.
    Host::parse(host).filter(|host| matches!(host, Host::Exact(_)))
}

/// Returns true for a dotted-quad IPv4 address in its canonical form.
fn is_plain_address(host: &str) -> bool {
    let parts: Vec<&str> = host.split('.').collect();
    let is_part = |part: &&str| part.parse::<u8>().is_ok_and(|number| number.to_string() == **part);
    parts.len() == 4 && parts.iter().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_urls_have_no_host() {
        for (url, host) in [
            ("https://Docs.Example.com/x?y#z", Some("docs.example.com")),
            ("http://a.test:8080/", Some("a.test")),
            ("https://127.0.0.1/", Some("127.0.0.1")),
            ("https://xn--bcher-kva.test/", Some("xn--bcher-kva.test")),
            ("https://docs.test\\@evil.test/", None),
            ("https://a.example.com\\.evil.org", None),
            ("https://me@evil.test/", None),
            ("https://ｅvil.test/", None),
            ("https://127.1/", None),
            ("https://2130706433/", None),
            ("https://0x7f.0.0.1/", None),
            ("https://0x7f000001/", None),
            ("https://0177.0.0.1/", None),
            ("https://[::1]/", None),
            ("https://e%76il.test/", None),
            ("ftp://a.test/", None),
            ("//a.test/", None),
            ("https://*.test/", None),
        ] {
            assert_eq!(host_of(url).map(|host| host.to_string()).as_deref(), host, "{url}");
        }
    }
}
