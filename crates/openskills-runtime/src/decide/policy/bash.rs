//! Checks command lines against rules such as `Bash(git:*)`. Lines are parsed by a grammar, never matched as text.

use std::path::PathBuf;

use shell::{Certainty, Command, Line, Redirect, Refusal, Word};

use super::path::plain;
use super::pattern::{is_exactly, is_like};
use super::programs::{
    CommandClass, Locations, base_name, classify, only_prints, runs_others, takes_code,
    without_wrappers,
};
use super::{Decision, Launchers, Verdict};

/// Variables that make no program run anything, as long as their value is not a file path.
const SAFE_VARIABLES: [&str; 12] = [
    "CARGO_TERM_COLOR",
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TZ",
];

/// The shell rules of one list, and everything else that the decision depends on.
pub(super) struct ShellRules<'a, F> {
    /// The text in parentheses of each rule.
    pub(super) specifiers: &'a [&'a str],
    /// Whether a rule allows the tool without restriction.
    pub(super) is_whole: bool,
    /// Whether the user has approved arbitrary code.
    pub(super) launchers: Launchers,
    /// Decides whether a redirection may open its file.
    pub(super) may_open: F,
    /// Resolves the paths of the line.
    pub(super) at: Locations<'a>,
}

impl<F: Fn(&Redirect) -> Verdict> ShellRules<'_, F> {
    /// Decides about a line. Each part of it must be allowed on its own.
    pub(super) fn judge(&self, line: &Result<Line, Refusal>) -> Verdict {
        if self.is_whole && self.launchers == Launchers::Approved {
            return Verdict::new(
                Decision::Allow,
                "the user approved arbitrary code for this skill",
            );
        }
        let verdict = match line {
            Ok(line) => self.line(line),
            Err(refusal) => {
                let reason =
                    format!("cannot determine what this command line would run: {refusal}");
                Verdict::new(Decision::Deny, reason)
            }
        };
        // A rule for the whole tool denies nothing. It asks about anything it cannot judge.
        match verdict.decision {
            Decision::Deny if self.is_whole => any_code(&verdict.reason),
            Decision::Ask if self.is_whole => Verdict { is_launcher: true, ..verdict },
            Decision::Deny | Decision::Ask | Decision::Allow => verdict,
        }
    }

    fn line(&self, line: &Line) -> Verdict {
        let verdicts = line.commands.iter().map(|command| {
            let verdict = self.command(command);
            let is_git = command.words.iter().any(|word| base_name(&word.text) == "git");
            if self.at.is_moved && is_git {
                // Another folder can have another git configuration, and that can name programs to run.
                let reason = "git in another folder uses that folder's configuration";
                return verdict.stricter(Verdict::new(Decision::Ask, reason));
            }
            let program = without_wrappers(&command.words).first().map_or("", |word| &word.text);
            let is_relative = program.contains('/') && !program.starts_with('/');
            if (self.at.is_moved || !self.at.context.is_at_root()) && is_relative {
                let reason =
                    format!("`{program}` resolves to a different program in another folder");
                return verdict.stricter(Verdict::new(Decision::Ask, reason));
            }
            let mut others = line.commands.iter().filter(|other| !std::ptr::eq(*other, command));
            if is_relative && others.any(|other| writes(other) || brings(other, &self.at)) {
                let reason = format!("the command line may change `{program}` before running it");
                return verdict.stricter(Verdict::new(Decision::Ask, reason));
            }
            if is_git && let Some(nested) = &self.at.context.git.nested {
                let reason = format!(
                    "git treats `{}` as a repository and uses its configuration",
                    nested.display()
                );
                return verdict.stricter(Verdict::new(Decision::Ask, reason));
            }
            verdict
        });
        let first = Verdict::new(Decision::Allow, "every part of the command line is allowed");
        let verdict = verdicts.fold(first, Verdict::stricter);
        let asks = [
            (
                brings_and_writes(line, &self.at),
                "the command line moves or checks out files, so a later write may follow a symlink",
            ),
            (sends_input(line), "the command line sends its standard input to another machine"),
            (applies_unread_patch(line), "`git apply` writes any file listed in the patch"),
            (
                unpacks_among_others(line),
                "the archive's contents can change what the rest of the command line does",
            ),
        ];
        let asked = asks.into_iter().filter(|(is_so, _)| *is_so);
        asked
            .map(|(_, reason)| Verdict::new(Decision::Ask, reason))
            .fold(verdict, Verdict::stricter)
    }

    fn command(&self, command: &Command) -> Verdict {
        let first = Verdict::new(Decision::Allow, "no file is opened");
        let opened = command.redirects.iter().filter(|redirect| !redirect.is_copy);
        let opened =
            opened.map(|redirect| (self.may_open)(redirect)).fold(first, Verdict::stricter);
        opened.stricter(self.program(command))
    }

    fn program(&self, command: &Command) -> Verdict {
        let deny = |reason: String| Verdict::new(Decision::Deny, reason);
        for assignment in &command.assignments {
            let is_safe = SAFE_VARIABLES.contains(&assignment.name.as_str())
                || assignment.name.starts_with("LC_");
            let is_plain = assignment.value.certainty == Certainty::Exact
                && !assignment.value.text.contains('/');
            if !is_safe || !is_plain {
                return deny(format!("the command line sets the variable `{}`", assignment.name));
            }
        }
        if command.words.is_empty() {
            // An assignment without a command stays in effect for the rest of the line.
            if let Some(assignment) = command.assignments.first() {
                return deny(format!("the command line sets the variable `{}`", assignment.name));
            }
            return Verdict::new(Decision::Allow, "no program is started");
        }
        let words = without_wrappers(&command.words);
        let program = &words[0].text;
        let forms = [command.words.as_slice(), words];
        let mut exact = self.specifiers.iter();
        let is_exact = exact.any(|rule| forms.iter().any(|words| is_exactly(rule, words)));
        if runs_others(program) && !is_exact {
            let reason = "runs other programs or redefines them";
            return deny(format!("`{program}` {reason}, so only an exact rule allows it"));
        }
        if let Some(word) = takes_code(words) {
            return deny(format!("the shell may execute code in `{word}`"));
        }
        let rule = self.specifiers.iter().find(|rule| is_like(rule, words, &self.at));
        if !is_exact && !self.is_whole && rule.is_none() {
            return deny(format!("no rule allows `{}`", command.text));
        }
        let allow = || {
            let shown =
                rule.map_or_else(|| "the list".to_owned(), |rule| format!("`Bash({rule})`"));
            Verdict::new(Decision::Allow, format!("{shown} allows `{}`", command.text))
        };
        let is_approved = self.launchers == Launchers::Approved;
        match classify(words, &self.at) {
            CommandClass::Fits => allow(),
            CommandClass::Undescribed(_)
            | CommandClass::SensitiveAccess(_)
            | CommandClass::Unknown
                if is_exact =>
            {
                allow()
            }
            CommandClass::Undescribed(why) => {
                let reason = format!("this use of `{program}` needs approval: {why}");
                Verdict::new(Decision::Ask, reason)
            }
            CommandClass::SensitiveAccess(what) => Verdict::new(Decision::Ask, what),
            CommandClass::ChangesTrust(how) => {
                Verdict::new(Decision::Ask, format!("`{program}` {how}; only the user may do that"))
            }
            CommandClass::Launcher(_) | CommandClass::Unknown if is_approved => allow(),
            CommandClass::Launcher(how) => any_code(&format!("`{program}` {how}")),
            CommandClass::Unknown => {
                any_code(&format!("`{program}` is not a program that openskills knows"))
            }
        }
    }
}

