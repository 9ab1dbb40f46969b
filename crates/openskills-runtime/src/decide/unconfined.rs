//! Finds command lines that need the user's keys, sockets or services. They cannot work in the sandbox, which never
//! gives them to a command: the user is asked, and such a line runs without the sandbox or not at all.
//!
//! This only decides where a line can work, never what is allowed: a program that is not listed here runs in the
//! sandbox and fails there.

use shell::sketch::{Piece, Script, Stage, Text, sketch};

/// Programs that act with the user's keys, sockets or services, whatever their arguments are.
const PROGRAMS: [&str; 76] = [
    "ansible",
    "ansible-playbook",
    "at",
    "aws",
    "az",
    "batch",
    "bw",
    "cloudflared",
    "code",
    "crontab",
    "cursor",
    "dbus-send",
    "docker",
    "docker-compose",
    "doas",
    "doctl",
    "firebase",
    "flyctl",
    "fly",
    "gcloud",
    "gh",
    "glab",
    "gpg",
    "gpg2",
    "gsettings",
    "gsutil",
    "helm",
    "heroku",
    "hub",
    "k9s",
    "kind",
    "kubectl",
    "kustomize",
    "launchctl",
    "loginctl",
    "mail",
    "minikube",
    "mongosh",
    "mosh",
    "mysql",
    "mysqldump",
    "netlify",
    "nerdctl",
    "notify-send",
    "op",
    "open",
    "osascript",
    "pass",
    "pg_dump",
    "pg_restore",
    "pkexec",
    "podman",
    "psql",
    "pulumi",
    "railway",
    "rclone",
    "redis-cli",
    "run0",
    "scp",
    "secret-tool",
    "security",
    "sendmail",
    "sftp",
    "skopeo",
    "ssh",
    "ssh-add",
    "ssh-copy-id",
    "su",
    "sudo",
    "systemctl",
    "terraform",
    "tofu",
    "vault",
    "vercel",
    "wrangler",
    "xdg-open",
];

/// Subcommands that publish or log in, or that reach a remote repository with the user's keys.
const SUBCOMMANDS: [(&str, &[&str]); 14] = [
    (
        "git",
        &[
            "push",
            "fetch",
            "pull",
            "clone",
            "ls-remote",
            "send-email",
            "credential",
            "request-pull",
            "svn",
            "lfs",
        ],
    ),
    (
        "npm",
        &[
            "publish",
            "login",
            "logout",
            "adduser",
            "whoami",
            "token",
            "owner",
            "access",
            "dist-tag",
            "deprecate",
            "unpublish",
        ],
    ),
    ("pnpm", &["publish", "login", "logout", "whoami"]),
    ("yarn", &["publish", "login", "logout", "npm"]),
    ("bun", &["publish"]),
    ("cargo", &["publish", "login", "logout", "owner", "yank"]),
    ("gem", &["push", "signin", "signout", "yank", "owner"]),
    ("poetry", &["publish"]),
    ("uv", &["publish"]),
    ("flit", &["publish"]),
    ("hatch", &["publish"]),
    ("twine", &["upload", "register"]),
    ("mvn", &["deploy"]),
    ("gradle", &["publish"]),
];

/// Wrappers that run the program after their own options.
const WRAPPERS: [&str; 13] = [
    "command", "env", "exec", "builtin", "ionice", "nice", "nohup", "setsid", "stdbuf", "time",
    "timeout", "xargs", "unbuffer",
];

/// Returns why a command line cannot run in the sandbox, if so.
pub fn unconfined(line: &str) -> Option<String> {
    // What cannot be parsed runs in the sandbox, or is refused.
    in_script(&sketch(line)?)
}

/// Returns every literal word of a command line, as far as it can be parsed.
pub fn words_of(line: &str) -> Vec<String> {
    fn collect(script: &Script, words: &mut Vec<String>) {
        for stage in script.iter().flat_map(|pipeline| &pipeline.stages) {
            let texts = stage.words.iter().chain(stage.redirects.iter().map(|(_, text)| text));
            for text in texts.chain(stage.assignments.iter().map(|(_, text)| text)) {
                // A word may be a line of its own.
                words.extend(plain(text).split_whitespace().map(str::to_owned));
                for piece in &text.pieces {
                    if let Piece::Output(script) | Piece::File(script) = piece {
                        collect(script, words);
                    }
                }
            }
            collect(&stage.body, words);
        }
    }
    let mut words = Vec::new();
    collect(&sketch(line).unwrap_or_default(), &mut words);
    words
}

fn in_script(script: &Script) -> Option<String> {
    script.iter().flat_map(|pipeline| &pipeline.stages).find_map(in_stage)
}

fn in_stage(stage: &Stage) -> Option<String> {
    let nested = stage
        .words
        .iter()
        .chain(stage.assignments.iter().map(|(_, value)| value))
        .chain(stage.redirects.iter().map(|(_, text)| text));
    let own = in_words(&stage.words).or_else(|| in_script(&stage.body));
    own.or_else(|| {
        nested.flat_map(|text| &text.pieces).find_map(|piece| match piece {
            Piece::Output(script) | Piece::File(script) => in_script(script),
            Piece::Plain(_) | Piece::Variable(_) | Piece::Other => None,
        })
    })
}

