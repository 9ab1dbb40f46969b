//! git's own ways to run other programs.

use shell::{Certainty, Word};

use super::doubt::{Doubt, by_ways};

/// Options before the command that change nothing but what is shown.
const GLOBAL: [&str; 6] =
    ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "-v"];

/// Commands of git's own that run nothing but git and the hooks of the repository's owner, each with the options by which it runs
/// or writes something else. Any other word is an alias, a program on the PATH, or a way to run one.
const COMMANDS: &[(&str, &[&str])] = &[
    ("add", &["-e", "--edit"]),
    ("am", &["-i", "--interactive", "--resolvemsg", "-S", "--directory"]),
    ("annotate", &["--contents"]),
    ("apply", &["--unsafe-paths", "--build-fake-ancestor", "--directory"]),
    ("blame", &["--contents"]),
    ("branch", &["--edit-description"]),
    ("cat-file", &["--filters", "--textconv"]),
    ("check-attr", &[]),
    ("check-ignore", &[]),
    ("check-ref-format", &[]),
    ("checkout", &[]),
    ("cherry", &[]),
    ("cherry-pick", &["-e", "--edit", "-S", "--strategy"]),
    ("clean", &["-i", "--interactive"]),
    ("commit", &["-e", "--edit", "-t", "--template", "-S", "-p", "--patch", "--interactive"]),
    ("commit-graph", &[]),
    ("commit-tree", &["-S"]),
    ("count-objects", &[]),
    ("describe", &[]),
    ("diff", &[]),
    ("diff-files", &[]),
    ("diff-index", &[]),
    ("diff-tree", &[]),
    ("fetch", &[]),
    ("for-each-ref", &["--shell", "--perl", "--python", "--tcl"]),
    ("format-patch", &["-o", "--output-directory", "--suffix", "--numbered-files"]),
    ("fsck", &[]),
    ("gc", &[]),
    ("grep", &["-O", "--open-files-in-pager"]),
    ("hash-object", &["--path"]),
    ("log", &[]),
    ("ls-files", &[]),
    ("ls-remote", &[]),
    ("ls-tree", &[]),
    ("merge", &["-e", "--edit", "-s", "--strategy", "-S"]),
    ("merge-base", &[]),
    ("merge-tree", &[]),
    ("mktag", &[]),
    ("mktree", &[]),
    ("mv", &[]),
    ("name-rev", &[]),
    ("pack-refs", &[]),
    ("patch-id", &[]),
    ("prune", &[]),
    ("pull", &["-e", "--edit", "-s", "--strategy", "-S"]),
    ("push", &["--signed"]),
    ("range-diff", &[]),
    ("read-tree", &["--index-output"]),
    ("rebase", &["-x", "--exec", "-i", "--interactive", "--edit-todo", "-s", "--strategy", "-S"]),
    ("reflog", &[]),
    ("repack", &[]),
    ("rerere", &[]),
    ("reset", &["-p", "--patch"]),
    ("restore", &["-p", "--patch"]),
    ("rev-list", &[]),
    ("rev-parse", &[]),
    ("rm", &[]),
    ("shortlog", &[]),
    ("show", &[]),
    ("show-branch", &[]),
    ("show-ref", &[]),
    ("sparse-checkout", &[]),
    ("stash", &["-p", "--patch"]),
    ("status", &[]),
    ("stripspace", &[]),
    ("switch", &[]),
    ("symbolic-ref", &[]),
    ("tag", &["-s", "-u", "-v", "-e", "--edit", "--sign", "--local-user", "--verify"]),
    ("update-index", &[]),
    ("verify-pack", &[]),
    ("version", &[]),
];

/// Options by which any of them runs something else, or writes where it should read.
const ANY: [&str; 12] = [
    "--exec-path",
    "--ext-diff",
    "--gpg-sign",
    "--help",
    "--output",
    "--output-directory",
    "--receive-pack",
    "--show-signature",
    "--template",
    "--textconv",
    "--upload-pack",
    "--config-env",
];

/// Commands that talk to another repository, which may be a folder with hooks.
const REMOTE: [&str; 4] = ["fetch", "ls-remote", "pull", "push"];

