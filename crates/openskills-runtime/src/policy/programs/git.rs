//! git's own ways to run other programs.

use shell::{Certainty, Word};

use super::doubt::{Doubt, by_ways};

/// Options before the command that change nothing but what is shown.
const GLOBAL: [&str; 6] =
    ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "-v"];

/// Commands of git's own that run nothing but git, hooks and the editor of the repository's owner apart. Any other word is an
/// alias, a program on the PATH, or a way to run one.
const COMMANDS: [&str; 79] = [
    "add",
    "am",
    "annotate",
    "apply",
    "blame",
    "branch",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "commit",
    "commit-graph",
    "commit-tree",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "merge-tree",
    "mktag",
    "mktree",
    "mv",
    "name-rev",
    "notes",
    "pack-refs",
    "patch-id",
    "prune",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "replace",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "stripspace",
    "switch",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
];

/// Options by which these run something else, or write where they should read.
const OPTIONS: [&str; 25] = [
    "-c",
    "-C",
    "-x",
    "-O",
    "--build-fake-ancestor",
    "--config-env",
    "--exec",
    "--exec-path",
    "--ext-diff",
    "--extcmd",
    "--filters",
    "--git-dir",
    "--help",
    "--index-output",
    "--open-files-in-pager",
    "--output",
    "--output-directory",
    "--receive-pack",
    "--show-signature",
    "--strategy",
    "--template",
    "--textconv",
    "--unsafe-paths",
    "--upload-pack",
    "--work-tree",
];

pub(super) fn doubt(words: &[Word]) -> Doubt {
    let mut rest = &words[1..];
    while let [word, after @ ..] = rest {
        if word.certainty != Certainty::Exact {
            return Doubt::Unknown(word.text.clone());
        }
        if !word.text.starts_with('-') {
            break;
        }
        if !GLOBAL.contains(&word.text.as_str()) {
            return Doubt::Runs(word.text.clone());
        }
        rest = after;
    }
    let Some((command, arguments)) = rest.split_first() else { return Doubt::None };
    if !COMMANDS.contains(&command.text.as_str()) {
        return Doubt::Runs(command.text.clone());
    }
    // `ext::program` is an address that is a program.
    if let Some(word) = arguments.iter().find(|word| word.text.contains("::")) {
        return Doubt::Runs(word.text.clone());
    }
    let strategy: &[&str] = match command.text.as_str() {
        "merge" | "pull" | "rebase" => &["-s", "-X"],
        "format-patch" => &["-o"],
        _ => &[],
    };
    match by_ways(arguments, strategy) {
        Doubt::None => by_ways(arguments, &OPTIONS),
        doubt @ (Doubt::Runs(_) | Doubt::Unknown(_)) => doubt,
    }
}
