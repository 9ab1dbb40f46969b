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

/// Options and words by which a program runs others, or writes where it should read. One that ends in `=` may go on; short ones are
/// written together.
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
    ("scp", &["-o", "-F", "-S", "-D"]),
    ("sftp", &["-o", "-F", "-S", "-D", "-b"]),
    ("sort", &["--compress-program", "-o", "--output"]),
    ("split", &["--filter"]),
    ("zip", &["-T", "-TT", "--unzip-command"]),
    ("man", &["-P", "--pager", "-H", "--html", "-C", "--config-file"]),
    (
        "less",
        &["-k", "--lesskey-file", "--lesskey-src", "--lesskey-content", "-o", "-O", "--log-file"],
    ),
    ("rg", &["--pre", "--hostname-bin"]),
    ("fd", &["-x", "--exec", "-X", "--exec-batch"]),
    (
        "curl",
        &[
            "-K",
            "--config",
            "--engine",
            "-o",
            "-O",
            "-D",
            "-c",
            "--output",
            "--output-dir",
            "--remote-name",
            "--dump-header",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--libcurl",
            "--etag-save",
            "--hsts",
            "--alt-svc",
            "-w",
            "--write-out",
        ],
    ),
    (
        "wget",
        &[
            "-e",
            "--execute",
            "--use-askpass",
            "--config",
            "-O",
            "-o",
            "-P",
            "-a",
            "--output-document",
        ],
    ),
    ("go", &["-exec", "-toolexec", "generate", "tool", "run", "-vettool"]),
    ("gcc", &["-wrapper", "-fplugin", "-B", "-specs"]),
    ("install", &["--strip-program", "-s"]),
    ("cpio", &["--rsh-command"]),
    ("vim", &["-c", "-S", "-s", "-u", "--cmd"]),
    ("gdb", &["-ex", "-x", "--command", "--eval-command"]),
    ("sqlite3", &["-cmd", "-init"]),
    ("openskills", &["approve", "approvals", "trust", "enable", "--approve-once", "log"]),
];

/// Commands of programs whose first word says what they do, by which they run or set up something else.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    (
        "docker",
        &[
            "exec", "run", "build", "compose", "buildx", "cp", "create", "start", "plugin",
            "context", "stack", "service", "save", "export",
        ],
    ),
    ("podman", &["exec", "run", "build", "compose", "cp", "create", "start", "save", "export"]),
    ("npm", &["exec", "x", "explore", "config", "set", "edit", "init", "create", "c"]),
];

/// Programs that are others under another name.
const SYNONYMS: &[(&str, &str)] = &[
    ("gtar", "tar"),
    ("bsdtar", "tar"),
    ("fdfind", "fd"),
    ("nodejs", "node"),
    ("gawk", "awk"),
    ("mawk", "awk"),
    ("nawk", "awk"),
    ("cc", "gcc"),
    ("g++", "gcc"),
    ("c++", "gcc"),
    ("clang", "gcc"),
    ("clang++", "gcc"),
    ("vi", "vim"),
    ("ex", "vim"),
    ("view", "vim"),
    ("nvim", "vim"),
    ("gmake", "make"),
    ("more", "less"),
    ("gsed", "sed"),
    ("ripgrep", "rg"),
];

/// Programs that run a file of code, with the options by which they run text instead.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-c", "-"]),
    ("perl", &["-e", "-E", "-"]),
    ("ruby", &["-e", "-"]),
    ("node", &["-e", "--eval", "-p", "--print", "-r", "--require", "--import", "-"]),
    ("php", &["-r", "-B", "-R", "-E", "-"]),
    ("lua", &["-e", "-"]),
    ("deno", &["eval", "repl", "-"]),
    ("bun", &["-e", "--eval", "-p", "-"]),
];

/// Looks for a way to run something else. `is_there` tells whether a word names something in the working folder.
pub(in crate::policy) fn doubt(words: &[Word], is_there: impl Fn(&str) -> bool) -> Doubt {
    let name = words[0].text.rsplit('/').next().unwrap_or_default();
    let program =
        SYNONYMS.iter().find(|(other, _)| *other == name).map_or(name, |(_, program)| program);
    let arguments = &words[1..];
    let interpreter = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if let Some((_, ways)) = INTERPRETERS.iter().find(|(known, _)| *known == interpreter) {
        return code(arguments, ways);
    }
    if let Some((_, ways)) = SUBCOMMANDS.iter().find(|(known, _)| *known == program) {
        return subcommand(arguments, ways);
    }
    match program {
        "git" => return git::doubt(words, is_there),
        "sed" => return sed::unclear(arguments).map_or(Doubt::None, Doubt::Runs),
        "awk" => return awk(arguments),
        "make" => return make(arguments),
        "ssh" => {
            // What follows the host runs there.
            let end = arguments
                .iter()
                .position(|word| !word.text.starts_with('-'))
                .unwrap_or(arguments.len());
            return by_ways(&arguments[..end], &["-o", "-F", "-E", "-S", "-J", "-I"]);
        }
        "tar" => {
            // The old way: letters without a dash.
            let first = arguments.first().filter(|word| !word.text.starts_with('-'));
            if let Some(word) = first.filter(|word| word.text.contains(['I', 'F'])) {
                return Doubt::Runs(word.text.clone());
            }
        }
        "less" | "vim" => {
            if let Some(word) = arguments.iter().find(|word| word.text.starts_with('+')) {
                return Doubt::Runs(word.text.clone());
            }
        }
        "uniq" => {
            // The second file is written.
            let files = arguments
                .iter()
                .filter(|word| !word.text.starts_with('-') && word.text.parse::<u32>().is_err());
            if let Some(word) = files.into_iter().nth(1) {
                return Doubt::Runs(word.text.clone());
            }
        }
        "sqlite3" => {
            if let Some(word) = arguments.iter().find(|word| word.text.starts_with('.')) {
                return Doubt::Runs(word.text.clone());
            }
        }
        _ => {}
    }
    match RUNS.iter().find(|(known, _)| *known == program) {
        Some((_, ways)) => by_ways(until_dashes(arguments), ways),
        None => Doubt::None,
    }
}