pub(super) fn doubt(words: &[Word], is_there: impl Fn(&str) -> bool) -> Doubt {
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
    let runs = |what: &str| Doubt::Runs(what.to_owned());
    let command = command.text.as_str();
    if let Some(doubt) = only_read(command, arguments) {
        return doubt;
    }
    let Some((_, own)) = COMMANDS.iter().find(|(name, _)| *name == command) else {
        return runs(command);
    };
    // What follows an option that takes a text is that text.
    let arguments = without_messages(arguments);
    if let Some(option) = opens_editor(command, &arguments) {
        return runs(option);
    }
    if REMOTE.contains(&command) {
        let address = arguments.iter().find(|word| !word.text.starts_with('-'));
        if let Some(word) =
            address.filter(|word| !is_plain_address(&word.text) || is_there(&word.text))
        {
            return runs(&word.text);
        }
    }
    if command == "update-ref" && arguments.iter().any(|word| is_odd_ref(&word.text)) {
        return runs(command);
    }
    match by_ways(&arguments, own) {
        Doubt::None => by_ways(&arguments, &ANY),
        doubt @ (Doubt::Runs(_) | Doubt::Unknown(_)) => doubt,
    }
}

/// Commands of which some forms only look.
fn only_read(command: &str, arguments: &[Word]) -> Option<Doubt> {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let is_exact = arguments.iter().all(|word| word.certainty == Certainty::Exact);
    let only_looks = match command {
        "config" => match texts.as_slice() {
            [] => false,
            ["get" | "list" | "--get" | "--get-all" | "--get-regexp" | "--list" | "-l", ..] => true,
            [name] => !name.starts_with('-') && !matches!(*name, "edit" | "set"),
            _ => false,
        },
        "worktree" => texts.first() == Some(&"list"),
        "submodule" => texts.first() == Some(&"status"),
        "notes" => matches!(texts.first(), None | Some(&"list" | &"show")),
        "remote" => matches!(texts.first(), None | Some(&"-v" | &"show" | &"get-url" | &"prune")),
        _ => return None,
    };
    let doubt = if only_looks && is_exact { Doubt::None } else { Doubt::Runs(command.to_owned()) };
    Some(doubt)
}

/// Returns arguments without the texts that options take: what they say is nobody's option.
fn without_messages(arguments: &[Word]) -> Vec<Word> {
    const TAKE_TEXT: [&str; 9] =
        ["-m", "-am", "--message", "--author", "--date", "--format", "--pretty", "--grep", "-X"];
    let mut kept = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        // The settings of a strategy are written together with their letter.
        let is_setting = word.text.starts_with("-X") && word.text.len() > 2;
        if !is_setting {
            kept.push(word.clone());
        }
        if TAKE_TEXT.contains(&word.text.as_str()) {
            rest.next();
        }
    }
    kept
}

/// Returns why an editor would be opened, which reads whatever stands in its way.
fn opens_editor(command: &str, arguments: &[Word]) -> Option<&'static str> {
    let has = |names: &[&str]| {
        arguments.iter().any(|word| {
            let text = word.text.as_str();
            names.iter().any(|name| {
                text == *name
                    || (name.starts_with("--")
                        && text.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
                    || (name.len() == 2
                        && !text.starts_with("--")
                        && text.starts_with('-')
                        && text.contains(&name[1..]))
            })
        })
    };
    match command {
        "commit"
            if !has(&[
                "-m",
                "--message",
                "-F",
                "--file",
                "-C",
                "--reuse-message",
                "--no-edit",
                "--fixup",
                "--dry-run",
            ]) =>
        {
            Some("an editor")
        }
        "tag" if has(&["-a", "--annotate"]) && !has(&["-m", "--message", "-F", "--file"]) => {
            Some("an editor")
        }
        _ => None,
    }
}

/// A name, or an address of another machine.
fn is_plain_address(text: &str) -> bool {
    let is_name =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let is_of_machine = ["https://", "ssh://"].iter().any(|start| text.starts_with(start));
    let is_short = text.split_once('@').is_some_and(|(user, rest)| {
        is_name(user)
            && rest.split_once(':').is_some_and(|(host, _)| !host.contains('/') && !host.is_empty())
    });
    (is_name(text) || is_of_machine || is_short) && !text.contains("::")
}

fn is_odd_ref(text: &str) -> bool {
    let is_name = !text.starts_with('-') && text.contains('/');
    is_name && !text.starts_with("refs/")
}
