//! The environment of a command: settings, paths and the clock, read once.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: environment, clock, working folder, config"
)]

use std::fs;
use std::io::{self, IsTerminal};
use std::time::Duration;

use csk_core::audit::{AuditPrompt, Auditor};
use csk_core::install::Environment;
use csk_core::{
    AdapterMode, AgentSigns, CommandOrder, Config, ConfigBase, LocalSources, ProjectEntry,
    SystemConfig, TIME_LIMIT, detected_agents, edit_project,
};
use skill::{Diagnostic, Identifier, Severity};
use skill_fs::{AbsPath, Lock};
use skill_state::audit::{AuditMode, ConfirmationRequest};
use term::{ColorChoice, Failure, Ui, safe_line};

use crate::progress::Progress;

/// Asks whether to install a skill that the audit blocks. Any answer but yes means no.
fn confirm_blocked(asked: &ConfirmationRequest) -> bool {
    let mut ui = Ui::new(ColorChoice::Auto);
    let mut prompt = format!("{}: audit verdict BLOCK\n", safe_line(&asked.name));
    for reason in &asked.reasons {
        prompt += &format!("  {}\n", safe_line(reason));
    }
    prompt += "Install it anyway? [y/N] ";
    let mut answer = String::new();
    ui.error(&prompt).is_ok()
        && io::stdin().read_line(&mut answer).is_ok()
        && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The environment of one command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) ui: Ui,
    pub(crate) cwd: AbsPath,
    /// The user's home folder: `HOME`, or `USERPROFILE` on Windows.
    pub(crate) user_home: Option<AbsPath>,
    pub(crate) config_path: AbsPath,
    /// Whether `CSK_CONFIG` names the config file. Then it must exist.
    is_config_named: bool,
    /// The folder that holds csk's state.
    pub(crate) home: AbsPath,
    now: jiff::Timestamp,
    /// The user name, recorded as the author of suppressions.
    pub(crate) user: Option<String>,
    /// `ZDOTDIR`: the folder of zsh's startup files, if it is not the home folder.
    pub(crate) zdotdir: Option<AbsPath>,
    /// The path of the user's shell.
    pub(crate) shell: Option<String>,
    /// Whether the shell hook is active.
    pub(crate) has_hook: bool,
    /// Whether `CSK_FROZEN` forbids fetching and changing lockfiles.
    pub(crate) is_frozen: bool,
    /// Whether `CSK_LOCKED` is set.
    pub(crate) is_locked: bool,
    /// `CSK_LOCK_TIMEOUT`: how long to wait for another csk process.
    lock_timeout: Option<Duration>,
    allow_file: bool,
    overrides: Overrides,
    system_config: Option<AbsPath>,
}

/// The config of a user who has no config file.
const EMPTY_CONFIG: &str = "{\n  \"schema_version\": 1\n}\n";

/// The folder in csk's home for repositories, if no config sets `skills_root`.
const REPOSITORIES: &str = "repositories";

/// The config that applies to every user of the machine.
const SYSTEM_CONFIG: &str = if cfg!(windows) {
    // Only administrators can write there; every user can create folders in `ProgramData`.
    r"C:\Program Files\cocoaskills\config.json"
} else {
    "/etc/cocoaskills/config.json"
};

/// Settings from environment variables, which override the config file.
#[derive(Debug, Default)]
struct Overrides {
    skills_root: Option<AbsPath>,
    locale: Option<String>,
    agents: Option<String>,
    adapter_mode: Option<String>,
    audit: Option<String>,
}

