//! Applies the user's own permission rules for an agent to an original command line. The agent applies them to the
//! rewritten line only, which would make them meaningless.
//!
//! The result is never more permissive than the agent: a line that is not certainly allowed is asked about, and a deny
//! rule holds wherever the agent would see it.

mod file_rules;
mod lines;
mod read_only;

use std::path::Path;

use self::file_rules::FileRules;
use self::lines::{candidates, matches_rule};
use self::read_only::is_read_only;
use crate::RuntimeError;
use crate::runtime::OpenSkillRuntime;

/// What the user's rules say about a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserDecision {
    /// It may run.
    Allow,
    /// The user is asked, for this reason.
    Ask(String),
    /// It must not run, for this reason.
    Deny(String),
}

/// The permission rules of an agent's settings, of all layers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRules {
    /// What runs without a question.
    pub allow: Vec<String>,
    /// What the user is asked about.
    pub ask: Vec<String>,
    /// What never runs.
    pub deny: Vec<String>,
}

/// A command line of an agent, with what decides about it besides its text.
#[derive(Debug, Clone, Copy)]
pub struct AgentLine<'a> {
    /// The command line.
    pub line: &'a str,
    /// The folder that it starts in.
    pub cwd: &'a Path,
    /// The agent's project.
    pub project: Option<&'a Path>,
    /// The agent's permission mode.
    pub mode: Option<&'a str>,
}

impl AgentRules {
    /// Decides about a command line.
    pub fn decide(
        &self,
        line: AgentLine<'_>,
        runtime: &OpenSkillRuntime,
    ) -> Result<UserDecision, RuntimeError> {
        let files = FileRules::new(runtime, line)?;
        Ok(self.decide_with(line.line, line.mode, &files))
    }

    /// Returns true if a rule allows a tool by its name, or all tools of its server.
    pub fn allows_tool(&self, tool: &str) -> bool {
        let is_it = |rule: &String| {
            rule == tool
                || tool.strip_prefix(rule.as_str()).is_some_and(|rest| rest.starts_with("__"))
        };
        self.allow.iter().any(is_it)
    }

    /// Decides about a command line. `files` says what rules about files have to do with it.
    fn decide_with(&self, line: &str, mode: Option<&str>, files: &FileRules) -> UserDecision {
        let candidates = candidates(line);
        let matching = |rules: &'_ [String]| {
            let is_match = |rule: &&String| match shell_rule(rule) {
                Some(rule) => {
                    let texts = candidates.texts.iter().map(String::as_str);
                    texts.chain([line.trim()]).any(|text| matches_rule(rule, text))
                }
                None => files.concerns(rule),
            };
            rules.iter().find(is_match).cloned()
        };
        if let Some(rule) = matching(&self.deny) {
            return UserDecision::Deny(format!("your permission rule `{rule}` denies it"));
        }
        if let Some(rule) = matching(&self.ask) {
            return UserDecision::Ask(format!("your permission rule `{rule}` asks about it"));
        }
        let has_limits = self
            .deny
            .iter()
            .chain(&self.ask)
            .any(|rule| shell_rule(rule).is_some() || files.is_unclear_for(rule));
        // What is read after that is relative to another folder.
        let changes_folder = || {
            candidates
                .texts
                .iter()
                .any(|text| text.starts_with("cd ") || text.starts_with("pushd "))
        };
        let has_file_rules =
            self.deny.iter().chain(&self.ask).any(|rule| file_rules::is_file_rule(rule));
        // The shell may make the name of any file of it.
        let has_pattern = line.contains(['$', '*', '?', '[', '{', '~', '`']);
        let is_unclear =
            !candidates.is_complete || has_file_rules && (has_pattern || changes_folder());
        if (has_limits || has_file_rules) && is_unclear {
            let reason = "openskills cannot tell whether a deny or ask rule of yours applies to it";
            return UserDecision::Ask(reason.to_owned());
        }
        let allow: Vec<&str> = self.allow.iter().filter_map(|rule| shell_rule(rule)).collect();
        let is_allowed = mode == Some("bypassPermissions")
            || allow.iter().any(|rule| matches!(*rule, "" | "*" | ":*"))
            || allow.iter().any(|rule| !rule.contains('*') && *rule == line.trim())
            || lines::is_allowed(line, |text| {
                let is_read_only = || !has_background(line) && is_read_only(text);
                allow.iter().any(|rule| matches_rule(rule, text)) || is_read_only()
            });
        match is_allowed {
            true => UserDecision::Allow,
            false => UserDecision::Ask("none of your permission rules allows it".to_owned()),
        }
    }
}

/// Returns true if a part of a line may run in the background. The agent allows less in such lines.
fn has_background(line: &str) -> bool {
    line.replace("&&", "").replace("&1", "").replace("&2", "").contains('&')
}

