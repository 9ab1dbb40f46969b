//! git: the commands that inspect and change the working tree and the index, and the list of all commands.
//!
//! Omitted are options that run programs (`rebase -x`, `-c`, `--exec-path`, `grep -O`), open an editor or pager, sign
//! with another program, or write where reading is expected (`log --output`). Hooks, filters, aliases and drivers in
//! the configuration of the repository are its owner's responsibility.

use super::git_history::{CAT_FILE, DIFF, LOG, PRINTERS, REVERT, SHORTLOG};
use super::git_remote::{CLONE, FETCH, LS_REMOTE, PULL, PUSH, REMOTE};
use super::{Command, Commands, Program, Usage};

pub(super) const PROGRAMS: &[Program] = &[Program::commands(
    &["git"],
    "git(1) and the page of each command, git 2.47",
    &Commands {
        options: "-P|--no-pager --no-optional-locks --literal-pathspecs --no-replace-objects -v|--version",
        commands: COMMANDS,
        bare: &[Usage::new(&["-P|--no-pager -v|--version"], "")],
    },
)];

/// Options that several commands share.
const QUIET: &str = "-q|--quiet -v|--verbose --progress --no-progress";

const COMMANDS: &[Command] = &[
    Command::described(&["add", "stage"], &[Usage::new(
        &["-n|--dry-run -v|--verbose -f|--force -u|--update -A|--all|--no-ignore-removal --ignore-removal|--no-all \
           -N|--intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --chmod=TEXT --sparse"],
        "READ*",
    )]),
    Command::described(&["am"], &[Usage::new(
        // The paths in a patch are not checked here, so only calls are described that end a series, or continue one
        // that was approved.
        &["-q|--quiet --abort --skip --quit"],
        "",
    )
    .needs("--abort|--skip|--quit")]),
    Command::described(&["annotate", "blame"], &[Usage::new(
        &["-b --root --show-stats -L=TEXT -l -t -s -f|--show-name -n|--show-number -e|--show-email -p|--porcelain --line-porcelain \
           -w --abbrev[=NUM] --date=TEXT --since=TEXT --reverse=TEXT --first-parent --minimal --color-lines --color-by-age -c"],
        "TEXT*",
    )]),
    // A patch may name any file; without `--apply` these only inspect it. A patch that git prints itself comes from
    // the repository's own history.
    Command::described(&["apply"], &[Usage::new(&["--index --cached -3|--3way -R|--reverse -q|--quiet -v|--verbose"], ""), Usage::new(
        &["--stat --numstat --summary --check --index --cached -R|--reverse -z -p=NUM -C=NUM --unidiff-zero --recount \
           --exclude=TEXT --include=TEXT --ignore-space-change --ignore-whitespace --inaccurate-eof --allow-empty \
           -q|--quiet -v|--verbose"],
        "READ*",
    )
    .needs("--stat|--numstat|--summary|--check")]),
    Command::described(&["archive"], &[Usage::new(
        &["--format=TEXT -l|--list -v|--verbose --prefix=TEXT -o|--output=OUT --worktree-attributes --mtime=TEXT -#"],
        "TEXT*",
    )]),
    Command::commands(&["bisect"], &Commands {
        options: "",
        commands: &[
            Command::described(&["start"], &[Usage::new(&["--no-checkout --first-parent"], "TEXT*")]),
            Command::described(
                &["good", "bad", "old", "new", "skip", "reset", "log", "next"],
                &[Usage::new(&[], "TEXT*")],
            ),
        ],
        bare: &[],
    }),
    Command::described(&["branch"], &[Usage::new(
        &[QUIET, "-a|--all -r|--remotes -l|--list --show-current -d|--delete -D -m|--move -M -c|--copy -C -f|--force -i|--ignore-case \
           --color[=TEXT] --no-color --column[=TEXT] --no-column --sort=PRETTY -t --track[=TEXT] --no-track -u|--set-upstream-to=TEXT \
           --unset-upstream --merged --no-merged --contains --no-contains --points-at=TEXT --format=PRETTY --abbrev[=NUM] --no-abbrev \
           --create-reflog --omit-empty"],
        "TEXT*",
    )]),
    Command::described(&["check-attr"], &[Usage::new(&["-a|--all --cached -z"], "TEXT*")]),
    Command::described(&["check-ignore"], &[Usage::new(&["-q|--quiet -v|--verbose -z -n|--non-matching --no-index"], "TEXT*")]),
    Command::described(&["check-ref-format"], &[Usage::new(&["--branch --allow-onelevel --normalize"], "TEXT")]),
    Command::described(&["checkout"], &[Usage::new(
        &[QUIET, "-f|--force --ours --theirs -b=TEXT -B=TEXT -t --track[=TEXT] --no-track --guess --no-guess -l -d|--detach \
           --orphan=TEXT --ignore-skip-worktree-bits -m|--merge --conflict=TEXT --overlay --no-overlay --overwrite-ignore"],
        "TEXT*",
    )]),
    // What it removes depends on ignore rules, and may affect how programs run.
    Command::described(&["clean"], &[Usage::new(
        &["-d -f|--force -n|--dry-run -q|--quiet -e|--exclude=TEXT -x -X"],
        "TEXT*",
    )
    .needs("-n")]),
    // One of these sets the message, or says that none is wanted: otherwise an editor opens.
    Command::described(&["commit"], &[Usage::new(
        &["-a|--all -m|--message=TEXT -F|--file=SENT -C|--reuse-message=TEXT --fixup=COMMIT --squash=COMMIT --amend --no-edit \
           -q|--quiet -v|--verbose -s|--signoff --no-signoff -n|--no-verify --allow-empty --allow-empty-message --author=TEXT \
           --date=TEXT --cleanup=TEXT --reset-author --trailer=TEXT --dry-run --short --branch --porcelain --long -z|--null -i|--include \
           -o|--only -u[=TEXT] --untracked-files[=TEXT] --status --no-status --no-gpg-sign --no-post-rewrite --no-verbose"],
        "TEXT*",
    )
    .needs("-m|-F|-C|--fixup|--no-edit|--dry-run")]),
    Command::described(&["config"], &[
        Usage::new(
            &["--global --system --local --worktree -z|--null --name-only --show-origin --show-scope --includes --no-includes \
               --bool --int --bool-or-int --path --type=TEXT --default=TEXT --get --get-all --get-regexp -l|--list"],
            "TEXT*",
        )
        .needs("--get|--get-all|--get-regexp|--list")
        // `git config core.pager x --get` sets it.
        .options_first(""),
        Usage::new(&["--global --system --local --show-origin --show-scope --bool --int --path --type=TEXT"], "KEY"),
    ]),
    Command::described(&["count-objects"], &[Usage::new(&["-v|--verbose -H|--human-readable"], "")]),
    Command::described(&["describe"], &[Usage::new(
        &["--dirty[=TEXT] --broken[=TEXT] --all --tags --contains --abbrev[=NUM] --candidates=NUM --exact-match --debug --long \
           --match=TEXT --exclude=TEXT --always --first-parent"],
        "TEXT*",
    )]),
    Command::described(&["diff"], &[Usage::new(&[DIFF, "--cached --staged --merge-base --no-index -0 -1 -2 -3 --base --ours --theirs"], "TEXT*")]),
    Command::described(&["diff-files", "diff-index", "diff-tree"], &[Usage::new(
        &[DIFF, "--cached -m -r -t -c --cc --stdin --root --no-commit-id -v --pretty[=PRETTY] --format=PRETTY --merge-base"],
        "TEXT*",
    )]),
    Command::described(&["for-each-ref"], &[Usage::new(
        &["--count=NUM --sort=PRETTY --format=PRETTY --color[=TEXT] --points-at=TEXT --merged --no-merged --contains --no-contains \
           --ignore-case --omit-empty --exclude=TEXT"],
        "TEXT*",
    )]),
    Command::described(&["fsck"], &[Usage::new(&["--unreachable --dangling --no-dangling --full --strict --verbose --no-progress --connectivity-only"], "TEXT*")]),
    Command::described(&["gc"], &[Usage::new(&["--aggressive --auto --prune[=TEXT] --no-prune --quiet --force"], "")]),
    Command::described(&["grep"], &[Usage::new(
        &["--cached --no-index --untracked --no-exclude-standard --exclude-standard -a|--text -i|--ignore-case -I --max-depth=NUM \
           -r|--recursive --no-recursive -w|--word-regexp -v|--invert-match -h -H --full-name -E|--extended-regexp -G|--basic-regexp \
           -P|--perl-regexp -F|--fixed-strings -n|--line-number --column -l|--files-with-matches|--name-only -L|--files-without-match \
           -z|--null -o|--only-matching -c|--count --color[=TEXT] --no-color --break --heading -p|--show-function -A|--after-context=NUM \
           -B|--before-context=NUM -C|--context=NUM -W|--function-context -m|--max-count=NUM --threads=NUM -f=READ -e=TEXT --and --or --not \
           --all-match -q|--quiet -#"],
        "TEXT*",
    )]),
    Command::described(&["hash-object"], &[Usage::new(&["-t=TEXT --stdin --no-filters"], "READ*")]),
    // A template could contain hooks.
    Command::described(&["init"], &[Usage::new(&["-q|--quiet -b|--initial-branch=TEXT --object-format=TEXT"], "WRITE?")]),
    Command::described(&["log", "show", "whatchanged", "rev-list"], &[Usage::new(&[DIFF, LOG], "TEXT*")]),
    Command::described(&["reflog"], &[Usage::new(&[DIFF, LOG], "TEXT*")]),
    Command::described(&["shortlog"], &[Usage::new(&[SHORTLOG, LOG], "TEXT*")]),
    Command::described(&["range-diff"], &[Usage::new(&[DIFF, "--creation-factor=NUM --no-dual-color --left-only --right-only"], "TEXT*")]),
    Command::described(&["format-patch"], &[Usage::new(
        &["--cc=TEXT --to=TEXT",
                DIFF, LOG, "--stdout -k|--keep-subject -N|--no-numbered --cover-letter -v|--reroll-count=TEXT --subject-prefix=TEXT --base=TEXT"],
        "TEXT*",
    )
    .needs("--stdout")]),
    Command::described(&["ls-files"], &[Usage::new(
        &["-c|--cached -d|--deleted -m|--modified -o|--others -i|--ignored -s|--stage --directory --no-empty-directory -u|--unmerged \
           -k|--killed -z --deduplicate -x|--exclude=TEXT -X|--exclude-from=READ --exclude-standard --error-unmatch --with-tree=TEXT -t -v -f \
           --full-name --recurse-submodules --abbrev[=NUM] --debug --eol --sparse --format=TEXT"],
        "TEXT*",
    )]),
    Command::described(&["ls-tree"], &[Usage::new(
        &["-d -r -t -l|--long -z --name-only --name-status --object-only --abbrev[=NUM] --full-name --full-tree --format=TEXT"],
        "TEXT*",
    )]),
    Command::described(&["cat-file"], &[Usage::new(&[CAT_FILE], "TEXT*")]),
    Command::described(&["merge"], &[Usage::new(
        &[QUIET, "--commit --no-commit --no-edit --ff --no-ff --ff-only --log[=NUM] --no-log --signoff --no-signoff --stat -n|--no-stat \
           --squash --no-squash --no-verify -X|--strategy-option=TEXT --autostash --no-autostash --allow-unrelated-histories -m=TEXT \
           -F|--file=SENT --abort --quit --no-gpg-sign --cleanup=TEXT --summary --no-summary"],
        "TEXT*",
    )]),
    Command::described(&["merge-base"], &[Usage::new(&["-a|--all --octopus --independent --is-ancestor --fork-point"], "TEXT*")]),
    Command::described(&["merge-tree"], &[Usage::new(&["--write-tree --name-only --messages --no-messages -z --allow-unrelated-histories"], "TEXT*")]),
    Command::described(&["mv"], &[Usage::new(&["-f|--force -k -n|--dry-run -v|--verbose"], "MOVED* DEST")]),
    Command::described(&["name-rev"], &[Usage::new(&["--tags --refs=TEXT --exclude=TEXT --all --name-only --always"], "TEXT*")]),
    Command::commands(&["notes"], &Commands {
        options: "",
        commands: &[Command::described(&["list", "show"], &[Usage::new(&[], "TEXT?")])],
        bare: &[Usage::new(&[], "")],
    }),
    Command::described(&["prune", "pack-refs", "repack"], &[Usage::new(&["-n|--dry-run -v|--verbose --all -a -d -q|--quiet"], "")]),
    // `--continue`, `--autosquash` and `-i` open an editor.
    Command::described(&["rebase"], &[Usage::new(
        &[QUIET, "--onto=TEXT --keep-base --abort --quit --skip --show-current-patch -m|--merge -n|--no-stat --stat \
           --no-verify --verify -C=NUM -f|--force-rebase|--no-ff --fork-point --no-fork-point --ignore-whitespace --whitespace=TEXT \
           --committer-date-is-author-date --reset-author-date --signoff -X|--strategy-option=TEXT --no-gpg-sign --no-autosquash \
           --autostash --no-autostash --root --update-refs --no-update-refs --reapply-cherry-picks --empty=TEXT -r --rebase-merges[=TEXT]"],
        "TEXT*",
    )]),
    Command::described(&["cherry-pick", "revert"], &[Usage::new(&[REVERT], "TEXT*")]),
    Command::described(&["cherry"], &[Usage::new(&["-v|--verbose --abbrev[=NUM]"], "TEXT*")]),
    Command::described(&["rerere"], &[Usage::new(&[], "TEXT*")]),
    Command::described(&["reset"], &[Usage::new(
        &["-q|--quiet --no-quiet --refresh --no-refresh --mixed --soft --hard --merge --keep -N|--intent-to-add"],
        "TEXT*",
    )]),
    Command::described(&["restore"], &[Usage::new(
        &[QUIET, "-s|--source=TEXT -S|--staged -W|--worktree --ours --theirs -m|--merge --conflict=TEXT --ignore-unmerged \
           --ignore-skip-worktree-bits --overlay --no-overlay"],
        "TEXT*",
    )]),
    Command::described(&["rev-parse"], &[Usage::new(
        &["--verify -q|--quiet --sq --short[=NUM] --not --abbrev-ref[=TEXT] --symbolic --symbolic-full-name --all --branches[=TEXT] \
           --tags[=TEXT] --remotes[=TEXT] --git-dir --absolute-git-dir --git-common-dir --git-path=TEXT --show-toplevel --show-prefix \
           --show-cdup --show-superproject-working-tree --is-inside-git-dir --is-inside-work-tree --is-bare-repository \
           --is-shallow-repository --show-object-format[=TEXT] --since=TEXT --until=TEXT --end-of-options --path-format=TEXT"],
        "TEXT*",
    )]),
    Command::described(&["rm"], &[Usage::new(&["-f|--force -n|--dry-run -r --cached --ignore-unmatch --sparse -q|--quiet"], "REMOVED*")]),
    Command::described(&["show-branch"], &[Usage::new(&["-r|--remotes -a|--all --current --list --topo-order --sha1-name --no-name"], "TEXT*")]),
    Command::described(&["show-ref"], &[Usage::new(
        &["--head --heads --branches --tags -d|--dereference -s --hash[=NUM] --verify --exists --abbrev[=NUM] -q|--quiet"],
        "TEXT*",
    )]),
    Command::commands(&["stash"], &STASH),
    Command::described(&["status"], &[Usage::new(
        &["-s|--short -b|--branch --show-stash --porcelain[=TEXT] --long -v|--verbose -u[=TEXT] --untracked-files[=TEXT] \
           --ignore-submodules[=TEXT] --ignored[=TEXT] -z|--null --column[=TEXT] --no-column --ahead-behind --no-ahead-behind --renames \
           --no-renames --find-renames[=NUM]"],
        "TEXT*",
    )]),
    Command::described(&["stripspace"], &[Usage::new(&["-s|--strip-comments -c|--comment-lines"], "")]),
    Command::commands(&["submodule"], &Commands {
        options: "--quiet",
        commands: &[
            Command::described(&["status"], &[Usage::new(&["--cached --recursive"], "TEXT*")]),
        ],
        bare: &[Usage::new(&[], "")],
    }),
    Command::described(&["switch"], &[Usage::new(
        &[QUIET, "-c|--create=TEXT -C|--force-create=TEXT -d|--detach --guess --no-guess -f|--force|--discard-changes -m|--merge \
           --conflict=TEXT -t --track[=TEXT] --no-track --orphan=TEXT"],
        "TEXT*",
    )]),
    Command::described(&["symbolic-ref"], &[Usage::new(&["-q|--quiet --short --recurse --no-recurse"], "TEXT")]),
    Command::described(&["tag"], &[
        Usage::new(
            &["-l|--list -n[=NUM] --sort=PRETTY --contains --no-contains --merged --no-merged --points-at --format=PRETTY --color[=TEXT] \
               -i|--ignore-case --column[=TEXT] --no-column -d|--delete -f|--force -m|--message=TEXT -F|--file=SENT --no-sign"],
            "TEXT*",
        ),
        Usage::new(&["-a|--annotate -f|--force -m|--message=TEXT -F|--file=SENT --no-sign --cleanup=TEXT"], "TEXT*").needs("-m|-F"),
    ]),
    Command::described(&["var"], &[Usage::new(&[], "TEXT")]),
    Command::described(&["version"], &[Usage::new(&["--build-options"], "")]),
    Command::commands(&["worktree"], &Commands {
        options: "",
        commands: &[
            Command::described(&["list"], &[Usage::new(&["-v|--verbose --porcelain -z"], "")]),
            Command::described(&["add"], &[Usage::new(&["-f|--force -b=TEXT -B=TEXT -d|--detach -q|--quiet --track --no-track"], "WRITE TEXT?")]),
            Command::described(&["prune"], &[Usage::new(&["-n|--dry-run -v|--verbose --expire=TEXT"], "")]),
        ],
        bare: &[],
    }),
    Command::described(&["clone"], &[CLONE]),
    Command::described(&["fetch"], &[FETCH]),
    Command::described(&["ls-remote"], &[LS_REMOTE]),
    Command::described(&["pull"], &[PULL]),
    Command::described(&["push"], &[PUSH]),
    Command::commands(&["remote"], &REMOTE),
    Command::described(&["verify-pack"], PRINTERS),
];

const STASH: Commands = Commands {
    options: "",
    commands: &[
        Command::described(&["push", "save"], &[STASHED]),
        Command::described(&["pop", "apply"], &[Usage::new(&["--index -q|--quiet"], "TEXT?")]),
        Command::described(&["list"], &[Usage::new(&[DIFF, LOG], "TEXT*")]),
        Command::described(
            &["show"],
            &[Usage::new(&[DIFF, "-u|--include-untracked --only-untracked"], "TEXT*")],
        ),
        Command::described(&["drop"], &[Usage::new(&["-q|--quiet"], "TEXT?")]),
        Command::described(&["clear"], &[Usage::new(&[], "")]),
        Command::described(&["branch"], &[Usage::new(&[], "TEXT TEXT?")]),
        Command::described(&["create"], &[Usage::new(&[], "TEXT*")]),
    ],
    bare: &[STASHED],
};

// Without `-u` and `-a`, which remove untracked files, as `git clean` does.
const STASHED: Usage = Usage::new(
    &["-S|--staged -k|--keep-index --no-keep-index -q|--quiet -m|--message=TEXT"],
    "TEXT*",
);
