//! Reads from the user's git configuration what a command line may know of it: the author and how output looks. Keys,
//! credentials, helpers and URLs are not on the list.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use skill_fs::AbsPath;

use crate::Places;

/// Sections of which every plain key is passed on. Aliases only run inside the sandbox.
const SECTIONS: [&str; 5] = ["advice", "alias", "color", "column", "status"];
/// Other keys that are passed on.
const KEYS: [&str; 22] = [
    "user.name",
    "user.email",
    "init.defaultbranch",
    "core.abbrev",
    "core.autocrlf",
    "core.eol",
    "core.quotepath",
    "core.filemode",
    "branch.sort",
    "commit.verbose",
    "diff.algorithm",
    "diff.renames",
    "diff.noprefix",
    "diff.mnemonicprefix",
    "fetch.prune",
    "log.date",
    "log.decorate",
    "merge.conflictstyle",
    "merge.ff",
    "pull.rebase",
    "push.default",
    "tag.sort",
];
/// Larger configuration files are ignored.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the settings that git gets in the sandbox, as pairs of key and value.
pub(super) fn git_settings(places: &Places) -> Vec<(String, String)> {
    let home = places.home.as_ref();
    let config = places.config.as_ref().and_then(AbsPath::parent);
    let files =
        [config.map(|config| config.join("git/config")), home.map(|home| home.join(".gitconfig"))];
    let texts = files.into_iter().flatten().filter_map(|file| {
        let known = fs::metadata(file.as_path()).ok()?;
        (known.is_file() && known.len() <= MAX_BYTES)
            .then(|| fs::read_to_string(file.as_path()).ok())?
    });
    let mut settings: Vec<(String, String)> = texts.flat_map(|text| allowed(&text)).collect();
    // A collection in the background would outlive the command.
    settings.push(("gc.autoDetach".to_owned(), "false".to_owned()));
    settings
}

/// Returns the allowed settings of a configuration file. Subsections and included files are skipped.
fn allowed(text: &str) -> Vec<(String, String)> {
    let mut section = None;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split(']').next().unwrap_or_default().trim();
            section = (!name.contains(['"', '.'])).then(|| name.to_ascii_lowercase());
            continue;
        }
        let (Some(section), false) = (&section, line.starts_with(['#', ';'])) else { continue };
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let name = key.trim();
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let key = format!("{section}.{}", name.to_ascii_lowercase());
        if is_name && (SECTIONS.contains(&section.as_str()) || KEYS.contains(&key.as_str())) {
            found.push((format!("{section}.{name}"), unquoted(value)));
        }
    }
    found
}

/// Returns a value without quotes, comments and escapes. Spaces at its end count only inside quotes.
fn unquoted(value: &str) -> String {
    let (mut text, mut is_quoted, mut end) = (String::new(), false, 0);
    let mut characters = value.trim_start().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
            '#' | ';' if !is_quoted => break,
            other => text.push(other),
        }
        if is_quoted || !character.is_whitespace() {
            end = text.len();
        }
    }
    text.truncate(end);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_author_and_the_look_of_output_are_passed_on_and_nothing_that_runs_or_connects() {
        let text = "# mine\n[user]\n\tname = \"Ada \\\"L\\\" Lovelace\" ; me\n\temail = ada@example.com # x\n\
                    \tsigningkey = ABC\n[credential]\n\thelper = store\n[core]\n\tsshCommand = evil\n\tpager = less\n\
                    \tquotePath = false\n[url \"https://token@example.com/\"]\n\tinsteadOf = gh:\n\
                    [alias]\n\tst = status -sb\n[filter \"x\"]\n\tclean = evil\n[include]\n\tpath = other\n\
                    [commit]\n\tgpgsign = true\n\tverbose\n[color \"diff\"]\n\tmeta = blue\n[Color]\n\tui = auto\n";
        let found = allowed(text);
        let found: Vec<String> =
            found.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            found,
            [
                "user.name=Ada \"L\" Lovelace",
                "user.email=ada@example.com",
                "core.quotePath=false",
                "alias.st=status -sb",
                "commit.verbose=true",
                "color.ui=auto",
            ]
        );
    }
}
