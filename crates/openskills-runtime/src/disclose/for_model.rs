//! What a model may see and read: skills that it may invoke, and skills that the user activated.

use std::cell::OnceCell;
use std::sync::Arc;

use skill::{Arguments, SKILL_FILE, Strictness};

use crate::disclose::load::{load, model_may_invoke};
use crate::quote::shell_word;
use crate::runtime::OpenSkillRuntime;
use crate::{Invoker, RuntimeError, Skill};

impl OpenSkillRuntime {
    /// Returns up to `size` skills that the model may see, starting at index `start` of the usable skills, and the
    /// index of the next page. Only that page is checked, so large collections stay fast.
    pub fn page_for_model(&self, start: usize, size: usize) -> (Vec<Arc<Skill>>, Option<usize>) {
        let (all, records) = (self.list_skills(), OnceCell::new());
        let mut page = Vec::new();
        for (at, skill) in all.iter().enumerate().skip(start) {
            if page.len() == size {
                return (page, Some(at));
            }
            if model_may_invoke(skill) && self.is_visible_to_model(skill, &records) {
                page.push(Arc::clone(skill));
            }
        }
        (page, None)
    }

    /// Returns the skill that a model refers to. Skills that nobody may invoke do not exist for a model, and
    /// suggestions never reveal a skill that it may not see.
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

    /// Fails if the model may not invoke the skill and the user has not activated it in this session.
    pub fn check_model_starts(&self, skill: &Skill) -> Result<(), RuntimeError> {
        if self.model_may_invoke(skill) || self.is_active(&skill.id) {
            return Ok(());
        }
        let hint = || {
            let name = format!("/{}", skill.id);
            let name = shell_word(&name);
            format!(
                "the user can invoke it through its prompt, or with `openskills activate {name}`"
            )
        };
        Err(RuntimeError::PermissionDenied {
            message: format!("the model is not allowed to invoke `{}`", skill.id),
            hint: skill.user_may_invoke.then(hint),
        })
    }

    /// Fails if `invoker` may not invoke the skill and so may not read its files.
    pub(crate) fn check_reader(&self, skill: &Skill, invoker: Invoker) -> Result<(), RuntimeError> {
        match invoker {
            Invoker::Model => self.check_model_starts(skill),
            Invoker::User if skill.user_may_invoke || self.model_may_invoke(skill) => Ok(()),
            Invoker::User => Err(RuntimeError::PermissionDenied {
                message: format!(
                    "neither the user nor the model is allowed to invoke `{}`, so its files cannot be read",
                    skill.id
                ),
                hint: None,
            }),
        }
    }

    /// Fails if a model may not read this file: it may not invoke the skill, and the user has not activated it in this
    /// session. Reading the SKILL.md also requires what activation requires: its libraries, and its arguments if it has
    /// a schema.
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
                message: format!(
                    "`{}` takes arguments, so its instructions can only be read by activating it",
                    skill.id
                ),
                hint: Some("activate the skill with its arguments".to_owned()),
            });
        }
        Ok(())
    }
}
