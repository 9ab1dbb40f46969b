//! `csk install`: installs declared skills from local repositories.

use csk_core::install::{
    Environment, IgnorePolicy, IgnoreRules, InstallOptions, LockfileMode, Mode, Network, Outcome,
    ProjectReport, ResolveRules, SkillReport, TagPolicy, install as run,
};
use csk_core::output::{
    InstallErrorJson, InstallJson, InstallProjectJson, InstallSkillJson, VERSION,
};
use csk_core::{Config, SKILLFILE};
use skill_state::audit::AuditMode;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{SelectedProjects, Selection, located_message, select};

const HELP: HelpText = HelpText {
    text: "\
Installs the skills declared in Skillfile.json, and removes those that are no longer declared. Existing repositories under \
skills_root are not fetched; missing repositories with a `git` URL are cloned.

If Skillfile.lock exists, its commits are installed. csk warns when a tag or branch has moved since, and adds new skills to \
the lockfile. csk never changes or deletes files it did not create. If you edited an installed skill, your version is \
backed up to .agents/backups/.

Reads:  config.json, Skillfile.json, Skillfile.lock, the repositories under skills_root
Writes: .agents/ and the project's agent folders; Skillfile.lock for new skills; .gitignore with --fix-gitignore; \
skills_root for cloned repositories; the cache, command files and process lock in csk's home folder",
    exit_codes: &[
        ExitCode::Done.when("success; projects without a Skillfile.json are skipped"),
        ExitCode::Failed.when("a skill or project failed; the others were installed"),
        ExitCode::Usage.when("usage or configuration error, or there is a single target and its Skillfile.json is malformed"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk install",
        "csk install demo-app",
        "csk install ../checkout --dry-run",
        "csk install --all --strict-tags",
        "csk install --audit strict",
    ],
};

/// Install the skills declared in Skillfile.json
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) flags: InstallFlags,
    /// Fail if Skillfile.lock does not match Skillfile.json, a tag has moved, or a branch was force-pushed
    #[arg(long, env = "CSK_LOCKED", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    locked: bool,
    /// Same as --locked and --offline together
    #[arg(long, env = "CSK_FROZEN", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    frozen: bool,
}

/// The flags that `install` and `upgrade` share.
#[derive(Debug, clap::Args)]
pub(crate) struct InstallFlags {
    /// Print every file that would change, without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Fail if a tag has moved to a different commit
    #[arg(long)]
    strict_tags: bool,
    /// Add missing ignore rules to .gitignore
    #[arg(long)]
    fix_gitignore: bool,
    /// Do not use the network; nothing is cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    pub(crate) offline: bool,
    /// Audit new skills before installing them; `--audit strict` also blocks skills rated REVIEW or UNANALYZABLE [env: CSK_AUDIT]
    #[arg(long, value_name = "off|advisory|strict", num_args = 0..=1, require_equals = true, default_missing_value = "advisory", value_parser = audit_mode)]
    audit: Option<AuditMode>,
    /// Print every file written
    #[arg(long, short)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl InstallFlags {
    /// Returns the install options for these flags and this use of Skillfile.lock.
    pub(crate) fn options(&self, lock: LockfileMode) -> InstallOptions {
        InstallOptions {
            rules: ResolveRules {
                tags: if self.strict_tags { TagPolicy::Strict } else { TagPolicy::Warn },
                lock,
            },
            mode: if self.dry_run { Mode::DryRun } else { Mode::Apply },
            ignore: if self.fix_gitignore { IgnorePolicy::Fix } else { IgnorePolicy::Require },
            network: network(self.offline),
        }
    }
}

fn audit_mode(value: &str) -> Result<AuditMode, String> {
    AuditMode::parse(value).ok_or_else(|| "expected off, advisory or strict".to_owned())
}

pub(crate) fn install(context: &mut Context, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let lock =
        if args.locked || args.frozen { LockfileMode::Require } else { LockfileMode::Follow };
    let options = args.flags.options(lock);
    let network = network(args.flags.offline || args.frozen);
    let selected = select(context, &config, &args.selection)?;
    install_into(context, &config, &selected, &args.flags, InstallOptions { network, ..options })
}

