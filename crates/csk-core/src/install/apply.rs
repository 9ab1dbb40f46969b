//! Performs a plan: each skill by itself, staged and put in place in one step.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::sync::Arc;

use rayon::prelude::*;
use skill::{Identifier, MARKER_FILE, Marker};
use skill_fs::{AbsPath, FsError, Kind, Replaced, Root, WalkLimits, replace_folder, walk};

use super::journal::{Journal, backup_place, is_ours, is_pristine, stage, write_ledger};
use super::plan::{Adapter, Group, Plan, link_text};
use super::{Observed, Prepared, SKILLS, SkillError, Target};
use crate::sys::{make_executable, make_link};
use crate::{Declaration, File, FileKind};

/// What became of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The skill.
    pub name: Identifier,
    /// Where things of the user were kept, if there were any.
    pub backups: Vec<String>,
    /// Why it failed; then what was there before is still there.
    pub error: Option<SkillError>,
}

/// Everything that a group needs beside itself.
struct Work<'a> {
    /// What is to be done.
    group: &'a Group,
    /// The declaration; none for a removal.
    declaration: Option<&'a Declaration>,
    /// The files, where they are written.
    prepared: Option<Arc<Prepared>>,
}

/// Performs `plan` in `target`. `prepared` holds the files of every group that writes some; `now` is the
/// time that markers tell.
pub fn apply(
    target: &Target,
    plan: &Plan,
    observed: &Observed,
    prepared: &BTreeMap<Identifier, Arc<Prepared>>,
    now: &str,
) -> Result<Vec<Applied>, FsError> {
    let groups: Vec<&Group> =
        plan.removals.iter().chain(&plan.skills).filter(|group| !group.is_empty()).collect();
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    announce(&groups, observed).begin(target)?;
    let run = |group: &&Group| {
        let declaration = target.skills.iter().find(|skill| skill.name == group.name);
        let prepared = prepared.get(&group.name).map(Arc::clone);
        perform(target, &Work { group, declaration, prepared }, now)
    };
    // Removals first, so that nothing new meets what is going away.
    let (removals, rest): (Vec<&Group>, Vec<&Group>) =
        groups.into_iter().partition(|group| group.remove);
    let mut applied: Vec<Applied> = removals.par_iter().map(run).collect();
    applied.par_extend(rest.par_iter().map(run));
    settle(target, plan, observed, &applied)?;
    Journal::end(target)?;
    Ok(applied)
}

/// Returns the journal of what is about to be made and is in no ledger yet.
fn announce(groups: &[&Group], observed: &Observed) -> Journal {
    let mut journal = Journal::default();
    for group in groups {
        if group.install.is_some() && !observed.ledger.entries.contains(&group.name) {
            journal.adds.entry(SKILLS.to_owned()).or_default().push(group.name.clone());
        }
        for adapter in group.adapters.iter().filter(|adapter| adapter.present) {
            let known = observed
                .adapters
                .get(&adapter.folder)
                .is_some_and(|known| known.ledger.entries.contains(&group.name));
            if !known {
                journal.adds.entry(adapter.folder.clone()).or_default().push(group.name.clone());
            }
        }
    }
    journal
}

/// Brings the ledgers up to date with what was done.
fn settle(
    target: &Target,
    plan: &Plan,
    observed: &Observed,
    applied: &[Applied],
) -> Result<(), FsError> {
    let mut ledgers: BTreeMap<&str, _> = BTreeMap::from([(SKILLS, observed.ledger.clone())]);
    for (folder, adapter) in &observed.adapters {
        ledgers.insert(folder, adapter.ledger.clone());
    }
    let failed =
        |name: &Identifier| applied.iter().any(|done| done.name == *name && done.error.is_some());
    for group in plan.removals.iter().chain(&plan.skills) {
        if failed(&group.name) {
            // What it made before it failed is csk's all the same, and what it took away is gone.
            for (folder, ledger) in &mut ledgers {
                let root = target.root.join(folder);
                if is_ours(&root, folder, &group.name) {
                    ledger.entries.insert(group.name.clone());
                }
            }
            continue;
        }
        if let Some(ledger) = ledgers.get_mut(SKILLS) {
            if group.remove {
                ledger.entries.remove(&group.name);
            } else if group.install.is_some() {
                ledger.entries.insert(group.name.clone());
            }
        }
        for adapter in &group.adapters {
            let ledger = ledgers.entry(adapter.folder.as_str()).or_default();
            if adapter.present {
                ledger.entries.insert(group.name.clone());
            } else {
                ledger.entries.remove(&group.name);
            }
        }
    }
    for (folder, ledger) in ledgers {
        write_ledger(&target.root.join(folder), &ledger)?;
    }
    Ok(())
}

