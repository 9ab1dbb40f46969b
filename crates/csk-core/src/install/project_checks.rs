//! Checks whether csk may write to a project: symlinks on the way, since a checkout may contain symlinks to anywhere;
//! what git tracks and ignores; and the user's own programs with the same name as a command.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use skill_fs::{AbsPath, write_file};

use super::hook::shadowing;
use super::observe::ObservedAdapter;
use super::plan::{IgnoreFile, IgnoreRules};
use super::{AgentsFrom, BIN, Environment, Observed, Plan, ProjectError, SKILLS, Target};
use crate::git::checkout::{ExcludeFile, exclude_file, tracked};
use crate::{CommandOrder, Scope, not_ignored, with_block};

/// The folders below `.agents` that csk writes to.
const OWN: [&str; 4] = [SKILLS, BIN, ".agents/backups", ".agents/.csk-stage"];

/// What conflicts with a project's commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandConflicts {
    /// A file in csk's command folder that git tracks.
    pub(super) tracked: Option<String>,
    /// Warnings about commands that one of the user's programs shadows.
    pub(super) shadowed: Vec<String>,
}

/// Entries that git does not ignore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UnignoredEntries {
    pub(super) entries: Vec<String>,
    /// A rule that no entry in the project's `.gitignore` can override.
    pub(super) rule: Option<String>,
    /// Whether only this machine needs the entries: they are folders of agents that csk detected here.
    pub(super) is_private: bool,
}

/// Finds conflicts with the commands of a plan, if it changes anything or the command folder is not empty.
pub(super) fn command_conflicts(
    environment: &Environment,
    target: &Target,
    observed: &Observed,
    plan: &Plan,
) -> Result<CommandConflicts, ProjectError> {
    let has_bin = observed.bin != ObservedAdapter::default();
    if !plan.collisions.is_empty() || (plan.is_empty() && !has_bin) {
        return Ok(CommandConflicts::default());
    }
    let tracked = tracked_command(target)?;
    Ok(CommandConflicts { tracked, shadowed: shadowed(environment, target, plan) })
}

/// Returns the entries written by a plan that git does not ignore.
pub(super) fn unignored_by_plan(
    target: &Target,
    plan: &Plan,
) -> Result<UnignoredEntries, ProjectError> {
    let writes = plan.collisions.is_empty() && !plan.is_empty();
    match target.scope {
        Scope::Project if writes => unignored_entries(target),
        Scope::Project | Scope::Global => Ok(UnignoredEntries::default()),
    }
}

/// Returns a tracked file in the command folder: a pull could put an untrusted program on PATH.
fn tracked_command(target: &Target) -> Result<Option<String>, ProjectError> {
    match target.scope {
        Scope::Global => Ok(None),
        Scope::Project => {
            tracked(&target.root, BIN).map_err(|error| ProjectError::Files(error.to_string()))
        }
    }
}

/// Refuses a project whose repository tracks files in the command folder.
pub(crate) fn check_tracked(target: &Target) -> Result<(), ProjectError> {
    tracked_command(target)?.map_or(Ok(()), |path| Err(ProjectError::Tracked(path)))
}

/// Returns the first symlink on the path to a folder of the project.
pub(super) fn symlink_on_path(target: &Target, folder: &str) -> io::Result<Option<AbsPath>> {
    // The home folder is the user's, who may use symlinks there.
    let (mut path, parts) = match folder.strip_prefix("~/") {
        Some(_) => return Ok(None),
        None => (target.root.clone(), folder.split('/')),
    };
    for part in parts {
        path = path.join(part);
        match fs::symlink_metadata(path.as_path()) {
            Ok(metadata) if metadata.is_symlink() => return Ok(Some(path)),
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Refuses a project in which csk would write through a symlink.
pub(crate) fn check_links(target: &Target) -> Result<(), ProjectError> {
    for folder in OWN.map(str::to_owned).into_iter().chain(target.adapters()) {
        match symlink_on_path(target, &folder) {
            Ok(None) => {}
            Ok(Some(path)) => return Err(ProjectError::Link(path.to_string())),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", target.root);
                return Err(ProjectError::Files(message));
            }
        }
    }
    Ok(())
}

/// Adds a plan's ignore rules and checks that git then ignores what csk writes.
pub(super) fn write_ignore(target: &Target, plan: &Plan) -> Result<(), ProjectError> {
    write_rules(target, &plan.ignore)
}

fn write_rules(target: &Target, rules: &IgnoreRules) -> Result<(), ProjectError> {
    let IgnoreRules { file, entries } = rules;
    if entries.is_empty() {
        return Ok(());
    }
    let (path, entries) = match file {
        IgnoreFile::Shared => (target.root.join(".gitignore"), entries.clone()),
        // These rules are relative to the root of the repository, which may be above the project.
        IgnoreFile::Private => {
            let entries = entries.iter().map(|entry| format!("**/{entry}")).collect();
            match exclude_file(&target.root) {
                Ok(ExcludeFile::File(path)) => (path, entries),
                Ok(ExcludeFile::NoRepository | ExcludeFile::Elsewhere(_)) => {
                    return Err(ProjectError::NotIgnored(rules.entries.clone()));
                }
                Err(error) => return Err(ProjectError::Files(error.to_string())),
            }
        }
    };
    let old = match fs::read_to_string(path.as_path()) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ProjectError::Files(format!("cannot read `{path}`: {error}"))),
    };
    let text = with_block(&old, &entries.join("\n"));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder.as_path())
            .map_err(|error| ProjectError::Files(format!("cannot create `{folder}`: {error}")))?;
    }
    write_file(&path, text.as_bytes()).map_err(|error| ProjectError::Files(error.to_string()))?;
    match unignored(target)? {
        still if still.is_empty() => Ok(()),
        still => Err(ProjectError::NotIgnored(still)),
    }
}

