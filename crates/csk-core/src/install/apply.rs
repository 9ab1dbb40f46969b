//! Performs a plan: each skill by itself. What is new is staged; then its entries of agents, its commands and its text change together, or
//! not at all.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use rayon::prelude::*;
use skill::{Digest, Identifier, Marker};
use skill_fs::{AbsPath, FsError, Kind, Root, WalkLimits, digests, walk, write_file};

use super::journal::{
    Journal, backup_place, is_made, is_pristine, is_untouched, remove_tree, stage, write_ledger,
};
use super::marking::{markers, settle_receipts};
use super::place_shims::{put_shim, settle_shims};
use super::plan::{Adapter, Group, Plan};
use super::seen::Sight;
use super::shims::Shim;
use super::swaps::Swaps;
use super::write::{copy_context, create_parent, io_error, keep_copy, write_context, write_error};
use super::{BIN, Observed, Prepared, SKILLS, SkillError, Target};
use crate::sys::make_link;
use crate::{AdapterMode, Platform};

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
    /// Its commands that appear, change or go.
    shims: &'a [&'a Shim],
    /// csk's own folder of the project's commands, where it has one.
    commands: Option<&'a AbsPath>,
    /// The time that markers tell.
    now: &'a str,
    /// Copies of what the user made of it.
    copies: Vec<AbsPath>,
    /// What was done so far.
    done: Applied,
}

/// What of a skill is prepared.
#[derive(Default)]
struct Staged {
    /// Its text with its marker, and what to remember of it.
    text: Option<AbsPath>,
    sight: Option<Sight>,
    /// The entries of agents, by folder.
    adapters: Vec<(String, StagedAdapter)>,
}

/// A prepared entry of an agent.
enum StagedAdapter {
    Link(AbsPath),
    Copy(AbsPath, Option<Sight>),
}

impl StagedAdapter {
    /// Returns what to remember of it.
    fn sight(&self) -> Option<Sight> {
        match self {
            Self::Link(_) => None,
            Self::Copy(_, sight) => sight.clone(),
        }
    }
}

/// What a plan is performed with.
#[derive(Debug, Clone, Copy)]
pub struct Means<'a> {
    /// The files of every skill that writes some.
    pub prepared: &'a BTreeMap<Identifier, Arc<Prepared>>,
    /// csk's own folder of the project's commands, where it has one.
    pub commands: Option<&'a AbsPath>,
    /// The time that markers tell.
    pub now: &'a str,
}