fn perform(target: &Target, work: &Work<'_>, now: &str) -> Applied {
    let mut applied = Applied { name: work.group.name.clone(), backups: Vec::new(), error: None };
    let done = steps(target, work, now, &mut applied.backups);
    applied.error = done.err();
    applied
}

fn steps(
    target: &Target,
    work: &Work<'_>,
    now: &str,
    backups: &mut Vec<String>,
) -> Result<(), SkillError> {
    let group = work.group;
    let place = target.skills_folder().join(group.name.as_str());
    for adapter in group.adapters.iter().filter(|adapter| !adapter.present) {
        put_aside(target, &adapter.folder, &group.name, now, backups)?;
    }
    if group.remove {
        put_aside(target, SKILLS, &group.name, now, backups)?;
    } else if group.install.is_some() {
        let (Some(prepared), Some(declaration)) = (&work.prepared, work.declaration) else {
            return Err(SkillError::Write(format!(
                "the files of {} were not prepared",
                group.name
            )));
        };
        let staged = stage(target).join(staged_name("new", SKILLS, &group.name));
        write_context(&staged, prepared, &marker(target, group, declaration, prepared, now))?;
        create_parent(&place)?;
        if group.edited {
            keep_edits(target, &group.name, now, backups)?;
        }
        replace_folder(&staged, &place).map_err(|error| write_error(&error))?;
    }
    for adapter in group.adapters.iter().filter(|adapter| adapter.present) {
        put_adapter(target, adapter, group, now, backups)?;
    }
    Ok(())
}

fn marker(
    target: &Target,
    group: &Group,
    declaration: &Declaration,
    prepared: &Prepared,
    now: &str,
) -> Marker {
    Marker {
        name: declaration.name.clone(),
        source: declaration.source.clone(),
        git: declaration.git.clone(),
        ref_kind: declaration.reference.kind,
        reference: declaration.reference.name.clone(),
        commit: group.commit.as_ref().map_or_else(String::new, |commit| commit.as_str().to_owned()),
        content_sha256: prepared.content,
        bundle_sha256: Some(prepared.bundle),
        locale: target.locale.clone(),
        agents: target.agent_ids(),
        commands: Vec::new(),
        installed_at: now.to_owned(),
        files: prepared.files.iter().map(|file| file.path.to_string()).collect(),
    }
}

/// Writes a context and its marker into a new folder.
fn write_context(folder: &AbsPath, prepared: &Prepared, marker: &Marker) -> Result<(), SkillError> {
    create(folder)?;
    let folders: BTreeSet<&str> =
        prepared.files.iter().flat_map(|file| parents(file.path.as_str())).collect();
    for inner in folders {
        let path = folder.join(inner);
        fs::create_dir(path.as_path()).map_err(|error| io_error(&path, &error))?;
    }
    for file in &prepared.files {
        write_one(&folder.join(file.path.as_str()), file, prepared)?;
    }
    let path = folder.join(MARKER_FILE);
    fs::write(path.as_path(), marker.to_json()).map_err(|error| io_error(&path, &error))
}

/// Returns the folders that hold a path, outermost first.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn write_one(path: &AbsPath, file: &File, prepared: &Prepared) -> Result<(), SkillError> {
    let failed = |error: io::Error| io_error(path, &error);
    if file.kind == FileKind::Link {
        return make_link(&file.text().unwrap_or_default(), path.as_path()).map_err(failed);
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if file.kind == FileKind::Executable {
        make_executable(&mut options);
    }
    let mut out = options.open(path.as_path()).map_err(failed)?;
    prepared.feed(&file.content, |bytes| out.write_all(bytes))
}

