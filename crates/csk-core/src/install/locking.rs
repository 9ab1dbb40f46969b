//! What a lock means for a skill: its commit counts, whatever the reference names now.

use std::collections::BTreeSet;

use skill::{Digest, Identifier, RefKind};

use super::{ProjectError, Resolution, SkillError, Target};
use crate::{Commit, Declaration, Locked};

/// How references and locks become commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// What a tag that moved means.
    pub tags: Tags,
    /// How locks are used.
    pub lock: LockUse,
}

impl Rules {
    /// The rules of commands that show the state and change nothing.
    pub const STATUS: Self = Self { tags: Tags::MayMove, lock: LockUse::Follow };
}

/// What a tag that moved means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tags {
    /// A warning.
    MayMove,
    /// An error.
    Strict,
}

/// How the lock of a project is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockUse {
    /// Its commits are installed, and it is brought up to date with the Skillfile.
    Follow,
    /// It must be there and match the Skillfile and what the references name.
    Require,
    /// It is written anew with what the references name.
    Refresh,
}

/// How a locked commit stands to what its reference names now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// It is that commit, or a branch went on from it.
    Fine,
    /// The reference names a commit that does not come from it, or none.
    Moved(Option<Commit>),
    /// The repository does not have it.
    Absent,
    /// The repository has it with another tree.
    OtherTree,
}

/// The commit to install, and what to tell about it.
pub(super) struct Choice {
    pub(super) commit: Result<Commit, SkillError>,
    pub(super) warning: Option<String>,
    /// Whether the commit is that of the lock.
    pub(super) is_locked: bool,
}

/// Chooses the commit of a declared skill.
pub(super) fn choose(
    target: &Target,
    skill: &Declaration,
    resolution: &Resolution,
    Rules { tags, lock: usage }: Rules,
) -> Choice {
    let resolved = resolution.get(skill).commit;
    let locked = target.lock.as_ref().and_then(|lock| lock.get(skill));
    let free = |commit| Choice { commit, warning: None, is_locked: false };
    // What is there may have the commit, and is not what was declared.
    if matches!(resolved, Err(SkillError::OtherOrigin { .. })) {
        return free(resolved);
    }
    let locked = match (locked, usage) {
        (_, LockUse::Refresh) | (None, LockUse::Follow) => return free(resolved),
        (None, LockUse::Require) => {
            return free(Err(SkillError::NotLocked { skill: skill.name.to_string() }));
        }
        (Some(locked), LockUse::Follow | LockUse::Require) => locked,
    };
    // A repository that cannot be read says why.
    let Some(finding) = resolution.finding(skill, locked) else { return free(resolved) };
    let fixed = |warning| Choice { commit: Ok(locked.commit.clone()), warning, is_locked: true };
    match finding {
        Finding::Fine => fixed(None),
        Finding::Absent => {
            let commit = locked.commit.as_str().to_owned();
            free(Err(SkillError::LockedAbsent { skill: skill.name.to_string(), commit }))
        }
        Finding::OtherTree => free(Err(SkillError::LockedTree {
            skill: skill.name.to_string(),
            commit: locked.commit.short().to_owned(),
        })),
        Finding::Moved(now) if tags == Tags::Strict && skill.reference.kind == RefKind::Tag => {
            free(Err(moved(skill, locked, now.as_ref())))
        }
        Finding::Moved(now) => {
            let moved = moved(skill, locked, now.as_ref());
            match usage {
                LockUse::Require => free(Err(moved)),
                LockUse::Follow | LockUse::Refresh => {
                    fixed(Some(format!("{moved}; the locked commit is used")))
                }
            }
        }
    }
}

/// Checks a required lockfile: it must not pin a skill that is not declared. Declared skills without a pin are refused one by one, by
/// [`choose`].
pub(super) fn check_lock(target: &Target, usage: LockUse) -> Result<(), ProjectError> {
    if usage != LockUse::Require {
        return Ok(());
    }
    let lock = target.lock.as_ref().ok_or(ProjectError::NoLock)?;
    let declared: BTreeSet<&Identifier> = target.skills.iter().map(|skill| &skill.name).collect();
    match lock.skills.keys().find(|name| !declared.contains(name)) {
        Some(name) => Err(ProjectError::Undeclared(name.clone())),
        None => Ok(()),
    }
}

/// Returns an error if a skill's files do not have the digest that is locked.
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

fn moved(skill: &Declaration, locked: &Locked, now: Option<&Commit>) -> SkillError {
    SkillError::LockMoved {
        kind: skill.reference.kind.as_str(),
        skill: skill.name.to_string(),
        name: skill.reference.name.clone(),
        old: locked.commit.short().to_owned(),
        new: now.map_or_else(|| "nothing".to_owned(), |now| now.short().to_owned()),
    }
}
