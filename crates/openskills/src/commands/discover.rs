//! `openskills discover`: finds skills and shows every problem.

use std::collections::HashMap;
use std::ops::ControlFlow;

use openskills_runtime::{Change, Event, OpenSkillRuntime, RuntimeConfig, Scope, WatchUpdate};
use skill::Severity;
use skill_state::SkillSource;
use term::{DiagnosticJson, HelpText, counted, safe_line, table};

use crate::context::Context;
use crate::discovery::{DiscoveryArgs, runtime};
use crate::exit_code::ExitCode;
use crate::output::{DiscoverJson, EventLine, RootJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Searches ~/.claude/skills, ~/.agents/skills and ~/.local/share/openskills/skills; .claude/skills,
.agents/skills, .keep-up/skills and .corteza/skills in the project and each of its subfolders;
the folders and packages listed in config.json; and the built-in skills. Only the frontmatter of
each SKILL.md is read.

Reads:  the folders above, config.json, the lists of trusted folders and disabled skills
Writes: the index cache",
    exit_codes: &[
        ExitCode::Done.when("done; skills that cannot be loaded are reported and skipped"),
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

/// Find skills, and report each problem with its file and a fix
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DiscoverArgs {
    /// Reject skills that violate the Agent Skills standard
    #[arg(long)]
    strict: bool,
    /// Keep running and report every skill that is added, changed or removed
    #[arg(long)]
    watch: bool,
    /// Show notes as well as warnings and errors
    #[arg(long, short)]
    verbose: bool,
    /// Print the result as JSON; with --watch, one event per line
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
        summary += &format!(", {others} shadowed or disabled");
    }
    if refused > 0 {
        summary += &format!(", {refused} could not be loaded");
    }
    context.ui.error(&format!("{summary}\n"))?;
    if let Some(error) = runtime.cache_error() {
        let error = error.to_string();
        context.ui.error(&format!("note: cannot save the index: {}\n", safe_line(&error)))?;
    }
    if let Some(error) = runtime.not_logged() {
        let error = error.to_string();
        context.ui.error(&format!("note: not recorded in the log: {}\n", safe_line(&error)))?;
    }
    let has_untrusted = |(project, is_trusted): &(&skill_fs::AbsPath, bool)| {
        let is_inside = |path: &str| std::path::Path::new(path).starts_with(project.as_path());
        !is_trusted
            && runtime
                .all_skills()
                .iter()
                .any(|skill| skill.source == SkillSource::ThirdParty && is_inside(skill.path()))
    };
    if let Some((project, _)) = runtime.project().filter(has_untrusted) {
        let project = safe_line(project.as_str());
        let note =
            format!("note: the project {project} is not trusted, so its skills are untrusted");
        context.ui.error(&format!("{note}; to trust it, run `openskills trust`\n"))?;
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

/// Prints changes until the user or the reader of the output ends it.
fn watch(
    context: &mut Context,
    args: &DiscoverArgs,
    config: RuntimeConfig,
) -> anyhow::Result<ExitCode> {
    let runtime = runtime(config);
    let mut failed = None;
    let mut is_shown = args.json;
    runtime.watch(|runtime, watching| {
        let printed = match watching {
            WatchUpdate::Idle => return ControlFlow::Continue(()),
            WatchUpdate::Failed(error) => {
                let error = safe_line(&error.to_string()).into_owned();
                context.ui.error(&format!("error: {error}\n")).map_err(Into::into)
            }
            WatchUpdate::Changed(_) if !std::mem::replace(&mut is_shown, true) => {
                show(context, runtime, args).and_then(|()| Ok(context.ui.flush()?))
            }
            WatchUpdate::Changed(events) => print_events(context, args, events),
        };
        match printed {
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

fn print_events(
    context: &mut Context,
    args: &DiscoverArgs,
    events: &[Event],
) -> anyhow::Result<()> {
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
            // WatchUpdate only reports discovery events.
            _ => continue,
        };
        context.ui.out(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(context.ui.flush()?)
}