/// Returns a verdict that an approval of `exec: any` turns into an allow.
pub(super) fn any_code(why: &str) -> Verdict {
    let reason = format!(
        "{why}, so the rule allows arbitrary code: approve this version of the skill with `exec: anything`, or allow this call"
    );
    Verdict { is_launcher: true, ..Verdict::new(Decision::Ask, reason) }
}

/// Returns true if a line changes the working folder.
pub(super) fn moves(line: &Line) -> bool {
    line.commands.iter().any(|command| {
        let program = without_wrappers(&command.words).first().map(|word| word.text.as_str());
        matches!(program, Some("cd" | "pushd" | "popd"))
    })
}

/// Returns the files that a line opens, except `/dev/null`.
pub(super) fn opens(line: &Line) -> impl Iterator<Item = &Redirect> {
    let redirects = line.commands.iter().flat_map(|command| &command.redirects);
    redirects.filter(|file| !file.is_copy && file.target.text != "/dev/null")
}

/// Returns true if a program in the line sends its standard input to another machine, unless the input is text from the
/// line itself.
fn sends_input(line: &Line) -> bool {
    let takes_input = |word: &Word| {
        let text = word.text.as_str();
        text == "-"
            || text.ends_with("@-")
            || text.ends_with("=-")
            || text.ends_with("<-")
            || text == "-T-"
    };
    let programs: Vec<(&str, bool)> = line
        .commands
        .iter()
        .filter_map(|command| {
            let words = without_wrappers(&command.words);
            let program = base_name(&words.first()?.text);
            Some((program, words.iter().skip(1).any(takes_input)))
        })
        .collect();
    let is_sender = |program: &str| matches!(program, "curl" | "wget" | "gh" | "git");
    let sends = programs.iter().any(|(program, takes)| *takes && is_sender(program));
    let prints_text = |program: &str| matches!(program, "echo" | "printf" | "true");
    let reads_more =
        programs.iter().any(|(program, _)| !is_sender(program) && !prints_text(program));
    sends && (reads_more || opens(line).any(|file| file.is_read))
}

