//! `csk diff`: shows what an upgrade would change, or local edits of installed skills.

use std::collections::BTreeSet;
use std::time::Duration;

use csk_core::install::{Environment, Observed, Target, observe_project};
use csk_core::operations::{CompareError, Comparison, FileChange, compare, compare_local};
use csk_core::output::{DiffJson, FileDiffJson, SkillDiffJson, VERSION};
use csk_core::{Content, Declaration, File, FileKind, Reference, Repository};
use similar::TextDiff;
use skill::capabilities::CapabilityChange;
use skill::{Identifier, RefKind, SKILL_FILE, nearest};
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, UnreadableProject, select};

const HELP: HelpText = HelpText {
    text: "\
Shows what an upgrade would change in each skill: files (command files are listed under runtime/), SKILL.md text, \
commands, required programs and declared capabilities. It compares the installed version with the tag or branch in your \
local clone; run `csk update` first to fetch new versions. With --local, it shows edits made to the installed files.

Reads:  config.json, Skillfile.json, the repositories under skills_root, the installed skills
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("success; with --check, no differences were found"),
        ExitCode::Failed.when("a skill cannot be compared; with --check, a difference was found"),
        ExitCode::Usage.when("usage or configuration error, or the skill is not declared"),
    ],
    examples: &[
        "csk update && csk diff",
        "csk diff pdf --to v2.0.0",
        "csk diff --local",
        "csk diff --global",
        "csk diff pdf --all-files --json",
    ],
};

/// Show what an upgrade would change, or your local edits
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DiffArgs {
    /// Skill to compare [default: all skills in the project]
    #[arg(value_name = "SKILL", add = term::names(crate::completion::skills))]
    skill: Option<String>,
    /// Project alias, or a path inside a project [default: the enclosing project, else all configured projects]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
    /// Select the global scope instead of a project
    #[arg(long, conflicts_with = "project")]
    global: bool,
    /// Compare with this tag, branch or commit instead of the declared one
    #[arg(long, value_name = "REF", requires = "skill", conflicts_with = "local")]
    to: Option<String>,
    /// Show edits made to the installed files
    #[arg(long)]
    local: bool,
    /// Show line-by-line diffs for every file, not just SKILL.md
    #[arg(long)]
    all_files: bool,
    /// Fail if there are differences
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn diff(context: &mut Context, args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let selection =
        Selection { target: args.project.clone(), global: args.global, ..Selection::default() };
    let selected = select(context, &config, &selection)?;
    let mut output = DiffJson {
        version: VERSION,
        skills: Vec::new(),
        problems: selected.unreadable.iter().map(UnreadableProject::message).collect(),
    };
    let environment = context.environment(&config);
    let mut projects = Vec::new();
    for target in &selected.targets {
        match observe_project(&environment, target) {
            Ok(observed) => projects.push((target, observed)),
            // A project that cannot be read does not stop the others.
            Err(error) => {
                let message = format!("{}: {error}", target.alias);
                report_problem(context, &mut output, args, message)?;
            }
        }
    }
    if let Some(name) = args.skill.as_ref().filter(|_| output.problems.is_empty()) {
        check_skill_exists(&projects, name)?;
    }
    let mut is_first = true;
    for (target, observed) in &projects {
        // Skills that are no longer declared may have been edited as well.
        let declared = target.skills.iter().map(|skill| &skill.name);
        let gone = observed.ledger.entries.iter().filter(|_| args.local);
        let names: BTreeSet<&Identifier> = declared.chain(gone).collect();
        for name in names {
            if args.skill.as_ref().is_some_and(|wanted| *wanted != name.as_str()) {
                continue;
            }
            match compared(&environment, target, observed, name, args) {
                Ok(found) if found.is_empty() => {}
                Ok(found) => {
                    if !args.json {
                        let gap = if is_first { "" } else { "\n" };
                        is_first = false;
                        let text = format!("{gap}{}", shown(target, &found, args));
                        context.ui.out_text(&text)?;
                    }
                    output.skills.push(as_json(target, &found));
                }
                // With --local, a skill that is not installed has no edits.
                Err(CompareError::NotInstalled(_)) if args.skill.is_none() => {}
                Err(error) => {
                    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
                    let message = format!("{}: {name}: {error}{hint}", target.alias);
                    report_problem(context, &mut output, args, message)?;
                }
            }
        }
    }
    let (differs, failed) = (!output.skills.is_empty(), !output.problems.is_empty());
    if args.json {
        context.ui.json(&output)?;
    } else if !differs && !failed {
        let summary = match (args.local, &args.to) {
            (true, _) => "no local edits",
            (false, Some(_)) => "no differences",
            // Only the local clones were checked, not the remotes.
            (false, None) => {
                "nothing newer in the local clones; run `csk update` to fetch new versions"
            }
        };
        context.ui.note(&format!("{summary}\n"))?;
    }
    Ok(ExitCode::failed_if(selected.failed || failed || (args.check && differs)))
}

fn check_skill_exists(projects: &[(&Target, Observed)], name: &str) -> anyhow::Result<()> {
    let declared = projects.iter().flat_map(|(target, _)| &target.skills).map(|skill| &skill.name);
    let installed = projects.iter().flat_map(|(_, observed)| &observed.ledger.entries);
    let known: Vec<&str> = declared.chain(installed).map(Identifier::as_str).collect();
    if known.contains(&name) {
        return Ok(());
    }
    let failure = Failure::usage(format!("skill `{name}` is not declared in Skillfile.json"));
    Err(match nearest(name, known) {
        Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
        None => failure.with_hint("run `csk status` to see the declared skills"),
    }
    .into())
}

/// Prints a problem, and adds it to the JSON output.
fn report_problem(
    context: &mut Context,
    output: &mut DiffJson,
    args: &DiffArgs,
    message: String,
) -> anyhow::Result<()> {
    if !args.json {
        context.ui.error(&format!("{}\n", safe_line(&message)))?;
    }
    output.problems.push(message);
    Ok(())
}

fn compared(
    environment: &Environment,
    target: &Target,
    observed: &Observed,
    name: &Identifier,
    args: &DiffArgs,
) -> Result<Comparison, CompareError> {
    if args.local {
        return compare_local(environment, target, observed, name);
    }
    let declared = target.skills.iter().find(|skill| skill.name == *name);
    let skill = declared.ok_or_else(|| CompareError::NotInstalled(name.clone()))?;
    let Some(name) = &args.to else { return compare(environment, target, observed, skill, None) };
    // `--to` accepts a tag, a branch or a commit.
    let kinds = [RefKind::Tag, RefKind::Branch, RefKind::Revision];
    let all = kinds.map(|kind| Reference { kind, name: name.clone() });
    let known = first_resolvable(environment, skill, &all).unwrap_or(&all[0]);
    compare(environment, target, observed, skill, Some(known))
}

/// Returns the first reference that exists in the repository of a skill.
fn first_resolvable<'a>(
    environment: &Environment,
    skill: &Declaration,
    all: &'a [Reference],
) -> Option<&'a Reference> {
    let path = environment.skills_root.join(skill.source.as_str());
    let repository = Repository::open(&path).ok()?;
    all.iter().find(|reference| repository.resolve(reference).is_ok())
}

