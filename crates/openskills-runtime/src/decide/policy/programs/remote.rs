//! URLs and remote repositories, as curl and git parse them.

/// Returns true for a web URL: `http(s)://…`, or a host without a scheme.
pub(super) fn is_url(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return true;
    }
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = authority.split_once(':').unwrap_or((authority, "0"));
    let is_host = !host.is_empty()
        && !host.starts_with(['-', '.'])
        && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_host && is_port && !lower.contains("://")
}

/// Returns true for the URL of a remote repository: `https://…`, `ssh://…` or `user@host:path`. Its last component must
/// be a plain name, because a clone is named after it.
pub(super) fn is_repository(text: &str) -> bool {
    let last = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let is_plain = !text.contains("::")
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\')
        && last.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_host = |host: &str| host.starts_with(|c: char| c.is_ascii_alphanumeric());
    let of_scheme = ["https://", "ssh://"].iter().any(|scheme| {
        text.strip_prefix(scheme).is_some_and(|rest| {
            let authority = rest.split('/').next().unwrap_or_default();
            is_host(authority) && is_host(authority.rsplit('@').next().unwrap_or_default())
        })
    });
    let is_name =
        |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let is_short = text.split_once('@').is_some_and(|(user, rest)| {
        is_name(user)
            && is_host(user)
            && rest.split_once(':').is_some_and(|(host, _)| is_host(host) && !host.contains('/'))
    });
    is_plain && (of_scheme || is_short)
}