/// Returns whether the network may be used.
#[expect(clippy::fn_params_excessive_bools, reason = "it converts a flag to an enum")]
pub(crate) fn network(offline: bool) -> Network {
    if offline { Network::Refused } else { Network::Allowed }
}

pub(crate) fn install_into(
    context: &mut Context,
    config: &Config,
    selected: &SelectedProjects,
    flags: &InstallFlags,
    options: InstallOptions,
) -> anyhow::Result<ExitCode> {
    let auditor = context.auditor(config, flags.audit)?;
    let environment = Environment { auditor, ..context.environment(config) };
    let reports = run(&environment, &selected.targets, options, &context.progress())?;
    let mut failed = selected.failed;
    for report in &reports {
        failed |= report.error.is_some() || report.skills.iter().any(SkillReport::has_failed);
        if !flags.json {
            print_project(context, report, flags)?;
        }
    }
    if flags.json {
        let projects = reports.iter().map(as_json).chain(not_installed(selected)).collect();
        context.ui.json(&InstallJson { version: VERSION, dry_run: flags.dry_run, projects })?;
    }
    let provides_commands = reports.iter().any(ProjectReport::makes_commands);
    if provides_commands && !flags.dry_run && !context.has_hook {
        context.ui.note(
            "note: skill commands are in .agents/bin, which is not on your PATH; run `csk shell-init --install`, or \
             start agents with `csk exec -- AGENT`\n",
        )?;
    }
    Ok(ExitCode::failed_if(failed))
}

/// Returns the projects that were skipped because their Skillfile.json is unreadable or missing.
fn not_installed(selected: &SelectedProjects) -> impl Iterator<Item = InstallProjectJson> {
    let empty = |alias: &str| InstallProjectJson {
        alias: alias.to_owned(),
        ignored: Vec::new(),
        warnings: Vec::new(),
        changes: Vec::new(),
        skills: Vec::new(),
        error: None,
    };
    let unreadable = selected.unreadable.iter().map(move |one| {
        let problem = one.problems.first();
        let error = problem.map(|problem| InstallErrorJson {
            message: located_message(problem),
            hint: problem.hint.clone(),
        });
        InstallProjectJson { error, ..empty(&one.alias) }
    });
    let skipped = selected.skipped.iter().map(move |(alias, _)| InstallProjectJson {
        warnings: vec![format!("{SKILLFILE} not found, skipped")],
        ..empty(alias)
    });
    unreadable.chain(skipped)
}

fn as_json(report: &ProjectReport) -> InstallProjectJson {
    InstallProjectJson {
        alias: report.alias.clone(),
        ignored: report.ignored.entries.clone(),
        warnings: report.warnings.clone(),
        changes: report.changes.clone(),
        skills: report.skills.iter().map(skill_json).collect(),
        error: report.error.as_ref().map(|error| InstallErrorJson {
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }),
    }
}

fn skill_json(skill: &SkillReport) -> InstallSkillJson {
    let (outcome, error) = match &skill.outcome {
        Outcome::UpToDate => ("up-to-date", None),
        Outcome::Installed => ("installed", None),
        Outcome::Removed => ("removed", None),
        Outcome::Unlinked => ("unlinked", None),
        Outcome::Failed(error) => ("failed", Some(error)),
    };
    let reference = skill.declaration.as_ref().map(|declaration| &declaration.reference);
    InstallSkillJson {
        name: skill.name.to_string(),
        reference: reference.map(|one| format!("{} {}", one.kind.as_str(), one.name)),
        commit: skill.commit.as_ref().map(|commit| commit.as_str().to_owned()),
        outcome: outcome.to_owned(),
        warnings: skill.warnings.clone(),
        changes: skill.changes.clone(),
        error: error
            .map(|error| InstallErrorJson { message: error.to_string(), hint: error.hint() }),
    }
}

