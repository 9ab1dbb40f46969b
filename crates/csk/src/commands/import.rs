//! `csk import`: declares skills that another skill manager installed, or that are in the folder of an agent.

mod adopt;
mod declare;
mod find;

use std::collections::BTreeSet;

use csk_core::install::{SKILLS, Target};
use csk_core::output::{ImportJson, ImportedJson, SkippedJson, VERSION};
use csk_core::{Config, Declaration, SKILLFILE, Skillfile, redacted, set_skill};
use skill::Identifier;
use term::{Failure, HelpText, safe_line};

use crate::commands::add::{project_root, read_valid_skillfile};
use crate::commands::global;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{location_of, target};
use adopt::{blocking_paths, move_to_backups};
use declare::Declarer;
use find::{Candidate, ImportSearch, find, refuse_link};
use skill_fs::{AbsPath, read_text, write_file};

const HELP: HelpText = HelpText {
    text: "\
Adds skills from an agent's folder or from another skill manager to Skillfile.json. Sources:

  skills-lock.json            project lockfile (version 1)
  ~/.agents/.skill-lock.json  user lockfile (version 3); requires --global
  .claude/skills              or any other folder of skills. A git repository is declared with its `origin` URL. With \
--adopt, a plain folder becomes a repository under skills_root

Without FROM, csk reads every source that exists. It clones each skill's repository, or turns a plain folder into \
one, and checks the skill before adding it. Skills that cannot be fetched are reported and skipped. With --adopt, \
folders that would block the next install are moved to .agents/backups. csk does not change other skill managers' files. \
Run `csk lock` and `csk install` next.

Reads:  config.json, Skillfile.json, the sources above
Writes: Skillfile.json (created if missing); skills_root for new repositories; .agents/backups with --adopt",
    exit_codes: &[
        ExitCode::Done.when("all skills were imported"),
        ExitCode::Failed.when("a skill was skipped; the others were imported"),
        ExitCode::Usage.when("usage or configuration error; Skillfile.json was not written"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk import --dry-run",
        "csk import skills-lock.json",
        "csk import .claude/skills --adopt",
        "csk import --global",
    ],
};

/// Add skills installed by another skill manager to Skillfile.json
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ImportArgs {
    /// Lockfile, skill or folder of skills to import [default: every source that exists]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// Project alias, or a path inside a project [default: the enclosing project]
    #[arg(long, value_name = "TARGET", conflicts_with = "global", add = term::names(crate::completion::projects))]
    project: Option<String>,
    /// Import into the global scope
    #[arg(long)]
    global: bool,
    /// Turn plain folders into repositories, and move folders that block the install to .agents/backups
    #[arg(long)]
    adopt: bool,
    /// Print what would be imported, without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Do not use the network; nothing is cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
    /// Print JSON
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
            // The project may not have a Skillfile yet; the import creates it.
            Err(_) if args.project.is_none() => context.cwd.clone(),
            Err(failure) => return Err(failure),
        }
    };
    if args.adopt && !args.global {
        // A checkout may contain symlinks to any place, so nothing is moved through one.
        refuse_link(&root, &[".agents", ".agents/backups", SKILLS, ".claude", ".claude/skills"])?;
    }
    let ImportSearch { candidates, mut skipped } = find(context, args, &root)?;
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
            skipped.push(SkippedJson { name, reason: ALREADY_DECLARED.to_owned() });
        } else if !seen.insert(name.clone()) {
            skipped.push(SkippedJson {
                name,
                reason: "already imported from another source".to_owned(),
            });
        } else {
            match declarer.declaration(&candidate) {
                Ok(declaration) => imported.push((candidate, declaration)),
                Err(reason) => skipped.push(SkippedJson { name, reason }),
            }
        }
    }
    let mut output = ImportJson {
        version: VERSION,
        skillfile: path.to_string(),
        imported: Vec::new(),
        skipped,
        notes: declarer.notes,
        written: false,
    };
    for (candidate, declaration) in &imported {
        output.imported.push(ImportedJson {
            name: candidate.name.clone(),
            from: candidate.from.clone(),
            declared: declaration_line(declaration),
        });
    }
    if !imported.is_empty() && !args.dry_run {
        // The file may have changed while repositories were cloned.
        let _lock = context.lock()?;
        let written = write(&root, &config, &imported)?;
        output.imported.retain(|one| written.contains(&one.name));
        imported.retain(|(candidate, _)| {
            let is_written = written.contains(&candidate.name);
            if !is_written {
                let (name, reason) = (candidate.name.clone(), DECLARED_MEANWHILE.to_owned());
                output.skipped.push(SkippedJson { name, reason });
            }
            is_written
        });
        output.written = true;
    }
    let target = scope(context, &config, args, &root)?;
    // A folder can block the install of a skill that was declared before.
    let names = imported.iter().map(|(_, declaration)| declaration.name.clone());
    let names = names.chain(known.iter().filter_map(|name| Identifier::new(name.as_str()).ok()));
    for name in names.collect::<Vec<_>>() {
        for folder in blocking_paths(&target, &name) {
            if !args.adopt || args.dry_run {
                let note = if args.adopt {
                    format!("`{folder}` would be moved to .agents/backups (dry-run)")
                } else {
                    format!(
                        "`{folder}` blocks `csk install`; use --adopt to move it to .agents/backups"
                    )
                };
                output.notes.push(note);
            } else {
                match move_to_backups(&root, &name, &folder) {
                    Ok(backup) => output.notes.push(format!("moved `{folder}` to `{backup}`")),
                    Err(reason) => {
                        output.skipped.push(SkippedJson { name: name.to_string(), reason });
                    }
                }
            }
        }
    }
    print_output(context, args, &output)?;
    // A skill that was already declared does not count as a failure.
    Ok(ExitCode::failed_if(output.skipped.iter().any(|skipped| skipped.reason != ALREADY_DECLARED)))
}

