//! Applies the lockfile to a skill: the pinned commit counts, wherever the reference points now.

use std::collections::BTreeSet;

use skill::{Digest, Identifier, RefKind};

use super::{ProjectError, Resolution, SkillError, Target};
use crate::{Commit, Declaration, LockedSkill};

/// How references and lockfiles are turned into commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolveRules {
    /// What happens if a tag has moved.
    pub tags: TagPolicy,
    /// How the lockfile is used.
    pub lock: LockfileMode,
}

impl ResolveRules {
    /// The rules for commands that only show the state.
    pub const STATUS: Self = Self { tags: TagPolicy::Warn, lock: LockfileMode::Follow };
}

/// What happens if a tag has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagPolicy {
    /// Print a warning.
    Warn,
    /// Fail.
    Strict,
}

/// How a project's lockfile is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockfileMode {
    /// Install the pinned commits and update the lockfile to match the Skillfile.
    Follow,
    /// Fail unless the lockfile exists and matches the Skillfile and the references.
    Require,
    /// Pin what the references point to now.
    Refresh,
}

/// How a pinned commit relates to where its reference points now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PinState {
    /// The reference points to the commit, or is a branch that descends from it.
    Valid,
    /// The reference points to an unrelated commit, or to none.
    Moved(Option<Commit>),
    /// The commit is not in the repository.
    Missing,
    /// The commit is in the repository but has another tree.
    TreeMismatch,
}

/// The commit to install, and a warning about it.
pub(super) struct CommitChoice {
    pub(super) commit: Result<Commit, SkillError>,
    pub(super) warning: Option<String>,
    /// Whether the commit comes from the lockfile.
    pub(super) is_locked: bool,
}

/// Chooses the commit of a declared skill.
pub(super) fn choose(
    target: &Target,
    skill: &Declaration,
    resolution: &Resolution,
    ResolveRules { tags, lock: usage }: ResolveRules,
) -> CommitChoice {
    let resolved = resolution.get(skill).commit;
    let locked = target.lock.as_ref().and_then(|lock| lock.get(skill));
    let free = |commit| CommitChoice { commit, warning: None, is_locked: false };
    // The repository may contain the commit, but it is not the declared one.
    if matches!(resolved, Err(SkillError::OtherOrigin { .. })) {
        return free(resolved);
    }
    let locked = match (locked, usage) {
        (_, LockfileMode::Refresh) | (None, LockfileMode::Follow) => return free(resolved),
        (None, LockfileMode::Require) => {
            return free(Err(SkillError::NotLocked { skill: skill.name.to_string() }));
        }
        (Some(locked), LockfileMode::Follow | LockfileMode::Require) => locked,
    };
    // The resolution error says why the repository cannot be read.
    let Some(state) = resolution.pin_state(skill, locked) else { return free(resolved) };
    let pinned =
        |warning| CommitChoice { commit: Ok(locked.commit.clone()), warning, is_locked: true };
    match state {
        PinState::Valid => pinned(None),
        PinState::Missing => {
            let commit = locked.commit.as_str().to_owned();
            free(Err(SkillError::LockedAbsent { skill: skill.name.to_string(), commit }))
        }
        PinState::TreeMismatch => free(Err(SkillError::LockedTree {
            skill: skill.name.to_string(),
            commit: locked.commit.short().to_owned(),
        })),
        PinState::Moved(now)
            if tags == TagPolicy::Strict && skill.reference.kind == RefKind::Tag =>
        {
            free(Err(moved(skill, locked, now.as_ref())))
        }
        PinState::Moved(now) => {
            let moved = moved(skill, locked, now.as_ref());
            match usage {
                LockfileMode::Require => free(Err(moved)),
                LockfileMode::Follow | LockfileMode::Refresh => {
                    pinned(Some(format!("{moved}; using the locked commit")))
                }
            }
        }
    }
}

/// Checks a required lockfile: it must not pin a skill that is not declared. Declared skills without a pin are refused one by one, by
/// [`choose`].
pub(super) fn check_lock(target: &Target, usage: LockfileMode) -> Result<(), ProjectError> {
    if usage != LockfileMode::Require {
        return Ok(());
    }
    let lock = target.lock.as_ref().ok_or(ProjectError::NoLock)?;
    let declared: BTreeSet<&Identifier> = target.skills.iter().map(|skill| &skill.name).collect();
    match lock.skills.keys().find(|name| !declared.contains(name)) {
        Some(name) => Err(ProjectError::Undeclared(name.clone())),
        None => Ok(()),
    }
}

/// Returns an error if a skill's files do not match the pinned digest.
pub(super) fn wrong_bundle(
    target: &Target,
    skill: &Declaration,
    found: Digest,
) -> Option<SkillError> {
    let locked = target.lock.as_ref()?.get(skill)?;
    (locked.bundle != found).then(|| SkillError::LockBundle {
        skill: skill.name.to_string(),
        commit: locked.commit.as_str().to_owned(),
        found: found.to_string(),
        expected: locked.bundle.to_string(),
    })
}

fn moved(skill: &Declaration, locked: &LockedSkill, now: Option<&Commit>) -> SkillError {
    SkillError::LockMoved {
        kind: skill.reference.kind.as_str(),
        skill: skill.name.to_string(),
        name: skill.reference.name.clone(),
        old: locked.commit.short().to_owned(),
        new: now.map_or_else(|| "nothing".to_owned(), |now| now.short().to_owned()),
    }
}
