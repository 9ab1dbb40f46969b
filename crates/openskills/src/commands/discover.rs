//! `openskills discover`: looks for skills and shows every problem on the way.

use std::collections::HashMap;
use std::ops::ControlFlow;

use openskills_runtime::{Change, Event, OpenSkillRuntime, RuntimeConfig, Scope, Watching};
use skill::Severity;
use skill_state::SkillSource;
use term::{DiagnosticJson, HelpText, counted, safe_line, table};

use crate::context::Context;
use crate::discovery::{DiscoveryArgs, runtime};
use crate::exit_code::ExitCode;
use crate::output::{DiscoverJson, EventLine, RootJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Looks in ~/.claude/skills, ~/.agents/skills and the user's data folder, in .claude/skills,
.agents/skills, .keep-up/skills and .corteza/skills of the project and of every folder in it, in
the folders and packages that config.json names, and in the program itself. Only the frontmatter
of each SKILL.md is read.

Reads:  the folders above, config.json, what is trusted and what is switched off
Writes: the index, to be faster the next time",
    exit_codes: &[
        ExitCode::Done.when("done; a skill that cannot be loaded is shown and stops no other"),
        ExitCode::Invalid.when("with --strict: a skill was rejected"),
        ExitCode::Usage.usual(),
    ],
    examples: &[
        "openskills discover",
        "openskills discover --strict",
        "openskills discover --dir ./skills --json",
        "openskills discover --watch",
    ],
};

/// Look for skills, and show every problem with its file and what to do
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DiscoverArgs {
    /// Reject skills that break a rule of the standard
    #[arg(long)]
    strict: bool,
    /// Go on, and tell of every skill that is new, changes or goes
    #[arg(long)]
    watch: bool,
    /// Show notes as well as warnings and errors
    #[arg(long, short)]
    verbose: bool,
    /// Write it as JSON; with --watch one event a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn discover(context: &mut Context, args: &DiscoverArgs) -> anyhow::Result<ExitCode> {
    let config = RuntimeConfig { strict: args.strict, ..args.discovery.config(context)? };
    if args.watch {
        return watch(context, args, config);
    }
    let runtime = runtime(config);
    if args.json {
        let events = runtime.rediscover()?;
        context.ui.json(&report(runtime, events))?;
    } else {
        runtime.discover_skills()?;
        show(context, runtime, args)?;
    }
    let is_rejected = args.strict && !runtime.refused_skills().is_empty();
    Ok(if is_rejected { ExitCode::Invalid } else { ExitCode::Done })
}

fn show(
    context: &mut Context,
    runtime: &OpenSkillRuntime,
    args: &DiscoverArgs,
) -> anyhow::Result<()> {
    for problem in runtime.problems() {
        if args.verbose || problem.severity != Severity::Note {
            context.ui.problem(problem)?;
        }
    }
    let mut rows = Vec::new();
    for root in &roots(runtime) {
        if root.skills > 0 {
            let count = counted(root.skills, "skill");
            rows.push(vec![root.label.clone(), root.source.to_string(), count, root.path.clone()]);
        }
    }
    context.ui.out(&table(&rows, context.ui.width))?;
    let shown = runtime.all_skills().iter().filter(|skill| skill.is_visible()).count();
    let others = runtime.all_skills().len() - shown;
    let refused = runtime.refused_skills().len();
    let mut summary = counted(shown, "skill");
    if others > 0 {
        summary += &format!(", {others} shadowed or switched off");
    }
    if refused > 0 {
        summary += &format!(", {refused} that cannot be loaded");
    }
    context.ui.error(&format!("{summary}\n"))?;
    if let Some(error) = runtime.not_kept() {
        let error = error.to_string();
        context.ui.error(&format!("note: the index cannot be kept: {}\n", safe_line(&error)))?;
    }
    if let Some(error) = runtime.not_logged() {
        let error = error.to_string();
        context.ui.error(&format!("note: this is not in the log: {}\n", safe_line(&error)))?;
    }
    let has_strangers = |(project, is_trusted): &(&skill_fs::AbsPath, bool)| {
        let is_its = |path: &str| std::path::Path::new(path).starts_with(project.as_path());
        !is_trusted
            && runtime
                .all_skills()
                .iter()
                .any(|skill| skill.source == SkillSource::ThirdParty && is_its(skill.path()))
    };
    if let Some((project, _)) = runtime.project().filter(has_strangers) {
        let project = safe_line(project.as_str());
        let note = format!("note: {project} is not trusted, so its skills count as a stranger's");
        context.ui.error(&format!("{note}; `openskills trust` changes that\n"))?;
    }
    Ok(())
}

fn roots(runtime: &OpenSkillRuntime) -> Vec<RootJson> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for skill in runtime.all_skills() {
        *counts.entry(&skill.root).or_default() += 1;
    }
    let count = |label: &str| counts.get(label).copied().unwrap_or(0);
    let builtin = RootJson {
        label: "builtin".to_owned(),
        path: "builtin:".to_owned(),
        source: SkillSource::Builtin,
        scope: Scope::Builtin,
        skills: count("builtin"),
    };
    let roots = runtime.roots().iter().map(|root| RootJson {
        label: root.label.clone(),
        path: root.path.to_string(),
        source: root.source,
        scope: root.scope,
        skills: count(&root.label),
    });
    std::iter::once(builtin).chain(roots).collect()
}

fn report(runtime: &OpenSkillRuntime, events: Vec<Event>) -> DiscoverJson {
    let project = runtime.project();
    DiscoverJson {
        version: VERSION,
        project: project.map(|(project, _)| project.to_string()),
        trusted: project.is_some_and(|(_, is_trusted)| is_trusted),
        roots: roots(runtime),
        skills: runtime.index_entries(&runtime.list_skills()),
        problems: runtime.problems().into_iter().map(DiagnosticJson::from).collect(),
        events,
    }
}

/// Tells of changes until the reader or the user ends it.
fn watch(
    context: &mut Context,
    args: &DiscoverArgs,
    config: RuntimeConfig,
) -> anyhow::Result<ExitCode> {
    let runtime = runtime(config);
    let mut failed = None;
    let mut is_shown = args.json;
    runtime.watch(|runtime, watching| {
        let told = match watching {
            Watching::Quiet => return ControlFlow::Continue(()),
            Watching::Failed(error) => {
                let error = safe_line(&error.to_string()).into_owned();
                context.ui.error(&format!("error: {error}\n")).map_err(Into::into)
            }
            Watching::News(_) if !std::mem::replace(&mut is_shown, true) => {
                show(context, runtime, args).and_then(|()| Ok(context.ui.flush()?))
            }
            Watching::News(events) => tell(context, args, events),
        };
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    match failed {
        Some(error) => Err(error),
        None => Ok(ExitCode::Done),
    }
}

fn tell(context: &mut Context, args: &DiscoverArgs, events: &[Event]) -> anyhow::Result<()> {
    for event in events {
        if args.json {
            context.ui.json_line(&EventLine::new(event))?;
            continue;
        }
        let line = match event {
            Event::Discovered { skill_id, change: Change::New, .. } => {
                format!("new      {skill_id}")
            }
            Event::Discovered { skill_id, change: Change::Changed, .. } => {
                format!("changed  {skill_id}")
            }
            Event::Removed { skill_id, .. } => format!("removed  {skill_id}"),
            // Only discovery is watched.
            _ => continue,
        };
        context.ui.out(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(context.ui.flush()?)
}