/// After two dashes nothing is an option.
fn until_dashes(arguments: &[Word]) -> &[Word] {
    let end = arguments.iter().position(|word| word.text == "--").unwrap_or(arguments.len());
    &arguments[..end]
}

/// A script is a file; text, a pipe and nothing at all are not. What follows the file is its own.
fn code(arguments: &[Word], ways: &[&str]) -> Doubt {
    for word in arguments {
        if let Some(way) = ways.iter().find(|way| is_way(&word.text, way)) {
            return Doubt::Runs((*way).to_owned());
        }
        if may_be_option(word) {
            return Doubt::Unknown(word.text.clone());
        }
        if matches!(word.text.as_str(), "--version" | "-V" | "--help") {
            return Doubt::None;
        }
        if !word.text.starts_with('-') {
            let is_stream = word.text.starts_with("/dev/") || word.text.starts_with("/proc/");
            let runs_text = matches!(word.text.as_str(), "timeit" | "code" | "pdb");
            return if is_stream || runs_text {
                Doubt::Runs(word.text.clone())
            } else {
                Doubt::None
            };
        }
    }
    Doubt::Runs("what it is given to read".to_owned())
}

/// The first word that is no option says what is done.
fn subcommand(arguments: &[Word], ways: &[&str]) -> Doubt {
    for word in arguments {
        if word.certainty != Certainty::Exact {
            return Doubt::Unknown(word.text.clone());
        }
        if !word.text.starts_with('-') {
            let command = word.text.as_str();
            return if ways.contains(&command) {
                Doubt::Runs(command.to_owned())
            } else {
                only_harmless(arguments)
            };
        }
        if !matches!(word.text.as_str(), "--version" | "-v" | "--help" | "--silent" | "-s") {
            return Doubt::Runs(word.text.clone());
        }
    }
    Doubt::None
}

fn only_harmless(arguments: &[Word]) -> Doubt {
    let ways = [
        "--script-shell",
        "--node-options",
        "--editor",
        "--browser",
        "--viewer",
        "--git",
        "--prefix",
        "-C",
        "--userconfig",
    ];
    by_ways(until_dashes(arguments), &ways)
}

/// A program of awk may print and compute; what it runs, reads or writes elsewhere is asked for.
fn awk(arguments: &[Word]) -> Doubt {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        match text {
            "-F" | "-v" => {
                rest.next();
            }
            _ if text.starts_with("-F") || text.starts_with("-v") || text == "--" => {}
            _ if text.starts_with('-') => return Doubt::Runs(text.to_owned()),
            _ if word.certainty != Certainty::Exact => return Doubt::Unknown(text.to_owned()),
            _ => {
                return if runs_or_writes(text) {
                    Doubt::Runs(text.to_owned())
                } else {
                    Doubt::None
                };
            }
        }
    }
    Doubt::None
}

fn runs_or_writes(program: &str) -> bool {
    let without_or = program.replace("||", "");
    let prints = program.split("print").skip(1);
    let writes = prints
        .into_iter()
        .any(|after| after.split(['}', ';', '\n']).next().unwrap_or(after).contains('>'));
    writes
        || without_or.contains('|')
        || ["system", "getline", "@"].iter().any(|sign| program.contains(sign))
}

/// Targets and plain variables; everything else can hold commands.
fn make(arguments: &[Word]) -> Doubt {
    const NAMES: [&str; 5] = ["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS"];
    for word in arguments {
        let text = word.text.as_str();
        let is_odd = |text: &str| text.contains(['$', '`', ';', '|', '&', '(']);
        let is_set_otherwise = [":=", "!=", "+=", "?="].iter().any(|sign| text.contains(sign));
        let is_steered = text.split_once('=').is_some_and(|(name, _)| NAMES.contains(&name));
        if !text.starts_with('-') && (is_odd(text) || is_set_otherwise || is_steered) {
            return Doubt::Runs(text.to_owned());
        }
    }
    by_ways(arguments, &["--eval", "-E", "-f", "--file", "--makefile", "-I", "--include-dir"])
}

/// Looks for one of several options.
pub(super) fn by_ways(words: &[Word], ways: &[&str]) -> Doubt {
    for word in words {
        if let Some(way) = ways.iter().find(|way| is_way(&word.text, way)) {
            return Doubt::Runs((*way).to_owned());
        }
        if !ways.is_empty() && may_be_option(word) {
            return Doubt::Unknown(word.text.clone());
        }
    }
    Doubt::None
}

/// Returns true if a word is an option, however it is written.
fn is_way(text: &str, way: &str) -> bool {
    let goes_on = match (way.starts_with("--"), way.starts_with('-')) {
        (true, _) => {
            text.strip_prefix(way).is_some_and(|rest| rest.starts_with('='))
                || is_short_for(text, way)
        }
        // Short options are written together: any of the letters may be the one.
        (false, true) if way.len() == 2 => {
            text.starts_with('-') && !text.starts_with("--") && text.contains(&way[1..])
        }
        // Some programs take long options with one dash.
        (false, true) if way.len() > 2 => {
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
