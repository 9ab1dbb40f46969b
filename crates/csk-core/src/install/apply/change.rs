//! Changes one skill, or several that hand over commands: everything new is staged first, then moved into place, and
//! undone if any part fails.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use skill::{Identifier, Marker};
use skill_fs::{AbsPath, Kind, Root, WalkLimits, digests, walk};

use super::commands::put_command;
use super::swaps::Swaps;
use super::{Applied, ApplyContext};
use crate::install::fingerprint_cache::FolderRecord;
use crate::install::journal::{free_backup_path, is_pristine, is_untouched, remove_tree, stage};
use crate::install::plan::{Action, AdapterChange, CommandChange, SkillPlan};
use crate::install::write::{
    copy_context, create_parent, io_error, keep_copy, write_context, write_error,
};
use crate::install::{SKILLS, SkillError, Target};
use crate::sys::make_link;
use crate::{AdapterMode, Platform};

/// One skill that is being changed.
pub(super) struct SkillChange<'a> {
    target: &'a Target,
    plan: &'a SkillPlan,
    /// The marker to write, if the skill is installed.
    marker: Option<Marker>,
    context: ApplyContext<'a>,
    /// Backup copies of the user's edits.
    copies: Vec<AbsPath>,
    /// The result so far.
    done: Applied,
}

/// The staged parts of a skill.
#[derive(Default)]
struct Staged {
    /// Its text with its marker, and the record to remember.
    text: Option<AbsPath>,
    record: Option<FolderRecord>,
    /// The agent entries, by folder.
    adapters: Vec<(String, StagedAdapter)>,
}

/// A staged agent entry.
enum StagedAdapter {
    Link(AbsPath),
    Copy(AbsPath, Option<FolderRecord>),
}

impl StagedAdapter {
    /// Returns the record to remember.
    fn record(&self) -> Option<FolderRecord> {
        match self {
            Self::Link(_) => None,
            Self::Copy(_, record) => record.clone(),
        }
    }
}

/// Changes the skills of one group. If one of them cannot be changed, all stay as they were.
pub(super) fn perform(mut group: Vec<SkillChange<'_>>) -> Vec<Applied> {
    let mut swaps = Swaps::default();
    let mut staged = Vec::new();
    let mut failure = None;
    for work in &mut group {
        match work.stage_all() {
            Ok(one) => staged.push(one),
            Err(error) => failure = failure.or(Some((work.plan.name.clone(), error))),
        }
    }
    for (work, staged) in group.iter_mut().zip(&staged) {
        if failure.is_none() {
            let swapped = work.swap(staged, &mut swaps);
            failure = swapped.err().map(|error| (work.plan.name.clone(), error));
        }
    }
    match failure {
        None => {
            for (work, staged) in group.iter_mut().zip(&staged) {
                // What cannot be backed up stays in the stage, and the next run reports it.
                work.done.error = work.keep_late_edits(staged).err();
            }
        }
        Some((name, error)) => {
            let left = swaps.undo();
            for work in &mut group {
                let is_it = work.plan.name == name;
                work.record_failure(if is_it { error.clone() } else { failed_with(&name) }, &left);
            }
        }
    }
    group.into_iter().map(|work| work.done).collect()
}

/// Returns why a skill stays as it was because another one failed.
fn failed_with(name: &Identifier) -> SkillError {
    SkillError::Write(format!(
        "one of its commands moves to or from `{name}`, which could not be updated"
    ))
}

impl<'a> SkillChange<'a> {
    pub(super) fn new(
        target: &'a Target,
        plan: &'a SkillPlan,
        marker: Option<Marker>,
        context: ApplyContext<'a>,
    ) -> Self {
        let done =
            Applied { name: plan.name.clone(), backups: Vec::new(), error: None, seen: Vec::new() };
        Self { target, plan, marker, context, copies: Vec::new(), done }
    }
}

