//! `csk doctor`: what stands in the way, each with what to do about it.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: programs, links and folders of this machine"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use csk_core::install::{
    BIN, Label, Mode, Plan, SKILLS, Target, shadowing, status as look, unignored,
};
use csk_core::operations::{Caller, cache_size, collect};
use csk_core::output::{CheckJson, DoctorJson, VERSION};
use csk_core::{CommandOrder, Config, ProjectEntry, Scope, work_tree};
use serde_json::Value;
use skill::{Diagnostic, Identifier, LEDGER_FILE};
use skill_fs::AbsPath;
use term::{Failure, FailureKind, HelpText, counted, safe_line};

use crate::commands::global;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::report;
use crate::projects::{Selection, located, select_any};

const HELP: HelpText = HelpText {
    text: "\
Purpose: looks for what stands in the way, and says what to do about each: git, the config, repositories, files that git does \
not ignore, agents that see a skill twice, links that lead nowhere, the shell hook, what is not as it was installed, \
caches, and what the sandbox of openskills can hold here. Nothing is changed.

Reads:  everything that csk reads; runs `git --version` and `openskills sandbox check`
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("no problem was found; notes do not count"),
        ExitCode::Failed.when("a problem was found"),
        ExitCode::Usage.when("usage"),
    ],
    examples: &[
        "csk doctor",
        "csk doctor demo-app",
        "csk doctor --json",
    ],
};

/// A cache that is larger than this is worth a word.
const LARGE_CACHE: u64 = 1 << 30;

/// Look for what stands in the way
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    selection: Selection,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

/// What was found so far.
#[derive(Default)]
struct Findings(Vec<CheckJson>);

impl Findings {
    fn ok(&mut self, check: &str, message: impl Into<String>) {
        self.add(check, "ok", message.into(), None);
    }

    fn note(&mut self, check: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(check, "note", message.into(), Some(fix.into()));
    }

    fn problem(&mut self, check: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(check, "problem", message.into(), Some(fix.into()));
    }

    /// Notes every problem of a file.
    fn malformed(&mut self, check: &str, problems: Vec<Diagnostic>) {
        for problem in problems {
            let message = located(&problem);
            let fix = problem.hint.unwrap_or_else(|| format!("mend {}", problem.file));
            self.problem(check, message, fix);
        }
    }

    fn add(&mut self, check: &str, state: &str, message: String, fix: Option<String>) {
        let (check, state) = (check.to_owned(), state.to_owned());
        self.0.push(CheckJson { check, state, message, fix });
    }

    fn is_good(&self) -> bool {
        self.0.iter().all(|one| one.state != "problem")
    }
}

pub(crate) fn doctor(context: &mut Context, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let mut found = Findings::default();
    git(&mut found);
    match context.config() {
        Ok(config) => {
            found.ok("config", format!("{} can be read", context.config_path));
            configured(&config, &mut found);
            targets(context, &config, args, &mut found)?;
            caches(context, &config, &mut found);
        }
        Err(error) if error.is::<io::Error>() => return Err(error),
        Err(error) => match malformed(error) {
            Ok(problems) => found.malformed("config", problems),
            Err(error) => {
                let report = report(&error);
                let fix = report.hint.unwrap_or_else(|| "fix it".to_owned());
                found.problem("config", report.message, fix);
            }
        },
    }
    sandbox(&mut found);
    let good = found.is_good();
    if args.json {
        context.ui.json(&DoctorJson { version: VERSION, good, checks: found.0 })?;
        return Ok(ExitCode::failed_if(!good));
    }
    for one in &found.0 {
        let word = if one.state == "problem" { "MEND" } else { &one.state };
        context.ui.out(&format!("{word:4}  {}: {}\n", one.check, safe_line(&one.message)))?;
        if let Some(fix) = &one.fix {
            context.ui.out(&format!("      fix: {}\n", safe_line(fix)))?;
        }
    }
    let count = found.0.iter().filter(|one| one.state == "problem").count();
    let end = match count {
        0 => "nothing has to be mended".to_owned(),
        count => format!("{} to mend", counted(count, "thing")),
    };
    context.ui.note(&format!("{end}\n"))?;
    Ok(ExitCode::failed_if(!good))
}

