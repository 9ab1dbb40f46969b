//! What is known about programs: which only start others, and which have a way to.

mod doubt;
mod git;
mod sed;

use shell::{Certainty, Word};

pub(super) use doubt::{Doubt, doubt};

/// Wrappers that start the rest of the line and nothing else.
const WRAPPERS: [&str; 5] = ["nice", "nohup", "stdbuf", "time", "timeout"];
/// Words of the shell that run what they are given, or change what later words mean.
const RUNNERS: [&str; 30] = [
    ".",
    "alias",
    "bind",
    "builtin",
    "command",
    "compgen",
    "complete",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "hash",
    "history",
    "jobs",
    "let",
    "local",
    "mapfile",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "trap",
    "typeset",
    "ulimit",
    "unalias",
    "unset",
];
/// Words of the shell that evaluate a name in their arguments, `a[$(x)]` included.
const EVALUATORS: [&str; 6] = ["[", "getopts", "printf", "read", "test", "wait"];
/// Programs that start others, or act without a word; no pattern is about them.
const ONLY_EXACT: [&str; 34] = [
    "chroot",
    "chrt",
    "doas",
    "ed",
    "entr",
    "env",
    "flock",
    "ionice",
    "ltrace",
    "nsenter",
    "parallel",
    "pkexec",
    "rlwrap",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "ssh-agent",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "torsocks",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "xargs",
    "xvfb-run",
    "busybox",
    "toybox",
];
/// More programs that run what they are given, beside the wrappers and those above.
const LAUNCHERS: [&str; 16] = [
    "awk", "docker", "fd", "find", "gawk", "kubectl", "lua", "make", "mawk", "node", "perl",
    "podman", "python", "python3", "ruby", "ssh",
];
/// Programs that run what they are given as text.
const SHELLS: [&str; 17] = [
    "ash",
    "bash",
    "busybox",
    "csh",
    "dash",
    "elvish",
    "fish",
    "ksh",
    "mksh",
    "nu",
    "powershell",
    "pwsh",
    "rbash",
    "sh",
    "tcsh",
    "yash",
    "zsh",
];
/// What makes `find` run or remove things.
const FIND: [&str; 9] =
    ["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];

/// Returns true for words of the shell that run what they are given.
pub(super) fn runs_others(program: &str) -> bool {
    RUNNERS.contains(&program)
}

/// Returns true for shells.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Returns true for programs that start what their arguments name.
pub(super) fn is_launcher(program: &str) -> bool {
    WRAPPERS.contains(&program) || ONLY_EXACT.contains(&program) || LAUNCHERS.contains(&program)
}

/// Returns the argument in which bash itself would look for code, if there is one.
pub(super) fn takes_code(words: &[Word]) -> Option<&str> {
    let program = words.first()?.text.as_str();
    if !EVALUATORS.contains(&program) {
        return None;
    }
    let is_code = |word: &&Word| {
        word.text.contains('[')
            && (word.text.contains(['$', '`']) || word.certainty != Certainty::Exact)
    };
    words[1..].iter().find(is_code).map(|word| word.text.as_str())
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
