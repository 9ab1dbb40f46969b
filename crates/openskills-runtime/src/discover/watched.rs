//! Determines which folders to watch, and which skills a changed path belongs to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skill_fs::{AbsPath, REPOSITORY, real_path};

use crate::discover::watch::Watched;
use crate::runtime::OpenSkillRuntime;
use crate::{RuntimeError, Skill};

impl OpenSkillRuntime {
    /// Returns the folders to watch, most important first.
    pub(crate) fn watched(&self) -> Result<Vec<Watched>, RuntimeError> {
        let around = |path: &AbsPath| {
            std::iter::successors(path.parent(), AbsPath::parent)
                .find_map(|folder| real_path(&folder).ok())
        };
        let mut all = Vec::new();
        for root in &self.found.roots.roots {
            match real_path(&root.path) {
                Ok(folder) => all.push(Watched::below(folder)),
                // A missing root would appear in its nearest existing parent.
                Err(_) => all.extend(around(&root.path).map(Watched::plain)),
            }
        }
        all.extend(self.found.linked.iter().cloned().map(Watched::below));
        let places = self.places()?;
        for own in [&places.state, &places.config].into_iter().flatten() {
            all.extend(real_path(own).ok().or_else(|| around(own)).map(Watched::plain));
        }
        let served = places.state.as_ref().map(crate::served::approved::watched);
        all.extend(served.and_then(|folder| real_path(&folder).ok()).map(Watched::plain));
        all.extend(self.found.roots.searched.iter().cloned().map(Watched::plain));
        Ok(all)
    }

    /// Returns the skills that contain any of `paths`.
    pub(crate) fn skills_at(&self, paths: &[PathBuf]) -> Vec<Arc<Skill>> {
        let folders: HashMap<&Path, &Arc<Skill>> =
            self.all_skills().iter().map(|skill| (Path::new(skill.path()), skill)).collect();
        let mut found: Vec<Arc<Skill>> = Vec::new();
        for path in paths {
            let skill = path.ancestors().find_map(|folder| folders.get(folder));
            // Changes inside `.git` do not change the skill.
            let skill =
                skill.filter(|skill| !path.starts_with(Path::new(skill.path()).join(REPOSITORY)));
            if let Some(skill) =
                skill.filter(|skill| !found.iter().any(|known| known.id == skill.id))
            {
                found.push(Arc::clone(skill));
            }
        }
        found
    }
}
