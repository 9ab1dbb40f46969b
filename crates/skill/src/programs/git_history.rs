//! Options of git's commands that show history and differences.

use super::Usage;

/// Common options of all commands that show differences: git-diff(1), without `--output`, `--ext-diff` and
/// `--textconv`.
pub(super) const DIFF: &str = "\
    -p|-u|--patch -s|--no-patch -U[=NUM] --unified[=NUM] --output-indicator-new=TEXT --raw --patch-with-raw --indent-heuristic \
    --no-indent-heuristic --minimal --patience --histogram --anchored=TEXT --diff-algorithm=TEXT --stat[=TEXT] --stat-width=NUM \
    --stat-name-width=NUM --stat-count=NUM --compact-summary --numstat --shortstat -X[=TEXT] --dirstat[=TEXT] --cumulative --summary \
    --patch-with-stat -z --name-only --name-status --submodule[=TEXT] --color[=TEXT] --no-color --color-moved[=TEXT] --no-color-moved \
    --color-moved-ws=TEXT --word-diff[=TEXT] --word-diff-regex=TEXT --color-words[=TEXT] --no-renames --rename-empty --check \
    --ws-error-highlight=TEXT --full-index --binary --abbrev[=NUM] -B[=TEXT] --break-rewrites[=TEXT] -M[=TEXT] --find-renames[=TEXT] \
    -C[=TEXT] --find-copies[=TEXT] --find-copies-harder -D|--irreversible-delete -l=NUM --diff-filter=TEXT -S=TEXT -G=TEXT \
    --find-object=TEXT --pickaxe-all --pickaxe-regex -O=READ --skip-to=TEXT --rotate-to=TEXT -R --relative[=TEXT] --no-relative \
    -a|--text --ignore-cr-at-eol --ignore-space-at-eol -b|--ignore-space-change -w|--ignore-all-space --ignore-blank-lines \
    -I|--ignore-matching-lines=TEXT --inter-hunk-context=NUM -W|--function-context --exit-code --quiet --no-ext-diff --no-textconv \
    --ignore-submodules[=TEXT] --src-prefix=TEXT --dst-prefix=TEXT --no-prefix --default-prefix --line-prefix=TEXT --ita-invisible-in-index";

/// Additional options of git-log(1) and git-rev-list(1), without `--show-signature`.
pub(super) const LOG: &str = "\
    --follow --no-decorate --decorate[=TEXT] --decorate-refs=TEXT --decorate-refs-exclude=TEXT --source --mailmap --no-mailmap \
    --use-mailmap --log-size -L=TEXT -n|--max-count=NUM --skip=NUM --since=TEXT --after=TEXT --until=TEXT --before=TEXT --author=TEXT \
    --committer=TEXT --grep=TEXT --grep-reflog=TEXT --all-match --invert-grep -i|--regexp-ignore-case --basic-regexp \
    -E|--extended-regexp -F|--fixed-strings -P|--perl-regexp --merges --no-merges --min-parents=NUM --max-parents=NUM --first-parent \
    --not --all --branches[=TEXT] --tags[=TEXT] --remotes[=TEXT] --glob=TEXT --exclude=TEXT --reflog --ignore-missing --cherry-mark \
    --cherry-pick --left-only --right-only --cherry -g|--walk-reflogs --merge --boundary --simplify-by-decoration --show-pulls --full-history \
    --dense --sparse --simplify-merges --ancestry-path[=TEXT] --date-order --author-date-order --topo-order --reverse --no-walk[=TEXT] \
    --do-walk --pretty[=PRETTY] --format=PRETTY --abbrev-commit --no-abbrev-commit --oneline --encoding=TEXT --expand-tabs[=NUM] \
    --no-expand-tabs --notes[=TEXT] --no-notes --relative-date --date=TEXT --parents --children --left-right --graph --no-graph \
    --show-linear-break[=TEXT] --count --timestamp --header --objects --cc -c -m -r -t --diff-merges=TEXT --no-diff-merges \
    --remerge-diff --combined-all-paths -#";

/// git-shortlog(1).
pub(super) const SHORTLOG: &str =
    "-s|--summary -n|--numbered -e|--email -c|--committer --group=PRETTY -w[=TEXT]";

/// git-cherry-pick(1), git-revert(1): without `-e`, `-S` and `--strategy`, and without `--continue`, which opens an editor.
pub(super) const REVERT: &str = "\
    -x -r -m|--mainline=NUM -n|--no-commit --no-edit -s|--signoff --ff --allow-empty --allow-empty-message --keep-redundant-commits \
    -X|--strategy-option=TEXT --skip --quit --abort --no-gpg-sign --reference";

/// git-cat-file(1): without `--filters` and `--textconv`, and without batch modes, which read commands.
pub(super) const CAT_FILE: &str = "-e -p -t -s --allow-unknown-type";

pub(super) const PRINTERS: &[Usage] = &[Usage::new(&["-v|--verbose -s|--stat-only"], "READ*")];
