//! Code in languages without a grammar here: PowerShell, Ruby, Perl, AppleScript and others, looked at by what is written in it.

use std::sync::LazyLock;

use regex::Regex;

use crate::decode::{self, Encoding};
use crate::hosts::Remote;
use crate::near::{line, slice};
use crate::op::{Action, Channel, OpCollector};
use crate::paths::PathClass;
use crate::programs::somewhere;

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("a pattern that is tested"));
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
pattern!(ADDRESS, r#"(?i)https?://[^\s"'`)>\]|;]+"#);

/// How far around something what belongs to it stands.
const FAR: usize = 600;

/// Paths in a text that nobody sends anywhere, with where they stand.
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

/// Looks at code without a grammar.
pub(crate) fn generic_code(text: &str, scene: &mut OpCollector) {
    let addresses =
        |around: &str| ADDRESS.find(around).and_then(|found| Remote::parse(found.as_str()));
    for found in FETCH_AND_RUN.find_iter(text) {
        let around = line(text, &found.range(), FAR);
        // An address may be written without how it is reached.
        let bare =
            || text[around.clone()].split([' ', '|', '(', ')', '\'', '"']).find_map(Remote::parse);
        let from = addresses(&text[around.clone()])
            .or_else(bare)
            .unwrap_or_else(|| somewhere(found.as_str()));
        scene.add(&around, Action::RunFetched { from, by: "Invoke-Expression".to_owned() });
    }
    for (range, _) in secret_paths(text) {
        scene.add(
            &range,
            Action::Read(
                text[range.clone()].trim_matches(['"', '\'', ' ', ',', ';', ')', '\n']).to_owned(),
            ),
        );
    }
    for found in SENDS.find_iter(text) {
        let around = line(text, &found.range(), FAR);
        let to = addresses(&text[around.clone()]).or_else(|| addresses(text));
        if let Some(to) = to {
            scene.add(&around, Action::Send { to, secrets: Vec::new(), by: Channel::Body });
        }
    }
    for found in ADDRESS.find_iter(text).take(crate::inspect::MOST_PLACES) {
        let around = line(text, &found.range(), FAR);
        if DOWNLOAD.is_match(&text[around])
            && let Some(remote) = Remote::parse(found.as_str())
        {
            let runs = STARTED.is_match(slice(text, &(found.end()..found.end() + FAR)));
            scene.add(&found.range(), Action::Fetch(remote.clone()));
            if runs {
                scene.add(
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
        scene.add(
            &whole.range(),
            Action::RunDecoded {
                encoding: Encoding::Base64,
                by: "powershell".to_owned(),
                text: plain.clone(),
            },
        );
        if let Some(plain) = plain {
            scene.inside(&whole.range(), &[Encoding::Base64], |scene| generic_code(&plain, scene));
        }
    }
    if let Some(found) = FROM_BASE64.find(text) {
        let lower = text.to_lowercase();
        if ["iex", "invoke-expression", "eval", "exec", "[reflection.assembly]", "system("]
            .iter()
            .any(|word| lower.contains(word))
        {
            scene.add(
                &found.range(),
                Action::RunDecoded {
                    encoding: Encoding::Base64,
                    by: "code".to_owned(),
                    text: None,
                },
            );
        }
    }
    for found in DO_SHELL.captures_iter(text).chain(BACKTICKS.captures_iter(text)) {
        if let Some(command) = found.get(1) {
            let line = command.as_str().replace("\\\"", "\"");
            scene.inside(&command.range(), &[], |scene| {
                crate::shell_code::shell_code(&line, scene);
            });
        }
    }
    if let Some(found) = SOCKET_SHELL.find(text) {
        scene.add(
            &line(text, &found.range(), FAR),
            Action::RemoteShell { form: "a shell over a socket".to_owned() },
        );
    }
    if let Some(found) = WEAKEN.find(text) {
        scene.add(&found.range(), Action::Weaken { what: "the virus scanner".to_owned() });
    }
}
