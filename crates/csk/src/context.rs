//! What a command knows of the world around it, read once.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: environment, clock, working folder, config"
)]

use std::fs;
use std::io::{self, IsTerminal};
use std::time::Duration;

use csk_core::audit::state::{Asked, AuditMode};
use csk_core::audit::{Asker, Auditor};
use csk_core::install::Environment;
use csk_core::{
    AbsPath, AdapterMode, CommandOrder, Config, LocalSources, Lock, ProjectEntry, SystemConfig,
    TIME_LIMIT, edit_project,
};
use skill::{Identifier, Severity};
use term::{ColorChoice, Failure, Ui, safe_line};

use crate::progress::Progress;

/// Asks whether something that an audit blocks is to be installed all the same. Anything but a yes is a no.
fn ask(asked: &Asked) -> bool {
    let mut ui = Ui::new(ColorChoice::Auto);
    let mut words = format!("{}: the audit says BLOCK\n", safe_line(&asked.name));
    for reason in &asked.reasons {
        words += &format!("  {}\n", safe_line(reason));
    }
    words += "Install it all the same? [y/N] ";
    let mut answer = String::new();
    ui.error(&words).is_ok()
        && io::stdin().read_line(&mut answer).is_ok()
        && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The world of one command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) ui: Ui,
    pub(crate) cwd: AbsPath,
    /// The user's home folder, if there is one.
    pub(crate) user_home: Option<AbsPath>,
    pub(crate) config_path: AbsPath,
    /// The folder of csk's own state.
    pub(crate) home: AbsPath,
    now: jiff::Timestamp,
    /// Who runs this, by name.
    pub(crate) user: Option<String>,
    /// Where zsh keeps its files, if not in the home folder.
    pub(crate) zdotdir: Option<AbsPath>,
    /// The user's shell, as a path.
    pub(crate) shell: Option<String>,
    /// Whether the shell puts commands on PATH by itself.
    pub(crate) has_hook: bool,
    /// Whether nothing may be fetched or locked anew, whatever is called.
    pub(crate) is_frozen: bool,
    /// How long to wait for another csk, if the user says so.
    lock_timeout: Option<Duration>,
    allow_file: bool,
    /// What the environment says in place of the config.
    overrides: Overrides,
    system_config: Option<AbsPath>,
}

/// A config of a user who sets nothing.
const EMPTY_CONFIG: &str = "{\n  \"schema_version\": 1\n}\n";

/// The config for everybody on the machine.
const SYSTEM_CONFIG: &str = "/etc/cocoaskills/config.json";

/// What the environment says in place of the config.
#[derive(Debug, Default)]
struct Overrides {
    skills_root: Option<AbsPath>,
    locale: Option<String>,
    agents: Option<String>,
    adapter_mode: Option<String>,
    audit: Option<String>,
}

impl Overrides {
    /// Puts them into a config; returns those that are locked.
    fn apply(&self, config: &mut Config) -> anyhow::Result<Vec<&'static str>> {
        let mut ignored = Vec::new();
        let mut may = |key: &str, name: &'static str, config: &Config| {
            let is_locked = config.is_locked(key);
            if is_locked {
                ignored.push(name);
            }
            !is_locked
        };
        let wrong = |name: &str, word: &str, expected: &str| {
            Failure::usage(format!("{name} is `{word}`; expected {expected}"))
        };
        if let Some(root) = &self.skills_root
            && may("skills_root", "CSK_SKILLS_ROOT", config)
        {
            config.skills_root = root.clone();
        }
        if let Some(locale) = &self.locale
            && may("preferred_locale", "CSK_LOCALE", config)
        {
            config.preferred_locale = Some(locale.clone());
            config.from_environment.insert("preferred_locale");
        }
        if let Some(agents) = &self.agents
            && may("default_agents", "CSK_AGENTS", config)
        {
            let ids: Vec<String> = agents
                .split(',')
                .map(|id| id.trim().to_owned())
                .filter(|id| !id.is_empty())
                .collect();
            if let Some(unknown) = ids.iter().find(|id| config.agents.find(id).is_none()) {
                let failure = wrong("CSK_AGENTS", unknown, "ids of agents, with commas between");
                return Err(match config.agents.nearest(unknown) {
                    Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                    None => failure,
                }
                .into());
            }
            config.default_agents = ids;
            config.from_environment.insert("default_agents");
        }
        if let Some(word) = &self.adapter_mode
            && may("adapter_mode", "CSK_ADAPTER_MODE", config)
        {
            let expected = "auto, symlink or copy";
            config.adapter_mode = AdapterMode::parse(word)
                .ok_or_else(|| wrong("CSK_ADAPTER_MODE", word, expected))?;
        }
        if let Some(word) = &self.audit {
            let expected = "off, advisory or strict";
            let mode = AuditMode::parse(word).ok_or_else(|| wrong("CSK_AUDIT", word, expected))?;
            // It can be made stricter, locked or not, and nothing else.
            if mode >= config.audit || may("audit", "CSK_AUDIT", config) {
                config.audit = config.audit.max(mode);
            }
        }
        Ok(ignored)
    }
}

