//! Whether a command that a rule allows could start something else all the same.

use shell::{Certainty, Word};

use super::{git, may_be_option, sed};

/// Whether a command that a rule allows could start something else all the same.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::policy) enum Doubt {
    /// Nothing is known of.
    None,
    /// By this option or word.
    Runs(String),
    /// This word may become such an option.
    Unknown(String),
}

/// Options and words by which a program runs others, or writes where it should read. An option that ends in `=` or is
/// short may go on.
const RUNS: &[(&str, &[&str])] = &[
    (
        "tar",
        &[
            "--to-command",
            "-I",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "--rmt-command",
            "-F",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("ssh", &["-o", "-F", "-E", "-S"]),
    ("scp", &["-o", "-F", "-S", "-D"]),
    ("sftp", &["-o", "-F", "-S", "-D", "-b"]),
    ("sed", &["-i", "--in-place", "-f", "--file", "-s"]),
    ("sort", &["--compress-program", "-o", "--output"]),
    ("split", &["--filter"]),
    ("zip", &["-T", "-TT", "--unzip-command"]),
    ("man", &["-P", "--pager", "-H", "--html"]),
    (
        "less",
        &["-k", "--lesskey-file", "--lesskey-src", "--lesskey-content", "-o", "-O", "--log-file"],
    ),
    ("rg", &["--pre", "--hostname-bin"]),
    ("fd", &["-x", "--exec", "-X", "--exec-batch"]),
    ("curl", &["-K", "--config"]),
    ("wget", &["-e", "--execute", "--use-askpass", "--config"]),
    ("make", &["--eval", "-f", "--file", "--makefile", "-C", "--directory", "-I", "SHELL="]),
    ("go", &["-exec", "-toolexec", "generate", "tool", "run", "vet", "-vettool"]),
    ("gcc", &["-wrapper", "-fplugin", "-B", "-specs"]),
    ("install", &["--strip-program", "-s"]),
    ("cpio", &["--rsh-command"]),
    ("vim", &["-c", "+", "-S", "-s", "-u", "--cmd"]),
    ("ex", &["-c", "+", "-S", "-s", "-u", "--cmd"]),
    ("gdb", &["-ex", "-x", "--command", "--eval-command"]),
    ("sqlite3", &["-cmd", "-init"]),
    ("docker", &["exec", "run", "build", "compose", "buildx", "cp"]),
    ("podman", &["exec", "run", "build", "compose", "cp"]),
    ("npm", &["exec", "x", "explore", "-c", "--call", "--script-shell", "--node-options"]),
    ("python", &["-c", "-"]),
    ("python3", &["-c", "-"]),
    ("perl", &["-e", "-E", "-"]),
    ("ruby", &["-e", "-"]),
    ("node", &["-e", "--eval", "-p", "--print", "-r", "--require", "--import", "-"]),
    ("openskills", &["approve", "approvals", "trust", "enable", "--approve-once", "log"]),
];

/// Signs in a program of awk that make it run or write something.
const AWK: [&str; 6] = ["system", "|", "getline", ">", "@", "-f"];

/// Looks for a way to run something else.
pub(in crate::policy) fn doubt(words: &[Word]) -> Doubt {
    let program = words[0].text.rsplit('/').next().unwrap_or_default();
    match program {
        "git" => return git::doubt(words),
        "sed" => {
            if let Some(script) = sed::unclear_script(words) {
                return Doubt::Runs(script);
            }
        }
        "awk" | "gawk" | "mawk" | "nawk" => return awk(words),
        "tar" => {
            // The old way: letters without a dash.
            let first = words.get(1).filter(|word| !word.text.starts_with('-'));
            if let Some(word) = first.filter(|word| word.text.contains(['I', 'F'])) {
                return Doubt::Runs(word.text.clone());
            }
        }
        "less" | "more" | "vim" | "vi" | "ex" => {
            if let Some(word) = words[1..].iter().find(|word| word.text.starts_with('+')) {
                return Doubt::Runs(word.text.clone());
            }
        }
        "uniq" if words[1..].iter().filter(|word| !word.text.starts_with('-')).count() > 1 => {
            return Doubt::Runs("a second file, which it writes".to_owned());
        }
        _ => {}
    }
    match RUNS.iter().find(|(name, _)| *name == program) {
        Some((_, ways)) => by_ways(&words[1..], ways),
        None => Doubt::None,
    }
}

fn awk(words: &[Word]) -> Doubt {
    let is_way = |word: &&Word| AWK.iter().any(|sign| word.text.contains(sign));
    if let Some(word) = words[1..].iter().find(is_way) {
        return Doubt::Runs(word.text.clone());
    }
    match words[1..].iter().find(|word| word.certainty != Certainty::Exact) {
        Some(word) => Doubt::Unknown(word.text.clone()),
        None => Doubt::None,
    }
}

/// Looks for one of several options.
pub(super) fn by_ways(words: &[Word], ways: &[&str]) -> Doubt {
    for word in words {
        if let Some(way) = ways.iter().find(|way| is_way(&word.text, way)) {
            return Doubt::Runs((*way).to_owned());
        }
        if may_be_option(word) {
            return Doubt::Unknown(word.text.clone());
        }
    }
    Doubt::None
}

/// Returns true if a word is an option, however it is written.
fn is_way(text: &str, way: &str) -> bool {
    let goes_on = match (way.starts_with("--"), way.starts_with('-'), way.ends_with('=')) {
        (_, _, true) => text.starts_with(way),
        (true, _, _) => {
            text.strip_prefix(way).is_some_and(|rest| rest.starts_with('='))
                || is_short_for(text, way)
        }
        // Short options are written together: any of the letters may be the one.
        (false, true, _) if way.len() == 2 => {
            text.starts_with('-') && !text.starts_with("--") && text.contains(&way[1..])
        }
        // Some programs take long options with one dash.
        (false, true, _) if way.len() > 2 => {
            let text = text.trim_start_matches('-');
            text.strip_prefix(&way[1..]).is_some_and(|rest| rest.starts_with('='))
                || text == &way[1..]
        }
        _ => false,
    };
    text == way || goes_on
}

/// Long options may be cut short as long as they are the only ones that begin so.
fn is_short_for(text: &str, way: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    name.len() >= 3 && way.starts_with(name)
}
