//! Deactivates skills.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::runtime::OpenSkillRuntime;
use crate::{Event, RuntimeError};

impl OpenSkillRuntime {
    /// Deactivates a skill in this session, given its id or name, even if the skill no longer exists; returns the id.
    /// This lifts tool restrictions, so only the user may request it. It is logged before it takes effect.
    pub fn deactivate(&mut self, name: &str) -> Result<String, RuntimeError> {
        let active: BTreeSet<String> =
            self.session.active()?.into_iter().map(|(id, _)| id).collect();
        let is_meant = |id: &&String| *id == name || id.rsplit('/').next() == Some(name);
        let found: Vec<&String> = active.iter().filter(is_meant).collect();
        let setup = |message: String, hint: Option<String>| RuntimeError::Setup { message, hint };
        let listed =
            |ids: &[&String]| ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
        let id = match found.as_slice() {
            [one] => (*one).clone(),
            [] if active.is_empty() => {
                let hint = "pass the session it was activated in: --session ID".to_owned();
                return Err(setup("no skill is active in this session".to_owned(), Some(hint)));
            }
            [] => {
                let hint = format!(
                    "use one of the active skills: {}",
                    listed(&active.iter().collect::<Vec<_>>())
                );
                return Err(setup(format!("`{name}` is not active in this session"), Some(hint)));
            }
            several => {
                let hint = format!("use one of these IDs: {}", listed(several));
                return Err(setup(format!("several active skills are named `{name}`"), Some(hint)));
            }
        };
        self.record(&Event::Deactivated {
            skill_id: id.clone(),
            session_id: self.session.id.clone(),
            deactivated_at: Timestamp::now(),
        })?;
        self.session.end(&id, None)?;
        Ok(id)
    }
}
