//! `csk doctor`: checks the setup and prints a fix for each problem.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: programs, links and folders of this machine"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use csk_core::install::{BIN, Label, Mode, Plan, SKILLS, Target, shadowing, status, unignored};
use csk_core::operations::{Caller, cache_size, collect};
use csk_core::output::{CheckJson, DoctorJson, VERSION};
use csk_core::{CommandOrder, Config, ProjectEntry, Scope, work_tree};
use serde_json::Value;
use skill::{ByteSize, Diagnostic, Identifier, LEDGER_FILE};
use skill_fs::AbsPath;
use term::{Failure, FailureKind, HelpText, counted, safe_line};

use crate::commands::global;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::report;
use crate::projects::{Selection, located_message, select_any};

const HELP: HelpText = HelpText {
    text: "\
Checks this setup for problems and prints a fix for each one. The checks cover git, the config, repositories, files that \
git should ignore, agents that see a skill twice, dangling links, the shell hook, edited or incomplete installs, caches, \
and the openskills sandbox. It changes nothing.

Reads:  config.json, Skillfile.json, Skillfile.lock, the repositories under skills_root, the installed skills, csk's home folder; \
runs `git --version` and `openskills sandbox check`
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("no problems found (notes do not count)"),
        ExitCode::Failed.when("at least one problem was found"),
        ExitCode::Usage.when("usage error"),
    ],
    examples: &[
        "csk doctor",
        "csk doctor demo-app",
        "csk doctor --json",
    ],
};

/// A cache larger than this gets a note.
const LARGE_CACHE: u64 = 1 << 30;

/// Check this setup for problems
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    selection: Selection,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The results of the checks so far.
#[derive(Default)]
struct Checks(Vec<CheckJson>);

impl Checks {
    fn ok(&mut self, check: &str, message: impl Into<String>) {
        self.add(check, "ok", message.into(), None);
    }

    fn note(&mut self, check: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(check, "note", message.into(), Some(fix.into()));
    }

    fn fail(&mut self, check: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(check, "fail", message.into(), Some(fix.into()));
    }

    /// Adds every problem of a malformed file.
    fn malformed(&mut self, check: &str, problems: Vec<Diagnostic>) {
        for problem in problems {
            let message = located_message(&problem);
            let fix = problem.hint.unwrap_or_else(|| format!("fix `{}`", problem.file));
            self.fail(check, message, fix);
        }
    }

    fn add(&mut self, check: &str, state: &str, message: String, fix: Option<String>) {
        let (check, state) = (check.to_owned(), state.to_owned());
        self.0.push(CheckJson { check, state, message, fix });
    }

    fn has_no_problems(&self) -> bool {
        self.0.iter().all(|one| one.state != "fail")
    }
}

pub(crate) fn doctor(context: &mut Context, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let mut checks = Checks::default();
    git(&mut checks);
    match context.config() {
        Ok(config) => {
            let is_file = context.config_path.as_path().exists();
            checks.ok(
                "config",
                match is_file {
                    true => format!("read {}", context.config_path),
                    false => "no config file; csk uses its defaults".to_owned(),
                },
            );
            detected(&config, &mut checks);
            configured(&config, &mut checks);
            targets(context, &config, args, &mut checks)?;
            caches(context, &config, &mut checks);
        }
        Err(error) if error.is::<io::Error>() => return Err(error),
        Err(error) => match malformed(error) {
            Ok(problems) => checks.malformed("config", problems),
            Err(error) => {
                let report = report(&error);
                let fix = report.hint.unwrap_or_else(|| format!("fix `{}`", context.config_path));
                checks.fail("config", report.message, fix);
            }
        },
    }
    sandbox(&mut checks);
    let ok = checks.has_no_problems();
    if args.json {
        context.ui.json(&DoctorJson { version: VERSION, ok, checks: checks.0 })?;
        return Ok(ExitCode::failed_if(!ok));
    }
    for one in &checks.0 {
        context.ui.out(&format!(
            "{:4}  {}: {}\n",
            one.state,
            one.check,
            safe_line(&one.message)
        ))?;
        if let Some(fix) = &one.fix {
            context.ui.out(&format!("      fix: {}\n", safe_line(fix)))?;
        }
    }
    let count = checks.0.iter().filter(|one| one.state == "fail").count();
    let summary = match count {
        0 => "no problems found".to_owned(),
        count => format!("{} found", counted(count, "problem")),
    };
    context.ui.note(&format!("{summary}\n"))?;
    Ok(ExitCode::failed_if(!ok))
}