impl SkillChange<'_> {
    /// Records that everything was restored except what `left` lists.
    fn record_failure(&mut self, error: SkillError, left: &[String]) {
        self.done.error = Some(match left {
            [] => error,
            left => SkillError::Write(format!("{error}; {}", left.join("; "))),
        });
        self.done.seen.clear();
        if left.is_empty() {
            // These copies are redundant: the originals are back in place.
            for kept in self.copies.drain(..) {
                let _ = remove_tree(&kept);
                self.done.backups.retain(|backup| *backup != kept.as_str());
            }
            self.done.backups.retain(|backup| fs::symlink_metadata(backup).is_ok());
        }
    }

    /// Writes everything new to the stage and creates parent folders. The skill itself does not change yet.
    fn stage_all(&mut self) -> Result<Staged, SkillError> {
        let stage = self.stage();
        fs::create_dir_all(stage.as_path()).map_err(|error| io_error(&stage, &error))?;
        let mut staged = Staged::default();
        if let Action::Install(install) = &self.plan.action {
            let Some(marker) = &self.marker else {
                let name = &self.plan.name;
                return Err(SkillError::Write(format!(
                    "no install marker was created for `{name}`"
                )));
            };
            let text = self.staged("new", SKILLS);
            staged.record = write_context(&text, &install.content, marker)?;
            create_parent(&self.place(SKILLS))?;
            staged.text = Some(text);
        }
        for adapter in self.plan.adapters().iter().filter(|adapter| adapter.present) {
            create_parent(&self.place(&adapter.folder))?;
            let entry = self.stage_adapter(adapter, staged.text.as_ref())?;
            staged.adapters.push((adapter.folder.clone(), entry));
        }
        for change in self.plan.commands.iter().filter(|change| change.target.is_some()) {
            for (place, _) in self.command_places(change) {
                create_parent(&place)?;
            }
        }
        Ok(staged)
    }

    /// Stages an agent's entry: a link, or a copy if links are disabled or not supported.
    fn stage_adapter(
        &self,
        adapter: &AdapterChange,
        text: Option<&AbsPath>,
    ) -> Result<StagedAdapter, SkillError> {
        let folder = adapter.folder.as_str();
        let staged = self.staged("new", folder);
        if self.target.adapter_mode.links() {
            let link = self.target.link_text(folder, &self.plan.name);
            match make_link(&link, &staged) {
                Ok(()) => return Ok(StagedAdapter::Link(staged)),
                // The file system does not support links.
                Err(_) if self.target.adapter_mode == AdapterMode::Auto => {}
                Err(error) => return Err(io_error(&staged, &error)),
            }
        }
        let installed = self.place(SKILLS);
        let record = copy_context(text.unwrap_or(&installed), &staged)?;
        Ok(StagedAdapter::Copy(staged, record))
    }

    /// Moves what was staged into place: agent entries and commands first, the text last. Until then the skill is the
    /// old version.
    fn swap(&mut self, staged: &Staged, swaps: &mut Swaps) -> Result<(), SkillError> {
        let plan = self.plan;
        if matches!(&plan.action, Action::Install(install) if install.keeps_edits) {
            self.keep_edits(swaps)?;
        }
        for adapter in self.plan.adapters().iter().filter(|adapter| !adapter.present) {
            self.move_away(&adapter.folder, swaps)?;
        }
        for (folder, entry) in &staged.adapters {
            self.put_adapter(folder, entry, swaps)?;
        }
        for change in &plan.commands {
            self.put_command(change, swaps)?;
        }
        if plan.removes_text() {
            self.move_away(SKILLS, swaps)?;
        } else if let Some(text) = &staged.text {
            swaps.put_folder(text.clone(), self.place(SKILLS), None)?;
            self.saw(SKILLS, staged.record.clone());
        }
        Ok(())
    }

    /// Checks the old text again after the exchange: the user may have edited it while the new one was being staged.
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
        skill_fs::rename(old, &kept).map_err(|error| io_error(&kept, &error))?;
        self.done.backups.push(kept.to_string());
        Ok(())
    }

    /// Puts an agent's entry in place. An entry of the same type that csk created is replaced atomically; anything else
    /// is moved away first.
    fn put_adapter(
        &mut self,
        folder: &str,
        entry: &StagedAdapter,
        swaps: &mut Swaps,
    ) -> Result<(), SkillError> {
        let place = self.place(folder);
        let is_link = matches!(entry, StagedAdapter::Link(_));
        let is_same_kind =
            is_real_folder(&place) != is_link && is_pristine(self.target, folder, &self.plan.name);
        if !is_same_kind {
            // An entry of the other type that csk created is exchanged with the new one, so that there is always an
            // entry.
            let is_ours = is_pristine(self.target, folder, &self.plan.name);
            let (StagedAdapter::Link(staged) | StagedAdapter::Copy(staged, _)) = entry;
            if is_ours && swaps.exchange(staged, &place)? {
                self.saw(folder, entry.record());
                return Ok(());
            }
            self.move_away(folder, swaps)?;
        }
        match entry {
            StagedAdapter::Link(staged) => swaps.put_link(staged.clone(), place),
            StagedAdapter::Copy(staged, record) => {
                swaps.put_folder(staged.clone(), place, Some(self.place(SKILLS)))?;
                self.saw(folder, record.clone());
                Ok(())
            }
        }
    }

    /// Creates, changes or removes one command, in the project and in csk's own folder.
    fn put_command(&self, change: &CommandChange, swaps: &mut Swaps) -> Result<(), SkillError> {
        for (place, staged) in self.command_places(change) {
            put_command(change, place, staged, swaps)?;
        }
        Ok(())
    }

    /// Returns the paths of a command in the project and in csk's own folder, each with a staging path: they may be on
    /// different file systems.
    fn command_places(&self, change: &CommandChange) -> Vec<(AbsPath, AbsPath)> {
        let command = &change.command;
        let name = Platform::CURRENT.shim_name(command);
        let own = self
            .context
            .commands
            .map(|folder| (folder.join(&name), folder.join(format!(".new-{name}"))));
        let project = (self.target.shim(command), self.stage().join(format!("command@{command}")));
        std::iter::once(project).chain(own).collect()
    }

    /// Backs up the user's edits before a skill is replaced. A folder is copied, so that the skill is always there;
    /// anything else is moved.
    fn keep_edits(&mut self, swaps: &mut Swaps) -> Result<(), SkillError> {
        let place = self.place(SKILLS);
        if !is_real_folder(&place) {
            return self.move_away(SKILLS, swaps);
        }
        let kept = self.backup(SKILLS)?;
        if keep_copy(&place, &kept).is_err() {
            // A partial copy is useless. What cannot be copied, such as a FIFO, can be moved.
            let _ = remove_tree(&kept);
            return self.move_away(SKILLS, swaps);
        }
        self.done.backups.push(kept.to_string());
        self.copies.push(kept);
        Ok(())
    }

    /// Moves one of csk's entries away, atomically. If it is not exactly what csk created, it is kept as a backup.
    fn move_away(&mut self, folder: &str, swaps: &mut Swaps) -> Result<(), SkillError> {
        let place = self.place(folder);
        if fs::symlink_metadata(place.as_path()).is_err() {
            return Ok(());
        }
        let to = if is_pristine(self.target, folder, &self.plan.name) {
            self.staged("old", folder)
        } else {
            let kept = self.backup(folder)?;
            self.done.backups.push(kept.to_string());
            kept
        };
        self.saw(folder, None);
        swaps.move_away(place, to)
    }

    /// Returns the path of the entry in `folder`.
    fn place(&self, folder: &str) -> AbsPath {
        self.target.folder(folder).join(self.plan.name.as_str())
    }

    /// Returns the folder in which this skill is staged.
    fn stage(&self) -> AbsPath {
        stage(self.target).join(self.plan.name.as_str())
    }

    /// Returns the staging path of an entry.
    fn staged(&self, what: &str, folder: &str) -> AbsPath {
        self.stage().join(format!("{what}@{}", folder.replace('/', "@")))
    }

    /// Returns a free backup path for the entry in `folder`.
    fn backup(&self, folder: &str) -> Result<AbsPath, SkillError> {
        let stamp: String = self.context.now.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = &self.plan.name;
        let name = match folder {
            SKILLS => format!("{name}-{stamp}"),
            _ => {
                let folder = folder.trim_start_matches(['~', '/', '.']).replace('/', "-");
                format!("{name}@{folder}-{stamp}")
            }
        };
        free_backup_path(self.target, &name).map_err(|error| write_error(&error))
    }

    fn saw(&mut self, folder: &str, record: Option<FolderRecord>) {
        self.done.seen.push((format!("{folder}/{}", self.plan.name), record));
    }
}

/// Returns true if both folders can be read and have the same content.
fn is_same_content(one: &AbsPath, other: &AbsPath) -> bool {
    let read = |path: &AbsPath| {
        let root = Root::open(path)?;
        digests(&root, &walk(&root, &WalkLimits::SKILL)?)
    };
    matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
}

/// Returns true if the folder contains only folders, which remain if the file system cannot exchange entries.
fn is_empty(folder: &AbsPath) -> bool {
    let entries = Root::open(folder).and_then(|root| walk(&root, &WalkLimits::SKILL));
    entries.is_ok_and(|entries| entries.iter().all(|entry| entry.kind == Kind::Folder))
}

fn is_real_folder(path: &AbsPath) -> bool {
    fs::symlink_metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir())
}