/// Git commands that can add, move or remove files in the working tree.
const CHANGES_TREE: [&str; 17] = [
    "am",
    "apply",
    "checkout",
    "cherry-pick",
    "clone",
    "merge",
    "mv",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "sparse-checkout",
    "stash",
    "submodule",
    "switch",
    "worktree",
];

/// Returns true if a command in the line renames folders or links, or lets git do so. Paths of the other commands may
/// then resolve differently than when they were looked up.
pub(super) fn brings_files(line: &Line, at: &Locations<'_>) -> bool {
    line.commands.iter().any(|command| brings(command, at))
}

/// Returns true if one command moves files into place and another one, or a redirection, writes.
fn brings_and_writes(line: &Line, at: &Locations<'_>) -> bool {
    line.commands.iter().any(|command| {
        let mut others = line.commands.iter().filter(|other| !std::ptr::eq(*other, command));
        brings(command, at) && (opens_to_write(command) || others.any(writes))
    })
}

fn brings(command: &Command, at: &Locations<'_>) -> bool {
    let lookup = at.lookup;
    let words = without_wrappers(&command.words);
    let Some((program, arguments)) = words.split_first() else { return false };
    // A regular file under its own name cannot redirect later paths.
    let is_plain_file = |word: &Word| {
        let is_itself = |found: &PathBuf| {
            at.context.cwd.iter().any(|cwd| plain(&cwd.join(&word.text)) == *found)
        };
        word.certainty == Certainty::Exact
            && !lookup.folders.contains(&word.text)
            && lookup.found.get(&word.text).is_some_and(is_itself)
    };
    let operands = || arguments.iter().filter(|word| !word.text.starts_with('-'));
    let mut sources = operands().take(operands().count().saturating_sub(1));
    match base_name(&program.text) {
        "git" => arguments.iter().any(|word| CHANGES_TREE.contains(&word.text.as_str())),
        "ln" | "rsync" | "install" => true,
        "mv" | "cp" => !sources.all(is_plain_file),
        _ => false,
    }
}

/// Returns true if a command may write files: any command does, unless it is known to only print or create folders.
/// Git's own changes to the working tree do not count here, but its output files do.
fn writes(command: &Command) -> bool {
    let words = without_wrappers(&command.words);
    let program = words.first().map_or("", |word| base_name(&word.text));
    let is_output = |word: &Word| {
        ["-o", "--output"].iter().any(|option| word.text.starts_with(option))
            || word.text == "archive"
    };
    let by_itself = match program {
        "" | "mkdir" | "cd" | "true" | "false" | "test" | "[" | "sleep" => false,
        "git" => words.iter().any(is_output),
        program => !only_prints(program),
    };
    by_itself || opens_to_write(command)
}