/// Adds the missing ignore rules of a project to its `.gitignore`; returns them.
pub fn add_ignore_rules(target: &Target) -> Result<IgnoreRules, ProjectError> {
    let rules = IgnoreRules { file: IgnoreFile::Shared, entries: unignored(target)? };
    write_rules(target, &rules)?;
    Ok(rules)
}

/// Returns the ignore entries of a project that are not in effect yet.
pub fn unignored(target: &Target) -> Result<Vec<String>, ProjectError> {
    unignored_entries(target).map(|open| open.entries)
}

fn unignored_entries(target: &Target) -> Result<UnignoredEntries, ProjectError> {
    let entries = target.ignore_entries();
    // Tests actual paths, since rules may treat files in a folder differently.
    let probes: Vec<(&String, String)> =
        entries.iter().flat_map(|entry| probes(target, entry)).collect();
    let paths: Vec<String> = probes.iter().map(|(_, probe)| probe.clone()).collect();
    let open = not_ignored(&target.root, &paths)
        .map_err(|error| ProjectError::Files(error.to_string()))?;
    // Git reads no rules below an ignored folder, so only rules above an entry's folder can override it.
    let overrules = |(entry, probe): &(&String, String)| {
        let rule = open.iter().find(|one| one.path == *probe)?.rule.as_ref()?;
        let folder = Path::new(entry.trim_end_matches('/'));
        let is_above = folder != rule.folder && folder.starts_with(&rule.folder);
        is_above.then(|| rule.shown.clone())
    };
    let rule = probes.iter().find_map(overrules);
    let open: BTreeSet<String> = open.into_iter().map(|one| one.path).collect();
    let mut entries: Vec<String> = probes
        .into_iter()
        .filter(|(_, probe)| open.contains(probe))
        .map(|(entry, _)| entry.clone())
        .collect();
    entries.dedup();
    let is_private = target.agents_from == AgentsFrom::Detection
        && entries.iter().all(|entry| entry != ".agents/")
        && matches!(exclude_file(&target.root), Ok(ExcludeFile::File(_)));
    Ok(UnignoredEntries { entries, rule, is_private })
}

/// Returns paths that csk writes in the folder of an ignore entry.
fn probes<'a>(target: &Target, entry: &'a String) -> Vec<(&'a String, String)> {
    let below: Vec<String> = if entry == ".agents/" {
        let own = OWN.iter().map(|folder| format!("{folder}/"));
        // Git refuses to look behind a symlink in place of a skill.
        let is_link = |path: &str| target.root.join(path).as_path().is_symlink();
        let skills = target.skills.iter().map(|skill| {
            let folder = format!("{SKILLS}/{}", skill.name);
            if is_link(&folder) { folder } else { format!("{folder}/SKILL.md") }
        });
        own.map(|folder| format!("{folder}.csk-probe")).chain(skills).collect()
    } else {
        let ledger = std::iter::once(format!("{entry}{}", skill::LEDGER_FILE));
        let skills = target.skills.iter().map(|skill| format!("{entry}{}", skill.name));
        ledger.chain(skills).collect()
    };
    below.into_iter().map(|probe| (entry, probe)).collect()
}

/// Returns warnings about new commands that one of the user's programs shadows.
fn shadowed(environment: &Environment, target: &Target, plan: &Plan) -> Vec<String> {
    if target.order == CommandOrder::First {
        return Vec::new();
    }
    let path = environment.path.as_deref().unwrap_or_default();
    let made = plan.skills.iter().flat_map(|skill| {
        let made = skill.commands.iter().filter(|change| change.target.is_some());
        made.map(|change| (&skill.name, change.command.as_str()))
    });
    made.filter_map(|(skill, command)| {
        let other = shadowing(&environment.home, &target.folder(BIN), path, command)?;
        Some(format!(
            "command `{command}` from `{skill}` is shadowed by `{}`, which comes first on PATH; \
             to put skill commands first, set `commands_first` in config.json",
            other.display()
        ))
    })
    .collect()
}
