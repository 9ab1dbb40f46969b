//! Reports on projects and skills.

use std::collections::{BTreeMap, BTreeSet};

use skill::Identifier;
use skill_fs::AbsPath;

use super::fill_store::StoreResults;
use super::plan::{Action, Collision, Remove, SkillPlan};
use super::{Applied, BIN, IgnoreRules, Mode, Plan, SKILLS, SkillError, Target};
use crate::{Commit, Declaration};

/// The result for a project.
#[derive(Debug, Clone)]
pub struct ProjectReport {
    /// Its name in messages.
    pub alias: String,
    /// Ignore rules that were added, or would be in a dry run.
    pub ignored: IgnoreRules,
    /// Warnings about the project.
    pub warnings: Vec<String>,
    /// Changes that belong to no skill, one line each.
    pub changes: Vec<String>,
    /// The results for its skills, removals last.
    pub skills: Vec<SkillReport>,
    /// Why nothing was done in the project.
    pub error: Option<ProjectError>,
}

/// The result for a skill.
#[derive(Debug, Clone)]
pub struct SkillReport {
    /// The skill.
    pub name: Identifier,
    /// The declaration; `None` if it is no longer declared.
    pub declaration: Option<Declaration>,
    /// The wanted commit.
    pub commit: Option<Commit>,
    /// What was done.
    pub outcome: Outcome,
    /// Warnings about the skill.
    pub warnings: Vec<String>,
    /// The changes, one line each.
    pub changes: Vec<String>,
    /// Whether commands were added or changed.
    pub makes_commands: bool,
}

/// What was done for a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: everything is as declared.
    UpToDate,
    /// It was installed, or would be.
    Installed,
    /// It was removed, or would be.
    Removed,
    /// Agent entries that linked to it were removed; the folder itself does not belong to csk and stays.
    Unlinked,
    /// It failed; the previous version is still in place.
    Failed(SkillError),
}

/// Why nothing can be done in a project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    /// Git would not ignore what csk writes.
    #[error("not ignored by git: {}", .0.join(", "))]
    NotIgnored(Vec<String>),
    /// Git would not ignore what csk writes, because of a rule that `.gitignore` cannot override.
    #[error("not ignored by git: {} (because of rule {rule})", entries.join(", "))]
    Unignored {
        /// The entries that csk writes.
        entries: Vec<String>,
        /// The rule with its file and line.
        rule: String,
    },
    /// Git tracks files in csk's command folder.
    #[error(
        "git tracks `{0}`, which is in csk's command folder; anyone with push access could put programs on PATH"
    )]
    Tracked(String),
    /// A folder that csk writes to is a symlink.
    #[error("`{0}` is a symlink; csk only writes to real folders in the project")]
    Link(String),
    /// Several skills provide the same command.
    #[error("Command collision: {}", .0.iter().map(Collision::to_string).collect::<Vec<_>>().join("; "))]
    Collision(Vec<Collision>),
    /// A lockfile is required but missing.
    #[error("Skillfile.lock is missing")]
    NoLock,
    /// The lockfile pins a skill that is not declared.
    #[error("Skillfile.lock contains `{0}`, which is not declared in Skillfile.json")]
    Undeclared(Identifier),
    /// The project's files cannot be read or written.
    #[error("{0}")]
    Files(String),
}

impl ProjectError {
    /// Returns how to fix it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotIgnored(_) => {
                Some("run with --fix-gitignore, or add the entries to .gitignore")
            }
            Self::Unignored { .. } => Some("remove that rule; --fix-gitignore cannot override it"),
            Self::Tracked(_) => Some("inspect it, then remove it from git with `git rm --cached`"),
            Self::Link(_) => Some(
                "replace the symlink with a folder; an agent that shares .agents/skills needs no entry of its own",
            ),
            Self::Collision(_) => Some("remove one of the skills from Skillfile.json"),
            Self::NoLock | Self::Undeclared(_) => {
                Some("run `csk lock` in the project, then commit Skillfile.lock")
            }
            Self::Files(_) => None,
        }
    }

    /// Returns the report of a project in which nothing was done.
    pub(super) fn report(self, target: &Target, ignored: IgnoreRules) -> ProjectReport {
        ProjectReport {
            alias: target.alias.clone(),
            ignored,
            warnings: Vec::new(),
            changes: Vec::new(),
            skills: Vec::new(),
            error: Some(self),
        }
    }
}

impl ProjectReport {
    /// Returns true if commands were added or changed.
    pub fn makes_commands(&self) -> bool {
        self.skills.iter().any(|skill| skill.makes_commands && !skill.has_failed())
    }
}

impl SkillReport {
    /// Returns true if the skill failed.
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }
}

/// What was done for a plan.
pub(super) struct PlanResults<'a> {
    /// The results for its skills; empty in a dry run.
    pub(super) applied: &'a [Applied],
    /// The results of writing command files.
    pub(super) stored: &'a StoreResults,
    /// Ignore rules that were added, or would be in a dry run.
    pub(super) ignored: IgnoreRules,
    /// Whether the plan was applied.
    pub(super) mode: Mode,
}