fn print_project(
    context: &mut Context,
    report: &ProjectReport,
    flags: &InstallFlags,
) -> anyhow::Result<()> {
    let alias = safe_line(&report.alias).into_owned();
    let IgnoreRules { file, entries } = &report.ignored;
    if !entries.is_empty() {
        let (result, end) =
            if flags.dry_run { ("would be added", " (dry-run)") } else { ("added", "") };
        let (entries, file) = (entries.join(" "), file.name());
        context.ui.done(&format!("{alias}: {} {result} to {file}{end}\n", safe_line(&entries)))?;
    }
    if let Some(error) = &report.error {
        let hint = error.hint().map_or_else(String::new, |hint| format!("{alias}: hint: {hint}\n"));
        return Ok(context
            .ui
            .error(&format!("{alias}: {}\n{hint}", safe_line(&error.to_string())))?);
    }
    for warning in &report.warnings {
        context.ui.error(&format!("{alias}: warning: {}\n", safe_line(warning)))?;
    }
    if flags.dry_run || flags.verbose {
        for change in &report.changes {
            context.ui.done(&format!("{alias}: {}\n", safe_line(change)))?;
        }
    }
    for skill in &report.skills {
        for warning in &skill.warnings {
            context.ui.error(&format!(
                "{alias}: warning: {}: {}\n",
                skill.name,
                safe_line(warning)
            ))?;
        }
        print_skill(context, &alias, skill, flags)?;
    }
    Ok(())
}

/// Prints what another command than `csk install` did to a skill that it was not about.
pub(crate) fn print_other(context: &mut Context, skill: &SkillReport) -> anyhow::Result<()> {
    for warning in &skill.warnings {
        context.ui.error(&format!("warning: {}: {}\n", skill.name, safe_line(warning)))?;
    }
    match &skill.outcome {
        Outcome::UpToDate => Ok(()),
        Outcome::Failed(error) => {
            let error = error.to_string();
            Ok(context.ui.error(&format!("warning: {}: {}\n", skill.name, safe_line(&error)))?)
        }
        Outcome::Installed => {
            Ok(context.ui.done(&format!("{} installed as well\n", skill.name))?)
        }
        Outcome::Removed | Outcome::Unlinked => {
            Ok(context.ui.done(&format!("{} removed as well\n", skill.name))?)
        }
    }
}

fn print_skill(
    context: &mut Context,
    alias: &str,
    skill: &SkillReport,
    flags: &InstallFlags,
) -> anyhow::Result<()> {
    let wanted = skill.declaration.as_ref().map_or_else(String::new, |declaration| {
        let commit = skill.commit.as_ref().map_or("", |commit| commit.short());
        format!(" {} {} {commit}", declaration.reference.kind.as_str(), declaration.reference.name)
    });
    let result = match &skill.outcome {
        Outcome::Failed(error) => {
            let hint = error
                .hint()
                .map_or_else(String::new, |hint| format!("{alias}: hint: {}\n", safe_line(&hint)));
            let message = safe_line(&error.to_string()).into_owned();
            return Ok(context.ui.error(&format!("{alias}: {}: {message}\n{hint}", skill.name))?);
        }
        Outcome::UpToDate => "up-to-date",
        Outcome::Installed if flags.dry_run => "would be installed (dry-run)",
        Outcome::Installed => "installed",
        Outcome::Removed if flags.dry_run => "would be removed (dry-run)",
        Outcome::Removed => "removed",
        Outcome::Unlinked if flags.dry_run => "would be unlinked (dry-run)",
        Outcome::Unlinked => "unlinked; its folder was kept because csk did not create it",
    };
    context.ui.done(&format!("{alias}: {}{} {result}\n", skill.name, safe_line(&wanted)))?;
    if flags.dry_run || flags.verbose {
        for change in &skill.changes {
            context.ui.done(&format!("  {}\n", safe_line(change)))?;
        }
    }
    Ok(())
}
