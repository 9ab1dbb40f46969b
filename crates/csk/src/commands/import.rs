//! `csk import`: skills that another manager installed, or that lie in an agent's folder, become declared ones.

mod adopt;
mod declare;
mod find;

use std::collections::BTreeSet;

use csk_core::install::{SKILLS, Target};
use csk_core::output::{ImportJson, ImportedJson, LeftJson, VERSION};
use csk_core::{Config, Declaration, SKILLFILE, Skillfile, redacted, set_skill};
use skill::Identifier;
use term::{Failure, HelpText, safe_line};

use crate::commands::add::{good_file, project_root};
use crate::commands::global;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{at, target};
use adopt::{in_the_way, put_away};
use declare::Declarer;
use find::{Candidate, Found, find, refuse_link};
use skill_fs::{AbsPath, read_text, write_file};

const HELP: HelpText = HelpText {
    text: "\
Purpose: declares in Skillfile.json what another manager installed, or what lies in the folder of an agent.

  skills-lock.json          of a project (version 1)
  ~/.agents/.skill-lock.json  of the user (version 3); with --global
  .claude/skills            and any other folder of skills: one that is a git repository is declared by its origin; \
with --adopt a plain folder becomes a repository under skills_root

Without FROM, those that are there are read. Each skill is cloned, or made a repository, and looked at before it is declared; \
what cannot be had is told and left. With --adopt, folders that are in the way of the next install are moved to \
.agents/backups. Files of other managers are not changed. `csk lock` and `csk install` come next.

Reads:  config.json, Skillfile.json, the files named above
Writes: Skillfile.json (made if it is missing); skills_root, for repositories that are cloned or made; with --adopt \
.agents/backups",
    exit_codes: &[
        ExitCode::Done.when("everything was imported"),
        ExitCode::Failed.when("something was left, the rest was imported"),
        ExitCode::Usage.when("usage or configuration; Skillfile.json was not written"),
    ],
    examples: &[
        "csk import --dry-run",
        "csk import skills-lock.json",
        "csk import .claude/skills --adopt",
        "csk import --global",
    ],
};

/// Declare what another manager installed
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ImportArgs {
    /// A lock file, or a folder of skills [default: all that are there]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// A project: its alias, or a path in it [default: the project here]
    #[arg(long, value_name = "TARGET", conflicts_with = "global", add = term::names(crate::completion::projects))]
    project: Option<String>,
    /// Into the global scope
    #[arg(long)]
    global: bool,
    /// Make repositories of plain folders, and move what is in the way to the backups
    #[arg(long)]
    adopt: bool,
    /// Show it and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Use no network: nothing is cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn import(context: &mut Context, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let root = if args.global {
        context.home.join("global")
    } else {
        match project_root(context, &config, args.project.as_deref()) {
            Ok(root) => root,
            // A project that csk does not know yet is what an import is for.
            Err(_) if args.project.is_none() => context.cwd.clone(),
            Err(failure) => return Err(failure),
        }
    };
    if args.adopt && !args.global {
        // A checkout may bring links that lead anywhere: nothing is moved through one.
        refuse_link(&root, &[".agents", ".agents/backups", SKILLS, ".claude", ".claude/skills"])?;
    }
    let Found { candidates, mut left } = find(context, args, &root)?;
    let path = root.join(SKILLFILE);
    let (_, declared) = skillfile(&root, &config)?;
    let mut imported = Vec::new();
    let mut known = Vec::new();
    let mut seen = declared.clone();
    let mut declarer = Declarer::new(context, &config, args);
    for candidate in candidates {
        let name = candidate.name.clone();
        if declared.contains(&name) {
            known.push(name.clone());
            left.push(LeftJson { name, why: DECLARED.to_owned() });
        } else if !seen.insert(name.clone()) {
            left.push(LeftJson { name, why: "it was imported from elsewhere".to_owned() });
        } else {
            match declarer.declaration(&candidate) {
                Ok(declaration) => imported.push((candidate, declaration)),
                Err(why) => left.push(LeftJson { name, why }),
            }
        }
    }
    let mut told = ImportJson {
        version: VERSION,
        skillfile: path.to_string(),
        imported: Vec::new(),
        left,
        notes: declarer.notes,
        written: false,
    };
    for (candidate, declaration) in &imported {
        told.imported.push(ImportedJson {
            name: candidate.name.clone(),
            from: candidate.from.clone(),
            declared: words(declaration),
        });
    }
    if !imported.is_empty() && !args.dry_run {
        // Somebody may have changed the file while repositories were cloned.
        let _lock = context.lock()?;
        let written = write(&root, &config, &imported)?;
        told.imported.retain(|one| written.contains(&one.name));
        imported.retain(|(candidate, _)| {
            let is_written = written.contains(&candidate.name);
            if !is_written {
                let (name, why) = (candidate.name.clone(), MEANWHILE.to_owned());
                told.left.push(LeftJson { name, why });
            }
            is_written
        });
        told.written = true;
    }
    let target = scope(context, &config, args, &root)?;
    // What was declared before may still be in the way.
    let names = imported.iter().map(|(_, declaration)| declaration.name.clone());
    let names = names.chain(known.iter().filter_map(|name| Identifier::new(name.as_str()).ok()));
    for name in names.collect::<Vec<_>>() {
        for folder in in_the_way(&target, &name) {
            if !args.adopt || args.dry_run {
                let would = if args.adopt {
                    "would be moved"
                } else {
                    "is in the way of `csk install`; --adopt moves it"
                };
                told.notes.push(format!("{folder} {would} to .agents/backups"));
            } else {
                match put_away(&root, &name, &folder) {
                    Ok(place) => told.notes.push(format!("moved {folder} to {place}")),
                    Err(why) => told.left.push(LeftJson { name: name.to_string(), why }),
                }
            }
        }
    }
    tell(context, args, &told)?;
    // What was declared before was no failure.
    Ok(ExitCode::failed_if(told.left.iter().any(|left| left.why != DECLARED)))
}