/// Returns the problems of a file that is malformed. Any other failure stays one.
fn malformed(error: anyhow::Error) -> anyhow::Result<Vec<Diagnostic>> {
    let failure = error.downcast::<Failure>()?;
    if failure.kind == FailureKind::Malformed {
        Ok(failure.diagnostics)
    } else {
        Err(failure.into())
    }
}

fn git(found: &mut Findings) {
    // Never in a project: git must not run there.
    match Command::new("git").arg("--version").current_dir("/").output() {
        Ok(done) if done.status.success() => {
            found.ok("git", String::from_utf8_lossy(&done.stdout).trim().to_owned());
        }
        Ok(_) | Err(_) => found.problem("git", "git cannot be run", "install git 2.25 or later"),
    }
}

/// Looks at what the config names.
fn configured(config: &Config, found: &mut Findings) {
    let root = &config.skills_root;
    if root.as_path().is_dir() {
        let names = csk_core::install::repositories(root);
        let count = match names.len() {
            1 => "1 repository".to_owned(),
            count => format!("{count} repositories"),
        };
        found.ok("skills_root", format!("{root}: {count}"));
        let is_left =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".csk-clone-");
        let left = fs::read_dir(root.as_path()).into_iter().flatten().flatten().filter(is_left);
        for entry in left {
            let path = entry.path().display().to_string();
            found.note(
                "skills_root",
                format!("{path} is a clone that was not finished"),
                "the next clone of it cleans up; or remove it",
            );
        }
    } else {
        found.note(
            "skills_root",
            format!("{root} is not there"),
            "the first clone makes it; or set skills_root in config.json",
        );
    }
    for (alias, entry) in &config.projects {
        if !entry.path.as_path().is_dir() {
            let message = format!("{alias} is at {}, which is not there", entry.path);
            found.problem("projects", message, format!("csk project remove {alias}"));
        }
    }
}

/// Returns the projects, and the global scope where it is not asked for anyway. What cannot be read is a finding.
fn scopes(
    context: &mut Context,
    config: &Config,
    args: &DoctorArgs,
    found: &mut Findings,
) -> anyhow::Result<(Vec<Target>, Option<Target>)> {
    let targets = match select_any(context, config, &args.selection) {
        Ok(selected) => {
            for unreadable in selected.unreadable {
                found.malformed("skillfile", unreadable.problems);
            }
            selected.targets
        }
        Err(error) => {
            found.malformed("skillfile", malformed(error)?);
            Vec::new()
        }
    };
    let global = match global::target_if_there(context, config) {
        Ok(global) => global,
        Err(error) => {
            found.malformed("skillfile", malformed(error)?);
            None
        }
    };
    Ok((targets, global.filter(|_| !args.selection.global)))
}

