//! Decides which changes in the `.git` folder of a workspace may be applied: what daily work writes, and nothing that
//! makes git or another program run something.
//!
//! The list is positive: settings, hooks, attributes, alternates, submodules and worktrees are not on it, nor is
//! anything that git may add later.

use std::path::{Component, Path};

use super::git_index;
use crate::layer::ChangeKind;

/// The folder of the repository.
pub(super) const FOLDER: &str = ".git";

/// Files directly in the folder.
const FILES: [&str; 30] = [
    "AUTO_MERGE",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
    "BISECT_HEAD",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_RUN",
    "BISECT_START",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "NOTES_EDITMSG",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "gc.log",
    "index",
    "packed-refs",
    "shallow",
];
/// Folders with the state of an operation that is not finished, and the files in them that contain data only. Options
/// of an operation are not among them, because some name programs or files.
const STATES: [(&str, &[&str]); 3] = [
    (
        "rebase-merge",
        &[
            "amend",
            "author-script",
            "autostash",
            "current-fixups",
            "done",
            "drop_redundant_commits",
            "end",
            "git-rebase-todo",
            "git-rebase-todo.backup",
            "head-name",
            "interactive",
            "keep_redundant_commits",
            "message",
            "message-fixup",
            "message-squash",
            "msgnum",
            "no-reschedule-failed-exec",
            "onto",
            "orig-head",
            "patch",
            "quiet",
            "refs-to-delete",
            "rewritten-list",
            "rewritten-pending",
            "signoff",
            "squash-onto",
            "stopped-sha",
            "update-refs",
            "verbose",
        ],
    ),
    (
        "rebase-apply",
        &[
            "abort-safety",
            "applying",
            "author-script",
            "autostash",
            "dirtyindex",
            "final-commit",
            "head-name",
            "info",
            "keep",
            "last",
            "messageid",
            "msg",
            "msg-clean",
            "next",
            "onto",
            "orig-head",
            "original-commit",
            "patch",
            "quiet",
            "quoted-cr",
            "rebasing",
            "rewritten",
            "scissors",
            "stopped-sha",
            "threeway",
            "utf8",
        ],
    ),
    ("sequencer", &["abort-safety", "done", "head", "todo"]),
];
/// The lists of steps of an unfinished rebase or cherry-pick.
const STEPS: [&str; 2] = ["git-rebase-todo", "todo"];
/// Steps that run no program.
const KNOWN_STEPS: [&str; 24] = [
    "p",
    "pick",
    "r",
    "reword",
    "e",
    "edit",
    "s",
    "squash",
    "f",
    "fixup",
    "b",
    "break",
    "d",
    "drop",
    "l",
    "label",
    "t",
    "reset",
    "m",
    "merge",
    "u",
    "update-ref",
    "noop",
    "revert",
];

/// Returns why a change at a path below `.git` is refused, if it is.
pub(super) fn refusal(inside: &Path, kind: &ChangeKind) -> Option<&'static str> {
    const NOT_LISTED: &str = "it is not part of what daily work changes in a repository: git runs programs because of such files, or reads others";
    if matches!(kind, ChangeKind::Link(_)) {
        return Some("it is a symlink in the repository's data");
    }
    let mut parts = inside.components().map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let Some(first) = parts.next() else {
        // The folder itself: other programs may obey its permissions.
        return Some(NOT_LISTED);
    };
    let Some(first) = first else { return Some(NOT_LISTED) };
    let rest: Option<Vec<&str>> = parts.collect();
    let Some(rest) = rest else { return Some(NOT_LISTED) };
    let name = rest.last().copied().unwrap_or(first);
    if name.ends_with(".lock") {
        return Some("it is a lock file of a git command that was stopped");
    }
    let is_folder = *kind == ChangeKind::Folder;
    let is_gone = *kind == ChangeKind::Deleted;
    let state = STATES.iter().find(|(folder, _)| *folder == first);
    let is_listed = match (first, rest.as_slice()) {
        (_, []) if state.is_some() => is_folder || is_gone,
        ("logs" | "refs" | "objects", []) => is_folder,
        // Git replaces this file and never deletes it.
        ("HEAD", []) => !is_gone,
        (file, []) => {
            FILES.contains(&file) || file.strip_prefix("sharedindex.").is_some_and(is_hex)
        }
        // A list of branches for servers, which git updates when it packs them.
        ("info", ["refs"]) | ("logs" | "refs", _) => true,
        ("objects", rest) => is_object(rest) || (is_folder || is_gone) && is_object_folder(rest),
        (_, [file]) => state.is_some_and(|(folder, files)| {
            let is_patch =
                *folder == "rebase-apply" && file.bytes().all(|byte| byte.is_ascii_digit());
            is_patch || files.contains(file)
        }),
        _ => false,
    };
    (!is_listed).then_some(NOT_LISTED)
}

/// Returns true for a path below `objects` that contains objects or an index of them. `alternates` is none of them.
fn is_object(rest: &[&str]) -> bool {
    let is_pack = |name: &str| {
        let Some((stem, end)) = name.rsplit_once('.') else {
            return name == "multi-pack-index";
        };
        let is_name = ["pack-", "multi-pack-index-"]
            .iter()
            .any(|prefix| stem.strip_prefix(prefix).is_some_and(is_hex));
        let ends = ["bitmap", "idx", "keep", "mtimes", "pack", "promisor", "rev"];
        is_name && ends.contains(&end)
    };
    let is_graph = |name: &str| {
        let middle = name.strip_prefix("graph-").and_then(|name| name.strip_suffix(".graph"));
        name == "commit-graph-chain" || middle.is_some_and(is_hex)
    };
    match rest {
        ["info", "packs" | "commit-graph"] => true,
        ["info", "commit-graphs", name] => is_graph(name),
        ["pack", name] => is_pack(name),
        [prefix, name] => prefix.len() == 2 && is_hex(prefix) && is_hex(name),
        _ => false,
    }
}