/// Returns what a rule for the shell tool says about lines; empty for a rule without a specifier. `None` for rules of
/// other tools.
fn shell_rule(rule: &str) -> Option<&str> {
    match rule.split_once('(') {
        None => (rule == "Bash" || rule == "*").then_some(""),
        Some(("Bash", rest)) => Some(rest.strip_suffix(')').unwrap_or(rest)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(rules: &AgentRules, mode: &str, line: &str) -> &'static str {
        match rules.decide_with(line, Some(mode), &FileRules::none()) {
            UserDecision::Allow => "allow",
            UserDecision::Ask(_) => "ask",
            UserDecision::Deny(_) => "deny",
        }
    }

    fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> AgentRules {
        let texts = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
        AgentRules { allow: texts(allow), ask: texts(ask), deny: texts(deny) }
    }

    #[test]
    fn a_line_is_allowed_only_if_every_command_is() {
        let git = rules(&["Bash(git:*)", "Bash(npm run *)", "Bash(make)"], &[], &[]);
        for (line, expected) in [
            ("git status", "allow"),
            ("git", "allow"),
            ("git add -A && git commit -m 'x y'", "allow"),
            ("git log | git apply", "allow"),
            ("npm run build", "allow"),
            ("make", "allow"),
            ("make all", "ask"),
            ("gitk", "ask"),
            ("touch x", "ask"),
            ("git status; touch x", "ask"),
            ("git status && (touch x)", "ask"),
            ("git status > x", "ask"),
            ("git log $(touch x)", "ask"),
            ("git log `touch x`", "ask"),
            ("git log $X", "ask"),
            ("A=1 git status", "ask"),
            ("if true; then git status; fi", "ask"),
            ("timeout 5 git status", "ask"),
            ("git status &", "allow"),
            ("git status & touch x", "ask"),
            ("git status\ntouch x", "ask"),
            ("git status 2>/dev/null", "allow"),
            ("", "ask"),
        ] {
            assert_eq!(decide(&git, "default", line), expected, "{line}");
        }
        let all = rules(&["Bash"], &[], &[]);
        for line in ["touch x", "for i in 1; do touch $i; done", "x=$(y) z", "((("] {
            assert_eq!(decide(&all, "dontAsk", line), "allow", "{line}");
        }
    }

    #[test]
    fn deny_and_ask_rules_hold_in_every_mode_and_spelling() {
        let limited = rules(&["Bash"], &["Bash(git push:*)"], &["Bash(touch:*)", "Bash(rm -rf *)"]);
        for mode in ["default", "bypassPermissions", "dontAsk", "acceptEdits", "plan"] {
            for line in [
                "touch x",
                "/usr/bin/touch x",
                "\\touch x",
                "t\"ou\"ch x",
                "A=1 touch x",
                "ls; touch x",
                "ls && (touch x)",
                "echo $(touch x)",
                "timeout 5 touch x",
                "env A=1 nice touch x",
                "echo x | xargs touch",
                "find . -exec touch x ';'",
                "bash -c 'touch x'",
                "eval touch x",
                "if true; then touch x; fi",
                "rm -rf build",
                "sudo touch x",
                "flock f touch m",
                "taskset 1 touch m",
                "nsenter touch m",
            ] {
                assert_eq!(decide(&limited, mode, line), "deny", "{mode}: {line}");
            }
            assert_eq!(decide(&limited, mode, "git push origin"), "ask", "{mode}");
            assert_eq!(decide(&limited, mode, "cd x && git push"), "ask", "{mode}");
            for unclear in [
                "$X y",
                "T=touch; $T x",
                "(((",
                "echo ${x:-$(touch m)}",
                "echo ${x:=`touch m`}",
                "echo $((1 + $(touch m)))",
                "echo $((a[$(touch m)]))",
                "echo $[`touch m`]",
                "echo `echo \\`touch m\\``",
                "cat <<< \"${x:+$(touch m)}\"",
                "a[$(touch m)]=1",
            ] {
                assert_eq!(decide(&limited, mode, unclear), "ask", "{mode}: {unclear}");
            }
            assert_eq!(decide(&limited, mode, "ls -la"), "allow", "{mode}");
        }
        for (deny, line) in [("Bash", "ls"), ("Bash(* made-*)", "touch made-x"), ("Bash(ls)", "ls")]
        {
            assert_eq!(decide(&rules(&["Bash"], &[], &[deny]), "bypassPermissions", line), "deny");
        }
    }

    #[test]
    fn without_rules_only_lines_that_read_are_allowed() {
        let none = rules(&[], &[], &[]);
        for (line, expected) in [
            ("ls", "allow"),
            ("pwd && git status", "allow"),
            ("cd src && git status", "ask"),
            ("cd src", "ask"),
            ("cat README.md | head -3", "allow"),
            ("touch x", "ask"),
            ("git log --output=x", "ask"),
            ("cat /etc/passwd", "ask"),
            ("python3 x.py", "ask"),
        ] {
            assert_eq!(decide(&none, "default", line), expected, "{line}");
            assert_eq!(decide(&none, "bypassPermissions", line), "allow", "{line}");
        }
        assert_eq!(decide(&none, "default", "git status & ls"), "ask");
        let secret = rules(&["Bash"], &[], &["Read(./src/**)"]);
        assert_eq!(decide(&secret, "default", "(cd src && ls)"), "ask");
        assert_eq!(decide(&secret, "default", "ls"), "allow");
        for line in ["cat \"$PWD/secret.txt\"", "cat priv/*", "cat ~/x"] {
            assert_eq!(decide(&secret, "default", line), "ask", "{line}");
        }
        assert_eq!(decide(&rules(&["Bash(echo *)"], &[], &[]), "default", "echo {a,b}"), "ask");
    }
}