/// Performs `plan` in `target`, each skill by itself.
pub fn apply(
    target: &Target,
    plan: &Plan,
    observed: &mut Observed,
    Means { prepared, commands, now }: Means<'_>,
) -> Result<Vec<Applied>, FsError> {
    if plan.is_empty() {
        return Ok(Vec::new());
    }
    let mut shims: BTreeMap<&Identifier, Vec<&Shim>> = BTreeMap::new();
    // The commands of a skill that nothing can be done for stay with it.
    let refused: BTreeSet<&Identifier> =
        plan.skills.iter().filter(|group| group.error.is_some()).map(|group| &group.name).collect();
    for shim in &plan.shims {
        if let Some(owner) = shim.owner.as_ref().filter(|owner| !refused.contains(owner)) {
            shims.entry(owner).or_default().push(shim);
        }
    }
    let groups: Vec<&Group> = plan
        .removals
        .iter()
        .chain(&plan.skills)
        .filter(|group| !group.is_empty() || shims.contains_key(&group.name))
        .collect();
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
    let run = |unit: &Vec<&Group>| {
        let work = unit.iter().map(|&group| {
            let prepared = prepared.get(&group.name).map(Arc::clone);
            let (name, backups, seen) = (group.name.clone(), Vec::new(), Vec::new());
            let done = Applied { name, backups, error: None, seen };
            let marker = markers.get(&group.name).cloned();
            let shims = shims.get(&group.name).map_or(&[][..], Vec::as_slice);
            Work { target, group, marker, prepared, shims, commands, now, copies: Vec::new(), done }
        });
        perform(work.collect())
    };
    // Removals first, so that nothing new meets what is going away.
    let (removals, rest): (Vec<_>, Vec<_>) =
        units(&groups).into_iter().partition(|unit| unit.iter().all(|group| group.remove));
    let mut applied: Vec<Applied> = removals.par_iter().flat_map_iter(run).collect();
    applied.par_extend(rest.par_iter().flat_map_iter(run));
    let failed: BTreeSet<Identifier> =
        applied.iter().filter(|done| done.error.is_some()).map(|done| done.name.clone()).collect();
    let known: BTreeSet<&Identifier> =
        applied.iter().filter(|done| done.error.is_none()).map(|done| &done.name).collect();
    settle_shims(target, plan, observed, &known)?;
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

/// Returns the skills that change together: those that take over commands of each other, with whoever these take some of. All others
/// change by themselves.
fn units<'a>(groups: &[&'a Group]) -> Vec<Vec<&'a Group>> {
    let is_taken = |name: &Identifier| groups.iter().any(|group| group.after.contains(name));
    let (moving, mut alone): (Vec<&Group>, Vec<&Group>) =
        groups.iter().partition(|group| !group.after.is_empty());
    // Most plans move no command at all.
    let giving = if moving.is_empty() {
        Vec::new()
    } else {
        alone.extract_if(.., |group| is_taken(&group.name)).collect()
    };
    let mut units: Vec<Vec<&Group>> = Vec::new();
    for group in moving.into_iter().chain(giving) {
        let is_tied = |unit: &Vec<&Group>| {
            let ties = |other: &&Group| {
                group.after.contains(&other.name) || other.after.contains(&group.name)
            };
            unit.iter().any(ties)
        };
        let (tied, apart): (Vec<_>, Vec<_>) = units.into_iter().partition(is_tied);
        units = apart;
        units.push(tied.into_iter().flatten().chain([group]).collect());
    }
    alone.into_iter().map(|group| vec![group]).chain(units).collect()
}

/// Changes the skills of one unit. If one of them cannot be changed, all stay as they were.
fn perform(mut unit: Vec<Work<'_>>) -> Vec<Applied> {
    let mut swaps = Swaps::default();
    let mut staged = Vec::new();
    let mut failure = None;
    for work in &mut unit {
        match work.stage_all() {
            Ok(one) => staged.push(one),
            Err(error) => failure = failure.or(Some((work.group.name.clone(), error))),
        }
    }
    for (work, staged) in unit.iter_mut().zip(&staged) {
        if failure.is_none() {
            let swapped = work.swap(staged, &mut swaps);
            failure = swapped.err().map(|error| (work.group.name.clone(), error));
        }
    }
    match failure {
        None => {
            for (work, staged) in unit.iter_mut().zip(&staged) {
                // What cannot be kept stays in the stage, and the next run says so.
                work.done.error = work.keep_late_edits(staged).err();
            }
        }
        Some((name, error)) => {
            let left = swaps.undo();
            for work in &mut unit {
                let is_it = work.group.name == name;
                work.take_back(if is_it { error.clone() } else { tied_to(&name) }, &left);
            }
        }
    }
    unit.into_iter().map(|work| work.done).collect()
}

/// Says why a skill stays as it was though nothing is wrong with it.
fn tied_to(name: &Identifier) -> SkillError {
    SkillError::Write(format!(
        "a command moves between it and `{name}`, which could not be updated"
    ))
}