/// Returns true if a redirection of the command writes a file.
fn opens_to_write(command: &Command) -> bool {
    let mut files = command.redirects.iter().filter(|file| !file.is_copy);
    files.any(|file| !file.is_read && file.target.text != "/dev/null")
}

/// Git options that print history as a patch and take no text from the line.
const PATCH_OPTIONS: [&str; 8] =
    ["-p", "--patch", "--cached", "--staged", "-R", "--binary", "--no-color", "--reverse"];

/// Returns true for a line that applies a patch from outside the repository's history. Such a patch could name any
/// file.
fn applies_unread_patch(line: &Line) -> bool {
    let commands = || line.commands.iter().map(|command| without_wrappers(&command.words));
    let texts =
        |words: &[Word]| -> Vec<String> { words.iter().map(|word| word.text.clone()).collect() };
    let is_apply = |words: &[Word]| {
        let texts = texts(words);
        texts.first().is_some_and(|program| base_name(program) == "git")
            && texts.iter().any(|word| word == "apply")
            && !texts.iter().any(|word| {
                matches!(word.as_str(), "--stat" | "--numstat" | "--summary" | "--check")
            })
    };
    let prints_history = |words: &[Word]| {
        let texts = texts(words);
        let is_option = |word: &String| {
            let count = word.strip_prefix('-').is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
            });
            // For files outside the repository, git would diff arbitrary contents.
            let is_inside =
                !word.starts_with(['-', '/', '~']) && !word.contains("../") && word != "..";
            is_inside || count || PATCH_OPTIONS.contains(&word.as_str())
        };
        matches!(texts.as_slice(), [program, command, rest @ ..]
            if base_name(program) == "git"
                && matches!(command.as_str(), "log" | "diff")
                && rest.iter().all(is_option))
    };
    commands().any(is_apply)
        && (commands().any(|words| !is_apply(words) && !prints_history(words))
            || opens(line).any(|file| file.is_read))
}

/// Programs that may share a line with an unpacking command. None of them writes into a folder that the archive may
/// have filled with links.
const BESIDE_UNPACKING: [&str; 17] = [
    "[", "cat", "cd", "du", "echo", "false", "file", "find", "grep", "head", "ls", "mkdir", "pwd",
    "tail", "test", "true", "wc",
];

/// Returns true for a line that unpacks an archive and does more than look at the result.
fn unpacks_among_others(line: &Line) -> bool {
    let programs: Vec<&str> = line
        .commands
        .iter()
        .filter_map(|command| without_wrappers(&command.words).first())
        .map(|word| base_name(&word.text))
        .collect();
    let is_unpacker = |program: &&&str| matches!(**program, "tar" | "gtar" | "unzip");
    let is_beside = |program: &&str| BESIDE_UNPACKING.contains(program);
    let unpackers = programs.iter().filter(is_unpacker).count();
    let others = programs.iter().filter(|program| !is_unpacker(program) && !is_beside(program));
    let writes = || opens(line).any(|file| !file.is_read);
    unpackers > 0 && unpacks(line) && (unpackers > 1 || others.count() > 0 || writes())
}

/// Returns true if the line extracts files with tar or unzip.
fn unpacks(line: &Line) -> bool {
    line.commands.iter().any(|command| {
        let words = without_wrappers(&command.words);
        let program = words.first().map_or("", |word| base_name(&word.text));
        let is_told = |letter: char| {
            let mut words = words.iter().skip(1);
            words.any(|word| word.text.starts_with('-') && word.text.contains(letter))
        };
        match program {
            "tar" | "gtar" => {
                let first = words.get(1).map_or("", |word| &word.text);
                let is_long = |word: &Word| matches!(word.text.as_str(), "--extract" | "--get");
                is_told('x') || first.contains('x') || words.iter().any(is_long)
            }
            "unzip" => is_told('d'),
            _ => false,
        }
    })
}
