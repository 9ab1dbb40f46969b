//! How a host wants the runtime to be.

use std::path::PathBuf;

use skill::Strictness;
use skill_state::SkillSource;

use crate::{Approver, Fetcher, Places};

/// What the runtime writes to its log, in the state folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Logging {
    /// Everything that happens.
    #[default]
    All,
    /// Everything but what discovery finds: for a look at folders that the user named for this once.
    WithoutDiscoveries,
    /// Nothing: the host keeps a log of its own, see [`on_event`](crate::OpenSkillRuntime::on_event).
    Off,
}

/// How a host wants the runtime to be. The default is what the command line does in the working folder.
///
/// ```
/// use openskills_runtime::{Directory, RuntimeConfig};
/// use skill_state::SkillSource;
///
/// let config = RuntimeConfig {
///     use_standard_locations: false,
///     custom_directories: vec![Directory::new("/srv/agent/skills")],
///     strict: true,
///     ..RuntimeConfig::default()
/// };
/// assert_eq!(config.custom_directories[0].source, SkillSource::User);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeConfig {
    /// The project. By default the nearest folder at or above the working folder that is a git repository, or else
    /// the working folder.
    pub project_root: Option<PathBuf>,
    /// Whether to look in the standard places, and in those that the user's `config.json` names.
    pub use_standard_locations: bool,
    /// Whether to offer the skills that are part of the program.
    pub use_builtin_skills: bool,
    /// More folders of skills. A later one overrides an earlier one, and all of them the standard places of their
    /// trust level.
    pub custom_directories: Vec<Directory>,
    /// Folders of installed packages: the `skills` folder of every package in them is looked at.
    pub package_libraries: Vec<PathBuf>,
    /// Whether a skill that breaks a rule of the standard is refused; by default it is loaded with a warning.
    pub strict: bool,
    /// The session that activations belong to. With a name that the host gave, activations are remembered across
    /// processes; otherwise the session lives as long as the runtime.
    pub session_id: Option<String>,
    /// Whether the index may be kept between processes, in [`Places::cache`].
    pub keep_index: bool,
    /// What is written to the log.
    pub logging: Logging,
    /// Who is asked where a run needs a word of the user's; without one it is refused.
    pub approver: Option<Approver>,
    /// Who gets files of skills from MCP servers; without one only what was fetched before is there.
    pub fetcher: Option<Fetcher>,
    /// Where things are on this machine; read from the environment by default.
    pub places: Option<Places>,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            project_root: None,
            use_standard_locations: true,
            use_builtin_skills: true,
            custom_directories: Vec::new(),
            package_libraries: Vec::new(),
            strict: false,
            session_id: None,
            keep_index: true,
            logging: Logging::All,
            approver: None,
            fetcher: None,
            places: None,
        }
    }
}

impl RuntimeConfig {
    pub(crate) fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Lenient }
    }
}

/// A folder of skills that a host or a user named. It may also be one skill itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The folder; a relative path starts at the working folder.
    pub path: PathBuf,
    /// The first part of the ids of its skills; the folder's name by default.
    pub label: Option<String>,
    /// Who vouches for its skills.
    pub source: SkillSource,
}

impl Directory {
    /// Returns a folder of the user's own.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), label: None, source: SkillSource::User }
    }
}