impl Work<'_> {
    /// Notes that everything was put back as it was, but for what is `left`.
    fn take_back(&mut self, error: SkillError, left: &[String]) {
        self.done.error = Some(match left {
            [] => error,
            left => SkillError::Write(format!("{error}; {}", left.join("; "))),
        });
        self.done.seen.clear();
        if left.is_empty() {
            // Copies of what is in its place again.
            for kept in self.copies.drain(..) {
                let _ = remove_tree(&kept);
                self.done.backups.retain(|backup| *backup != kept.as_str());
            }
            self.done.backups.retain(|backup| fs::symlink_metadata(backup).is_ok());
        }
    }

    /// Writes everything that is new beside its place, and makes the folders around it. Nothing of the skill changes yet.
    fn stage_all(&mut self) -> Result<Staged, SkillError> {
        let group = self.group;
        let stage = self.stage();
        fs::create_dir_all(stage.as_path()).map_err(|error| io_error(&stage, &error))?;
        let mut staged = Staged::default();
        if group.install.is_some() && !group.remove {
            let (Some(prepared), Some(marker)) = (&self.prepared, &self.marker) else {
                let name = &group.name;
                return Err(SkillError::Write(format!("the files of {name} were not prepared")));
            };
            let text = self.staged("new", SKILLS);
            staged.sight = write_context(&text, prepared, marker)?;
            create_parent(&self.place(SKILLS))?;
            staged.text = Some(text);
        }
        for adapter in group.adapters.iter().filter(|adapter| adapter.present) {
            create_parent(&self.place(&adapter.folder))?;
            let entry = self.stage_adapter(adapter, staged.text.as_ref())?;
            staged.adapters.push((adapter.folder.clone(), entry));
        }
        for shim in self.shims.iter().filter(|shim| shim.target.is_some()) {
            for (place, _) in self.shim_places(shim) {
                create_parent(&place)?;
            }
        }
        Ok(staged)
    }

    /// Makes an agent's entry in the stage: a link, or a copy where links are not wanted or not to be had.
    fn stage_adapter(
        &self,
        adapter: &Adapter,
        text: Option<&AbsPath>,
    ) -> Result<StagedAdapter, SkillError> {
        let folder = adapter.folder.as_str();
        let staged = self.staged("new", folder);
        if self.target.adapter_mode.links() {
            let link = self.target.link_text(folder, &self.group.name);
            match make_link(&link, staged.as_path()) {
                Ok(()) => return Ok(StagedAdapter::Link(staged)),
                // A file system without links.
                Err(_) if self.target.adapter_mode == AdapterMode::Auto => {}
                Err(error) => return Err(io_error(&staged, &error)),
            }
        }
        let installed = self.place(SKILLS);
        let sight = copy_context(text.unwrap_or(&installed), &staged)?;
        Ok(StagedAdapter::Copy(staged, sight))
    }

    /// Puts what was staged in place: entries of agents and commands first, the text last. Until then the skill is the old one.
    fn swap(&mut self, staged: &Staged, swaps: &mut Swaps) -> Result<(), SkillError> {
        let group = self.group;
        if group.edited && staged.text.is_some() {
            self.keep_edits(swaps)?;
        }
        for adapter in group.adapters.iter().filter(|adapter| !adapter.present) {
            self.put_aside(&adapter.folder, swaps)?;
        }
        for (folder, entry) in &staged.adapters {
            self.put_adapter(folder, entry, swaps)?;
        }
        for shim in self.shims {
            self.put_shim(shim, swaps)?;
        }
        if group.remove {
            self.put_aside(SKILLS, swaps)?;
        } else if let Some(text) = &staged.text {
            swaps.put_folder(text.clone(), self.place(SKILLS), None)?;
            self.saw(SKILLS, staged.sight.clone());
        }
        Ok(())
    }

    /// Checks the old text once more after it was exchanged: the user may have edited it while the new one was prepared.
    fn keep_late_edits(&mut self, staged: &Staged) -> Result<(), SkillError> {
        let Some(old) = staged.text.as_ref().filter(|old| is_real_folder(old)) else {
            return Ok(());
        };
        let is_kept = match self.copies.first() {
            Some(kept) => is_same_content(old, kept),
            None => Root::open(old).is_ok_and(|old| is_untouched(&old)),
        };
        if is_kept || is_empty(old) {
            return Ok(());
        }
        let kept = self.backup(SKILLS)?;
        fs::rename(old.as_path(), kept.as_path()).map_err(|error| io_error(&kept, &error))?;
        self.done.backups.push(kept.to_string());
        Ok(())
    }

    /// Puts an agent's entry in the place of an older one. What csk made of the same kind is replaced in one step; anything else is
    /// put aside first.
    fn put_adapter(
        &mut self,
        folder: &str,
        entry: &StagedAdapter,
        swaps: &mut Swaps,
    ) -> Result<(), SkillError> {
        let place = self.place(folder);
        let is_link = matches!(entry, StagedAdapter::Link(_));
        let is_same_kind =
            is_real_folder(&place) != is_link && is_pristine(self.target, folder, &self.group.name);
        if !is_same_kind {
            // What csk made of the other kind changes places with the new one: an entry is there at every moment.
            let is_ours = is_pristine(self.target, folder, &self.group.name);
            let (StagedAdapter::Link(staged) | StagedAdapter::Copy(staged, _)) = entry;
            if is_ours && swaps.exchange(staged, &place)? {
                self.saw(folder, entry.sight());
                return Ok(());
            }
            self.put_aside(folder, swaps)?;
        }
        match entry {
            StagedAdapter::Link(staged) => swaps.put_link(staged.clone(), place),
            StagedAdapter::Copy(staged, sight) => {
                swaps.put_folder(staged.clone(), place, Some(self.place(SKILLS)))?;
                self.saw(folder, sight.clone());
                Ok(())
            }
        }
    }

    /// Makes, changes or takes away one command, in the project and where the shell looks for it.
    fn put_shim(&self, shim: &Shim, swaps: &mut Swaps) -> Result<(), SkillError> {
        for (place, staged) in self.shim_places(shim) {
            put_shim(shim, place, staged, swaps)?;
        }
        Ok(())
    }

    /// Returns where a command is, in the project and in csk's own folder, each with where it is staged: they may be on two file systems.
    fn shim_places(&self, shim: &Shim) -> Vec<(AbsPath, AbsPath)> {
        let command = &shim.command;
        let name = Platform::HERE.shim_name(command);
        let own =
            self.commands.map(|folder| (folder.join(&name), folder.join(format!(".new-{name}"))));
        let project = (
            self.target.folder(BIN).join(command.as_str()),
            self.stage().join(format!("command@{command}")),
        );
        std::iter::once(project).chain(own).collect()
    }

    /// Keeps what the user made of an installed skill before it is replaced: a folder is copied, so that the
    /// skill is there at every moment; anything else is moved.
    fn keep_edits(&mut self, swaps: &mut Swaps) -> Result<(), SkillError> {
        let place = self.place(SKILLS);
        if !is_real_folder(&place) {
            return self.put_aside(SKILLS, swaps);
        }
        let kept = self.backup(SKILLS)?;
        if keep_copy(&place, &kept).is_err() {
            // Half a copy helps nobody. What cannot be copied, such as a FIFO, can be moved.
            let _ = remove_tree(&kept);
            return self.put_aside(SKILLS, swaps);
        }
        self.done.backups.push(kept.to_string());
        self.copies.push(kept);
        Ok(())
    }

    /// Moves an entry of csk's away, in one step. What is not exactly what csk made is the user's, and is
    /// kept.
    fn put_aside(&mut self, folder: &str, swaps: &mut Swaps) -> Result<(), SkillError> {
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
        swaps.put_aside(place, to)
    }

    /// Returns where the entry in `folder` is.
    fn place(&self, folder: &str) -> AbsPath {
        self.target.folder(folder).join(self.group.name.as_str())
    }

    /// Returns the folder in which this skill is prepared.
    fn stage(&self) -> AbsPath {
        stage(self.target).join(self.group.name.as_str())
    }

    /// Returns the place of an entry in the stage.
    fn staged(&self, what: &str, folder: &str) -> AbsPath {
        self.stage().join(format!("{what}@{}", folder.replace('/', "@")))
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

/// Returns true if two folders hold the same, and that could be read.
fn is_same_content(one: &AbsPath, other: &AbsPath) -> bool {
    let read = |path: &AbsPath| {
        let root = Root::open(path)?;
        digests(&root, &walk(&root, &WalkLimits::SKILL)?)
    };
    matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
}

/// Returns true for folders alone: they are left where the file system cannot exchange.
fn is_empty(folder: &AbsPath) -> bool {
    let entries = Root::open(folder).and_then(|root| walk(&root, &WalkLimits::SKILL));
    entries.is_ok_and(|entries| entries.iter().all(|entry| entry.kind == Kind::Folder))
}

fn is_real_folder(path: &AbsPath) -> bool {
    fs::symlink_metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir())
}