/// Returns a comparison as text.
fn shown(target: &Target, found: &Comparison, args: &DiffArgs) -> String {
    let from = found.from.as_ref().map_or("not installed", |commit| commit.short());
    let to = found.to.as_ref().map_or("local edits", |commit| commit.short());
    let mut text = format!("{}: {} {from} -> {to}\n", safe_line(&target.alias), found.name);
    for command in &found.commands_gained {
        text += &format!("  + command {}\n", safe_line(command));
    }
    for command in &found.commands_lost {
        text += &format!("  - command {}\n", safe_line(command));
    }
    for program in &found.programs_gained {
        text += &format!("  + requires program {}\n", safe_line(program));
    }
    for program in &found.programs_lost {
        text += &format!("  - requires program {}\n", safe_line(program));
    }
    for line in capability_lines(&found.capabilities, "+", |capability| &capability.gained) {
        text += &format!("  {}\n", safe_line(&line));
    }
    for line in capability_lines(&found.capabilities, "-", |capability| &capability.lost) {
        text += &format!("  {}\n", safe_line(&line));
    }
    for (path, change) in &found.files {
        text += &format!("  {} {}\n", change.label(), safe_line(path));
    }
    for (path, change) in &found.files {
        if path == SKILL_FILE || args.all_files || args.local {
            let lines = lines(path, change).unwrap_or_default();
            text += &lines.lines().map(|line| format!("{}\n", safe_line(line))).collect::<String>();
        }
    }
    text
}

fn capability_lines(
    capabilities: &[CapabilityChange],
    sign: &str,
    of: fn(&CapabilityChange) -> &Vec<String>,
) -> Vec<String> {
    let line = |capability: &CapabilityChange| {
        let items = of(capability);
        (!items.is_empty())
            .then(|| format!("{sign} {}: {}", capability.kind.as_str(), items.join(", ")))
    };
    capabilities.iter().filter_map(line).collect()
}

/// The size limit in bytes for line-by-line diffs.
const MAX_TEXT: usize = 1 << 20;
/// The time limit for the diff of one file.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Returns a unified diff, or `None` if the file is binary or too large.
fn lines(path: &str, change: &FileChange) -> Option<String> {
    let text = |file: Option<&File>| match file {
        None => Some(String::new()),
        Some(file) => match (&file.content, file.kind) {
            (_, FileKind::Link) => Some(format!("symlink to {}\n", file.text()?)),
            (Content::Memory(bytes), _) if bytes.len() <= MAX_TEXT && !bytes.contains(&0) => {
                String::from_utf8(bytes.to_vec()).ok()
            }
            _ => None,
        },
    };
    let (old, new) = (text(change.old.as_ref())?, text(change.new.as_ref())?);
    // After the time limit the diff is only coarser; it is still complete.
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_lines(old.as_str(), new.as_str());
    Some(diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string())
}

fn as_json(target: &Target, found: &Comparison) -> SkillDiffJson {
    let capabilities = |of: fn(&CapabilityChange) -> &Vec<String>| {
        let line = |capability: &CapabilityChange| {
            let kind = capability.kind.as_str();
            of(capability).iter().map(|item| format!("{kind}: {item}")).collect::<Vec<_>>()
        };
        found.capabilities.iter().flat_map(line).collect()
    };
    SkillDiffJson {
        project: target.alias.clone(),
        name: found.name.to_string(),
        from: found.from.as_ref().map(|commit| commit.as_str().to_owned()),
        to: found.to.as_ref().map(|commit| commit.as_str().to_owned()),
        files: found
            .files
            .iter()
            .map(|(path, change)| FileDiffJson {
                path: path.clone(),
                change: change.label().to_owned(),
                diff: lines(path, change),
            })
            .collect(),
        commands_gained: found.commands_gained.clone(),
        commands_lost: found.commands_lost.clone(),
        programs_gained: found.programs_gained.clone(),
        programs_lost: found.programs_lost.clone(),
        capabilities_gained: capabilities(|capability| &capability.gained),
        capabilities_lost: capabilities(|capability| &capability.lost),
    }
}