/// Makes an agent's entry, in the place of an older one.
fn put_adapter(
    target: &Target,
    adapter: &Adapter,
    group: &Group,
    now: &str,
    backups: &mut Vec<String>,
) -> Result<(), SkillError> {
    let place = target.root.join(&adapter.folder).join(group.name.as_str());
    let staged = stage(target).join(staged_name("new", &adapter.folder, &group.name));
    create_parent(&place)?;
    let links = target.adapter_mode.links();
    // What csk made of the same kind is replaced in one step; anything else is put aside first.
    let is_same_kind = is_real_folder(&place) != links
        && is_pristine(target, &adapter.folder, group.name.as_str());
    if !is_same_kind {
        put_aside(target, &adapter.folder, &group.name, now, backups)?;
    }
    if links {
        let text = link_text(&adapter.folder, group.name.as_str());
        make_link(&text, staged.as_path()).map_err(|error| io_error(&staged, &error))?;
        return fs::rename(staged.as_path(), place.as_path())
            .map_err(|error| io_error(&place, &error));
    }
    copy_folder(&target.skills_folder().join(group.name.as_str()), &staged)?;
    replace_folder(&staged, &place).map(|_: Replaced| ()).map_err(|error| write_error(&error))
}

/// Returns the name of an entry in the stage. `@` is in no identifier, so no two entries share a name.
fn staged_name(what: &str, folder: &str, name: &Identifier) -> String {
    format!("{what}@{name}@{}", folder.replace('/', "@"))
}

fn copy_folder(from: &AbsPath, to: &AbsPath) -> Result<(), SkillError> {
    create(to)?;
    let root = Root::open(from).map_err(|error| write_error(&error))?;
    for entry in walk(&root, &WalkLimits::SKILL).map_err(|error| write_error(&error))? {
        let (source, place) = (from.join(entry.path.as_str()), to.join(entry.path.as_str()));
        let done = match &entry.kind {
            Kind::Folder => fs::create_dir_all(place.as_path()),
            Kind::File { .. } => {
                create_parent(&place)?;
                fs::copy(source.as_path(), place.as_path()).map(|_| ())
            }
            Kind::Link(text) => {
                create_parent(&place)?;
                make_link(text, place.as_path())
            }
            Kind::Other(_) => Ok(()),
        };
        done.map_err(|error| io_error(&place, &error))?;
    }
    Ok(())
}

/// Keeps what the user made of an installed skill before it is replaced: a folder is copied, so that the
/// skill is there at every moment; anything else is moved.
fn keep_edits(
    target: &Target,
    name: &Identifier,
    now: &str,
    backups: &mut Vec<String>,
) -> Result<(), SkillError> {
    let place = target.skills_folder().join(name.as_str());
    if !is_real_folder(&place) {
        return put_aside(target, SKILLS, name, now, backups);
    }
    let kept = backup_place(target, &backup_name(SKILLS, name, now))
        .map_err(|error| write_error(&error))?;
    copy_folder(&place, &kept)?;
    backups.push(kept.to_string());
    Ok(())
}

fn backup_name(folder: &str, name: &Identifier, now: &str) -> String {
    let stamp: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
    match folder {
        SKILLS => format!("{name}-{stamp}"),
        _ => format!("{name}@{}-{stamp}", folder.trim_start_matches('.').replace('/', "-")),
    }
}

/// Moves an entry of csk's away, in one step. What is not exactly what csk made is the user's, and is kept.
fn put_aside(
    target: &Target,
    folder: &str,
    name: &Identifier,
    now: &str,
    backups: &mut Vec<String>,
) -> Result<(), SkillError> {
    let place = target.root.join(folder).join(name.as_str());
    if fs::symlink_metadata(place.as_path()).is_err() {
        return Ok(());
    }
    let to = if is_pristine(target, folder, name.as_str()) {
        stage(target).join(staged_name("old", folder, name))
    } else {
        let kept = backup_place(target, &backup_name(folder, name, now))
            .map_err(|error| write_error(&error))?;
        backups.push(kept.to_string());
        kept
    };
    fs::rename(place.as_path(), to.as_path()).map_err(|error| io_error(&place, &error))
}

fn is_real_folder(path: &AbsPath) -> bool {
    fs::symlink_metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir())
}

fn create_parent(path: &AbsPath) -> Result<(), SkillError> {
    path.parent().map_or(Ok(()), |parent| create(&parent))
}

fn create(folder: &AbsPath) -> Result<(), SkillError> {
    fs::create_dir_all(folder.as_path()).map_err(|error| io_error(folder, &error))
}

fn io_error(path: &AbsPath, error: &io::Error) -> SkillError {
    SkillError::Write(format!("cannot write {path}: {error}"))
}

fn write_error(error: &FsError) -> SkillError {
    SkillError::Write(error.to_string())
}
