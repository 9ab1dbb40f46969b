//! Commands that only read files of the project. The agent runs them without a rule, and so do we; its own list is
//! longer.

/// Programs that read and print, whatever their options are.
const PROGRAMS: [&str; 13] = [
    "cat", "echo", "false", "grep", "head", "ls", "pwd", "tail", "true", "uname", "wc", "which",
    "whoami",
];
/// Subcommands of git that read, with the options that may be used.
const GIT: [(&str, &[&str]); 5] = [
    ("status", &["--short", "-s", "--branch", "-b", "--porcelain"]),
    (
        "log",
        &[
            "--oneline",
            "--stat",
            "--graph",
            "--all",
            "--decorate",
            "-p",
            "-1",
            "-2",
            "-3",
            "-5",
            "-10",
        ],
    ),
    ("diff", &["--stat", "--name-only", "--name-status", "--cached", "--staged", "HEAD"]),
    ("show", &["--stat", "--name-only", "HEAD"]),
    ("branch", &["--show-current", "--list", "-a", "-v"]),
];

/// Returns true for a command that only reads, by its text.
pub(super) fn is_read_only(text: &str) -> bool {
    // Only words without quotes and expansions, so that the text is what runs.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./=,:+@%".contains(c);
    if !text.chars().all(is_plain) {
        return false;
    }
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let Some((program, arguments)) = words.split_first() else { return false };
    // Files elsewhere are not the project's.
    let is_elsewhere = |word: &&&str| word.starts_with('/') || word.contains("..");
    if arguments.iter().any(|word| is_elsewhere(&word)) {
        return false;
    }
    match (*program, arguments) {
        ("git", [subcommand, options @ ..]) => GIT.iter().any(|(known, allowed)| {
            known == subcommand && options.iter().all(|option| allowed.contains(option))
        }),
        ("tail", arguments) => {
            !arguments.iter().any(|word| word.starts_with("-f") || word.starts_with("--"))
        }
        (program, _) => PROGRAMS.contains(&program),
    }
}
