//! `csk import`: skills that another manager installed, or that lie in an agent's folder, become declared ones.

#![expect(clippy::disallowed_methods, reason = "the edge: files of other programs")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use csk_core::install::inspect;
use csk_core::output::{ImportJson, ImportedJson, LeftJson, VERSION};
use csk_core::{
    AbsPath, Config, Declaration, ForeignOrigin, ForeignSkill, LEDGER_FILE, Ledger, Reference,
    Repository, SKILLFILE, Skillfile, make_repository, origin, read_foreign_lock, read_text,
    set_skill, write_file,
};
use skill::{Identifier, RefKind, SKILL_FILE, is_commit_id};
use term::safe_line;

use crate::commands::add::{good_file, project_root};
use crate::commands::install::network;
use crate::context::Context;
use crate::failure::Failure;

const AFTER: &str = "\
Purpose: declares in Skillfile.json what another manager installed, or what lies in the folder of an agent.

  skills-lock.json          of a project (version 1)
  ~/.agents/.skill-lock.json  of the user (version 3); with --global
  .claude/skills            and any other folder of skills: one that is a git repository is declared by its origin; \
with --adopt a plain folder becomes a repository under skills_root, and the folder itself is moved to .agents/backups

Without FROM, those that are there are read. Each skill is cloned and looked at before it is declared; what cannot be had is \
told and left. Files of other managers are not changed. `csk lock` and `csk install` come next.

Reads:  config.json, Skillfile.json, the files named above
Writes: Skillfile.json (made if it is missing); skills_root, for repositories that are cloned or made; with --adopt \
.agents/backups

Exit codes:
  0  everything was imported
  1  something was left, the rest was imported
  2  usage or configuration; nothing was written

Examples:
  csk import --dry-run
  csk import skills-lock.json
  csk import .claude/skills --adopt
  csk import --global";

