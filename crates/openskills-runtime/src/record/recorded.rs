//! What happens is told to the observer and written to the log.

use jiff::Timestamp;
use skill_fs::AbsPath;

use crate::record::log::{Key, Log, LogOptions, redact};
use crate::runtime::OpenSkillRuntime;
use crate::state::settings::Settings;
use crate::{ActivationFailure, CallOutcome, Event, Logging, Places, RuntimeError};

/// How much is written down of a name that a client gives.
const MAX_NAMED: usize = 200;
/// The folder of the log in the state folder.
const FOLDER: &str = "log";

impl OpenSkillRuntime {
    /// Returns the log of this machine's user, as `config.json` wants it.
    pub fn open_log(places: &Places) -> Result<Log, RuntimeError> {
        let settings = Settings::load(places)?.log;
        let absolute = |path| {
            AbsPath::new(path)
                .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })
        };
        let key_file = settings.key_file.map(absolute).transpose()?;
        let state = places.state.as_ref().ok_or_else(|| RuntimeError::Setup {
            message: "there is no folder for the log: HOME is not set".to_owned(),
            hint: Some("set HOME or XDG_STATE_HOME".to_owned()),
        })?;
        if settings.checkpoints.places.iter().any(|place| place.is_below(state)) {
            return Err(RuntimeError::Setup {
                message: format!("`log.checkpoints.file` lies in {state}, beside the log itself"),
                hint: Some("name a file that whoever changes the log cannot change".to_owned()),
            });
        }
        let standard = LogOptions::default();
        let options = LogOptions {
            max_bytes: settings.max_bytes.unwrap_or(standard.max_bytes),
            sync: settings.sync,
            key: key_file.as_ref().map(Key::load).transpose()?,
            checkpoints: settings.checkpoints,
        };
        Ok(Log::new(state.join(FOLDER), options))
    }

    /// Returns why what was discovered is not in the log, if so.
    pub fn not_logged(&self) -> Option<&RuntimeError> {
        self.not_logged.as_ref()
    }

    /// Writes an event to the log, and tells the observer. Where it cannot be written, nothing happened.
    pub(crate) fn record(&mut self, event: &Event) -> Result<(), RuntimeError> {
        if self.config.logging != Logging::Off {
            self.append(std::slice::from_ref(event))?;
        }
        self.tell(event);
        Ok(())
    }

    /// Writes down that a client called a tool.
    pub fn record_call(
        &mut self,
        tool: &str,
        skill: Option<&str>,
        outcome: CallOutcome,
    ) -> Result<(), RuntimeError> {
        let skill = skill.map(|skill| redact(skill).chars().take(MAX_NAMED).collect());
        let (session_id, tool) = (self.session.id.clone(), tool.to_owned());
        self.record(&Event::Called { session_id, tool, skill, outcome })
    }

    /// Writes down that an activation failed. Why it failed is told either way, so a log that cannot be written does not
    /// hide it.
    pub(crate) fn record_failure(
        &mut self,
        name: &str,
        task_id: Option<&str>,
        error: &RuntimeError,
    ) {
        let skill = self.skill(name).ok().or_else(|| self.found.index.with_id(name));
        let failure = ActivationFailure {
            name: redact(name).into_owned(),
            skill_id: skill.map(|skill| skill.id.clone()),
            session_id: self.session.id.clone(),
            task_id: task_id.map(str::to_owned),
            code: error.code().to_owned(),
            reason: redact(&error.to_string()).into_owned(),
        };
        let _ = self.record(&Event::ActivationFailed(failure));
    }

    /// Writes down what discovery found. Nothing was done yet, so a log that cannot be written stops nothing here. Without an
    /// index everything would be news every time, so nothing is.
    pub(crate) fn record_discoveries(&mut self, events: &[Event]) {
        let is_kept = self.config.keep_index
            && self.found.not_kept.is_none()
            && self.places.as_ref().is_some_and(|places| places.cache.is_some());
        if is_kept && self.config.logging == Logging::All && !events.is_empty() {
            self.not_logged = self.append(events).err();
        }
        for event in events {
            self.tell(event);
        }
    }

    fn append(&mut self, events: &[Event]) -> Result<(), RuntimeError> {
        self.opened_log()?.append(events, Timestamp::now())?;
        Ok(())
    }

    /// Returns the log, which is opened when the first event is written.
    pub(crate) fn opened_log(&mut self) -> Result<&Log, RuntimeError> {
        match &mut self.log {
            Some(log) => Ok(log),
            none => {
                let places = self.places.as_ref().ok_or_else(|| RuntimeError::Setup {
                    message: self.lost.clone(),
                    hint: None,
                })?;
                Ok(none.insert(Self::open_log(places)?))
            }
        }
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        if let Some(observer) = &mut self.observer {
            observer(event);
        }
    }
}
