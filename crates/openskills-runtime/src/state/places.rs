//! Where things are on this machine. Read once, by the constructor of the runtime; nothing below it asks again.

#![expect(clippy::disallowed_methods, reason = "the edge: environment and working folder")]

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use skill_fs::AbsPath;

use crate::RuntimeError;
use crate::run::libraries::Libraries;
use crate::state::variables::Variables;

/// The folder of this program's files inside the folders for configuration, state, cache and data.
const OWN: &str = "openskills";
/// Where an administrator puts skills for everybody.
const ORG: &str = "/etc/openskills/skills";
/// Where an administrator writes what nobody on the machine may do.
const POLICY: &str = "/etc/openskills/policy.json";

/// The folders that the runtime looks at and keeps its own files in. A folder that is not set is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The working folder.
    pub cwd: AbsPath,
    /// The user's home.
    pub home: Option<AbsPath>,
    /// The folder of Claude Code's own files.
    pub claude: Option<AbsPath>,
    /// Holds `config.json`.
    pub config: Option<AbsPath>,
    /// Holds trusted folders, disabled skills and sessions.
    pub state: Option<AbsPath>,
    /// Holds the index.
    pub cache: Option<AbsPath>,
    /// Holds the skills that `openskills install` put there for the user.
    pub data: Option<AbsPath>,
    /// Holds the receipts of csk.
    pub csk_home: Option<AbsPath>,
    /// Holds the skills of the organisation.
    pub org: Option<AbsPath>,
    /// The policy of the organisation.
    pub org_policy: Option<AbsPath>,
    /// The environment, which scripts get parts of and interpreters are found by.
    pub variables: Variables,
    /// What the environment says of where libraries are, by variable.
    pub library_variables: BTreeMap<String, String>,
}

impl Places {
    /// Reads the environment: `HOME`, the `XDG_*_HOME` variables, `CLAUDE_CONFIG_DIR`, `CSK_HOME` and `CSK_CONFIG`.
    pub fn from_environment() -> Result<Self, RuntimeError> {
        let setup = |message: String| RuntimeError::Setup { message, hint: None };
        let cwd = env::current_dir()
            .map_err(|error| setup(format!("cannot find the current folder: {error}")))?;
        let cwd = AbsPath::new(cwd).map_err(|error| setup(error.to_string()))?;
        // A relative path in one of these variables has no meaning, so it is not used.
        let folder = |name: &str| env::var_os(name).and_then(|value| AbsPath::new(value).ok());
        let home = folder("HOME");
        let base = |name: &str, below_home: &str| {
            folder(name)
                .or_else(|| Some(home.as_ref()?.join(below_home)))
                .map(|base| base.join(OWN))
        };
        let csk_home = folder("CSK_HOME")
            .or_else(|| folder("CSK_CONFIG")?.parent())
            .or_else(|| Some(home.as_ref()?.join(".cocoaskills")));
        Ok(Self {
            claude: folder("CLAUDE_CONFIG_DIR").or_else(|| Some(home.as_ref()?.join(".claude"))),
            config: base("XDG_CONFIG_HOME", ".config"),
            state: base("XDG_STATE_HOME", ".local/state"),
            cache: base("XDG_CACHE_HOME", ".cache"),
            data: base("XDG_DATA_HOME", ".local/share"),
            org: if cfg!(unix) { AbsPath::new(ORG).ok() } else { None },
            org_policy: if cfg!(unix) { AbsPath::new(POLICY).ok() } else { None },
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

    /// Finds where libraries are that skills need, for the project that was named or the working folder.
    pub(crate) fn libraries(&self, project: Option<&Path>) -> Libraries {
        Libraries::find(self, project)
    }

    /// Returns the folders of an installed package: `name`, or `r:name`, `python:name`, `node:name`.
    pub fn installed_library(&self, name: &str) -> Option<Vec<PathBuf>> {
        self.libraries(None).with_named(self).folders(name)
    }

    /// Returns places that are all below `folder`: `home` and what is usually in it, the working folder `work`. Only
    /// variables are those of the process. For tests, and for hosts that keep everything apart from the user's own.
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