fn targets(
    context: &mut Context,
    config: &Config,
    args: &DoctorArgs,
    found: &mut Findings,
) -> anyhow::Result<()> {
    let (mut targets, global) = scopes(context, config, args, found)?;
    for target in &targets {
        ignored(target, &called(config, target), found);
        twice(target, global.as_ref(), found);
    }
    targets.extend(global);
    let called = |target: &Target| called(config, target);
    let plans = look(&context.environment(config), &targets);
    let mut has_commands = false;
    for (target, plan) in targets.iter().zip(plans) {
        links(target, found);
        let install = if target.scope == Scope::Global {
            "csk global install".to_owned()
        } else {
            format!("csk install {}", called(target))
        };
        match plan {
            Err(error) => {
                let text = error.to_string();
                let fix = match error.hint() {
                    Some(hint) => hint.to_owned(),
                    None if text.contains(LEDGER_FILE) => {
                        "move the file away; what is in its folder counts as yours then".to_owned()
                    }
                    None => install,
                };
                found.problem("install", format!("{}: {error}", target.alias), fix);
            }
            Ok(plan) => {
                for skill in plan.skills.iter().chain(&plan.removals) {
                    let message = |what: String| format!("{}: {} {what}", target.alias, skill.name);
                    match (&skill.label, skill.error()) {
                        (_, Some(error)) => {
                            let fix = error.hint().unwrap_or_else(|| install.clone());
                            found.problem("install", message(format!("fails: {error}")), fix);
                        }
                        (Label::UpToDate, None) => {}
                        (Label::ContentDrift(None), None) => {
                            let scope = match target.scope {
                                Scope::Global => "--global".to_owned(),
                                Scope::Project => format!("--project {}", called(target)),
                            };
                            let fix = format!("csk diff --local {} {scope}", skill.name);
                            found.problem("install", message("was edited".to_owned()), format!("{fix} shows it; {install} keeps it in the backups and puts the skill back"));
                        }
                        (Label::ContentDrift(Some(what)), None) => {
                            found.problem(
                                "install",
                                message(format!("is not whole: {what}")),
                                install.clone(),
                            );
                        }
                        (label, None) => {
                            found.note(
                                "install",
                                message(format!("is {}", label.as_str())),
                                install.clone(),
                            );
                        }
                    }
                }
                shadowed(context, target, &plan, found);
                if plan.is_current() && !plan.skills.is_empty() {
                    found.ok("install", format!("{} is up to date", target.alias));
                }
            }
        }
        let bin = target.root.join(BIN);
        has_commands |= fs::read_dir(bin.as_path())
            .is_ok_and(|entries| entries.flatten().any(|entry| entry.path().is_file()));
    }
    if has_commands && !context.has_hook {
        found.note(
            "hook",
            "skills bring commands, and this shell does not put them on PATH",
            "csk shell-init --install; agents: start them by `csk exec -- AGENT`",
        );
    } else if has_commands {
        found.ok("hook", "commands of skills are on PATH");
    }
    Ok(())
}

/// Looks for commands that are never run by their names, since a program of the user's comes first on PATH.
fn shadowed(context: &Context, target: &Target, plan: &Plan, found: &mut Findings) {
    if target.order == CommandOrder::First {
        return;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    for (command, (skill, _)) in &plan.commands {
        let other = shadowing(&context.home, &target.folder(BIN), &path, command.as_str());
        if let Some(other) = other {
            let message = format!(
                "{}: the command `{command}` of `{skill}` is shadowed by {}",
                target.alias,
                other.display()
            );
            let fix = "`commands_first` in config.json puts commands of skills first on PATH";
            found.note("commands", message, fix);
        }
    }
}

/// Returns what a project is called on the command line: its alias if it is configured, else its path.
fn called(config: &Config, target: &Target) -> String {
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

/// Looks at what git ignores of what csk writes.
fn ignored(target: &Target, name: &str, found: &mut Findings) {
    match work_tree(&target.root) {
        Ok(true) => {}
        Ok(false) => {
            return found.ok("ignored", format!("{} is in no git repository", target.alias));
        }
        Err(error) => {
            let message = format!("{}: {error}", target.alias);
            return found.note("ignored", message, "see what git says there");
        }
    }
    match unignored(target) {
        Err(error) => {
            found.note("ignored", format!("{}: {error}", target.alias), "see what git says there");
        }
        Ok(open) if open.is_empty() => {
            found.ok("ignored", format!("git ignores what csk writes in {}", target.alias));
            let is_committed = |line: &str| line.trim_start_matches('/').starts_with(".agents");
            // A checkout may have a link to a device there.
            let rules = skill_fs::read_text(&target.root.join(".gitignore"));
            let reads = target.agents.iter().any(|agent| agent.id == "antigravity");
            if reads
                && rules.is_ok_and(|text| text.is_some_and(|text| text.lines().any(is_committed)))
            {
                found.problem(
                    "ignored",
                    format!(
                        "{}: antigravity does not read skills that .gitignore names",
                        target.alias
                    ),
                    "move the rule `.agents/` from .gitignore to .git/info/exclude",
                );
            }
        }
        Ok(open) => {
            found.problem(
                "ignored",
                format!("{}: git does not ignore {}", target.alias, open.join(", ")),
                format!("csk install {name} --fix-gitignore"),
            );
        }
    }
    // A rule with a slash at its end is about folders, and a link is none.
    let entries = target.adapters().into_iter().filter(|folder| {
        fs::symlink_metadata(target.root.join(folder).as_path())
            .is_ok_and(|found| found.is_symlink())
    });
    for folder in entries {
        found.problem(
            "links",
            format!("{}: {folder} is a link", target.alias),
            "remove it; csk makes the folder, and an entry for each skill",
        );
    }
}

/// Agents that read `.agents/skills` by themselves and have a folder of entries as well, with the id that has none.
const READS_BOTH: &[(&str, &str)] = &[
    ("codex_cli", "codex"),
    ("gemini", "gemini-cli"),
    ("cursor", "an agent of your own without a folder"),
];

/// Looks for agents that see a skill twice.
fn twice(target: &Target, global: Option<&Target>, found: &mut Findings) {
    for agent in &target.agents {
        if let Some((id, other)) = READS_BOTH.iter().find(|(id, _)| agent.id == *id) {
            found.note(
                "twice",
                format!(
                    "{}: {id} reads {SKILLS} by itself, and sees each skill a second time in {}",
                    target.alias,
                    agent.adapter.as_deref().unwrap_or_default()
                ),
                format!("in `agents`, write {other} in place of {id}, if your version of it does"),
            );
        }
    }
    let both = global.into_iter().flat_map(|global| &global.skills);
    let both: Vec<String> = both
        .filter(|skill| target.skills.iter().any(|other| other.name == skill.name))
        .map(|skill| skill.name.to_string())
        .collect();
    if !both.is_empty() {
        found.note(
            "twice",
            format!("{} and the global scope both have {}", target.alias, both.join(", ")),
            "csk global remove NAME, or take it out of the project's Skillfile.json",
        );
    }
}

/// Looks for links that lead nowhere.
fn links(target: &Target, found: &mut Findings) {
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
                let message = format!("{} leads nowhere", path.display());
                found.problem(
                    "links",
                    message,
                    "csk install mends what is csk's; remove what is yours",
                );
            }
        }
    }
}