/// What is said of a skill that is declared.
const DECLARED: &str = "it is declared already";
/// What is said of a skill that somebody declared while its repository was cloned.
const MEANWHILE: &str = "somebody has declared it meanwhile";

/// Returns the scope that is imported into, as it is now.
fn scope(
    context: &Context,
    config: &Config,
    args: &ImportArgs,
    root: &AbsPath,
) -> anyhow::Result<Target> {
    let is_there = root.join(SKILLFILE).as_path().is_file();
    if args.global && is_there {
        let found = global::selected(context, config)?.targets.pop();
        return Ok(found.ok_or_else(|| Failure::usage("the global scope cannot be read"))?);
    }
    let file = if is_there { good_file(root, config)?.1 } else { Skillfile::default() };
    Ok(target(&at(config, root.clone()), file, config))
}

/// Reads the Skillfile, or makes an empty one; returns the names in it as well.
fn skillfile(root: &AbsPath, config: &Config) -> anyhow::Result<(String, BTreeSet<String>)> {
    let text = read_text(&root.join(SKILLFILE));
    if text?.is_none() {
        return Ok((Skillfile::minimal(), BTreeSet::new()));
    }
    let (text, file) = good_file(root, config)?;
    Ok((text, file.skills.iter().map(|skill| skill.name.to_string()).collect()))
}

/// Writes declarations into the Skillfile; returns the names of those that nobody else has written meanwhile.
#[expect(clippy::disallowed_methods, reason = "the edge: makes the folder of the global scope")]
fn write(
    root: &AbsPath,
    config: &Config,
    imported: &[(Candidate, Declaration)],
) -> anyhow::Result<BTreeSet<String>> {
    let path = root.join(SKILLFILE);
    let (mut text, declared) = skillfile(root, config)?;
    let mut written = BTreeSet::new();
    for (_, declaration) in imported {
        if declared.contains(declaration.name.as_str()) {
            continue;
        }
        text = set_skill(&text, declaration)
            .ok_or_else(|| Failure::usage(format!("{path} cannot be edited")))?;
        written.insert(declaration.name.to_string());
    }
    // Who had skills in the folder of an agent goes on to have them there.
    let of_claude =
        |(candidate, _): &(Candidate, Declaration)| candidate.from.contains("/.claude/skills/");
    if config.default_agents.is_empty() && imported.iter().any(of_claude) {
        text = text.replace(r#""agents": []"#, r#""agents": ["claude_code"]"#);
    }
    if let (None, problems) = Skillfile::parse(path.as_str(), &text, &config.agents) {
        return Err(Failure::malformed(text, problems).into());
    }
    std::fs::create_dir_all(root.as_path())
        .map_err(|error| Failure::files(format!("cannot make {root}"), error))?;
    write_file(&path, text.as_bytes())?;
    Ok(written)
}

fn tell(context: &mut Context, args: &ImportArgs, told: &ImportJson) -> anyhow::Result<()> {
    if args.json {
        return Ok(context.ui.json(told)?);
    }
    let word = if args.dry_run { "would be declared (dry-run)" } else { "declared" };
    for one in &told.imported {
        let line = format!("{} {word}: {} (from {})", one.name, one.declared, one.from);
        context.ui.done(&format!("{}\n", safe_line(&line)))?;
    }
    for one in &told.left {
        context.ui.error(&format!("{}: left: {}\n", safe_line(&one.name), safe_line(&one.why)))?;
    }
    for note in &told.notes {
        context.ui.error(&format!("note: {}\n", safe_line(note)))?;
    }
    if told.written && args.global {
        context.ui.note("next: csk lock --global, then csk global install\n")?;
    } else if told.written {
        context.ui.note("next: csk lock, then csk install --fix-gitignore\n")?;
    } else if told.imported.is_empty() && told.left.is_empty() {
        context.ui.note("there is nothing to import\n")?;
    }
    Ok(())
}

fn words(declaration: &Declaration) -> String {
    let from = declaration.git.as_deref().map(redacted);
    let from = from.unwrap_or_else(|| declaration.source.to_string());
    let path = declaration.path.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
    let reference = &declaration.reference;
    format!("{from}{path} {} {}", reference.kind.as_str(), reference.name)
}
