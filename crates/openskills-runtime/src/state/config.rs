//! The configuration that a host passes to the runtime.

use std::path::PathBuf;

use skill::Strictness;
use skill_state::SkillSource;

use crate::{Approver, Fetcher, Places};

/// What the runtime writes to its log in the state folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Logging {
    /// All events.
    #[default]
    All,
    /// Everything except discoveries, for folders that are used only once.
    WithoutDiscoveries,
    /// Nothing, because the host keeps its own log: see [`on_event`](crate::OpenSkillRuntime::on_event).
    Off,
}

/// Configuration of the runtime. The default behaves like the command line in the working folder.
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
    /// The project folder. Default: the git repository that contains the working folder, or else the working folder.
    pub project_root: Option<PathBuf>,
    /// Whether to use the standard locations and those in the user's `config.json`.
    pub use_standard_locations: bool,
    /// Whether to include the builtin skills.
    pub use_builtin_skills: bool,
    /// Whether to search the project's subfolders for skills.
    pub search_nested: bool,
    /// Additional skill folders. Later ones take precedence over earlier ones, and all of them over the standard
    /// locations of the same trust level.
    pub custom_directories: Vec<Directory>,
    /// Folders of installed packages. Skills in the `skills` folder of each package are included.
    pub package_libraries: Vec<PathBuf>,
    /// Whether to reject skills that violate the standard. By default they are loaded with a warning.
    pub strict: bool,
    /// The session id. If set, activations are remembered across processes; otherwise the session ends with the
    /// runtime.
    pub session_id: Option<String>,
    /// Whether to cache the index in [`Places::cache`].
    pub keep_index: bool,
    /// What to write to the log.
    pub logging: Logging,
    /// Asks the user when a run needs approval. Without an approver such runs are refused.
    pub approver: Option<Approver>,
    /// Fetches files of skills from MCP servers. Without a fetcher only cached files are available.
    pub fetcher: Option<Fetcher>,
    /// The folders to use. Default: determined from the environment.
    pub places: Option<Places>,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            project_root: None,
            use_standard_locations: true,
            use_builtin_skills: true,
            search_nested: true,
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

/// A skill folder, or a single skill, configured by the host or the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The folder; relative paths start at the working folder.
    pub path: PathBuf,
    /// The first part of its skills' ids. Default: the folder's name.
    pub label: Option<String>,
    /// The trust level of its skills.
    pub source: SkillSource,
}

impl Directory {
    /// Returns a folder that is trusted as the user's own.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), label: None, source: SkillSource::User }
    }
}
