//! The user's decisions: which skills are disabled, and which folders are trusted.

use skill_fs::{AbsPath, real_path};

use crate::discover::naming::key;
use crate::discover::project::find_project;
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::lock_state;
use crate::{DisabledSkills, RuntimeError, TrustedFolders};

impl OpenSkillRuntime {
    /// Disables one skill by its id, or every skill with a name. Returns false if it was already disabled.
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

    /// Enables one skill by its id, or every skill with a name. A disabled name can be enabled even if no such skill
    /// exists.
    pub fn enable_skill(&mut self, name: &str) -> Result<bool, RuntimeError> {
        let state = self.places()?.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let mut disabled = DisabledSkills::load(state.as_ref())?;
        let is_news = match self.found.index.with_id(name) {
            Some(skill) => {
                let others =
                    self.found.index.named(&skill.key).iter().filter(|other| other.id != skill.id);
                // Other skills with a disabled name stay disabled, each by its folder.
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
                    // An unknown name is most likely a typo.
                    self.skill(name)?;
                }
                is_news
            }
        };
        disabled.save(state.as_ref())?;
        self.rediscover()?;
        Ok(is_news)
    }

    /// Returns the configured project, or the one that contains the working folder.
    pub fn project_root(&self) -> Result<AbsPath, RuntimeError> {
        Ok(find_project(self.config.project_root.as_deref(), self.places()?)?.root)
    }

    /// Trusts a folder: skills in it and in its subfolders count as the user's own. Returns its real path, and false if
    /// it was already trusted.
    pub fn trust_folder(&self, folder: &AbsPath) -> Result<(AbsPath, bool), RuntimeError> {
        let places = self.places()?;
        let folder = real_path(folder)?;
        let home = places.home.as_ref().and_then(|home| real_path(home).ok());
        if folder.parent().is_none()
            || home.is_some_and(|home| home.as_path().starts_with(folder.as_path()))
        {
            return Err(RuntimeError::PermissionDenied {
                message: format!("cannot trust `{folder}`: it contains your home folder"),
                hint: Some("trust individual project folders instead".to_owned()),
            });
        }
        let _lock = lock_state(places.state.as_ref())?;
        let mut trusted = TrustedFolders::load(places.state.as_ref())?;
        let is_new = trusted.add(&folder);
        trusted.save(places.state.as_ref())?;
        Ok((folder, is_new))
    }

    /// Stops trusting a folder. Returns its real path, and false if it was not trusted.
    pub fn distrust_folder(&self, folder: &AbsPath) -> Result<(AbsPath, bool), RuntimeError> {
        let state = self.places()?.state.as_ref();
        let _lock = lock_state(state)?;
        let mut trusted = TrustedFolders::load(state)?;
        // A deleted folder no longer has a real path.
        let real = real_path(folder).unwrap_or_else(|_| folder.clone());
        let is_news = trusted.remove(&real) | trusted.remove(folder);
        trusted.save(state)?;
        Ok((real, is_news))
    }
}
