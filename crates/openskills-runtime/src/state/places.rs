//! The folders that the runtime uses. The constructor of the runtime determines them once.

#![expect(clippy::disallowed_methods, reason = "the edge: environment and working folder")]

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use skill_fs::AbsPath;

use crate::RuntimeError;
use crate::run::libraries::Libraries;
use crate::state::variables::Variables;

/// The name of this program's subfolder in the configuration, state, cache and data folders.
const OWN: &str = "openskills";
/// Skills that the administrator provides for all users.
const ORG: &str = if cfg!(windows) {
    // Only administrators can write there; every user can create folders in `ProgramData`.
    r"C:\Program Files\openskills\skills"
} else {
    "/etc/openskills/skills"
};
/// The policy that the administrator sets for all users.
const POLICY: &str = if cfg!(windows) {
    r"C:\Program Files\openskills\policy.json"
} else {
    "/etc/openskills/policy.json"
};

/// The folders that the runtime reads from and writes to. A folder that is `None` is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The working folder.
    pub cwd: AbsPath,
    /// The user's home folder.
    pub home: Option<AbsPath>,
    /// Claude Code's configuration folder.
    pub claude: Option<AbsPath>,
    /// Contains `config.json`.
    pub config: Option<AbsPath>,
    /// Contains trusted folders, disabled skills and sessions.
    pub state: Option<AbsPath>,
    /// Contains the cached index.
    pub cache: Option<AbsPath>,
    /// Contains the skills that `openskills install --user` installed.
    pub data: Option<AbsPath>,
    /// Contains csk's receipts.
    pub csk_home: Option<AbsPath>,
    /// Contains the organization's skills.
    pub org: Option<AbsPath>,
    /// The organization's policy file.
    pub org_policy: Option<AbsPath>,
    /// The environment variables. Scripts get some of them, and `PATH` is used to find interpreters.
    pub variables: Variables,
    /// The variables that say where libraries are installed.
    pub library_variables: BTreeMap<String, String>,
}

impl Places {
    /// Reads `HOME`, the `XDG_*_HOME` variables, `CLAUDE_CONFIG_DIR`, `CSK_HOME` and `CSK_CONFIG`; on Windows also
    /// `USERPROFILE`, `APPDATA` and `LOCALAPPDATA`.
    pub fn from_environment() -> Result<Self, RuntimeError> {
        let setup = |message: String| RuntimeError::Setup { message, hint: None };
        let cwd = env::current_dir()
            .map_err(|error| setup(format!("cannot determine the current folder: {error}")))?;
        let cwd = AbsPath::new(cwd).map_err(|error| setup(error.to_string()))?;
        // Relative paths in these variables are ignored.
        let folder = |name: &str| env::var_os(name).and_then(|value| AbsPath::new(value).ok());
        let profile = if cfg!(windows) { folder("USERPROFILE") } else { None };
        let home = folder("HOME").or_else(|| profile.clone());
        // Windows has one variable for settings and one for all other data. Someone who moved the home folder by HOME
        // moved these as well.
        let is_moved = home != profile;
        let base = |xdg: &str, unix: &str, (variable, windows, own): (&str, &str, &str)| {
            if let Some(base) = folder(xdg) {
                return Some(base.join(OWN));
            }
            if !cfg!(windows) {
                return Some(home.as_ref()?.join(unix).join(OWN));
            }
            let moved = if is_moved { None } else { folder(variable) };
            Some(moved.or_else(|| Some(home.as_ref()?.join(windows)))?.join(OWN).join(own))
        };
        let (settings, data) = (("APPDATA", "AppData/Roaming"), ("LOCALAPPDATA", "AppData/Local"));
        let below = |(variable, folder), own| (variable, folder, own);
        let csk_home = folder("CSK_HOME")
            .or_else(|| folder("CSK_CONFIG")?.parent())
            .or_else(|| Some(home.as_ref()?.join(".cocoaskills")));
        Ok(Self {
            claude: folder("CLAUDE_CONFIG_DIR").or_else(|| Some(home.as_ref()?.join(".claude"))),
            config: base("XDG_CONFIG_HOME", ".config", below(settings, "")),
            state: base("XDG_STATE_HOME", ".local/state", below(data, "state")),
            cache: base("XDG_CACHE_HOME", ".cache", below(data, "cache")),
            data: base("XDG_DATA_HOME", ".local/share", below(data, "data")),
            org: AbsPath::new(ORG).ok(),
            org_policy: AbsPath::new(POLICY).ok(),
            variables: env::vars_os().collect(),
            library_variables: Libraries::VARIABLES
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), env::var(name).ok()?)))
                .collect(),
            csk_home,
            home,
            cwd,
        })
    }

    /// Finds the installed libraries for the given project or the working folder.
    pub(crate) fn libraries(&self, project: Option<&Path>) -> Libraries {
        Libraries::find(self, project)
    }

    /// Returns the folders of an installed package, given as `name`, `r:name`, `python:name` or `node:name`.
    pub fn installed_library(&self, name: &str) -> Option<Vec<PathBuf>> {
        self.libraries(None).with_named(self).folders(name)
    }

    /// Returns paths that are all inside `folder`: a home folder `home` and the working folder `work`. Only environment
    /// variables are taken from the process. For tests, and for hosts that isolate everything from the user's files.
    pub fn below(folder: &AbsPath) -> Self {
        let home = folder.join("home");
        Self {
            cwd: folder.join("work"),
            claude: Some(home.join(".claude")),
            config: Some(home.join(".config").join(OWN)),
            state: Some(home.join(".local/state").join(OWN)),
            cache: Some(home.join(".cache").join(OWN)),
            data: Some(home.join(".local/share").join(OWN)),
            csk_home: Some(home.join(".cocoaskills")),
            org: Some(folder.join("org")),
            org_policy: Some(folder.join("org-policy.json")),
            variables: env::vars_os().collect(),
            library_variables: BTreeMap::new(),
            home: Some(home),
        }
    }
}