impl Context {
    pub(crate) fn read(ui: Ui) -> anyhow::Result<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let cwd = std::env::current_dir()
            .map_err(|error| Failure::files("cannot find the current folder", error))?;
        let cwd = AbsPath::new(cwd)?;
        let absolute = |name: &str| match variable(name) {
            None => Ok(None),
            Some(value) => AbsPath::new(cwd.as_path().join(value))
                .map(Some)
                .map_err(|error| Failure::usage(format!("{name}: {error}"))),
        };
        let user_home = absolute("HOME")?;
        let config_path = match (absolute("CSK_CONFIG")?, &user_home) {
            (Some(path), _) => path,
            (None, Some(home)) => home.join(".cocoaskills/config.json"),
            (None, None) => return Err(Failure::usage("neither HOME nor CSK_CONFIG is set").into()),
        };
        let home = match absolute("CSK_HOME")? {
            Some(home) => home,
            None => config_path.parent().unwrap_or_else(|| config_path.clone()),
        };
        let lock_timeout = match variable("CSK_LOCK_TIMEOUT") {
            None => None,
            Some(value) => value
                .to_str()
                .and_then(|text| text.parse().ok())
                .filter(|seconds: &f64| *seconds >= 0.0 && *seconds < 1e9)
                .map(Duration::from_secs_f64)
                .map(Some)
                .ok_or_else(|| Failure::usage("CSK_LOCK_TIMEOUT must be a number of seconds"))?,
        };
        let now = jiff::Timestamp::now();
        let user = variable("USER").or_else(|| variable("LOGNAME"));
        let user = user.and_then(|user| user.into_string().ok());
        let allow_file = variable("CSK_ALLOW_FILE").is_some_and(|value| value == "1");
        let zdotdir = absolute("ZDOTDIR")?;
        let text = |name: &str| variable(name).and_then(|value| value.into_string().ok());
        let overrides = Overrides {
            skills_root: absolute("CSK_SKILLS_ROOT")?,
            locale: text("CSK_LOCALE"),
            agents: text("CSK_AGENTS"),
            adapter_mode: text("CSK_ADAPTER_MODE"),
            audit: text("CSK_AUDIT"),
        };
        let system_config = absolute("CSK_SYSTEM_CONFIG")?;
        let shell = variable("SHELL").and_then(|shell| shell.into_string().ok());
        let has_hook = variable("CSK_SHELL_HOOK").is_some();
        let is_frozen = text("CSK_FROZEN").is_some_and(|word| {
            !["0", "n", "no", "f", "false", "off"].contains(&word.to_lowercase().as_str())
        });
        Ok(Self {
            ui,
            cwd,
            user_home,
            config_path,
            home,
            now,
            user,
            zdotdir,
            shell,
            has_hook,
            is_frozen,
            lock_timeout,
            allow_file,
            overrides,
            system_config,
        })
    }

    /// Reads the config, which must be there.
    pub(crate) fn config(&mut self) -> anyhow::Result<Config> {
        let path = self.config_path.clone();
        let system = self.system_config()?;
        let text = match fs::read_to_string(path.as_path()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Where the system says where skills come from, nobody needs a file of his own.
                if system.as_ref().is_none_or(|system| !system.sets("skills_root")) {
                    return Err(Failure::usage(format!("there is no config at {path}"))
                        .with_hint("run `csk bootstrap` to make one")
                        .into());
                }
                EMPTY_CONFIG.to_owned()
            }
            Err(error) => return Err(Failure::files(format!("cannot read {path}"), error).into()),
        };
        let home = self.user_home.as_ref();
        let (config, problems) = Config::parse_over(path.as_str(), &text, home, system.as_ref());
        let Some(mut config) = config else {
            return Err(Failure::malformed(text, problems).into());
        };
        let ignored = self.overrides.apply(&mut config)?;
        for name in ignored {
            let file = system.as_ref().map_or(SYSTEM_CONFIG, |system| system.file.as_str());
            self.ui
                .error(&format!("warning: {name} is ignored: {} locks it\n", safe_line(file)))?;
        }
        let warnings: Vec<_> =
            problems.into_iter().filter(|problem| problem.severity == Severity::Warning).collect();
        self.ui.problems(&text, &warnings)?;
        Ok(config)
    }

    /// Reads the system's config, if there is one.
    fn system_config(&self) -> anyhow::Result<Option<SystemConfig>> {
        let usual = AbsPath::new(SYSTEM_CONFIG).ok();
        // Another one counts only where there is none for everybody. One that cannot even be looked at is there.
        let is_there = |path: &AbsPath| {
            !fs::symlink_metadata(path.as_path())
                .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let path = usual.filter(is_there).or_else(|| self.system_config.clone());
        let Some(path) = path else { return Ok(None) };
        let text = match fs::read_to_string(path.as_path()) {
            Ok(text) => text,
            Err(error) => return Err(Failure::files(format!("cannot read {path}"), error).into()),
        };
        match SystemConfig::parse(path.as_str(), &text, self.user_home.as_ref()) {
            (Some(system), _) => Ok(Some(system)),
            (None, problems) => Err(Failure::malformed(text, problems).into()),
        }
    }

    /// Takes csk's lock, so that nobody else changes the config meanwhile.
    pub(crate) fn lock(&self) -> anyhow::Result<Lock> {
        fs::create_dir_all(self.home.as_path())
            .map_err(|error| Failure::files(format!("cannot make {}", self.home), error))?;
        let timeout = self.lock_timeout.unwrap_or(Lock::TIMEOUT);
        Ok(Lock::acquire(&self.home.join(".lock"), timeout)?)
    }

    /// Writes the config.
    pub(crate) fn save(&self, text: &str) -> anyhow::Result<()> {
        // A config that is a link into the user's own files is written where it is.
        let path = fs::canonicalize(self.config_path.as_path())
            .ok()
            .and_then(|path| AbsPath::new(path).ok());
        let path = path.unwrap_or_else(|| self.config_path.clone());
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            Failure::files(format!("cannot write {path}"), error)
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder.as_path()).map_err(|error| failed(error.into()))?;
        }
        csk_core::write_file(&path, text.as_bytes()).map_err(|error| failed(error.into()))?;
        Ok(())
    }

    /// Writes a new config, without what is locked: that is not the user's to say.
    pub(crate) fn save_new(&self, config: &Config) -> anyhow::Result<()> {
        let Some(system) = self.system_config()? else { return self.save(&config.to_json()) };
        self.save(&system.without_locked(&config.to_json()))
    }

    /// Sets or removes one project in the config; everything else in the file stays.
    pub(crate) fn save_project(
        &self,
        alias: &Identifier,
        entry: Option<&ProjectEntry>,
    ) -> anyhow::Result<()> {
        let unreadable = || Failure::usage(format!("cannot read {}", self.config_path));
        let text = match fs::read_to_string(self.config_path.as_path()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => EMPTY_CONFIG.to_owned(),
            Err(_) => return Err(unreadable().into()),
        };
        self.save(&edit_project(&text, alias, entry).ok_or_else(unreadable)?)
    }

    /// Returns what shows what is running.
    pub(crate) fn progress(&self) -> Progress {
        if self.ui.is_quiet { Progress::quiet() } else { Progress::default() }
    }

    /// Returns the time now, as RFC 3339 in UTC.
    pub(crate) fn time(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Returns the time now.
    pub(crate) fn timestamp(&self) -> jiff::Timestamp {
        self.now
    }

    /// Returns who looks at what is installed: as strictly as the config says, or more strictly.
    pub(crate) fn auditor(
        &mut self,
        config: &Config,
        wanted: Option<AuditMode>,
    ) -> anyhow::Result<Auditor> {
        let mode = wanted.unwrap_or(config.audit).max(config.audit);
        if wanted.is_some_and(|wanted| wanted < config.audit) {
            self.ui.error(&format!(
                "note: the config says `audit: {}`, which a flag cannot loosen\n",
                config.audit.as_str()
            ))?;
        }
        let is_somebody_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        let asker = is_somebody_there.then(|| Asker::new(ask));
        Ok(Auditor::new(&self.home, mode, self.now, asker)?)
    }

    /// Returns where commands of skills stand on PATH. Without a config that can be read, they come last: a preference
    /// stops no shell and no command.
    pub(crate) fn command_order(&self) -> CommandOrder {
        let system = self.system_config().ok().flatten();
        let text = fs::read_to_string(self.config_path.as_path())
            .unwrap_or_else(|_| EMPTY_CONFIG.to_owned());
        let home = self.user_home.as_ref();
        let parsed = Config::parse_over(self.config_path.as_str(), &text, home, system.as_ref());
        parsed.0.map_or(CommandOrder::Last, |config| config.command_order)
    }

    /// Returns what an install works with.
    pub(crate) fn environment(&self, config: &Config) -> Environment {
        let is_asked = self.allow_file && !config.is_locked("allow_local_sources");
        let is_allowed = config.allow_local_sources || is_asked;
        Environment {
            home: self.home.clone(),
            skills_root: config.skills_root.clone(),
            agents: config.agents.clone(),
            local: match (is_allowed, config.is_locked("allow_local_sources")) {
                (true, _) => LocalSources::Allowed,
                (false, true) => LocalSources::Forbidden,
                (false, false) => LocalSources::Refused,
            },
            lock_timeout: self.lock_timeout.unwrap_or(Lock::TIMEOUT),
            source_timeout: self.lock_timeout.unwrap_or(TIME_LIMIT),
            now: self.time(),
            path: std::env::var_os("PATH"),
            projects: config.projects.values().map(|project| project.path.clone()).collect(),
            auditor: Auditor::off(&self.home, self.now),
        }
    }
}
