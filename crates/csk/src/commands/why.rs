//! `csk why`: explains why a skill, command or program is needed.

use csk_core::install::{ContextState, SKILLS, Target, observe_project};
use csk_core::output::{ReasonJson, VERSION, WhyJson};
use csk_core::{Declaration, SKILLFILE, redacted};
use skill::{Marker, nearest};
use term::{ErrorFormat, HelpText, safe_line, whole_table};

use crate::commands::global;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::report;
use crate::projects::{Selection, select_any};

const HELP: HelpText = HelpText {
    text: "\
Explains why a skill or command is installed: which project declares it, the tag or branch, the repository, the commit, \
where it is installed, and which agents see it. For a program, it lists the skills that require it. It searches all configured \
projects and the global scope.

Reads:  config.json, every Skillfile.json, the installed skills
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("a reason was found"),
        ExitCode::Failed.when("no project declares, provides or requires it, or a project cannot be read"),
        ExitCode::Usage.usual(),
    ],
    examples: &[
        "csk why pdf",
        "csk why reviews",
        "csk why glab --json",
    ],
};

/// Explain why a skill or command is installed
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct WhyArgs {
    /// Name of a skill, command or program
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn why(context: &mut Context, args: &WhyArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let here = select_any(context, &config, &Selection::default())?;
    let all = select_any(context, &config, &Selection { all: true, ..Selection::default() })?;
    let mut failed = here.failed || all.failed;
    let mut targets = here.targets;
    targets.extend(all.targets);
    match global::target_if_exists(context, &config) {
        Ok(global) => targets.extend(global),
        Err(error) => {
            failed = true;
            report(&error).print(&mut context.ui, ErrorFormat::Text);
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    targets.retain(|target| seen.insert(target.root.clone()));
    let environment = context.environment(&config);
    let mut reasons = Vec::new();
    let mut names = Vec::new();
    for target in &targets {
        let observed = match observe_project(&environment, target) {
            Ok(observed) => observed,
            // A project that cannot be read does not stop the others.
            Err(error) => {
                failed = true;
                let line = format!("{}: {error}", target.alias);
                context.ui.error(&format!("{}\n", safe_line(&line)))?;
                continue;
            }
        };
        for skill in &target.skills {
            let marker = match observed.contexts.get(&skill.name) {
                Some(ContextState::Installed { marker, .. }) => Some(marker.as_ref()),
                _ => None,
            };
            names.push(skill.name.to_string());
            names.extend(marker.iter().flat_map(|marker| marker.commands.iter().cloned()));
            reasons.extend(reason(target, skill, marker, &args.name));
        }
    }
    if args.json {
        let name = args.name.clone();
        let is_there = !reasons.is_empty();
        context.ui.json(&WhyJson { version: VERSION, name, reasons })?;
        return Ok(ExitCode::failed_if(!is_there || failed));
    }
    if reasons.is_empty() {
        let near = nearest(&args.name, names.iter().map(String::as_str));
        let hint = near.map(|near| format!("hint: did you mean `{near}`?\n")).unwrap_or_default();
        let name = safe_line(&args.name).into_owned();
        context.ui.error(&format!(
            "error: no skill is named `{name}`, and none provides or requires it\n{hint}"
        ))?;
        return Ok(ExitCode::Failed);
    }
    for (number, reason) in reasons.iter().enumerate() {
        let gap = if number == 0 { "" } else { "\n" };
        let text = shown(reason, context.ui.width);
        context.ui.out(&format!("{gap}{text}"))?;
    }
    Ok(ExitCode::failed_if(failed))
}

fn reason(
    target: &Target,
    skill: &Declaration,
    marker: Option<&Marker>,
    name: &str,
) -> Vec<ReasonJson> {
    let mut commands = marker.into_iter().flat_map(|marker| marker.command_paths.keys());
    let provided = commands.find(|command| command.as_str() == name);
    let requires = marker.is_some_and(|marker| {
        provided.is_none() && marker.commands.iter().any(|command| command == name)
    });
    let is_skill = skill.name.as_str() == name;
    let reason = |kind: &str, path: String| ReasonJson {
        kind: kind.to_owned(),
        project: target.alias.clone(),
        skill: skill.name.to_string(),
        declared_in: target.root.join(SKILLFILE).to_string(),
        reference: format!("{} {}", skill.reference.kind.as_str(), skill.reference.name),
        source: source(skill),
        installed: marker.map(|marker| marker.commit.clone()),
        path,
        agents: target.agent_ids(),
    };
    let skill_path = || target.root.join(SKILLS).join(skill.name.as_str()).to_string();
    let mut reasons = Vec::new();
    if is_skill {
        reasons.push(reason("skill", skill_path()));
    }
    if let Some(command) = provided {
        reasons.push(reason("command", target.shim(command).to_string()));
    }
    if requires {
        reasons.push(reason("program", skill_path()));
    }
    reasons
}

fn source(skill: &Declaration) -> String {
    let repository = skill.git.as_deref().map_or_else(|| skill.source.to_string(), redacted);
    match &skill.path {
        Some(path) => format!("{repository} ({path})"),
        None => repository,
    }
}

fn shown(reason: &ReasonJson, width: Option<usize>) -> String {
    let title = match reason.kind.as_str() {
        "command" => format!("command provided by skill {}", reason.skill),
        "program" => format!("program required by skill {}", reason.skill),
        _ => "skill".to_owned(),
    };
    let mut rows = vec![
        vec!["  declared in".to_owned(), reason.declared_in.clone()],
        vec!["  reference".to_owned(), reason.reference.clone()],
        vec!["  repository".to_owned(), reason.source.clone()],
        vec!["  installed".to_owned(), reason.installed.clone().unwrap_or_else(|| "no".to_owned())],
        vec!["  path".to_owned(), reason.path.clone()],
    ];
    if !reason.agents.is_empty() {
        rows.push(vec!["  agents".to_owned(), reason.agents.join(", ")]);
    }
    format!("{}: {}\n{}", safe_line(&reason.project), safe_line(&title), whole_table(&rows, width))
}
