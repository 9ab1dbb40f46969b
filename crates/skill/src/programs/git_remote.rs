//! git's commands that talk to other repositories.
//!
//! A local repository has its own hooks and configuration, so an operand must be the name of a remote or a URL on
//! another machine. `--upload-pack`, `--receive-pack`, `--exec`, `--repo`, `--template` and `-c` are omitted, and so
//! are `--bare` and `--mirror`, which create a repository without a `.git` folder.

use super::{Command, Commands, Usage};

const COMMON: &str = "-q|--quiet -v|--verbose --progress --no-progress -4|--ipv4 -6|--ipv6";

pub(super) const CLONE: Usage = Usage::new(
    &[
        COMMON,
        "-n|--no-checkout -o|--origin=TEXT -b|--branch=TEXT --depth=NUM --shallow-since=TEXT --shallow-exclude=TEXT \
       --single-branch --no-single-branch --no-tags --filter=TEXT --sparse -j|--jobs=NUM --no-local --no-hardlinks",
    ],
    "REPOSITORY WRITE?",
);

pub(super) const FETCH: Usage = Usage::new(
    &[
        COMMON,
        "--all -a|--append --atomic --depth=NUM --deepen=NUM --shallow-since=TEXT --shallow-exclude=TEXT --unshallow --update-shallow \
       --dry-run --porcelain -f|--force -k|--keep --prefetch -p|--prune -P|--prune-tags -n|--no-tags --refetch --refmap=TEXT -t|--tags \
       -j|--jobs=NUM --no-recurse-submodules --set-upstream --filter=TEXT -u|--update-head-ok --show-forced-updates",
    ],
    "REMOTE? TEXT*",
);

pub(super) const LS_REMOTE: Usage = Usage::new(
    &[
        "-h|--heads -b|--branches -t|--tags --refs -q|--quiet --exit-code --get-url --sort=TEXT --symref",
    ],
    "REMOTE? TEXT*",
);

// `--rebase=i` opens an editor.
pub(super) const PULL: Usage = Usage::new(
    &[
        COMMON,
        "--no-recurse-submodules --commit --no-commit --no-edit --ff --no-ff --ff-only --log[=NUM] --no-log --signoff --stat -n|--no-stat \
       --squash --no-squash --no-verify -X|--strategy-option=TEXT --autostash --no-autostash --allow-unrelated-histories -r \
       --rebase --no-rebase --all -a|--append --depth=NUM --deepen=NUM --unshallow -f|--force -k|--keep -p|--prune --no-tags -t|--tags \
       -j[=NUM] --jobs[=NUM] --set-upstream --dry-run --no-gpg-sign",
    ],
    "REMOTE? TEXT*",
);

pub(super) const PUSH: Usage = Usage::new(
    &[
        COMMON,
        "--all --branches --mirror --tags --follow-tags --no-follow-tags --atomic --no-atomic -n|--dry-run --porcelain -d|--delete --prune \
       -f|--force --force-with-lease[=TEXT] --no-force-with-lease --force-if-includes -o|--push-option=TEXT -u|--set-upstream \
       --thin --no-thin --no-verify --verify --no-recurse-submodules --no-signed",
    ],
    "REMOTE? TEXT*",
);

pub(super) const REMOTE: Commands = Commands {
    options: "-v|--verbose",
    commands: &[
        Command::described(
            &["add"],
            &[Usage::new(&["-t=TEXT -m=TEXT -f --tags --no-tags"], "TEXT REPOSITORY")],
        ),
        Command::described(&["rename"], &[Usage::new(&["--progress --no-progress"], "TEXT TEXT")]),
        Command::described(&["remove", "rm"], &[Usage::new(&[], "TEXT")]),
        Command::described(&["set-head"], &[Usage::new(&["-a|--auto -d|--delete"], "TEXT TEXT?")]),
        Command::described(&["get-url"], &[Usage::new(&["--push --all"], "TEXT")]),
        Command::described(&["set-url"], &[Usage::new(&["--push --add"], "TEXT REPOSITORY")]),
        Command::described(
            &["show", "prune", "update"],
            &[Usage::new(&["-n|--dry-run -p|--prune"], "REMOTE?")],
        ),
    ],
    bare: &[Usage::new(&["-v|--verbose"], "")],
};