/// Returns the problems of a malformed file. Any other failure is returned as an error.
fn malformed(error: anyhow::Error) -> anyhow::Result<Vec<Diagnostic>> {
    let failure = error.downcast::<Failure>()?;
    if failure.kind == FailureKind::Malformed {
        Ok(failure.diagnostics)
    } else {
        Err(failure.into())
    }
}

fn git(checks: &mut Checks) {
    // In `/`, so that a project's git config has no effect.
    match Command::new("git").arg("--version").current_dir("/").output() {
        Ok(done) if done.status.success() => {
            checks.ok("git", String::from_utf8_lossy(&done.stdout).trim().to_owned());
        }
        Ok(_) | Err(_) => checks.fail("git", "cannot run `git`", "install git 2.25 or later"),
    }
}

/// Shows the agents that csk found on this machine, if no config sets any.
fn detected(config: &Config, checks: &mut Checks) {
    match config.detected_agents.as_deref() {
        None => {}
        Some([]) => checks.ok("agents", "no agents detected; csk uses .agents/skills"),
        Some(ids) => checks.ok("agents", format!("detected: {}", ids.join(", "))),
    }
}

/// Checks the folders that the config refers to.
fn configured(config: &Config, checks: &mut Checks) {
    let root = &config.skills_root;
    if root.as_path().is_dir() {
        let names = csk_core::install::repositories(root);
        let count = match names.len() {
            1 => "1 repository".to_owned(),
            count => format!("{count} repositories"),
        };
        checks.ok("skills_root", format!("{root}: {count}"));
        let is_unfinished =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".csk-clone-");
        let unfinished =
            fs::read_dir(root.as_path()).into_iter().flatten().flatten().filter(is_unfinished);
        for entry in unfinished {
            let path = entry.path().display().to_string();
            checks.note(
                "skills_root",
                format!("{path} is an unfinished clone"),
                "remove it, or let the next clone of the same repository clean it up",
            );
        }
    } else if config.owns_repositories {
        checks.ok("skills_root", format!("{root}: no repositories yet"));
    } else {
        checks.note(
            "skills_root",
            format!("{root} does not exist"),
            "set skills_root in config.json, or ignore this: the first clone creates the folder",
        );
    }
    for (alias, entry) in &config.projects {
        if !entry.path.as_path().is_dir() {
            let message = format!("{alias}: {} does not exist", entry.path);
            checks.fail("projects", message, format!("run `csk project remove {alias}`"));
        }
    }
}

/// Returns the selected projects, and the global scope unless it is selected already. An unreadable one is a problem.
fn scopes(
    context: &mut Context,
    config: &Config,
    args: &DoctorArgs,
    checks: &mut Checks,
) -> anyhow::Result<(Vec<Target>, Option<Target>)> {
    let targets = match select_any(context, config, &args.selection) {
        Ok(selected) => {
            for unreadable in selected.unreadable {
                checks.malformed("skillfile", unreadable.problems);
            }
            selected.targets
        }
        Err(error) => {
            checks.malformed("skillfile", malformed(error)?);
            Vec::new()
        }
    };
    let global = match global::target_if_exists(context, config) {
        Ok(global) => global,
        Err(error) => {
            checks.malformed("skillfile", malformed(error)?);
            None
        }
    };
    Ok((targets, global.filter(|_| !args.selection.global)))
}