/// Declare what another manager installed
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct ImportArgs {
    /// A lock file, or a folder of skills [default: all that are there]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// A project: its alias, or a path in it [default: the project here]
    #[arg(long, value_name = "TARGET", conflicts_with = "global", add = term::names(crate::known::projects))]
    project: Option<String>,
    /// Into the global scope
    #[arg(long)]
    global: bool,
    /// Make repositories of plain folders, and move the folders to the backups
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

/// A skill to import, and where it was known.
struct Candidate {
    from: String,
    skill: ForeignSkill,
    /// The folder, where it is a plain one that would be adopted.
    folder: Option<AbsPath>,
}

pub(crate) fn import(context: &mut Context, args: &ImportArgs) -> Result<u8, Failure> {
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
    let candidates = candidates(context, args, &root)?;
    let path = root.join(SKILLFILE);
    let is_new = read_text(&path).map_err(|error| Failure::usage(error.to_string()))?.is_none();
    let (mut text, file) = if is_new {
        (Skillfile::minimal(), None)
    } else {
        let (text, file) = good_file(&root, &config)?;
        (text, Some(file))
    };
    let declared: BTreeSet<String> =
        file.iter().flat_map(|file| &file.skills).map(|skill| skill.name.to_string()).collect();
    let mut told = ImportJson {
        version: VERSION,
        skillfile: path.to_string(),
        imported: Vec::new(),
        left: Vec::new(),
        written: false,
    };
    let mut adopted = Vec::new();
    let mut seen = declared.clone();
    for candidate in candidates {
        let name = candidate.skill.name.clone();
        if !seen.insert(name.clone()) {
            let why = if declared.contains(&name) {
                "is declared already"
            } else {
                "was imported from elsewhere"
            };
            told.left.push(LeftJson { name, why: format!("it {why}") });
            continue;
        }
        match declaration(context, &config, args, &candidate) {
            Ok(declaration) => {
                text = set_skill(&text, &declaration)
                    .ok_or_else(|| Failure::usage(format!("{path} cannot be edited")))?;
                let declared = words(&declaration);
                told.imported.push(ImportedJson { name, from: candidate.from, declared });
                adopted.extend(candidate.folder.map(|folder| (declaration.name, folder)));
            }
            Err(why) => told.left.push(LeftJson { name, why }),
        }
    }
    if !told.imported.is_empty() && !args.dry_run {
        if let (None, problems) = Skillfile::parse(path.as_str(), &text, &config.agents) {
            return Err(Failure::File { text, problems });
        }
        let _lock = context.lock()?;
        fs::create_dir_all(root.as_path())
            .map_err(|error| Failure::usage(format!("cannot make {root}: {error}")))?;
        write_file(&path, text.as_bytes()).map_err(|error| Failure::usage(error.to_string()))?;
        for (name, folder) in &adopted {
            put_away(&root, name, folder)?;
        }
        told.written = true;
    }
    tell(context, args, &told)?;
    // What was declared before was no failure.
    let is_open = |left: &LeftJson| !left.why.ends_with("is declared already");
    Ok(u8::from(told.left.iter().any(is_open)))
}

fn tell(context: &mut Context, args: &ImportArgs, told: &ImportJson) -> Result<(), Failure> {
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
    if told.written {
        context.ui.note("next: csk lock, then csk install --fix-gitignore\n")?;
    } else if told.imported.is_empty() && told.left.is_empty() {
        context.ui.note("there is nothing to import\n")?;
    }
    Ok(())
}

/// Finds what can be imported.
fn candidates(
    context: &Context,
    args: &ImportArgs,
    root: &AbsPath,
) -> Result<Vec<Candidate>, Failure> {
    if let Some(from) = &args.from {
        let path = context.cwd.join(from);
        let found = fs::metadata(path.as_path())
            .map_err(|error| Failure::usage(format!("cannot read {from}: {error}")))?;
        return if found.is_dir() { in_folder(&path) } else { in_lock(&path) };
    }
    let (locks, folders) = match (&context.user_home, args.global) {
        (Some(home), true) => {
            (vec![home.join(".agents/.skill-lock.json")], vec![home.join(".claude/skills")])
        }
        (None, true) => return Err(Failure::usage("HOME is not set")),
        (_, false) => (vec![root.join("skills-lock.json")], vec![root.join(".claude/skills")]),
    };
    let mut all = Vec::new();
    for lock in locks.iter().filter(|lock| lock.as_path().is_file()) {
        all.extend(in_lock(lock)?);
    }
    for folder in folders.iter().filter(|folder| folder.as_path().is_dir()) {
        let known: BTreeSet<String> =
            all.iter().map(|one: &Candidate| one.skill.name.clone()).collect();
        all.extend(in_folder(folder)?.into_iter().filter(|one| !known.contains(&one.skill.name)));
    }
    Ok(all)
}

fn in_lock(path: &AbsPath) -> Result<Vec<Candidate>, Failure> {
    let text = read_text(path).map_err(|error| Failure::usage(error.to_string()))?;
    let skills =
        read_foreign_lock(path.as_str(), &text.unwrap_or_default()).map_err(Failure::usage)?;
    let from = path.file_name().unwrap_or_default().to_owned();
    let candidate = |skill| Candidate { from: from.clone(), skill, folder: None };
    Ok(skills.into_iter().map(candidate).collect())
}

/// Finds the skills in a folder of an agent. What csk put there is declared already.
fn in_folder(folder: &AbsPath) -> Result<Vec<Candidate>, Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::usage(format!("cannot read {folder}: {error}"));
    let ledger = read_text(&folder.join(LEDGER_FILE)).map_err(|error| failed(&error))?;
    let ledger = match ledger {
        None => Ledger::default(),
        Some(text) => match Ledger::parse(folder.join(LEDGER_FILE).as_str(), &text) {
            (Some(ledger), _) => ledger,
            // Else what csk itself put there would be taken for somebody's own.
            (None, problems) => return Err(Failure::File { text, problems }),
        },
    };
    let mut names: Vec<String> = fs::read_dir(folder.as_path())
        .map_err(|error| failed(&error))?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !ledger.entries.iter().any(|own| own.as_str() == name))
        .collect();
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let place = folder.join(&name);
        let is_link = fs::symlink_metadata(place.as_path()).is_ok_and(|found| found.is_symlink());
        if !place.join(SKILL_FILE).as_path().is_file() {
            continue;
        }
        let (skill, folder) = if is_link {
            let why = "it is a link; import what it leads to".to_owned();
            (ForeignSkill { name, origin: Err(why) }, None)
        } else if place.join(".git").as_path().exists() {
            (ForeignSkill { origin: of_repository(&place, &name), name }, None)
        } else {
            let why = "it is a plain folder; --adopt makes a repository of it".to_owned();
            (ForeignSkill { name, origin: Err(why) }, Some(place.clone()))
        };
        all.push(Candidate { from: place.to_string(), skill, folder });
    }
    Ok(all)
}

/// Says where the repository that a folder is comes from.
fn of_repository(folder: &AbsPath, name: &str) -> Result<ForeignOrigin, String> {
    let url = origin(folder).map_err(|error| error.to_string())?;
    let git = url.ok_or_else(|| "it is a git repository without an origin".to_owned())?;
    let head = fs::read_to_string(folder.join(".git/HEAD").as_path()).unwrap_or_default();
    let branch = head.trim().strip_prefix("ref: refs/heads/").unwrap_or(head.trim()).to_owned();
    let source = Identifier::new(name).map_err(|error| error.to_string())?;
    let reference = Some(branch).filter(|branch| !branch.is_empty());
    Ok(ForeignOrigin { source, git, path: None, reference })
}