/// Returns true for a folder below `objects`.
fn is_object_folder(rest: &[&str]) -> bool {
    match rest {
        ["info" | "pack"] | ["info", "commit-graphs"] => true,
        [prefix] => prefix.len() == 2 && is_hex(prefix),
        _ => false,
    }
}

/// Returns true for a file whose content decides whether it is refused.
pub(super) fn has_checked_content(inside: &Path) -> bool {
    let name = inside.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    is_index(inside) || STEPS.iter().any(|known| name.starts_with(known))
}

/// Returns why the content of a file is refused, if it is. `hash` is the length of an object's name.
pub(super) fn refused_content(inside: &Path, text: &[u8], hash: usize) -> Option<&'static str> {
    if is_index(inside) {
        return git_index::refusal(text, hash);
    }
    refused_steps(inside, text)
}

fn is_index(inside: &Path) -> bool {
    let name = inside.to_str().unwrap_or_default();
    name == "index" || name.starts_with("sharedindex.")
}

/// Returns why a list of steps is refused, if the file is one and a step would run a program.
fn refused_steps(inside: &Path, text: &[u8]) -> Option<&'static str> {
    let name = inside.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_steps =
        STEPS.iter().any(|known| name.starts_with(known)) && inside.components().count() > 1;
    let is_unknown = |line: &[u8]| {
        let word = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty());
        word.is_some_and(|word| {
            !word.starts_with(b"#") && !KNOWN_STEPS.iter().any(|known| known.as_bytes() == word)
        })
    };
    let runs = is_steps && text.split(|byte| *byte == b'\n').any(is_unknown);
    runs.then_some("a step of the unfinished rebase would run a program")
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_daily_work_writes_is_applied() {
        for path in [
            "HEAD",
            "index",
            "refs/heads/main",
            "refs/stash",
            "logs/HEAD",
            "logs/refs/heads/main",
            "objects/ab/cdef0123",
            "objects/pack/pack-01ab.pack",
            "objects/pack/multi-pack-index",
            "rebase-apply/0001",
            "objects/info/commit-graphs/commit-graph-chain",
            "rebase-merge/git-rebase-todo",
            "rebase-merge/done",
            "sequencer/todo",
            "packed-refs",
            "sharedindex.0123abc",
            "info/refs",
            "COMMIT_EDITMSG",
        ] {
            assert_eq!(refusal(Path::new(path), &ChangeKind::Modified), None, "{path}");
        }
        for path in [
            "config",
            "config.worktree",
            "hooks/pre-commit",
            "info/exclude",
            "info/attributes",
            "info/grafts",
            "info/sparse-checkout",
            "modules/x/config",
            "worktrees/x/gitdir",
            "objects/info/alternates",
            "objects/info/http-alternates",
            "description",
            "branches/x",
            "remotes/x",
            "commondir",
            "gitdir",
            "lfs/hooks/x",
            "index.lock",
            "refs/heads/main.lock",
            "CONFIG",
            "Hooks/pre-commit",
            "head",
            "rebase-merge/gpg_sign_opt",
            "rebase-merge/strategy_opts",
            "sequencer/opts",
            "rebase-apply/apply-opt",
            "MERGE_RR",
            "rr-cache/0123/postimage",
            "objects/info/Alternates",
            "objects/ab",
            "objects/pack/x.sh",
            "refs",
            "rebase-merge/strategy",
            "objects",
            "fsmonitor--daemon/cookies",
            "anything-new",
        ] {
            assert!(refusal(Path::new(path), &ChangeKind::Modified).is_some(), "{path}");
        }
        assert!(refusal(Path::new(""), &ChangeKind::Mode { from: 0o755, to: 0o777 }).is_some());
        assert!(
            refusal(Path::new("refs/heads/x"), &ChangeKind::Link("../../config".into())).is_some()
        );
        for (path, is_applied) in [
            ("rebase-merge", true),
            ("objects", false),
            ("refs", false),
            ("HEAD", false),
            ("MERGE_HEAD", true),
        ] {
            let refusal = refusal(Path::new(path), &ChangeKind::Deleted);
            assert_eq!(refusal.is_none(), is_applied, "deleting {path}");
        }
    }

    #[test]
    fn unfinished_rebases_that_run_programs_are_refused() {
        let todo = Path::new("rebase-merge/git-rebase-todo");
        assert_eq!(refused_steps(todo, b"pick 1 a\n# exec x\n\nfixup -C 2 b\nlabel onto\n"), None);
        for steps in ["exec ./x", "x ./x", "pick 1 a\n\texec ./x\n", "unknown"] {
            assert!(refused_steps(todo, steps.as_bytes()).is_some(), "{steps}");
        }
        let backup = Path::new("rebase-merge/git-rebase-todo.backup");
        assert!(refused_steps(backup, b"exec x").is_some());
        assert_eq!(refused_steps(Path::new("refs/heads/x"), b"exec x"), None);
        assert!(refused_steps(Path::new("sequencer/todo"), b"exec x").is_some());
    }
}