/// Returns the report of a project whose plan was applied, or would be in a dry run.
pub(super) fn project(target: &Target, plan: &Plan, done: PlanResults<'_>) -> ProjectReport {
    let env = plan.env.iter().map(|file| format!("write {}", file.path));
    let gone = plan.command_changes().filter(|change| change.target.is_none());
    let gone: BTreeSet<&Identifier> = gone.map(|change| &change.command).collect();
    let gone = gone.into_iter().map(|command| format!("delete {BIN}/{command}"));
    let declared: BTreeMap<&Identifier, &Declaration> =
        target.skills.iter().map(|skill| (&skill.name, skill)).collect();
    let applied: BTreeMap<&Identifier, &Applied> =
        done.applied.iter().map(|done| (&done.name, done)).collect();
    let skills = plan.skills.iter().chain(&plan.removals).map(|skill| {
        let declaration = declared.get(&skill.name).copied();
        let kept = done.stored.kept(skill);
        report(skill, declaration, applied.get(&skill.name).copied(), kept, done.mode)
    });
    ProjectReport {
        alias: target.alias.clone(),
        warnings: plan.warnings.iter().chain(&plan.notes).cloned().collect(),
        changes: env.chain(gone).collect(),
        skills: skills.collect(),
        error: None,
        ignored: done.ignored,
    }
}

fn report(
    plan: &SkillPlan,
    declaration: Option<&Declaration>,
    applied: Option<&Applied>,
    kept: Option<&AbsPath>,
    mode: Mode,
) -> SkillReport {
    let outcome = match &plan.action {
        // A dry run does not clone, but an install would.
        Action::Refused(SkillError::NotCloned { .. }) if mode == Mode::DryRun => Outcome::Installed,
        Action::Refused(error) => Outcome::Failed(error.clone()),
        Action::Current if plan.commands.is_empty() => Outcome::UpToDate,
        Action::Current | Action::Install(_) | Action::Repair(_) => Outcome::Installed,
        Action::Remove(Remove { text: true, .. }) => Outcome::Removed,
        Action::Remove(Remove { text: false, .. }) => Outcome::Unlinked,
    };
    let failed = applied.and_then(|applied| applied.error.clone()).map(Outcome::Failed);
    let mut warnings = plan.warnings.clone();
    warnings
        .extend(kept.map(|kept| format!("its command files were edited; a backup is in {kept}")));
    for place in applied.iter().flat_map(|applied| &applied.backups) {
        warnings.push(format!("your edits to {} were backed up to {place}", plan.name));
    }
    let mut changes = changes(plan);
    let made = plan.commands.iter().filter(|change| change.target.is_some());
    changes.extend(made.clone().map(|change| format!("create {BIN}/{}", change.command)));
    SkillReport {
        name: plan.name.clone(),
        declaration: declaration.cloned(),
        commit: plan.commit.clone(),
        outcome: failed.unwrap_or(outcome),
        warnings,
        changes,
        makes_commands: made.count() > 0,
    }
}

/// Returns the changes of a skill's plan, one line each.
fn changes(plan: &SkillPlan) -> Vec<String> {
    let context = format!("{SKILLS}/{}", plan.name);
    let old = plan.installed.iter().flat_map(|installed| &installed.files);
    let mut changes = Vec::new();
    match &plan.action {
        Action::Refused(SkillError::NotCloned { url }) => changes.push(format!("clone {url}")),
        Action::Current | Action::Repair(_) | Action::Refused(_) => {}
        Action::Remove(remove) => {
            if remove.text {
                changes.extend(old.map(|path| format!("delete {context}/{path}")));
                changes.push(format!("delete {context}/"));
            }
            if remove.text && remove.keeps_edits {
                changes.push(format!("back up local edits in {context}/"));
            }
        }
        Action::Install(install) => {
            let new: BTreeSet<&str> =
                install.content.files.iter().map(|file| file.path.as_str()).collect();
            let gone = old.filter(|path| !new.contains(path.as_str()));
            changes.extend(gone.map(|path| format!("delete {context}/{path}")));
            if install.keeps_edits {
                changes.push(format!("back up local edits in {context}/"));
            }
            let files = install.content.files.iter();
            changes.extend(files.map(|file| format!("write {context}/{}", file.path)));
            changes.push(format!("write {context}/{}", skill::MARKER_FILE));
        }
    }
    if let Some((content, files)) =
        plan.content().and_then(|content| Some((content, content.runtime.as_ref()?)))
    {
        let place = format!("runtime/{}/{}", plan.name, content.runtime_id);
        changes.extend(files.files.iter().map(|file| format!("write {place}/{}", file.path)));
    }
    for adapter in plan.adapters() {
        let verb = if adapter.present { "create" } else { "delete" };
        changes.push(format!("{verb} {}/{}", adapter.folder, plan.name));
    }
    changes
}
