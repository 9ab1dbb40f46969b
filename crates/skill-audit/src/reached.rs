//! Hosts that the text of a document tells the agent to contact, other than by a command.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::excerpt::slice;
use crate::hosts::{HostClass, Remote};
use crate::markdown::Document;
use crate::op::Role;

static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"https?://[^\s"'`<>)\]|]+"#).expect("the pattern is valid"));
/// Matches a request line of HTTP.
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*(?:GET|POST|PUT|PATCH|DELETE|HEAD) (https?://\S+)")
        .expect("the pattern is valid")
});
/// Matches an address that is stored as the base of requests: `BASE_URL = "https://…"`, `Endpoint: https://…`.
static BASE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?im)^[\s*>|-]*(?:(?:export|const|let|var|final|static|private|public|readonly|string|self\.)\s*)*["'`*]*(?:[a-z]+[_ -]?)*(?:url|uri|endpoint|api[_ -]?base|base[_ -]?path|api[_ -]?host|server)[a-z_]*["'`*]*\s*(?::\s*[a-z]+\s*)?[:=]+\s*[*`]*(?:new \w+\()?f?["'`]?(https?://[^\s"'`<>{}$)]+)"#)
        .expect("the pattern is valid")
});
/// Verbs for contacting a host, as opposed to reading about something there.
static FETCH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:fetch(?:es|ed|ing)?|web_?fetch|retrieve|scrape|crawl|take inspiration|git clone|curl|wget)(?-u:\b)")
        .expect("the pattern is valid")
});
/// Addresses that are not those of a service: of a page, a schema, a repository, a picture.
static NOT_CONTACTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)schema|homepage|repository|docs?(?-u:\b)|documentation|license|avatar|image|icon|logo|redirect|callback|example|your|placeholder|source|reference|portal|console|dashboard|issue|github\.com|\.(?:png|svg|jpg|md|html|pdf)(?-u:\b)")
        .expect("the pattern is valid")
});
/// Text that only refers to documentation.
static READS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:fetch api|see also|learn more|further reading|documentation:|docs:|reference:|for details|read more)(?-u:\b)")
        .expect("the pattern is valid")
});

/// Returns the addresses that the text tells the agent to fetch.
pub(crate) fn told_to_fetch(text: &str, document: &Document) -> Vec<(Range<usize>, Remote)> {
    let mut all = Vec::new();
    let mut add = |span: Range<usize>, address: &str| {
        let remote = Remote::parse(address.trim_end_matches(['.', ',', ';', ':', '*']));
        let remote =
            remote.filter(|remote| remote.class != HostClass::Local && !is_template(&remote.host));
        all.extend(remote.map(|remote| (span, remote)));
    };
    for found in ADDRESS.find_iter(text).take(crate::inspect::MAX_MATCHES) {
        let role = document.role_at(found.start());
        if !matches!(role, Role::Prose | Role::Inline) {
            continue;
        }
        let section = document.section(found.start(), text.len());
        let start = slice(text, section.start..found.start())
            .rfind('\n')
            .map_or(section.start, |at| section.start + at + 1);
        let before = slice(text, start..found.start());
        // The label of a link is a title: `[Fetch Metadata](https://…)`.
        let label = before.strip_suffix("](").and_then(|before| before.rfind('['));
        let before = label.map_or(before, |at| slice(before, ..at));
        if !READS.is_match(before)
            && (FETCH.is_match(before) || is_introduced(slice(text, section.start..start), before))
        {
            add(found.range(), found.as_str());
        }
    }
    for found in BASE.captures_iter(text).filter_map(|found| found.get(1)) {
        let line = crate::excerpt::line(text, &found.range(), 200);
        if !NOT_CONTACTED.is_match(slice(text, line)) {
            add(found.range(), found.as_str());
        }
    }
    for found in REQUEST.captures_iter(text).filter_map(|found| found.get(1)) {
        if document.role_at(found.start()) == Role::Fence {
            add(found.range(), found.as_str());
        }
    }
    all
}

/// Returns the addresses that a script stores as the base of its requests.
pub(crate) fn bases(text: &str) -> Vec<(Range<usize>, Remote)> {
    let all = BASE.captures_iter(text).filter_map(|found| found.get(1)).take(100);
    let all = all.filter_map(|found| Some((found.range(), Remote::parse(found.as_str())?)));
    all.filter(|(_, remote)| remote.class != HostClass::Local && !is_template(&remote.host))
        .collect()
}

/// Returns true for a host with a placeholder in it.
fn is_template(host: &str) -> bool {
    ["your", "example", "my-", "tenant", "xxx"].iter().any(|word| host.starts_with(word))
}

/// Returns true if a list or table starts with a line that tells the agent to fetch what follows.
fn is_introduced(earlier: &str, line: &str) -> bool {
    let is_item = |line: &str| {
        let line = line.trim_start();
        line.starts_with(['-', '*', '|', '+', '<'])
            || line.starts_with(|c: char| c.is_ascii_digit())
    };
    let indent = |line: &str| line.len() - line.trim_start().len();
    if !is_item(line) {
        return false;
    }
    for before in earlier.lines().rev().filter(|line| !line.trim().is_empty()).take(30) {
        let is_parent = !is_item(before) || indent(before) < indent(line);
        if is_parent {
            return FETCH.is_match(before) && !READS.is_match(before);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::document;

    #[test]
    fn pages_to_fetch_are_told_apart_from_links() {
        for (text, hosts) in [
            ("Fetch https://api.kettle.dev/x first.", &["api.kettle.dev"][..]),
            ("See https://docs.kettle.dev for details.", &[]),
            (
                "Fetch the latest content from these URLs:\n\n- https://a.dev/x\n- https://b.dev/y\n",
                &["a.dev", "b.dev"],
            ),
            ("- [Fetch Metadata](https://a.dev/x)", &[]),
            ("Links:\n- https://a.dev/x\n", &[]),
            ("```http\nGET https://api.kettle.dev/v1\n```\n", &["api.kettle.dev"]),
            ("```python\nBASE_URL = \"https://api.kettle.dev/v1\"\n```\n", &["api.kettle.dev"]),
            ("* **Base URL**: `https://api.kettle.dev/v1`\n", &["api.kettle.dev"]),
            ("- Fetch list:\n  - <https://a.dev/x>\n", &["a.dev"]),
        ] {
            let found = told_to_fetch(text, &document(text));
            let found: Vec<&str> = found.iter().map(|(_, remote)| remote.host.as_str()).collect();
            assert_eq!(found, hosts, "{text}");
        }
    }
}
