//! `csk status`: compares installed with declared skills.

use csk_core::install::{Label, Plan, SkillError, SkillPlan, Target, status as plan_status};
use csk_core::{Config, Declaration, SKILLFILE};
use serde_json::{Value, json};
use term::{HelpText, safe_line, whole_table};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{SelectedProjects, Selection, located_message, select};

const HELP: HelpText = HelpText {
    text: "\
Compares every file of each project's installed skills with what its Skillfile.json declares. It changes nothing.

Labels:
  up-to-date        installed as declared
  missing           declared but not installed
  update-available  the declared tag, branch or revision, its commit, the locale or the agents have changed since the install
  content-drift     the files or the agent entries differ from what was installed
  error             the status cannot be determined; the reason is on standard error
  removed           installed but no longer declared

Reads:  config.json, Skillfile.json, the repositories under skills_root, the installed skills
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("the status was printed; with --check, everything is up to date"),
        ExitCode::Failed.when("a project cannot be read; with --check, something is not up to date"),
        ExitCode::Usage.when("usage or configuration error, or there is a single target and its Skillfile.json is malformed"),
    ],
    examples: &[
        "csk status",
        "csk status --all --check",
        "csk status demo-app --json",
    ],
};

/// Show whether installed skills match Skillfile.json
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    flags: StatusFlags,
}

/// The flags shared by `csk status` and `csk global status`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusFlags {
    /// Fail unless everything is up to date
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn status(context: &mut Context, args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let selected = select(context, &config, &args.selection)?;
    show_status(context, &config, &selected, &args.flags)
}

pub(crate) fn show_status(
    context: &mut Context,
    config: &Config,
    selected: &SelectedProjects,
    args: &StatusFlags,
) -> anyhow::Result<ExitCode> {
    let environment = context.environment(config);
    let mut is_current = !selected.failed;
    let mut failed = selected.failed;
    let unreadable = selected.unreadable.iter().map(|one| {
        let error = one.problems.first().map(located_message);
        json!({ "alias": one.alias, "path": one.root.as_str(), "skills": [], "error": error })
    });
    let skipped = selected.skipped.iter().map(|(alias, root)| {
        let error = format!("{SKILLFILE} not found, skipped");
        json!({ "alias": alias, "path": root.as_str(), "skills": [], "error": error })
    });
    let mut projects: Vec<Value> = unreadable.chain(skipped).collect();
    for (target, plan) in selected.targets.iter().zip(plan_status(&environment, &selected.targets))
    {
        match plan {
            Ok(plan) => {
                is_current &= plan.is_current();
                // A command collision blocks the whole project.
                failed |= !plan.collisions.is_empty();
                if args.json {
                    projects.push(as_json(target, &plan));
                } else {
                    show(context, target, &plan)?;
                }
            }
            Err(error) => {
                is_current = false;
                failed = true;
                let (alias, path) = (&target.alias, target.root.as_str());
                projects.push(json!({ "alias": alias, "path": path, "skills": [], "error": error.to_string() }));
                context.ui.error(&format!(
                    "{}: {}\n",
                    safe_line(&target.alias),
                    safe_line(&error.to_string())
                ))?;
            }
        }
    }
    if args.json {
        context.ui.json(&json!({ "version": 1, "current": is_current, "projects": projects }))?;
    }
    Ok(ExitCode::failed_if(failed || (args.check && !is_current)))
}

fn show(context: &mut Context, target: &Target, plan: &Plan) -> anyhow::Result<()> {
    context.ui.out(&format!(
        "Project {} ({})\n",
        safe_line(&target.alias),
        safe_line(target.root.as_str())
    ))?;
    let alias = safe_line(&target.alias).into_owned();
    for warning in plan.warnings.iter().chain(&plan.notes) {
        context.ui.error(&format!("{alias}: warning: {}\n", safe_line(warning)))?;
    }
    // Before the first install, these files are not expected to exist.
    let is_installed = plan.skills.iter().any(|skill| skill.installed.is_some());
    for file in plan.env.iter().filter(|_| is_installed) {
        context.ui.error(&format!(
            "{alias}: {} is missing or outdated; run `csk install` to write it\n",
            file.path
        ))?;
    }
    for (skill, declaration) in skills(target, plan) {
        let reference = reference(declaration);
        let installed = commit(skill).unwrap_or_default();
        let note = match &skill.label {
            Label::UpdateAvailable => {
                skill.commit.as_ref().map(|commit| format!(" -> {}", commit.short()))
            }
            Label::ContentDrift(Some(what)) => Some(format!(" ({what})")),
            Label::UpToDate
            | Label::Missing
            | Label::ContentDrift(None)
            | Label::Removed
            | Label::Error => None,
        };
        let line = format!(
            "  {:20} {reference:15} {installed:7}  {}{}",
            skill.name.as_str(),
            skill.label.as_str(),
            note.unwrap_or_default()
        );
        let line = safe_line(&line).into_owned();
        let fits = context.ui.width.is_none_or(|width| line.chars().count() <= width);
        if fits {
            context.ui.out(&format!("{line}\n"))?;
        } else {
            let cells = line.split("  ").map(|cell| cell.trim().to_owned());
            let cells = cells.filter(|cell| !cell.is_empty()).collect();
            context.ui.out(&whole_table(&[cells], context.ui.width))?;
        }
        for warning in &skill.warnings {
            context.ui.error(&format!(
                "{}: warning: {}: {}\n",
                safe_line(&target.alias),
                skill.name,
                safe_line(warning)
            ))?;
        }
        if let Some(error) = skill.error() {
            let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
            context.ui.error(&format!(
                "{}: {}: {}{}\n",
                safe_line(&target.alias),
                skill.name,
                safe_line(&error.to_string()),
                safe_line(&hint)
            ))?;
        }
    }
    Ok(())
}

/// Returns every skill of a plan with its declaration; removals, which have none, come last.
fn skills<'a>(
    target: &'a Target,
    plan: &'a Plan,
) -> impl Iterator<Item = (&'a SkillPlan, Option<&'a Declaration>)> {
    let removals = plan.removals.iter().map(|skill| (skill, None));
    plan.skills.iter().zip(target.skills.iter().map(Some)).chain(removals)
}

fn reference(declaration: Option<&Declaration>) -> String {
    declaration.map_or_else(String::new, |skill| {
        format!("{} {}", skill.reference.kind.as_str(), skill.reference.name)
    })
}

/// Returns the short ID of the installed commit.
fn commit(skill: &SkillPlan) -> Option<String> {
    skill.installed.as_ref().map(|installed| installed.commit.chars().take(7).collect())
}

fn as_json(target: &Target, plan: &Plan) -> Value {
    let skill = |(skill, declaration): (&SkillPlan, Option<&Declaration>)| {
        json!({
            "name": skill.name.as_str(),
            "reference": reference(declaration),
            "installed": skill.installed.as_ref().map(|installed| &installed.commit),
            "wanted": skill.commit.as_ref().map(csk_core::Commit::as_str),
            "status": skill.label.as_str(),
            "warnings": skill.warnings,
            "error": skill.error().map(ToString::to_string),
            "hint": skill.error().and_then(SkillError::hint),
        })
    };
    let skills: Vec<Value> = skills(target, plan).map(skill).collect();
    json!({ "alias": target.alias, "path": target.root.as_str(), "skills": skills })
}
