//! Lists the skills in a commit.

use std::collections::BTreeMap;

use skill::{Identifier, Input, RelPath, SKILL_FILE, Strictness, parse_head};

use crate::git::skill_folders::SkillFolder;
use crate::{Commit, Repository, SourceError};

/// A skill in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedSkill {
    /// Its name: the one in its SKILL.md, or else its folder's.
    pub name: Identifier,
    /// Its folder; `None` means the whole repository.
    pub path: Option<RelPath>,
    /// Its description, empty if it has none.
    pub description: String,
    /// The tree of its folder; the same id means the same files.
    tree: String,
}

/// The skills in a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// The skills, by path.
    pub skills: Vec<OfferedSkill>,
    /// Identical copies of these skills in other folders.
    pub copies: Vec<OfferedSkill>,
    /// Folders with a SKILL.md that csk cannot install.
    pub unusable: Vec<UnusableFolder>,
}

/// A folder with a SKILL.md that csk cannot install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableFolder {
    /// Its path; `None` means the root of the repository.
    pub path: Option<RelPath>,
    /// Why csk cannot install it.
    pub reason: String,
}

impl OfferedSkill {
    /// Returns its folder, or `.` for the whole repository.
    pub fn folder(&self) -> &str {
        self.path.as_ref().map_or(".", RelPath::as_str)
    }

    /// Returns true if no folder on its path is hidden.
    fn is_visible(&self) -> bool {
        self.path.iter().flat_map(RelPath::parts).all(|part| !part.starts_with('.'))
    }
}

/// Lists the skills at or below `at`, which may also be a file of a skill. `fallback` names a skill that is the whole
/// repository and has no valid name.
pub fn offered(
    repository: &Repository,
    commit: &Commit,
    at: Option<&RelPath>,
    fallback: &Identifier,
) -> Result<Offer, SourceError> {
    let objects = repository.objects();
    let mut offer = Offer::default();
    for folder in objects.skill_folders(commit, at)? {
        match name_and_description(&folder, fallback) {
            Ok((name, description)) => {
                let (path, tree) = (folder.path, folder.tree);
                offer.skills.push(OfferedSkill { name, path, description, tree });
            }
            Err(reason) => {
                offer.unusable.push(UnusableFolder { path: folder.path, reason });
            }
        }
    }
    let all = std::mem::take(&mut offer.skills);
    offer.skills = without_copies(all.clone());
    offer.copies = all.into_iter().filter(|skill| !offer.skills.contains(skill)).collect();
    Ok(offer)
}

fn name_and_description(
    folder: &SkillFolder,
    fallback: &Identifier,
) -> Result<(Identifier, String), String> {
    let own = folder.path.as_ref().and_then(|path| path.parts().last());
    let Some(bytes) = &folder.skill_file else {
        return Err("its SKILL.md is a symbolic link".to_owned());
    };
    let input = Input { file: SKILL_FILE, directory: own, bytes };
    let head = parse_head(&input, Strictness::Lenient);
    let declared = head.name.as_deref().and_then(|name| Identifier::new(name).ok());
    let name = match (declared, own) {
        (Some(name), _) => name,
        (None, Some(own)) => Identifier::new(own).map_err(|error| {
            format!("neither its SKILL.md nor its folder has a valid name: {error}")
        })?,
        (None, None) => fallback.clone(),
    };
    let description = head.frontmatter.map(|frontmatter| frontmatter.description);
    Ok((name, description.unwrap_or_default()))
}

/// Keeps one of several identical copies of a skill: repositories often keep one for each agent.
fn without_copies(skills: Vec<OfferedSkill>) -> Vec<OfferedSkill> {
    let mut kept: BTreeMap<(Identifier, String), OfferedSkill> = BTreeMap::new();
    let rank = |skill: &OfferedSkill| (!skill.is_visible(), skill.folder().len());
    for skill in skills {
        let key = (skill.name.clone(), skill.tree.clone());
        let is_better = kept.get(&key).is_none_or(|known| rank(&skill) < rank(known));
        if is_better {
            kept.insert(key, skill);
        }
    }
    let mut kept: Vec<OfferedSkill> = kept.into_values().collect();
    kept.sort_by(|one, other| one.path.cmp(&other.path));
    kept
}
