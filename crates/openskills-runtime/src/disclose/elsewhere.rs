//! Records that an agent loads a skill by its own means, so that the skill restricts the session's tools from then on.

#![expect(clippy::disallowed_methods, reason = "the edge: what a path leads to")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::disclose::load::{Loaded, load};
use crate::disclose::session::Session;
use crate::discover::index::SkillLocation;
use crate::runtime::OpenSkillRuntime;
use crate::{Event, RefusedSkill, RuntimeError, Skill, SkillActivation};

impl OpenSkillRuntime {
    /// Records that an agent is about to load the skill with this name, and returns the IDs of the skills that are
    /// active because of it. Agents have rules of their own about which folder wins, so every skill of this name that
    /// is a folder becomes active: each of them can only restrict more.
    ///
    /// It fails if one of them is blocked by the audit, revoked, denied by the organization or unreadable, because
    /// nothing could restrict it then. A name that no folder has is not known to us, and nothing becomes active.
    pub fn activated_elsewhere(&mut self, name: &str) -> Result<Vec<String>, RuntimeError> {
        // Some agents use the name of the folder, others the name in the file.
        let is_it = |skill: &&Arc<Skill>| match &skill.place {
            SkillLocation::Folder { folder, .. } => {
                skill.name.as_ref().eq_ignore_ascii_case(name)
                    || is_folder_of(folder.as_path(), name)
            }
            SkillLocation::Builtin(_) | SkillLocation::Served(_) => false,
        };
        let found: Vec<Arc<Skill>> =
            self.found.index.skills.iter().filter(is_it).cloned().collect();
        let is_named = |refused: &&RefusedSkill| {
            let file = Path::new(&refused.path);
            refused.keys.iter().any(|key| key.eq_ignore_ascii_case(name))
                || [Some(file), file.parent()]
                    .into_iter()
                    .flatten()
                    .any(|at| is_folder_of(at, name))
        };
        if found.is_empty()
            && let Some(refused) = self.found.index.refused.iter().find(is_named)
        {
            return Err(RuntimeError::PermissionDenied {
                message: format!("`{}` cannot be loaded: its SKILL.md is not valid", refused.id),
                hint: Some(format!("run `openskills validate {}`", refused.path)),
            });
        }
        let mut active = Vec::new();
        for skill in found {
            if let Err(error) = self.activate_elsewhere(&skill) {
                self.record_failure(&skill.id, None, &error);
                return Err(error);
            }
            active.push(skill.id.clone());
        }
        Ok(active)
    }

    /// Returns the names of the skills whose folder contains a path, or is it.
    pub fn skills_with_path(&self, path: &Path) -> Vec<String> {
        self.skills_where(path, |own, real| real.starts_with(own))
    }

    /// Returns the names of the skills in a folder, or around it: a pattern in that folder may match any file in them.
    pub fn skills_with_pattern(&self, folder: &Path) -> Vec<String> {
        self.skills_where(folder, |own, real| real.starts_with(own) || own.parent() == Some(real))
    }

    fn skills_where(&self, path: &Path, matches: impl Fn(&Path, &Path) -> bool) -> Vec<String> {
        let Ok(real) = fs::canonicalize(path) else { return Vec::new() };
        let is_it = |skill: &&Arc<Skill>| match &skill.place {
            SkillLocation::Folder { folder, .. } => {
                fs::canonicalize(folder.as_path()).is_ok_and(|own| matches(&own, &real))
            }
            SkillLocation::Builtin(_) | SkillLocation::Served(_) => false,
        };
        let all = self.found.index.skills.iter().filter(is_it);
        all.map(|skill| skill.name.to_string()).collect()
    }

    /// Returns the name of the skill that has this file as its SKILL.md.
    pub fn skill_with_file(&self, file: &Path) -> Option<String> {
        let real = fs::canonicalize(file).ok()?;
        let is_it = |skill: &&Skill| {
            let location = skill.location();
            location.is_some_and(|path| fs::canonicalize(path).is_ok_and(|path| path == real))
        };
        // Most files are not named so, and then nothing has to be compared.
        let name = real.file_name()?.to_str()?;
        let is_skill_file = name.eq_ignore_ascii_case("SKILL.md") || name.ends_with(".md");
        let all = self.found.index.skills.iter().map(AsRef::as_ref);
        is_skill_file.then(|| all.into_iter().find(is_it))?.map(|skill| skill.name.to_string())
    }

    fn activate_elsewhere(&mut self, skill: &Skill) -> Result<(), RuntimeError> {
        let loaded = load(skill, self.config.strictness())?;
        if let Some(reason) = &skill.denied {
            return Err(RuntimeError::PermissionDenied {
                message: format!("`{}` is not allowed: {reason}", skill.id),
                hint: Some("ask the administrator of this machine".to_owned()),
            });
        }
        self.check_policy(skill, &loaded.document.frontmatter)?;
        self.check_clearance(skill, &loaded)?;
        if let Some(what) = runs_when_loaded(&loaded) {
            return Err(RuntimeError::PermissionDenied {
                message: format!("`{}` cannot be loaded: {what}", skill.id),
                hint: Some(format!("read it with `openskills show {}`", skill.id)),
            });
        }
        let mut activation = SkillActivation {
            skill_id: skill.id.clone(),
            hash: self.hash(skill)?,
            source: skill.source,
            session_id: self.session.id.clone(),
            task_id: None,
            activated_at: Timestamp::now(),
            origin: None,
            attached: None,
            repeated: false,
        };
        // The digest describes what was read only if the skill has not changed in the meantime.
        crate::disclose::load::open(skill)?;
        let key = Session::key(&activation, skill.path(), None);
        activation.repeated = self.session.note(key, &activation)?;
        if let Err(error) = self.record(&Event::Activated(activation.clone())) {
            if !activation.repeated {
                self.session.forget(&key);
            }
            return Err(error);
        }
        // End the activation of an earlier version, but not of this one.
        self.session.end(&skill.id, Some(activation.hash.as_str()))?;
        Ok(())
    }
}

/// Returns true if the last folder of a path has this name.
fn is_folder_of(folder: &Path, name: &str) -> bool {
    folder.file_name().is_some_and(|own| own.eq_ignore_ascii_case(name))
}

/// Returns what of a skill the agent would run outside of the sandbox while it loads the skill, if anything.
fn runs_when_loaded(loaded: &Loaded) -> Option<&'static str> {
    let document = &loaded.document;
    if document.frontmatter.claude.hooks.is_some() {
        return Some("its `hooks` would run without the sandbox");
    }
    may_run_when_loaded(&document.body.text).then_some(
        "commands in its text (!`…`) would run without the sandbox while the agent loads it",
    )
}

/// Returns true if an agent might run a part of a text while it loads the text: between backquotes after an exclamation
/// mark, or in a code block that begins with one. The agent replaces placeholders first.
pub fn may_run_when_loaded(text: &str) -> bool {
    text.contains("```!") || text.contains("!`") || text.contains("!$")
}

/// Returns true if arguments of a skill might make the agent run something while it loads the skill.
pub fn arguments_may_run(arguments: &str) -> bool {
    arguments.contains('!') && arguments.contains('`')
}
