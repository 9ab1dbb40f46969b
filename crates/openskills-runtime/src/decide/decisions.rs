//! What the user decides: which skills are on, which folders are trusted.

use skill_fs::{AbsPath, real_path};

use crate::discover::naming::key;
use crate::discover::project::find_project;
use crate::runtime::OpenSkillRuntime;
use crate::state::decided::lock_state;
use crate::{DisabledSkills, RuntimeError, TrustedFolders};

impl OpenSkillRuntime {
    /// Switches a skill off: one by its id, or every skill of a name. Returns false if that was so already.
    pub fn disable_skill(&mut self, name: &str) -> Result<bool, RuntimeError> {
        let state = self.places()?.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let mut disabled = DisabledSkills::load(state.as_ref())?;
        let is_new = match self.found.index.with_id(name) {
            Some(skill) => disabled.add_folder(skill.path()),
            None if name.contains('/') || self.candidates(name).is_empty() => {
                disabled.add_name(&self.skill(name)?.key)
            }
            None => disabled.add_name(&key(name)),
        };
        disabled.save(state.as_ref())?;
        self.rediscover()?;
        Ok(is_new)
    }

    /// Switches a skill on again: one by its id, or every skill of a name. A name that is switched off can be switched on
    /// even if no such skill is there.
    pub fn enable_skill(&mut self, name: &str) -> Result<bool, RuntimeError> {
        let state = self.places()?.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let mut disabled = DisabledSkills::load(state.as_ref())?;
        let is_news = match self.found.index.with_id(name) {
            Some(skill) => {
                let others =
                    self.found.index.named(&skill.key).iter().filter(|other| other.id != skill.id);
                // The others of a name that is off stay off, each by itself.
                let was_off = disabled.remove_name(&skill.key);
                for other in others.filter(|_| was_off) {
                    disabled.add_folder(other.path());
                }
                disabled.remove_folder(skill.path()) | was_off
            }
            None if name.contains('/') => {
                self.skill(name)?;
                false
            }
            None => {
                let candidates = self.candidates(name);
                let mut is_news = disabled.remove_name(&key(name));
                for skill in candidates {
                    is_news |= disabled.remove_folder(skill.path());
                }
                if !is_news && candidates.is_empty() {
                    // Something that was never heard of is more likely a slip than a wish.
                    self.skill(name)?;
                }
                is_news
            }
        };
        disabled.save(state.as_ref())?;
        self.rediscover()?;
        Ok(is_news)
    }

    /// Returns the project around the working folder, or the one that the host named.
    pub fn project_root(&self) -> Result<AbsPath, RuntimeError> {
        Ok(find_project(self.config.project_root.as_deref(), self.places()?)?.root)
    }

    /// Trusts a folder: skills of it, and of folders in it, count as the user's own. Returns its real path, and false
    /// if it was trusted already.
    pub fn trust_folder(&self, folder: &AbsPath) -> Result<(AbsPath, bool), RuntimeError> {
        let places = self.places()?;
        let folder = real_path(folder)?;
        let home = places.home.as_ref().and_then(|home| real_path(home).ok());
        if folder.parent().is_none()
            || home.is_some_and(|home| home.as_path().starts_with(folder.as_path()))
        {
            return Err(RuntimeError::PermissionDenied {
                message: format!(
                    "{folder} holds more than a project, so it cannot be trusted as a whole"
                ),
                hint: Some("name the projects that you trust".to_owned()),
            });
        }
        let _lock = lock_state(places.state.as_ref())?;
        let mut trusted = TrustedFolders::load(places.state.as_ref())?;
        let is_new = trusted.add(&folder);
        trusted.save(places.state.as_ref())?;
        Ok((folder, is_new))
    }

    /// Trusts a folder no longer. Returns its real path, and false if it was not in the list.
    pub fn distrust_folder(&self, folder: &AbsPath) -> Result<(AbsPath, bool), RuntimeError> {
        let state = self.places()?.state.as_ref();
        let _lock = lock_state(state)?;
        let mut trusted = TrustedFolders::load(state)?;
        // A folder that is gone has no real path any more.
        let real = real_path(folder).unwrap_or_else(|_| folder.clone());
        let is_news = trusted.remove(&real) | trusted.remove(folder);
        trusted.save(state)?;
        Ok((real, is_news))
    }
}
