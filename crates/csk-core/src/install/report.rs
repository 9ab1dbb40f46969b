//! What became of projects and skills, for whoever asked.

use std::sync::Arc;

use skill::Identifier;

use super::shims::{Collision, Files};
use super::{Applied, BIN, Group, Mode, Plan, Prepared, SKILLS, SkillError, Target};
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

/// Returns what became of a project whose plan was performed, or would be.
pub(super) fn project(
    target: &Target,
    plan: &Plan,
    ignored: Vec<String>,
    (applied, files): (&[Applied], &Files),
    mode: Mode,
) -> ProjectReport {
    let groups = plan.skills.iter().chain(&plan.removals);
    let mut changes: Vec<String> =
        plan.env.iter().map(|file| format!("write {}", file.path)).collect();
    let gone = plan.shims.iter().filter(|shim| shim.target.is_none());
    changes.extend(gone.map(|shim| format!("delete {BIN}/{}", shim.command)));
    ProjectReport {
        alias: target.alias.clone(),
        ignored,
        warnings: plan.warnings.iter().chain(&plan.notes).cloned().collect(),
        changes,
        skills: groups.map(|group| skill(target, plan, group, (applied, files), mode)).collect(),
        error: None,
    }
}

fn skill(
    target: &Target,
    plan: &Plan,
    group: &Group,
    (applied, files): (&[Applied], &Files),
    mode: Mode,
) -> SkillReport {
    let done = applied.iter().find(|done| done.name == group.name);
    let error = group.error.clone().or_else(|| done.and_then(|done| done.error.clone()));
    let is_declared = target.skills.iter().any(|skill| skill.name == group.name);
    let has_shims = plan.shims.iter().any(|shim| shim.skill.as_ref() == Some(&group.name));
    let outcome = match error {
        // A dry run clones nothing, and an install would.
        Some(SkillError::NotCloned { .. }) if mode == Mode::DryRun => Outcome::Installed,
        Some(error) => Outcome::Failed(error),
        None if !is_declared && !group.remove => Outcome::Unlinked,
        None if !is_declared => Outcome::Removed,
        None if group.is_empty() && !has_shims => Outcome::UpToDate,
        None => Outcome::Installed,
    };
    let mut warnings = group.warnings.clone();
    for place in done.iter().flat_map(|done| &done.backups) {
        warnings.push(format!("local edits of {} were kept in {place}", group.name));
    }
    let mut changes = changes(group, files.get(&group.name));
    let made = plan.shims.iter().filter(|shim| shim.skill.as_ref() == Some(&group.name));
    changes.extend(made.map(|shim| format!("make {BIN}/{}", shim.command)));
    SkillReport {
        name: group.name.clone(),
        declaration: target.skills.iter().find(|skill| skill.name == group.name).cloned(),
        commit: group.commit.clone(),
        outcome,
        warnings,
        changes,
        makes_commands: has_shims,
    }
}

/// Returns what a group changes, entry by entry.
fn changes(group: &Group, prepared: Option<&Arc<Prepared>>) -> Vec<String> {
    let context = format!("{SKILLS}/{}", group.name);
    let mut changes = Vec::new();
    if let Some(SkillError::NotCloned { url }) = &group.error {
        changes.push(format!("clone {url}"));
    }
    let new = prepared.filter(|_| group.install.is_some());
    let stays = |path: &String| {
        new.is_some_and(|new| new.files.iter().any(|file| file.path.as_str() == path))
    };
    if group.remove || new.is_some() {
        let gone = group.old_files.iter().filter(|path| !stays(path));
        changes.extend(gone.map(|path| format!("delete {context}/{path}")));
    }
    if group.remove {
        changes.push(format!("delete {context}/"));
    }
    if group.edited && (group.remove || group.install.is_some()) {
        changes.push(format!("keep local edits of {context}/ aside"));
    }
    if let Some(new) = new {
        changes.extend(new.files.iter().map(|file| format!("write {context}/{}", file.path)));
        changes.push(format!("write {context}/{}", skill::MARKER_FILE));
    }
    let commit = group.commit.as_ref().map_or("", |commit| commit.as_str());
    if let Some(runtime) = prepared.and_then(|prepared| prepared.runtime.as_ref()) {
        let place = format!("runtime/{}/{commit}", group.name);
        changes.extend(runtime.files.iter().map(|file| format!("write {place}/{}", file.path)));
    }
    for adapter in &group.adapters {
        let verb = if adapter.present { "make" } else { "delete" };
        changes.push(format!("{verb} {}/{}", adapter.folder, group.name));
    }
    changes
}
