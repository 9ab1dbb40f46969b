//! What a model may know of and read: skills that it may start, and what the user started.

use std::cell::OnceCell;
use std::sync::Arc;

use skill::{Arguments, SKILL_FILE, Strictness};

use crate::disclose::load::{load, model_may_invoke};
use crate::quote::shell_word;
use crate::runtime::OpenSkillRuntime;
use crate::{Invoker, RuntimeError, Skill};

impl OpenSkillRuntime {
    /// Returns at most `size` of them, from a place in the list of all skills that can be used, and the place where the next ones begin. Only those are
    /// looked at: nobody waits for thousands.
    pub fn page_for_model(&self, start: usize, size: usize) -> (Vec<Arc<Skill>>, Option<usize>) {
        let (all, words) = (self.list_skills(), OnceCell::new());
        let mut page = Vec::new();
        for (at, skill) in all.iter().enumerate().skip(start) {
            if page.len() == size {
                return (page, Some(at));
            }
            if model_may_invoke(skill) && self.is_told(skill, &words) {
                page.push(Arc::clone(skill));
            }
        }
        (page, None)
    }

    /// Returns the skill that a model names. What nobody may start is not there for it, and nothing is suggested that it may not know of.
    pub fn skill_for_model(&self, name: &str) -> Result<&Arc<Skill>, RuntimeError> {
        let is_known = |skill: &Skill| skill.user_may_invoke || self.model_may_invoke(skill);
        match self.skill(name) {
            Ok(skill) if !is_known(skill) => {
                Err(RuntimeError::SkillNotFound { name: name.to_owned(), nearest: None })
            }
            Err(RuntimeError::SkillNotFound { name, nearest }) => {
                let known = self.skills_for_model();
                let is_open = |nearest: &String| {
                    known.iter().any(|skill| skill.id == *nearest || *skill.name == **nearest)
                };
                Err(RuntimeError::SkillNotFound { name, nearest: nearest.filter(is_open) })
            }
            other => other,
        }
    }

    /// Refuses to a model what it may not start. What the user started in this session is started.
    pub fn check_model_starts(&self, skill: &Skill) -> Result<(), RuntimeError> {
        if self.model_may_invoke(skill) || self.is_active(&skill.id) {
            return Ok(());
        }
        let hint = || {
            let name = format!("/{}", skill.id);
            let name = shell_word(&name);
            format!("the user can start it, by its prompt or by: openskills activate {name}")
        };
        Err(RuntimeError::PermissionDenied {
            message: format!("the model may not start `{}` by itself", skill.id),
            hint: skill.user_may_invoke.then(hint),
        })
    }

    /// Refuses to show a file of a skill to whoever may not start it.
    pub(crate) fn check_reader(&self, skill: &Skill, invoker: Invoker) -> Result<(), RuntimeError> {
        match invoker {
            Invoker::Model => self.check_model_starts(skill),
            Invoker::User if skill.user_may_invoke || self.model_may_invoke(skill) => Ok(()),
            Invoker::User => Err(RuntimeError::PermissionDenied {
                message: format!("nobody may start `{}`, so nothing of it is read", skill.id),
                hint: None,
            }),
        }
    }

    /// Refuses to show a model a file of a skill that it may not start: unless the user started it in this session. The text itself needs what activating it needs: its libraries, and its
    /// arguments where it describes them.
    pub fn check_model_reads(&self, name: &str, path: &str) -> Result<(), RuntimeError> {
        let skill = self.skill_for_model(name)?;
        self.check_model_starts(skill)?;
        if self.is_active(&skill.id) {
            return Ok(());
        }
        if path != skill.skill_file() && path != SKILL_FILE {
            return Ok(());
        }
        let loaded = load(skill, Strictness::Lenient)?;
        let frontmatter = &loaded.document.frontmatter;
        self.check_libraries(skill, frontmatter)?;
        if matches!(frontmatter.arguments, Some(Arguments::Schema(_))) {
            return Err(RuntimeError::PermissionDenied {
                message: format!("`{}` takes arguments, which its text is shown with", skill.id),
                hint: Some("read the skill itself, with its arguments".to_owned()),
            });
        }
        Ok(())
    }
}