const ALREADY_DECLARED: &str = "already declared";
/// The reason for a skill that another process declared while its repository was cloned.
const DECLARED_MEANWHILE: &str = "declared by another process in the meantime";

/// Returns the project or global scope to import into, as it is now.
fn scope(
    context: &Context,
    config: &Config,
    args: &ImportArgs,
    root: &AbsPath,
) -> anyhow::Result<Target> {
    let is_there = root.join(SKILLFILE).as_path().is_file();
    if args.global && is_there {
        let found = global::selected(context, config)?.targets.pop();
        return Ok(found.ok_or_else(|| Failure::usage("cannot read the global scope"))?);
    }
    let file = if is_there { read_valid_skillfile(root, config)?.1 } else { Skillfile::default() };
    Ok(target(&location_of(config, root.clone()), file, config))
}

/// Returns the text of the Skillfile, or of an empty one if it is missing, and the names of its skills.
fn skillfile(root: &AbsPath, config: &Config) -> anyhow::Result<(String, BTreeSet<String>)> {
    let text = read_text(&root.join(SKILLFILE));
    if text?.is_none() {
        return Ok((Skillfile::minimal(), BTreeSet::new()));
    }
    let (text, file) = read_valid_skillfile(root, config)?;
    Ok((text, file.skills.iter().map(|skill| skill.name.to_string()).collect()))
}

/// Writes the declarations to the Skillfile. Returns the names that were not declared by another process meanwhile.
#[expect(clippy::disallowed_methods, reason = "the edge: creates the folder of the global scope")]
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
            .ok_or_else(|| Failure::usage(format!("cannot edit `{path}`")))?;
        written.insert(declaration.name.to_string());
    }
    // Skills that came from Claude Code's folder should stay available there.
    let of_claude =
        |(candidate, _): &(Candidate, Declaration)| candidate.from.contains("/.claude/skills/");
    if config.default_agents.is_empty() && imported.iter().any(of_claude) {
        text = text.replace(r#""agents": []"#, r#""agents": ["claude_code"]"#);
    }
    if let (None, problems) = Skillfile::parse(path.as_str(), &text, &config.agents) {
        return Err(Failure::malformed(text, problems).into());
    }
    std::fs::create_dir_all(root.as_path())
        .map_err(|error| Failure::files(format!("cannot create `{root}`"), error))?;
    write_file(&path, text.as_bytes())?;
    Ok(written)
}

fn print_output(
    context: &mut Context,
    args: &ImportArgs,
    output: &ImportJson,
) -> anyhow::Result<()> {
    if args.json {
        return Ok(context.ui.json(output)?);
    }
    let result = if args.dry_run { "would be added (dry-run)" } else { "added" };
    for one in &output.imported {
        let line = format!("{} {result}: {} (from {})", one.name, one.declared, one.from);
        context.ui.done(&format!("{}\n", safe_line(&line)))?;
    }
    for one in &output.skipped {
        context.ui.error(&format!(
            "{}: skipped: {}\n",
            safe_line(&one.name),
            safe_line(&one.reason)
        ))?;
    }
    for note in &output.notes {
        context.ui.error(&format!("note: {}\n", safe_line(note)))?;
    }
    if output.written && args.global {
        context.ui.note("next: run `csk lock --global`, then `csk global install`\n")?;
    } else if output.written {
        context.ui.note("next: run `csk lock`, then `csk install --fix-gitignore`\n")?;
    } else if output.imported.is_empty() && output.skipped.is_empty() {
        context.ui.note("nothing to import\n")?;
    }
    Ok(())
}

fn declaration_line(declaration: &Declaration) -> String {
    let from = declaration.git.as_deref().map(redacted);
    let from = from.unwrap_or_else(|| declaration.source.to_string());
    let path = declaration.path.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
    let reference = &declaration.reference;
    format!("{from}{path} {} {}", reference.kind.as_str(), reference.name)
}
