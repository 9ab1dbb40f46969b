//! Analyzes languages without a parser here by patterns: PowerShell, Ruby, Perl, AppleScript and others.

use std::sync::LazyLock;

use regex::Regex;

use crate::decode::{self, Encoding};
use crate::excerpt::{line, slice};
use crate::hosts::Remote;
use crate::op::{Action, Channel, OpCollector, Protection};
use crate::paths::PathClass;
use crate::programs::unknown_remote;

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the pattern is valid"));
    };
}

pattern!(
    FETCH_AND_RUN,
    r#"(?is)((?-u:\b)iex(?-u:\b)|invoke-expression)[^\n]{0,200}(downloadstring|iwr|irm|invoke-webrequest|invoke-restmethod|net\.webclient|curl)|(iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|curl|wget)[^\n]{0,200}\|\s*(iex|invoke-expression)(?-u:\b)"#
);
pattern!(
    DOWNLOAD,
    r"(?i)(?-u:\b)(iwr|irm|invoke-webrequest|invoke-restmethod|start-bitstransfer|downloadfile|downloadstring|urlmon|net/http|lwp::simple|open-uri|file_get_contents|curl_exec)(?-u:\b)"
);
pattern!(STARTED, r"(?i)(?-u:\b)(start-process|invoke-item|shellexecute|wscript\.shell)(?-u:\b)");
pattern!(ENCODED, r"(?i)-e(?:nc|ncodedcommand|c)?\s+([A-Za-z0-9+/=]{40,})");
pattern!(
    FROM_BASE64,
    r#"(?i)(frombase64string|base64_decode|decode64|mime::base64|unpack\(['"]m)"#
);
pattern!(DO_SHELL, r#"(?i)do shell script\s+"((?:[^"\\]|\\.)*)""#);
pattern!(
    BACKTICKS,
    r#"(?:system|exec|`|%x\{|popen|shell_exec|passthru)\s*[\( ]?\s*["'`]([^"'`\n]{3,400})["'`]"#
);
pattern!(
    SOCKET_SHELL,
    r"(?is)(fsockopen|tcpsocket|io::socket|net\.sockets\.tcpclient|socket\.tcp)[^$]{0,400}(/bin/(ba)?sh|cmd\.exe|exec|powershell|iex)"
);
pattern!(
    SENDS,
    r"(?i)(invoke-restmethod|invoke-webrequest|irm|iwr|uploadfile|uploadstring|net/http|lwp|curl_exec)[^\n]{0,200}(-method\s+['\x22]?(post|put)|-infile|-body|-form|uploadfile|uploadstring|\.post)"
);
pattern!(
    WEAKEN,
    r"(?i)(set-mppreference\s+-disable|add-mppreference\s+-exclusion|set-executionpolicy\s+(unrestricted|bypass)\s+-scope\s+localmachine|amsiutils)"
);
pattern!(NO_HISTORY, r"(?i)(historysavestyle\s+savenothing|historysavepath|clear-history(?-u:\b))");
pattern!(
    NO_EVENTS,
    r"(?i)(clear-eventlog|remove-eventlog|wevtutil(?:\.exe)?\s+(?:cl|clear-log)(?-u:\b)|enablescriptblocklogging\D{0,40}0|(?:stop|set)-service\s[^\n]{0,40}eventlog)"
);
pattern!(ADDRESS, r#"(?i)https?://[^\s"'`)>\]|;]+"#);

/// How many bytes around a match are searched for related text.
const CONTEXT_BYTES: usize = 600;

/// Returns the paths of secrets in a text, with their ranges.
pub(crate) fn secret_paths(text: &str) -> Vec<(std::ops::Range<usize>, PathClass)> {
    let mut found = Vec::new();
    let is_end = |c: char| {
        matches!(c, '"' | '\'' | '`' | '\n' | ',' | ';' | ')' | '(' | '=' | '|' | '<' | '>')
    };
    let mut at = 0;
    for part in text.split_inclusive(is_end) {
        let plain = part.trim_end_matches(is_end).trim();
        if plain.len() >= 4 && plain.len() < 200 && plain.contains(['.', '/', '\\', ' ']) {
            let class = PathClass::of(plain);
            if matches!(class, PathClass::Secret | PathClass::Vault) {
                found.push((at..at + part.len(), class));
            }
        }
        at += part.len();
    }
    found
}

/// Analyzes code in a language without a parser.
pub(crate) fn generic_code(text: &str, collector: &mut OpCollector) {
    let addresses =
        |around: &str| ADDRESS.find(around).and_then(|found| Remote::parse(found.as_str()));
    for found in FETCH_AND_RUN.find_iter(text) {
        let around = line(text, &found.range(), CONTEXT_BYTES);
        // The URL may have no scheme.
        let bare = || {
            slice(text, around.clone())
                .split([' ', '|', '(', ')', '\'', '"'])
                .find_map(Remote::parse)
        };
        let from = addresses(slice(text, around.clone()))
            .or_else(bare)
            .unwrap_or_else(|| unknown_remote(found.as_str()));
        collector.add(&around, Action::RunFetched { from, by: "Invoke-Expression".to_owned() });
    }
    for (range, _) in secret_paths(text) {
        collector.add(
            &range,
            Action::Read(
                slice(text, range.clone())
                    .trim_matches(['"', '\'', ' ', ',', ';', ')', '\n'])
                    .to_owned(),
            ),
        );
    }
    for found in SENDS.find_iter(text) {
        let around = line(text, &found.range(), CONTEXT_BYTES);
        let to = addresses(slice(text, around.clone())).or_else(|| addresses(text));
        if let Some(to) = to {
            collector.add(&around, Action::Send { to, secrets: Vec::new(), by: Channel::Body });
        }
    }
    for found in ADDRESS.find_iter(text).take(crate::inspect::MAX_MATCHES) {
        let around = line(text, &found.range(), CONTEXT_BYTES);
        if DOWNLOAD.is_match(slice(text, around))
            && let Some(remote) = Remote::parse(found.as_str())
        {
            let runs = STARTED.is_match(slice(text, found.end()..found.end() + CONTEXT_BYTES));
            collector.add(&found.range(), Action::Fetch(remote.clone()));
            if runs {
                collector.add(
                    &found.range(),
                    Action::RunFetched { from: remote, by: "Start-Process".to_owned() },
                );
            }
        }
    }
    for found in ENCODED.captures_iter(text) {
        let (Some(whole), Some(code)) = (found.get(0), found.get(1)) else { continue };
        let plain =
            decode::base64(code.as_str()).and_then(|bytes| decode::text(&bytes, &mut Vec::new()));
        collector.add(
            &whole.range(),
            Action::RunDecoded {
                encoding: Encoding::Base64,
                by: "powershell".to_owned(),
                text: plain.clone(),
            },
        );
        if let Some(plain) = plain {
            collector.inside(&whole.range(), &[Encoding::Base64], |collector| {
                generic_code(&plain, collector);
            });
        }
    }
    if let Some(found) = FROM_BASE64.find(text) {
        let lower = text.to_lowercase();
        if ["iex", "invoke-expression", "eval", "exec", "[reflection.assembly]", "system("]
            .iter()
            .any(|word| lower.contains(word))
        {
            collector.add(
                &found.range(),
                Action::RunDecoded {
                    encoding: Encoding::Base64,
                    by: "script".to_owned(),
                    text: None,
                },
            );
        }
    }
    for found in DO_SHELL.captures_iter(text).chain(BACKTICKS.captures_iter(text)) {
        if let Some(command) = found.get(1) {
            let line = command.as_str().replace("\\\"", "\"");
            collector.inside(&command.range(), &[], |collector| {
                crate::shell_code::shell_code(&line, collector);
            });
        }
    }
    if let Some(found) = SOCKET_SHELL.find(text) {
        collector.add(
            &line(text, &found.range(), CONTEXT_BYTES),
            Action::RemoteShell { transport: "a socket".to_owned() },
        );
    }
    collect_weakened(text, collector);
}

/// Collects disabled protections and erased records.
fn collect_weakened(text: &str, collector: &mut OpCollector) {
    for (pattern, what, protection) in [
        (&WEAKEN, "Windows malware protection", Protection::Malware),
        (&NO_HISTORY, "the shell history", Protection::History),
        (&NO_EVENTS, "the Windows event log", Protection::Logs),
    ] {
        if let Some(found) = pattern.find(text) {
            collector.add(&found.range(), Action::Weaken { what: what.to_owned(), protection });
        }
    }
}
