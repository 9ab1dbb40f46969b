//! Performs a plan: each skill by itself, staged and put in place in one step.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use rayon::prelude::*;
use skill::{Digest, Identifier, Marker};
use skill_fs::{AbsPath, FsError, Replaced, Root, replace_folder, write_file};

use super::journal::{
    Journal, backup_place, is_made, is_pristine, is_untouched, remove_tree, stage, write_ledger,
};
use super::marking::{markers, settle_receipts};
use super::place_shims::put_shims;
use super::plan::{Adapter, Group, Plan};
use super::seen::Sight;
use super::write::{copy_context, create_parent, io_error, keep_copy, write_context, write_error};
use super::{BIN, Observed, Prepared, SKILLS, SkillError, Target};
use crate::AdapterMode;
use crate::sys::make_link;

/// What became of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The skill.
    pub name: Identifier,
    /// Where things of the user were kept, if there were any.
    pub backups: Vec<String>,
    /// Why it failed; then what was there before is still there.
    pub error: Option<SkillError>,
    /// The folders that were written or went away, and what to remember of them.
    seen: Vec<(String, Option<Sight>)>,
}

/// One group at work.
struct Work<'a> {
    target: &'a Target,
    /// What is to be done.
    group: &'a Group,
    /// What its marker is going to say, where it is installed.
    marker: Option<Marker>,
    /// The files, where they are written.
    prepared: Option<Arc<Prepared>>,
    /// The time that markers tell.
    now: &'a str,
    /// What was done so far.
    done: Applied,
}

/// Performs `plan` in `target`. `prepared` holds the files of every group that writes some; `now` is the
/// time that markers tell.
pub fn apply(
    target: &Target,
    plan: &Plan,
    observed: &mut Observed,
    prepared: &BTreeMap<Identifier, Arc<Prepared>>,
    now: &str,
) -> Result<Vec<Applied>, FsError> {
    if plan.is_empty() {
        return Ok(Vec::new());
    }
    let groups: Vec<&Group> =
        plan.removals.iter().chain(&plan.skills).filter(|group| !group.is_empty()).collect();
    announce(&groups, plan, observed).begin(target)?;
    let markers = markers(target, &groups, prepared, now);
    for (name, marker) in &markers {
        observed.receipts.add(name, Digest::of(marker.to_json().as_bytes()), marker.runtime_id());
        let own = prepared.get(name).and_then(|prepared| prepared.origin.as_deref());
        for origin in marker.git.as_deref().into_iter().chain(own) {
            observed.receipts.add_origin(name, origin);
        }
    }
    observed.receipts.save()?;
    let run = |group: &&Group| {
        let prepared = prepared.get(&group.name).map(Arc::clone);
        let (name, backups, seen) = (group.name.clone(), Vec::new(), Vec::new());
        let done = Applied { name, backups, error: None, seen };
        let marker = markers.get(&group.name).cloned();
        Work { target, group, marker, prepared, now, done }.perform()
    };
    // Removals first, so that nothing new meets what is going away.
    let (removals, rest): (Vec<&Group>, Vec<&Group>) =
        groups.into_iter().partition(|group| group.remove);
    let mut applied: Vec<Applied> = removals.par_iter().map(run).collect();
    applied.par_extend(rest.par_iter().map(run));
    let failed: BTreeSet<Identifier> =
        applied.iter().filter(|done| done.error.is_some()).map(|done| done.name.clone()).collect();
    put_shims(target, plan, observed, &failed)?;
    settle(target, plan, observed, &failed)?;
    settle_receipts(observed, &markers, &failed, plan)?;
    for file in &plan.env {
        write_file(&target.root.join(file.path), file.text.as_bytes())?;
    }
    for done in &mut applied {
        for (path, sight) in done.seen.drain(..) {
            observed.seen.remember(path, sight);
        }
    }
    Journal::end(target)?;
    Ok(applied)
}

