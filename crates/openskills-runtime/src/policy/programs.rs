//! What is known about programs: which only start others, and which have a way to.

use shell::{Certainty, Word};

/// Wrappers that start the rest of the line and nothing else.
const WRAPPERS: [&str; 5] = ["nice", "nohup", "stdbuf", "time", "timeout"];
/// Words of the shell that run what they are given.
const RUNNERS: [&str; 9] =
    [".", "builtin", "command", "eval", "exec", "source", "trap", "enable", "alias"];
/// Programs that start others, or act without a word; no pattern is about them.
const ONLY_EXACT: [&str; 3] = ["flock", "setsid", "watch"];
/// What makes `find` run or remove things.
const FIND: [&str; 9] =
    ["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];

/// Returns true for words of the shell that run what they are given.
pub(super) fn runs_others(program: &str) -> bool {
    RUNNERS.contains(&program)
}

/// Programs that run what they are given as text.
const SHELLS: [&str; 9] =
    ["ash", "bash", "busybox", "dash", "fish", "ksh", "powershell", "sh", "zsh"];

/// Returns true for shells.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Returns true for a word that may become an option, or another one than it seems.
fn may_be_option(word: &Word) -> bool {
    match word.certainty {
        Certainty::Exact => false,
        Certainty::Begins => word.text.starts_with('-'),
        Certainty::Unknown => true,
    }
}

/// Returns true for commands that only an exact rule may allow.
pub(super) fn is_only_exact(words: &[Word]) -> bool {
    let program = words[0].text.rsplit('/').next().unwrap_or_default();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
    ONLY_EXACT.contains(&program)
        || (program == "find" && (has(&FIND) || words.iter().any(may_be_option)))
}

/// Returns a command without what only wraps it. Options that are not known end the search: then nothing is taken away.
pub(super) fn without_wrappers(words: &[Word]) -> &[Word] {
    let mut rest = words;
    while let [first, after @ ..] = rest {
        if !WRAPPERS.contains(&first.text.as_str()) {
            return rest;
        }
        let Some(inner) = unwrapped(&first.text, after) else { return rest };
        rest = inner;
    }
    words
}

fn unwrapped<'a>(wrapper: &str, words: &'a [Word]) -> Option<&'a [Word]> {
    let is_number = |text: &str| {
        let digits = text.trim_end_matches(['s', 'm', 'h', 'd']);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let mut rest = words;
    let mut needs_time = wrapper == "timeout";
    loop {
        let (word, after) = rest.split_first()?;
        if word.certainty != Certainty::Exact {
            return None;
        }
        match (wrapper, word.text.as_str()) {
            ("time", "-p") | ("timeout", "--foreground" | "--preserve-status" | "-v") => {
                rest = after;
            }
            ("nice", "-n") => {
                let (number, after) = after.split_first()?;
                is_number(number.text.trim_start_matches('-')).then_some(())?;
                rest = after;
            }
            ("stdbuf", option)
                if ["-i", "-o", "-e"]
                    .iter()
                    .any(|name| option.len() > 2 && option.starts_with(name)) =>
            {
                rest = after;
            }
            (_, option) if option.starts_with('-') => return None,
            ("timeout", time) if needs_time => {
                is_number(time).then_some(())?;
                needs_time = false;
                rest = after;
            }
            _ => return Some(rest),
        }
    }
}

/// Whether a command that a rule allows could start something else all the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Nothing is known of.
    None,
    /// By this option or word.
    Runs(String),
    /// This word may become such an option.
    Unknown(String),
}

/// Options and words by which a program runs others. An option that ends in `=` or is short may go on.
const RUNS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "-c",
            "--config-env",
            "--exec-path",
            "-x",
            "--exec",
            "--upload-pack",
            "--receive-pack",
            "--ext-diff",
            "--textconv",
            "-O",
            "--open-files-in-pager",
            "--extcmd",
            "--tool",
            "--template",
            "--git-dir",
            "--work-tree",
            "-C",
            "--output",
            "--prefix",
            "--unsafe-paths",
            "--help",
            "--show-signature",
            "submodule--helper",
            "merge-index",
            "bisect",
            "submodule",
            "filter-branch",
            "difftool",
            "mergetool",
            "config",
            "hook",
            "daemon",
            "send-email",
            "instaweb",
            "credential",
            "maintenance",
            "remote-ext",
            "help",
            "gui",
            "citool",
            "web--browse",
            "clone",
            "worktree",
            "init",
            "svn",
            "p4",
            "archive",
            "bundle",
            "for-each-repo",
            "shell",
            "cvsserver",
        ],
    ),
    (
        "tar",
        &[
            "--to-command",
            "-I",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "-F",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("ssh", &["-o", "-F", "-E"]),
    ("sed", &["-i", "--in-place", "-f", "--file", "-s"]),
    ("sort", &["--compress-program", "-o", "--output"]),
    ("zip", &["-T", "-TT", "--unzip-command"]),
    ("man", &["-P", "--pager", "-H", "--html"]),
    ("less", &["-k", "--lesskey-file", "+!"]),
];

/// Looks for a way to run something else.
pub(super) fn doubt(words: &[Word]) -> Doubt {
    let program = words[0].text.rsplit('/').next().unwrap_or_default();
    let Some((_, ways)) = RUNS.iter().find(|(name, _)| *name == program) else {
        return Doubt::None;
    };
    for word in &words[1..] {
        let is_way = |way: &&&str| {
            let text = word.text.as_str();
            let goes_on = match (way.starts_with("--"), way.starts_with('-')) {
                (true, _) => {
                    text.strip_prefix(**way).is_some_and(|rest| rest.starts_with('='))
                        || is_short_for(text, way)
                }
                // Short options are written together: any of the letters may be the one.
                (false, true) => {
                    text.starts_with('-') && !text.starts_with("--") && text.contains(&way[1..])
                }
                (false, false) => false,
            };
            text == **way || goes_on
        };
        if let Some(way) = ways.iter().find(is_way) {
            return Doubt::Runs((*way).to_owned());
        }
        if may_be_option(word) {
            return Doubt::Unknown(word.text.clone());
        }
    }
    Doubt::None
}

/// Long options may be cut short as long as they are the only ones that begin so.
fn is_short_for(text: &str, way: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    name.len() >= 3 && way.starts_with(name)
}
