//! What became of projects and skills, for whoever asked.

use std::collections::{BTreeMap, BTreeSet};

use skill::Identifier;
use skill_fs::AbsPath;

use super::fill_store::Stored;
use super::plan::{Action, Collision, Remove, SkillPlan};
use super::{Applied, BIN, Mode, Plan, SKILLS, SkillError, Target};
use crate::{Commit, Declaration};

/// What became of a project.
#[derive(Debug, Clone)]
pub struct ProjectReport {
    /// Its name in messages.
    pub alias: String,
    /// What was added to its `.gitignore`, or would be.
    pub ignored: Vec<String>,
    /// What to tell of the project, though it stopped nothing.
    pub warnings: Vec<String>,
    /// Changes that belong to no skill, entry by entry.
    pub changes: Vec<String>,
    /// What became of its skills, removals last.
    pub skills: Vec<SkillReport>,
    /// Why nothing was done in it at all.
    pub error: Option<ProjectError>,
}

/// What became of a skill.
#[derive(Debug, Clone)]
pub struct SkillReport {
    /// The skill.
    pub name: Identifier,
    /// The declaration; none for one that is not declared any more.
    pub declaration: Option<Declaration>,
    /// The commit that is wanted.
    pub commit: Option<Commit>,
    /// What was done.
    pub outcome: Outcome,
    /// What to tell, though it stopped nothing.
    pub warnings: Vec<String>,
    /// What changes, entry by entry.
    pub changes: Vec<String>,
    /// Whether commands appear or change.
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
    /// Entries of agents that led to it are gone; the folder itself is not csk's, and stays.
    Unlinked,
    /// It failed; what was there before is still there.
    Failed(SkillError),
}

/// Why nothing can be done in a project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    /// Git would not ignore what csk writes.
    #[error("not ignored by git: {}", .0.join(", "))]
    NotIgnored(Vec<String>),
    /// Git would not ignore what csk writes, whatever the project's `.gitignore` says.
    #[error("not ignored by git: {}; the rule {rule} says so", entries.join(", "))]
    Unignored {
        /// What csk writes.
        entries: Vec<String>,
        /// The rule, with its place.
        rule: String,
    },
    /// Git has files where csk puts commands.
    #[error(
        "git tracks {0}, where csk puts commands; whoever changes the repository could put programs on PATH"
    )]
    Tracked(String),
    /// A folder that csk works in is a link.
    #[error("{0} is a link; csk writes only into real folders of the project")]
    Link(String),
    /// Several skills bring one command.
    #[error("Command collision: {}", .0.iter().map(Collision::to_string).collect::<Vec<_>>().join("; "))]
    Collision(Vec<Collision>),
    /// There is no lock, and there must be one.
    #[error("Skillfile.lock is missing")]
    NoLock,
    /// The lock has a skill that is not declared.
    #[error("Skillfile.lock has the skill `{0}`, which is not declared")]
    Undeclared(Identifier),
    /// The project's files cannot be read or written.
    #[error("{0}")]
    Files(String),
}

impl ProjectError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotIgnored(_) => {
                Some("run with --fix-gitignore, or add the entries to .gitignore")
            }
            Self::Unignored { .. } => Some("remove that rule; --fix-gitignore cannot overrule it"),
            Self::Tracked(_) => Some("look at what it is, then `git rm --cached` it"),
            Self::Link(_) => Some(
                "replace the link by a folder; an agent that should share .agents/skills needs no entry of its own",
            ),
            Self::Collision(_) => Some("remove one of the skills from Skillfile.json"),
            Self::NoLock | Self::Undeclared(_) => {
                Some("run `csk lock` in the project, and commit Skillfile.lock")
            }
            Self::Files(_) => None,
        }
    }

    /// Returns the report of a project in which nothing was done.
    pub(super) fn report(self, target: &Target, ignored: Vec<String>) -> ProjectReport {
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
    /// Returns true if commands appeared or changed.
    pub fn makes_commands(&self) -> bool {
        self.skills.iter().any(|skill| skill.makes_commands && !skill.has_failed())
    }
}

impl SkillReport {
    /// Returns true if something went wrong.
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }
}

/// What was done of a plan.
pub(super) struct Done<'a> {
    /// What became of its skills; nothing where nothing was to be written.
    pub(super) applied: &'a [Applied],
    /// What became of command files.
    pub(super) stored: &'a Stored,
    /// What was added to `.gitignore`, or would be.
    pub(super) ignored: Vec<String>,
    /// Whether anything was to be written.
    pub(super) mode: Mode,
}

/// Returns what became of a project whose plan was performed, or would be.
pub(super) fn project(target: &Target, plan: &Plan, done: Done<'_>) -> ProjectReport {
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
        // A dry run clones nothing, and an install would.
        Action::Refused(SkillError::NotCloned { .. }) if mode == Mode::DryRun => Outcome::Installed,
        Action::Refused(error) => Outcome::Failed(error.clone()),
        Action::Current if plan.commands.is_empty() => Outcome::UpToDate,
        Action::Current | Action::Install(_) | Action::Repair(_) => Outcome::Installed,
        Action::Remove(Remove { text: true, .. }) => Outcome::Removed,
        Action::Remove(Remove { text: false, .. }) => Outcome::Unlinked,
    };
    let failed = applied.and_then(|applied| applied.error.clone()).map(Outcome::Failed);
    let mut warnings = plan.warnings.clone();
    warnings.extend(
        kept.map(|kept| format!("the files of its commands were edited; they were kept in {kept}")),
    );
    for place in applied.iter().flat_map(|applied| &applied.backups) {
        warnings.push(format!("local edits of {} were kept in {place}", plan.name));
    }
    let mut changes = changes(plan);
    let made = plan.commands.iter().filter(|change| change.target.is_some());
    changes.extend(made.clone().map(|change| format!("make {BIN}/{}", change.command)));
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

/// Returns what a skill's plan changes, entry by entry.
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
                changes.push(format!("keep local edits of {context}/ aside"));
            }
        }
        Action::Install(install) => {
            let new: BTreeSet<&str> =
                install.content.files.iter().map(|file| file.path.as_str()).collect();
            let gone = old.filter(|path| !new.contains(path.as_str()));
            changes.extend(gone.map(|path| format!("delete {context}/{path}")));
            if install.keeps_edits {
                changes.push(format!("keep local edits of {context}/ aside"));
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
        let verb = if adapter.present { "make" } else { "delete" };
        changes.push(format!("{verb} {}/{}", adapter.folder, plan.name));
    }
    changes
}
