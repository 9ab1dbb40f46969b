//! Passes events to the observer and writes them to the log.

use jiff::Timestamp;
use skill_fs::AbsPath;

use crate::record::log::{Key, Log, LogOptions, redact};
use crate::runtime::OpenSkillRuntime;
use crate::state::settings::Settings;
use crate::{ActivationFailure, CallOutcome, Event, Logging, Places, RuntimeError};

/// Maximum length that is logged of a name sent by a client.
const MAX_NAME: usize = 200;
/// Name of the log folder inside the state folder.
const FOLDER: &str = "log";

impl OpenSkillRuntime {
    /// Returns the user's own log, as configured in `config.json`.
    pub fn open_log(places: &Places) -> Result<Log, RuntimeError> {
        let settings = Settings::load(places)?.log;
        let absolute = |path| {
            AbsPath::new(path)
                .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })
        };
        let key_file = settings.key_file.map(absolute).transpose()?;
        let state = places.state.as_ref().ok_or_else(|| RuntimeError::Setup {
            message: "cannot locate the log folder: HOME is not set".to_owned(),
            hint: Some("set HOME or XDG_STATE_HOME".to_owned()),
        })?;
        if settings.checkpoints.destinations.iter().any(|destination| destination.is_below(state)) {
            return Err(RuntimeError::Setup {
                message: format!("`log.checkpoints.file` is in `{state}`, next to the log itself"),
                hint: Some(
                    "set it to a file that cannot be changed by whoever can change the log"
                        .to_owned(),
                ),
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

    /// Returns why discovered skills could not be logged, if so.
    pub fn not_logged(&self) -> Option<&RuntimeError> {
        self.not_logged.as_ref()
    }

    /// Writes an event to the log and passes it to the observer. If it cannot be written, the event counts as not
    /// having happened.
    pub(crate) fn record(&mut self, event: &Event) -> Result<(), RuntimeError> {
        if self.config.logging != Logging::Off {
            self.append(std::slice::from_ref(event))?;
        }
        self.notify(event);
        Ok(())
    }

    /// Records that a client called a tool.
    pub fn record_call(
        &mut self,
        tool: &str,
        skill: Option<&str>,
        outcome: CallOutcome,
    ) -> Result<(), RuntimeError> {
        let skill = skill.map(|skill| redact(skill).chars().take(MAX_NAME).collect());
        let (session_id, tool) = (self.session.id.clone(), tool.to_owned());
        self.record(&Event::Called { session_id, tool, skill, outcome })
    }

    /// Records a failed activation. The caller reports the failure either way, so an error of the log must not hide it.
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

    /// Records what discovery found. Nothing has been done yet, so an error of the log stops nothing here. Without an
    /// index every skill would be new each time, so nothing is logged then.
    pub(crate) fn record_discoveries(&mut self, events: &[Event]) {
        let is_kept = self.config.keep_index
            && self.found.cache_error.is_none()
            && self.places.as_ref().is_some_and(|places| places.cache.is_some());
        if is_kept && self.config.logging == Logging::All && !events.is_empty() {
            self.not_logged = self.append(events).err();
        }
        for event in events {
            self.notify(event);
        }
    }

    fn append(&mut self, events: &[Event]) -> Result<(), RuntimeError> {
        self.opened_log()?.append(events, Timestamp::now())?;
        Ok(())
    }

    /// Returns the log, opening it on first use.
    pub(crate) fn opened_log(&mut self) -> Result<&Log, RuntimeError> {
        match &mut self.log {
            Some(log) => Ok(log),
            none => {
                let places = self.places.as_ref().ok_or_else(|| RuntimeError::Setup {
                    message: self.places_error.clone(),
                    hint: None,
                })?;
                Ok(none.insert(Self::open_log(places)?))
            }
        }
    }

    pub(crate) fn notify(&mut self, event: &Event) {
        if let Some(observer) = &mut self.observer {
            observer(event);
        }
    }
}