impl Overrides {
    /// Applies the overrides to `config`. Returns the variables that the system config does not allow to take effect.
    fn apply(&self, config: &mut Config) -> anyhow::Result<Vec<&'static str>> {
        let mut ignored = Vec::new();
        let mut is_allowed = |key: &str, name: &'static str, config: &Config| {
            let is_locked = config.is_locked(key);
            if is_locked {
                ignored.push(name);
            }
            !is_locked
        };
        let invalid = |name: &str, value: &str, expected: &str| {
            Failure::usage(format!("invalid {name} `{value}`: expected {expected}"))
        };
        if let Some(root) = &self.skills_root
            && is_allowed("skills_root", "CSK_SKILLS_ROOT", config)
        {
            config.skills_root = root.clone();
            config.owns_repositories = false;
        }
        if let Some(locale) = &self.locale
            && is_allowed("preferred_locale", "CSK_LOCALE", config)
        {
            config.preferred_locale = Some(locale.clone());
            config.from_environment.insert("preferred_locale");
        }
        if let Some(agents) = &self.agents
            && is_allowed("default_agents", "CSK_AGENTS", config)
        {
            let ids: Vec<String> = agents
                .split(',')
                .map(|id| id.trim().to_owned())
                .filter(|id| !id.is_empty())
                .collect();
            if let Some(unknown) = ids.iter().find(|id| config.agents.find(id).is_none()) {
                let failure = invalid("CSK_AGENTS", unknown, "comma-separated agent IDs");
                return Err(match config.agents.nearest(unknown) {
                    Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                    None => failure,
                }
                .into());
            }
            config.default_agents = ids;
            config.detected_agents = None;
            config.from_environment.insert("default_agents");
        }
        if let Some(mode) = &self.adapter_mode
            && is_allowed("adapter_mode", "CSK_ADAPTER_MODE", config)
        {
            let expected = "auto, symlink or copy";
            config.adapter_mode = AdapterMode::parse(mode)
                .ok_or_else(|| invalid("CSK_ADAPTER_MODE", mode, expected))?;
        }
        if let Some(value) = &self.audit {
            let expected = "off, advisory or strict";
            let mode =
                AuditMode::parse(value).ok_or_else(|| invalid("CSK_AUDIT", value, expected))?;
            // A stricter mode is always allowed, even if the system config enforces the key.
            if mode >= config.audit || is_allowed("audit", "CSK_AUDIT", config) {
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
            .map_err(|error| Failure::files("cannot determine the current directory", error))?;
        let cwd = AbsPath::new(cwd)?;
        let absolute = |name: &str| match variable(name) {
            None => Ok(None),
            Some(value) => AbsPath::new(cwd.as_path().join(value))
                .map(Some)
                .map_err(|error| Failure::usage(format!("{name}: {error}"))),
        };
        let user_home = match absolute("HOME")? {
            None if cfg!(windows) => absolute("USERPROFILE")?,
            home => home,
        };
        let named_config = absolute("CSK_CONFIG")?;
        let is_config_named = named_config.is_some();
        let config_path = match (named_config, &user_home) {
            (Some(path), _) => path,
            (None, Some(home)) => home.join(".cocoaskills/config.json"),
            (None, None) => {
                let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
                return Err(Failure::usage(format!("neither {home} nor CSK_CONFIG is set"))
                    .with_hint("set CSK_CONFIG to the path of your config file")
                    .into());
            }
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
                .ok_or_else(|| {
                    Failure::usage("invalid CSK_LOCK_TIMEOUT: expected a number of seconds")
                })?,
        };
        let now = jiff::Timestamp::now();
        let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(variable);
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
        let is_set = |name: &str| {
            text(name).is_some_and(|value| {
                !["0", "n", "no", "f", "false", "off"].contains(&value.to_lowercase().as_str())
            })
        };
        let (is_frozen, is_locked) = (is_set("CSK_FROZEN"), is_set("CSK_LOCKED"));
        Ok(Self {
            ui,
            cwd,
            user_home,
            config_path,
            is_config_named,
            home,
            now,
            user,
            zdotdir,
            shell,
            has_hook,
            is_frozen,
            is_locked,
            lock_timeout,
            allow_file,
            overrides,
            system_config,
        })
    }

    /// Reads the config file. Without one, csk uses its defaults, unless `CSK_CONFIG` names a file.
    pub(crate) fn config(&mut self) -> anyhow::Result<Config> {
        let path = self.config_path.clone();
        let system = self.system_config()?;
        let text = match fs::read_to_string(path.as_path()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A system config that sets `skills_root` makes even a file in CSK_CONFIG optional.
                let is_optional = system.as_ref().is_some_and(|system| system.sets("skills_root"));
                if self.is_config_named && !is_optional {
                    return Err(Failure::usage(format!("no config file at `{path}`"))
                        .with_hint(
                            "CSK_CONFIG names this file: run `csk bootstrap` to create it, or unset CSK_CONFIG",
                        )
                        .into());
                }
                EMPTY_CONFIG.to_owned()
            }
            Err(error) => return Err(Failure::files(format!("cannot read `{path}`"), error).into()),
        };
        let (config, problems) = self.parse(&text, system.as_ref());
        let Some(mut config) = config else {
            return Err(Failure::malformed(text, problems).into());
        };
        if config.owns_repositories && config.default_agents.is_empty() {
            let path = std::env::var_os("PATH");
            let signs =
                AgentSigns { home: self.user_home.as_ref(), path: path.as_deref(), project: None };
            config.detected_agents = Some(detected_agents(&config.agents, signs));
        }
        let ignored = self.overrides.apply(&mut config)?;
        for name in ignored {
            let file = system.as_ref().map_or(SYSTEM_CONFIG, |system| system.file.as_str());
            self.ui.error(&format!(
                "warning: {name} is ignored: `{}` enforces this setting\n",
                safe_line(file)
            ))?;
        }
        let warnings: Vec<_> =
            problems.into_iter().filter(|problem| problem.severity == Severity::Warning).collect();
        self.ui.problems(&text, &warnings)?;
        Ok(config)
    }

    /// Parses the config's text.
    fn parse(
        &self,
        text: &str,
        system: Option<&SystemConfig>,
    ) -> (Option<Config>, Vec<Diagnostic>) {
        let repositories = &self.own_repositories();
        let base = ConfigBase { home: self.user_home.as_ref(), system, repositories };
        Config::parse(self.config_path.as_str(), text, base)
    }

    /// Reads the config for completion; `None` if it is malformed.
    pub(crate) fn config_for_completion(&self) -> Option<Config> {
        let text = match fs::read_to_string(self.config_path.as_path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => EMPTY_CONFIG.to_owned(),
            read => read.ok()?,
        };
        self.parse(&text, None).0
    }

    /// Reads the system config, if there is one.
    fn system_config(&self) -> anyhow::Result<Option<SystemConfig>> {
        let default = AbsPath::new(SYSTEM_CONFIG).ok();
        // CSK_SYSTEM_CONFIG counts only if the default file does not exist. A file that cannot be inspected exists.
        let exists = |path: &AbsPath| {
            !fs::symlink_metadata(path.as_path())
                .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let path = default.filter(exists).or_else(|| self.system_config.clone());
        let Some(path) = path else { return Ok(None) };
        let text = match fs::read_to_string(path.as_path()) {
            Ok(text) => text,
            Err(error) => return Err(Failure::files(format!("cannot read `{path}`"), error).into()),
        };
        match SystemConfig::parse(path.as_str(), &text, self.user_home.as_ref()) {
            (Some(system), _) => Ok(Some(system)),
            (None, problems) => Err(Failure::malformed(text, problems).into()),
        }
    }

    /// Acquires csk's process lock, so that no other csk process changes the config at the same time.
    pub(crate) fn lock(&self) -> anyhow::Result<Lock> {
        fs::create_dir_all(self.home.as_path())
            .map_err(|error| Failure::files(format!("cannot create `{}`", self.home), error))?;
        let timeout = self.lock_timeout.unwrap_or(Lock::TIMEOUT);
        Ok(Lock::acquire(&self.home.join(".lock"), timeout)?)
    }

    /// Writes the config file.
    pub(crate) fn save(&self, text: &str) -> anyhow::Result<()> {
        // If the config is a symlink, for example into a dotfiles repository, write to its target.
        let path = fs::canonicalize(self.config_path.as_path())
            .ok()
            .and_then(|path| AbsPath::new(path).ok());
        let path = path.unwrap_or_else(|| self.config_path.clone());
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            Failure::files(format!("cannot write `{path}`"), error)
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder.as_path()).map_err(|error| failed(error.into()))?;
        }
        skill_fs::write_file(&path, text.as_bytes()).map_err(|error| failed(error.into()))?;
        Ok(())
    }

    /// Writes a new config without the keys that the system config enforces.
    pub(crate) fn save_new(&self, config: &Config) -> anyhow::Result<()> {
        let Some(system) = self.system_config()? else { return self.save(&config.to_json()) };
        self.save(&system.without_locked(&config.to_json()))
    }

    /// Adds, changes or removes one project in the config file. The rest of the file is unchanged.
    pub(crate) fn save_project(
        &self,
        alias: &Identifier,
        entry: Option<&ProjectEntry>,
    ) -> anyhow::Result<()> {
        let unreadable = || Failure::usage(format!("cannot read `{}`", self.config_path));
        let text = match fs::read_to_string(self.config_path.as_path()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => EMPTY_CONFIG.to_owned(),
            Err(_) => return Err(unreadable().into()),
        };
        self.save(&edit_project(&text, alias, entry).ok_or_else(unreadable)?)
    }

    /// Returns the progress display, which shows nothing with `--quiet`.
    pub(crate) fn progress(&self) -> Progress {
        if self.ui.is_quiet { Progress::quiet() } else { Progress::default() }
    }

    /// Returns the current time as RFC 3339 in UTC.
    pub(crate) fn time(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Returns the current time.
    pub(crate) fn timestamp(&self) -> jiff::Timestamp {
        self.now
    }

    /// Returns the auditor for an install. `wanted` can only make it stricter than the config.
    pub(crate) fn auditor(
        &mut self,
        config: &Config,
        wanted: Option<AuditMode>,
    ) -> anyhow::Result<Auditor> {
        let mode = wanted.unwrap_or(config.audit).max(config.audit);
        if wanted.is_some_and(|wanted| wanted < config.audit) {
            self.ui.error(&format!(
                "note: the config sets `audit: {}`; --audit can only make it stricter\n",
                config.audit.as_str()
            ))?;
        }
        let is_interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
        let asker = is_interactive.then(|| AuditPrompt::new(confirm_blocked));
        Ok(Auditor::new(&self.home, mode, self.now, asker)?)
    }

    /// Returns an auditor that refuses instead of asking.
    pub(crate) fn auditor_without_questions(&self, mode: AuditMode) -> anyhow::Result<Auditor> {
        Ok(Auditor::new(&self.home, mode, self.now, None)?)
    }

    /// Returns whether skill commands come first or last on PATH. If the config cannot be read they come last, so that a
    /// broken config never stops a shell from starting.
    pub(crate) fn command_order(&self) -> CommandOrder {
        let system = self.system_config().ok().flatten();
        let text = fs::read_to_string(self.config_path.as_path())
            .unwrap_or_else(|_| EMPTY_CONFIG.to_owned());
        self.parse(&text, system.as_ref())
            .0
            .map_or(CommandOrder::Last, |config| config.command_order)
    }

    /// Returns the folder for repositories that csk clones for itself.
    pub(crate) fn own_repositories(&self) -> AbsPath {
        self.home.join(REPOSITORIES)
    }

    /// Returns the environment of an install.
    pub(crate) fn environment(&self, config: &Config) -> Environment {
        let is_requested = self.allow_file && !config.is_locked("allow_local_sources");
        let is_allowed = config.allow_local_sources || is_requested;
        Environment {
            home: self.home.clone(),
            skills_root: config.skills_root.clone(),
            owns_repositories: config.owns_repositories,
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
            auditor: Auditor::disabled(&self.home, self.now),
        }
    }
}