fn targets(
    context: &mut Context,
    config: &Config,
    args: &DoctorArgs,
    checks: &mut Checks,
) -> anyhow::Result<()> {
    let (mut targets, global) = scopes(context, config, args, checks)?;
    for target in &targets {
        ignored(target, &target_argument(config, target), checks);
        duplicates(target, global.as_ref(), checks);
    }
    targets.extend(global);
    let target_argument = |target: &Target| target_argument(config, target);
    let plans = status(&context.environment(config), &targets);
    let mut has_commands = false;
    for (target, plan) in targets.iter().zip(plans) {
        links(target, checks);
        let install = if target.scope == Scope::Global {
            "csk global install".to_owned()
        } else {
            format!("csk install {}", target_argument(target))
        };
        match plan {
            Err(error) => {
                let text = error.to_string();
                let fix = match error.hint() {
                    Some(hint) => hint.to_owned(),
                    None if text.contains(LEDGER_FILE) => {
                        "move the file elsewhere; csk then treats everything in its folder as your own files"
                            .to_owned()
                    }
                    None => format!("run `{install}`"),
                };
                checks.fail("install", format!("{}: {error}", target.alias), fix);
            }
            Ok(plan) => {
                for skill in plan.skills.iter().chain(&plan.removals) {
                    let message =
                        |problem: String| format!("{}: {} {problem}", target.alias, skill.name);
                    match (&skill.label, skill.error()) {
                        (_, Some(error)) => {
                            let fix = error.hint().unwrap_or_else(|| format!("run `{install}`"));
                            checks.fail(
                                "install",
                                message(format!("cannot be installed: {error}")),
                                fix,
                            );
                        }
                        (Label::UpToDate, None) => {}
                        (Label::ContentDrift(None), None) => {
                            let scope = match target.scope {
                                Scope::Global => "--global".to_owned(),
                                Scope::Project => format!("--project {}", target_argument(target)),
                            };
                            let fix = format!("csk diff --local {} {scope}", skill.name);
                            checks.fail("install", message("was edited".to_owned()), format!("run `{fix}` to see the edits, then `{install}` to back them up and restore the skill"));
                        }
                        (Label::ContentDrift(Some(what)), None) => {
                            checks.fail(
                                "install",
                                message(format!("is incomplete: {what}")),
                                format!("run `{install}`"),
                            );
                        }
                        (label, None) => {
                            checks.note(
                                "install",
                                message(format!("is {}", label.as_str())),
                                format!("run `{install}`"),
                            );
                        }
                    }
                }
                shadowed(context, target, &plan, checks);
                if plan.is_current() && !plan.skills.is_empty() {
                    checks.ok("install", format!("{} is up to date", target.alias));
                }
            }
        }
        let bin = target.root.join(BIN);
        has_commands |= fs::read_dir(bin.as_path())
            .is_ok_and(|entries| entries.flatten().any(|entry| entry.path().is_file()));
    }
    if has_commands && !context.has_hook {
        checks.note(
            "hook",
            "skills provide commands, but the shell hook is not active",
            "run `csk shell-init --install`, or start agents with `csk exec -- AGENT`",
        );
    } else if has_commands {
        checks.ok("hook", "skill commands are on PATH");
    }
    Ok(())
}

