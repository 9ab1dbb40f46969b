//! Calls of tools, held to what active skills declare.

use skill::capabilities::Declared;

use super::OpenSkillRuntime;
use crate::load::load;
use crate::policy::{Decision, Surroundings, ToolCall, Verdict, decide, strictest};
use crate::{RuntimeError, Skill};

impl OpenSkillRuntime {
    /// Decides whether a tool may be called. A call that names its skill is held to that skill; one that does not, to every
    /// skill that is active in the session. `None` if no skill restricts it because none is active.
    pub fn check_tool(
        &self,
        skill: Option<&str>,
        call: &ToolCall,
        around: &Surroundings,
    ) -> Result<Option<Verdict>, RuntimeError> {
        let verdict = |skill: &Skill| -> Result<Verdict, RuntimeError> {
            let loaded = load(skill, self.config.strictness())?;
            let declared = Declared::of(&loaded.document.frontmatter, None);
            let Verdict { decision, because } = decide(call, &declared.tools, around);
            Ok(Verdict { decision, because: format!("{}: {because}", skill.id) })
        };
        if let Some(name) = skill {
            return verdict(self.skill(name)?).map(Some);
        }
        let mut verdicts = Vec::new();
        for (id, hash) in self.session.active()? {
            // A skill that is not what it was when it was activated restricts as hard as can be.
            let same = self
                .skill(&id)
                .and_then(|skill| (self.hash(skill)? == hash).then(|| verdict(skill)).transpose());
            let gone = || {
                let because = format!("{id}: it is active, and gone or changed since");
                Verdict { decision: Decision::Deny, because }
            };
            verdicts.push(same.ok().flatten().unwrap_or_else(gone));
        }
        Ok(strictest(verdicts))
    }
}