fn caches(context: &Context, config: &Config, found: &mut Findings) {
    let home = &context.home;
    let projects: Vec<AbsPath> = config.projects.values().map(|entry| entry.path.clone()).collect();
    if let Ok(garbage) = collect(home, &projects, Mode::DryRun, Caller::User) {
        let count = garbage.runtimes.len();
        if count > 0 {
            found.note(
                "cache",
                format!("{} that nobody uses", counted(count, "runtime")),
                "csk gc",
            );
        }
        for why in garbage.unreadable {
            found.note("cache", why, "csk gc removes nothing before that can be read");
        }
    }
    match cache_size(home) {
        Ok(size) if size.bytes > LARGE_CACHE => {
            let mib = size.bytes >> 20;
            found.note("cache", format!("the cache has {mib} MiB"), "csk cache clean");
        }
        Ok(size) => found.ok("cache", format!("{} MiB of snapshots", size.bytes.div_ceil(1 << 20))),
        Err(error) => found.note("cache", error.to_string(), "csk cache clean"),
    }
}

/// Asks the runtime what its sandbox can hold here.
fn sandbox(found: &mut Findings) {
    let beside =
        std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("openskills")));
    let beside = beside.filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from("openskills"));
    let Some(told) = sandbox_check(&program) else {
        found.note(
            "sandbox",
            "openskills cannot be run, so nothing is known of the sandbox",
            "install openskills beside csk",
        );
        return;
    };
    let tier = told["tier"].as_str().unwrap_or("none").to_owned();
    let missing: Vec<&str> = told["guarantees"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, holds)| **holds != Value::Bool(true))
        .map(|(name, _)| name.as_str())
        .collect();
    match (tier.as_str(), missing.is_empty()) {
        ("A", true) => found.ok("sandbox", "scripts of skills can be held in full (tier A)"),
        ("none", _) => found.problem(
            "sandbox",
            "scripts of skills cannot be held here",
            "openskills sandbox check says what is missing",
        ),
        (tier, _) => found.note(
            "sandbox",
            format!("tier {tier}; not held: {}", missing.join(", ")),
            "openskills sandbox check says why",
        ),
    }
}

fn sandbox_check(program: &Path) -> Option<Value> {
    let done = Command::new(program).args(["sandbox", "check", "--json"]).output().ok()?;
    serde_json::from_slice(&done.stdout).ok()
}