/// Finds skill commands that a program earlier on PATH shadows.
fn shadowed(context: &Context, target: &Target, plan: &Plan, checks: &mut Checks) {
    if target.order == CommandOrder::First {
        return;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    for (command, (skill, _)) in &plan.commands {
        let other = shadowing(&context.home, &target.folder(BIN), &path, command.as_str());
        if let Some(other) = other {
            let message = format!(
                "{}: command `{command}` from `{skill}` is shadowed by `{}`",
                target.alias,
                other.display()
            );
            let fix =
                "set `commands_first` to true in config.json to put skill commands first on PATH";
            checks.note("commands", message, fix);
        }
    }
}

/// Returns the command-line argument for a project: its alias if it is configured, else its quoted path.
fn target_argument(config: &Config, target: &Target) -> String {
    let is_it = |(alias, entry): (&Identifier, &ProjectEntry)| {
        alias.as_str() == target.alias && entry.path == target.root
    };
    if config.projects.iter().any(is_it) {
        return target.alias.clone();
    }
    let path = target.root.as_str();
    let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    if is_plain { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Checks that git ignores the files that csk writes.
fn ignored(target: &Target, name: &str, checks: &mut Checks) {
    match work_tree(&target.root) {
        Ok(true) => {}
        Ok(false) => {
            return checks
                .ok("ignored", format!("{} is not inside a git repository", target.alias));
        }
        Err(error) => {
            let message = format!("{}: {error}", target.alias);
            return checks.note("ignored", message, "run `git status` there");
        }
    }
    match unignored(target) {
        Err(error) => {
            checks.note("ignored", format!("{}: {error}", target.alias), "run `git status` there");
        }
        Ok(open) if open.is_empty() => {
            checks.ok(
                "ignored",
                format!("git ignores the files that csk installs in {}", target.alias),
            );
            let is_committed = |line: &str| line.trim_start_matches('/').starts_with(".agents");
            // `read_text` refuses a symlink to a device, which a checkout could contain.
            let rules = skill_fs::read_text(&target.root.join(".gitignore"));
            let reads = target.agents.iter().any(|agent| agent.id == "antigravity");
            if reads
                && rules.is_ok_and(|text| text.is_some_and(|text| text.lines().any(is_committed)))
            {
                checks.fail(
                    "ignored",
                    format!(
                        "{}: antigravity does not read skills that .gitignore excludes",
                        target.alias
                    ),
                    "move the rule `.agents/` from .gitignore to .git/info/exclude",
                );
            }
        }
        Ok(open) => {
            checks.fail(
                "ignored",
                format!("{}: git does not ignore {}", target.alias, open.join(", ")),
                format!("run `csk install {name} --fix-gitignore`"),
            );
        }
    }
    // An ignore rule that ends in a slash matches folders only, not symlinks.
    let entries = target.adapters().into_iter().filter(|folder| {
        fs::symlink_metadata(target.root.join(folder).as_path())
            .is_ok_and(|found| found.is_symlink())
    });
    for folder in entries {
        checks.fail(
            "links",
            format!("{}: {folder} is a symlink", target.alias),
            "remove it; the next install creates the folder, with an entry for each skill",
        );
    }
}

/// Agents that read `.agents/skills` directly as well as their own folder, each with a replacement that has no folder.
const READS_BOTH: &[(&str, &str)] = &[
    ("codex_cli", "`codex`"),
    ("gemini", "`gemini-cli`"),
    ("cursor", "a custom agent without a folder"),
];

/// Finds agents that see a skill twice.
fn duplicates(target: &Target, global: Option<&Target>, checks: &mut Checks) {
    for agent in &target.agents {
        if let Some((id, other)) = READS_BOTH.iter().find(|(id, _)| agent.id == *id) {
            checks.note(
                "twice",
                format!(
                    "{}: {id} reads {SKILLS} directly and sees every skill a second time in {}",
                    target.alias,
                    agent.adapter.as_deref().unwrap_or_default()
                ),
                format!(
                    "if your version of {id} does this, replace `{id}` with {other} in `agents`"
                ),
            );
        }
    }
    let both = global.into_iter().flat_map(|global| &global.skills);
    let both: Vec<String> = both
        .filter(|skill| target.skills.iter().any(|other| other.name == skill.name))
        .map(|skill| skill.name.to_string())
        .collect();
    if !both.is_empty() {
        checks.note(
            "twice",
            format!("{} and the global scope both declare {}", target.alias, both.join(", ")),
            "run `csk global remove NAME`, or `csk remove NAME` in the project",
        );
    }
}

/// Finds dangling links.
fn links(target: &Target, checks: &mut Checks) {
    let base = |folder: &String| match folder.strip_prefix("~/") {
        Some(below) => target.adapter_base.join(below),
        None => target.adapter_base.join(folder),
    };
    let mut folders: Vec<AbsPath> = target.adapters().iter().map(base).collect();
    folders.extend([target.root.join(BIN), target.skills_folder()]);
    for folder in folders {
        let entries = fs::read_dir(folder.as_path()).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.is_symlink() && !path.exists() {
                let message = format!("{} is a dangling link", path.display());
                checks.fail("links", message, "run `csk install` if csk created it, or remove it");
            }
        }
    }
}

fn caches(context: &Context, config: &Config, checks: &mut Checks) {
    let home = &context.home;
    let projects: Vec<AbsPath> = config.projects.values().map(|entry| entry.path.clone()).collect();
    if let Ok(garbage) = collect(home, &projects, Mode::DryRun, Caller::User) {
        let count = garbage.runtimes.len();
        if count > 0 {
            checks.note(
                "cache",
                format!("unused command files from {}", counted(count, "skill version")),
                "run `csk gc`",
            );
        }
        for reason in garbage.unreadable {
            checks.note(
                "cache",
                reason,
                "fix or remove the file; until then `csk gc` removes nothing",
            );
        }
    }
    match cache_size(home) {
        Ok(size) if size.bytes > LARGE_CACHE => {
            let message = format!("the cache uses {}", ByteSize(size.bytes));
            checks.note("cache", message, "run `csk cache clean`");
        }
        Ok(size) => {
            checks.ok("cache", format!("{} of snapshots", ByteSize(size.bytes)));
        }
        Err(error) => checks.note("cache", error.to_string(), "run `csk cache clean`"),
    }
}

/// Checks the sandbox by running `openskills sandbox check`.
fn sandbox(checks: &mut Checks) {
    let beside =
        std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("openskills")));
    let beside = beside.filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from("openskills"));
    let Some(result) = sandbox_check(&program) else {
        checks.note(
            "sandbox",
            "cannot run `openskills`, so the sandbox was not checked",
            "install openskills next to csk",
        );
        return;
    };
    let tier = result["tier"].as_str().unwrap_or("none").to_owned();
    let missing: Vec<&str> = result["guarantees"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, holds)| **holds != Value::Bool(true))
        .map(|(name, _)| name.as_str())
        .collect();
    match (tier.as_str(), missing.is_empty()) {
        ("A", true) => checks.ok("sandbox", "full sandbox available (tier A)"),
        ("none", _) => checks.fail(
            "sandbox",
            "no sandbox available for skill scripts",
            "run `openskills sandbox check` to see what is missing",
        ),
        (tier, _) => checks.note(
            "sandbox",
            format!("tier {tier}; not enforced: {}", missing.join(", ")),
            "run `openskills sandbox check` to see why",
        ),
    }
}

fn sandbox_check(program: &Path) -> Option<Value> {
    let done = Command::new(program).args(["sandbox", "check", "--json"]).output().ok()?;
    serde_json::from_slice(&done.stdout).ok()
}