/// Returns the journal of what is about to be made and is in no ledger yet.
fn announce(groups: &[&Group], plan: &Plan, observed: &Observed) -> Journal {
    let mut journal = Journal::default();
    for shim in plan.shims.iter().filter(|shim| shim.target.is_some()) {
        if !observed.bin.ledger.entries.contains(&shim.command) {
            journal.adds.entry(BIN.to_owned()).or_default().push(shim.command.clone());
        }
    }
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
    failed: &BTreeSet<Identifier>,
) -> Result<(), FsError> {
    let mut ledgers: BTreeMap<&str, _> =
        BTreeMap::from([(SKILLS, observed.ledger.clone()), (BIN, observed.bin.ledger.clone())]);
    for (folder, adapter) in &observed.adapters {
        ledgers.insert(folder, adapter.ledger.clone());
    }
    for group in plan.removals.iter().chain(&plan.skills) {
        if failed.contains(&group.name) {
            // What it made before it failed is csk's all the same, and what it took away is gone.
            for (folder, ledger) in ledgers.iter_mut().filter(|(folder, _)| **folder != BIN) {
                if is_made(target, folder, &group.name) {
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
        write_ledger(&target.folder(folder), &ledger)?;
    }
    Ok(())
}

impl Work<'_> {
    fn perform(mut self) -> Applied {
        self.done.error = self.steps().err();
        self.done
    }

    fn steps(&mut self) -> Result<(), SkillError> {
        let group = self.group;
        for adapter in group.adapters.iter().filter(|adapter| !adapter.present) {
            self.put_aside(&adapter.folder)?;
        }
        if group.remove {
            self.put_aside(SKILLS)?;
        } else if group.install.is_some() {
            self.install()?;
        }
        for adapter in group.adapters.iter().filter(|adapter| adapter.present) {
            self.put_adapter(adapter)?;
        }
        Ok(())
    }

    /// Writes the skill beside its place, then puts it there in one step.
    fn install(&mut self) -> Result<(), SkillError> {
        let (Some(prepared), Some(marker)) = (&self.prepared, self.marker.clone()) else {
            let name = &self.group.name;
            return Err(SkillError::Write(format!("the files of {name} were not prepared")));
        };
        let place = self.place(SKILLS);
        let staged = self.staged("new", SKILLS);
        let sight = write_context(&staged, prepared, &marker)?;
        create_parent(&place)?;
        if self.group.edited {
            self.keep_edits()?;
        }
        let replaced = replace_folder(&staged, &place).map_err(|error| write_error(&error))?;
        self.saw(SKILLS, sight);
        // Looked at once more now that nobody finds it: an edit may have come while this was prepared.
        let is_late_edit = replaced == Replaced::Exchanged
            && !self.group.edited
            && !Root::open(&staged).is_ok_and(|old| is_untouched(&old));
        if is_late_edit {
            let kept = self.backup(SKILLS)?;
            fs::rename(staged.as_path(), kept.as_path())
                .map_err(|error| io_error(&kept, &error))?;
            self.done.backups.push(kept.to_string());
        }
        Ok(())
    }

    /// Makes an agent's entry, in the place of an older one.
    fn put_adapter(&mut self, adapter: &Adapter) -> Result<(), SkillError> {
        let folder = adapter.folder.as_str();
        let (place, staged) = (self.place(folder), self.staged("new", folder));
        create_parent(&place)?;
        let links = self.target.adapter_mode.links();
        // What csk made of the same kind is replaced in one step; anything else is put aside first.
        let is_same_kind =
            is_real_folder(&place) != links && is_pristine(self.target, folder, &self.group.name);
        if !is_same_kind {
            self.put_aside(folder)?;
        }
        if links {
            let text = self.target.link_text(folder, &self.group.name);
            match make_link(&text, staged.as_path()) {
                Ok(()) => {
                    return fs::rename(staged.as_path(), place.as_path())
                        .map_err(|error| io_error(&place, &error));
                }
                // A file system without links.
                Err(_) if self.target.adapter_mode == AdapterMode::Auto => {}
                Err(error) => return Err(io_error(&staged, &error)),
            }
        }
        let sight = copy_context(&self.place(SKILLS), &staged)?;
        replace_folder(&staged, &place).map_err(|error| write_error(&error))?;
        self.saw(folder, sight);
        Ok(())
    }

    /// Keeps what the user made of an installed skill before it is replaced: a folder is copied, so that the
    /// skill is there at every moment; anything else is moved.
    fn keep_edits(&mut self) -> Result<(), SkillError> {
        let place = self.place(SKILLS);
        if !is_real_folder(&place) {
            return self.put_aside(SKILLS);
        }
        let kept = self.backup(SKILLS)?;
        if keep_copy(&place, &kept).is_err() {
            // Half a copy helps nobody. What cannot be copied, such as a FIFO, can be moved.
            let _ = remove_tree(&kept);
            return self.put_aside(SKILLS);
        }
        self.done.backups.push(kept.to_string());
        Ok(())
    }

    /// Moves an entry of csk's away, in one step. What is not exactly what csk made is the user's, and is
    /// kept.
    fn put_aside(&mut self, folder: &str) -> Result<(), SkillError> {
        let place = self.place(folder);
        if fs::symlink_metadata(place.as_path()).is_err() {
            return Ok(());
        }
        let to = if is_pristine(self.target, folder, &self.group.name) {
            self.staged("old", folder)
        } else {
            let kept = self.backup(folder)?;
            self.done.backups.push(kept.to_string());
            kept
        };
        self.saw(folder, None);
        fs::rename(place.as_path(), to.as_path()).map_err(|error| io_error(&place, &error))
    }

    /// Returns where the entry in `folder` is.
    fn place(&self, folder: &str) -> AbsPath {
        self.target.folder(folder).join(self.group.name.as_str())
    }

    /// Returns the place of an entry in the stage. `@` is in no identifier, so no two share a name.
    fn staged(&self, what: &str, folder: &str) -> AbsPath {
        let name = format!("{what}@{}@{}", self.group.name, folder.replace('/', "@"));
        stage(self.target).join(name)
    }

    /// Returns a free place for what is kept of the entry in `folder`.
    fn backup(&self, folder: &str) -> Result<AbsPath, SkillError> {
        let stamp: String = self.now.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = &self.group.name;
        let name = match folder {
            SKILLS => format!("{name}-{stamp}"),
            _ => {
                let folder = folder.trim_start_matches(['~', '/', '.']).replace('/', "-");
                format!("{name}@{folder}-{stamp}")
            }
        };
        backup_place(self.target, &name).map_err(|error| write_error(&error))
    }

    fn saw(&mut self, folder: &str, sight: Option<Sight>) {
        self.done.seen.push((format!("{folder}/{}", self.group.name), sight));
    }
}

fn is_real_folder(path: &AbsPath) -> bool {
    fs::symlink_metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir())
}