fn in_words(words: &[Text]) -> Option<String> {
    let texts: Vec<String> = words.iter().map(plain).collect();
    let mut rest = texts.as_slice();
    loop {
        let (first, after) = rest.split_first()?;
        let program = first.rsplit('/').next().unwrap_or(first);
        if WRAPPERS.contains(&program) {
            // Its options, variables and numbers come before the program.
            let skipped = after.iter().take_while(|word| {
                word.starts_with('-')
                    || word.contains('=')
                    || word.starts_with(|c: char| c.is_ascii_digit())
            });
            rest = &after[skipped.count()..];
            continue;
        }
        if PROGRAMS.contains(&program) {
            return Some(format!("`{program}` uses your keys or services"));
        }
        if program == "rsync" && after.iter().any(|word| is_remote(word)) {
            return Some("`rsync` to or from another machine uses your keys".to_owned());
        }
        return in_subcommand(program, after);
    }
}

fn in_subcommand(program: &str, words: &[String]) -> Option<String> {
    let (_, listed) = SUBCOMMANDS.iter().find(|(known, _)| *known == program)?;
    let mut rest = words.iter();
    let mut before = "";
    let subcommand = rest.by_ref().find(|word| {
        // The value of an option such as `git -C DIR`.
        let is_value = matches!(
            before,
            "-C" | "-c"
                | "--git-dir"
                | "--work-tree"
                | "--prefix"
                | "--manifest-path"
                | "-p"
                | "--dir"
        );
        before = word.as_str();
        !word.starts_with('-') && !is_value
    })?;
    if program == "git" {
        return in_git(subcommand, &rest.cloned().collect::<Vec<_>>(), listed);
    }
    listed
        .contains(&subcommand.as_str())
        .then(|| format!("`{program} {subcommand}` uses your keys or services"))
}

fn in_git(subcommand: &str, arguments: &[String], listed: &[&str]) -> Option<String> {
    let is_signed = |word: &String| {
        word == "-S"
            || word.starts_with("-S") && subcommand == "commit"
            || word.starts_with("--gpg-sign")
    };
    let first = arguments.iter().map(String::as_str).find(|word| !word.starts_with('-'));
    let is_remote_use = match subcommand {
        // A repository on this disk needs no keys; the sandbox decides whether it is readable.
        "clone" | "ls-remote" | "fetch" | "pull" => !first.is_some_and(is_local),
        "push" => true,
        "remote" => matches!(first, Some("update" | "prune" | "show")),
        "submodule" => matches!(first, Some("update" | "add")),
        "tag" => arguments.iter().any(|word| matches!(word.as_str(), "-s" | "-u" | "--sign")),
        other => listed.contains(&other),
    };
    let is_signing =
        matches!(subcommand, "commit" | "merge" | "rebase" | "cherry-pick" | "revert" | "am")
            && arguments.iter().any(is_signed);
    (is_remote_use || is_signing)
        .then(|| format!("`git {subcommand}` uses your keys or the network"))
}

/// Returns true for a path on this machine.
fn is_local(word: &str) -> bool {
    word.starts_with(['/', '.', '~']) || word.starts_with("file:")
}

/// Returns true for `host:path` and URLs.
fn is_remote(word: &str) -> bool {
    let before = word.split('/').next().unwrap_or_default();
    !word.starts_with('-') && before.contains(':')
}

/// Returns the literal text of a word; what expands is left out.
fn plain(text: &Text) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Plain(text) => text.clone(),
        Piece::Variable(_) | Piece::Output(_) | Piece::File(_) | Piece::Other => String::new(),
    };
    text.pieces.iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_need_keys_or_services_of_the_user_do_not_run_in_the_sandbox() {
        for line in [
            "ssh host ls",
            "git push",
            "git -C sub push origin main",
            "git fetch",
            "git clone https://example.com/x.git",
            "git commit -S -m x",
            "git tag -s v1",
            "gh pr create",
            "cd x && kubectl get pods",
            "FOO=1 docker ps",
            "timeout 5 env A=1 /usr/bin/ssh host",
            "npm publish",
            "npm --prefix web publish",
            "cargo publish",
            "echo $(gh auth token)",
            "for i in a; do scp $i host:; done",
            "rsync -a . host:/srv",
            "ls | xargs -n 1 sudo rm",
            "cat <(ssh host cat x)",
        ] {
            assert!(unconfined(line).is_some(), "{line}");
        }
        for line in [
            "git status",
            "git commit -m 'git push'",
            "git log -S push",
            "git clone ../other copy",
            "echo ssh",
            "npm test",
            "cargo build",
            "grep -r docker .",
            "rsync -a a/ b/",
            "python3 ssh.py",
            "./docker",
        ] {
            let expected = line == "./docker";
            assert_eq!(unconfined(line).is_some(), expected, "{line}");
        }
    }
}