/// Makes a declaration, and makes sure that it can be had.
fn declaration(
    context: &Context,
    config: &Config,
    args: &ImportArgs,
    candidate: &Candidate,
) -> Result<Declaration, String> {
    let name = Identifier::new(candidate.skill.name.as_str()).map_err(|error| error.to_string())?;
    if let Some(folder) = candidate.folder.as_ref().filter(|_| args.adopt) {
        return adopt(config, args, name, folder);
    }
    let origin = candidate.skill.origin.clone()?;
    let environment = context.environment(config);
    let made = |reference: Reference| Declaration {
        name: name.clone(),
        source: origin.source.clone(),
        git: Some(origin.git.clone()),
        path: origin.path.clone(),
        reference,
    };
    let place = config.skills_root.join(origin.source.as_str());
    let is_there = place.as_path().exists();
    if args.dry_run && !is_there {
        // Nothing is cloned, so nobody knows what the reference is.
        let kind = match &origin.reference {
            Some(name) if is_commit_id(name) => RefKind::Revision,
            _ => RefKind::Branch,
        };
        let name = origin.reference.clone().unwrap_or_else(|| "main".to_owned());
        return Ok(made(Reference { kind, name }));
    }
    let candidates = references(&place, origin.reference.as_deref());
    let mut last = "its repository has no branch".to_owned();
    for reference in candidates {
        let declaration = made(reference);
        let progress = context.progress();
        match inspect(&environment, &declaration, network(args.offline), &progress) {
            Ok(_) => return Ok(declaration),
            Err(error) => {
                let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
                last = format!("{error}{hint}");
            }
        }
        // The first look clones it; then it is known what it has.
        if !is_there && place.as_path().exists() && origin.reference.is_none() {
            for reference in references(&place, None) {
                let declaration = made(reference);
                if inspect(&environment, &declaration, network(true), &progress).is_ok() {
                    return Ok(declaration);
                }
            }
        }
    }
    Err(last)
}

/// Returns what a name may mean, or what a repository follows where there is none.
fn references(place: &AbsPath, name: Option<&str>) -> Vec<Reference> {
    let of = |kind: RefKind, name: &str| Reference { kind, name: name.to_owned() };
    match name {
        Some(name) if is_commit_id(name) => vec![of(RefKind::Revision, name)],
        Some(name) => vec![of(RefKind::Tag, name), of(RefKind::Branch, name)],
        None => {
            let own =
                Repository::open(place).ok().and_then(|repository| repository.default_branch());
            let usual = ["main", "master"].map(str::to_owned);
            own.into_iter().chain(usual).map(|name| of(RefKind::Branch, &name)).collect()
        }
    }
}

/// Makes a repository of a plain folder.
fn adopt(
    config: &Config,
    args: &ImportArgs,
    name: Identifier,
    folder: &AbsPath,
) -> Result<Declaration, String> {
    let place = config.skills_root.join(name.as_str());
    if fs::symlink_metadata(place.as_path()).is_ok() {
        return Err(format!("{place} is there already"));
    }
    if !args.dry_run {
        copy(folder.as_path(), place.as_path())
            .map_err(|error| format!("cannot be copied to {place}: {error}"))
            .and_then(|()| {
                make_repository(&place, &format!("{name}, as it was imported"))
                    .map_err(|error| error.to_string())
            })
            .inspect_err(|_| {
                // Half of a repository would be in the way of the next try.
                let _ = fs::remove_dir_all(place.as_path());
            })?;
    }
    let reference = Reference { kind: RefKind::Branch, name: "main".to_owned() };
    Ok(Declaration { source: name.clone(), name, git: None, path: None, reference })
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&path, &place)?;
        } else if kind.is_file() {
            fs::copy(&path, &place)?;
        } else {
            let message = format!("{} is a link, or no file", path.display());
            return Err(std::io::Error::other(message));
        }
    }
    Ok(())
}

/// Moves a folder that was adopted to the backups, so that csk's entry can take its place.
fn put_away(root: &AbsPath, name: &Identifier, folder: &AbsPath) -> Result<(), Failure> {
    let backups = root.join(".agents/backups");
    let failed = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{folder} cannot be moved to {backups}: {error}"))
            .with_hint("it is declared; move the folder yourself, then run `csk install`")
    };
    fs::create_dir_all(backups.as_path()).map_err(|error| failed(&error))?;
    let place = (0..1000)
        .map(|number| backups.join(format!("{name}-imported-{number}")))
        .find(|place| fs::symlink_metadata(place.as_path()).is_err())
        .ok_or_else(|| failed(&"there are too many"))?;
    fs::rename(folder.as_path(), place.as_path()).map_err(|error| failed(&error))
}

fn words(declaration: &Declaration) -> String {
    let from = declaration.git.clone().unwrap_or_else(|| declaration.source.to_string());
    let path = declaration.path.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
    let reference = &declaration.reference;
    format!("{from}{path} {} {}", reference.kind.as_str(), reference.name)
}
