//! What can go wrong, by what a caller can do about it.

use std::io;

use serde_json::Value;
use skill::Diagnostic;
use skill_fs::FsError;
use skill_pack::PackError;
use skill_state::StateError;

use crate::quote::shell_word;
use crate::record::log::LogError;

/// A failure of the runtime. Each has a stable [code](RuntimeError::code) and, where there is one, a
/// [hint](RuntimeError::hint).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The skill is not in the registry.
    #[error("there is no skill `{name}`")]
    SkillNotFound {
        /// What was asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// The SKILL.md cannot be read as one.
    #[error("{file} cannot be loaded: {}", first_error(diagnostics))]
    InvalidManifest {
        /// The file.
        file: String,
        /// Every problem of it, in order.
        diagnostics: Vec<Diagnostic>,
    },
    /// The skill, the user or the rules of the runtime do not allow it.
    #[error("{message}")]
    PermissionDenied {
        /// What is not allowed, and why.
        message: String,
        /// What would allow it.
        hint: Option<String>,
    },
    /// A WASM module cannot be loaded or failed.
    #[error("the module {module} cannot be run: {message}")]
    WasmError {
        /// The module.
        module: String,
        /// Why.
        message: String,
        /// What would help.
        hint: Option<String>,
    },
    /// A skill is not any more what it was when it was discovered.
    #[error("`{skill}` has changed since it was discovered: {what}")]
    SkillChanged {
        /// The skill.
        skill: String,
        /// What is different.
        what: String,
    },
    /// A file of a skill is not there.
    #[error("`{skill}` has no file `{path}`")]
    ResourceNotFound {
        /// The skill.
        skill: String,
        /// The path that was asked for.
        path: String,
        /// The path that was probably meant.
        nearest: Option<String>,
    },
    /// The user has to say so first.
    #[error("{message}")]
    NeedsApproval {
        /// What waits for the user, and why.
        message: String,
        /// How the user says so.
        hint: Option<String>,
    },
    /// The user was asked, and did not say yes.
    #[error("the user declined to run `{skill}`")]
    Declined {
        /// The skill.
        skill: String,
        /// How the user says yes after all.
        hint: Option<String>,
    },
    /// A file is further down than files of a skill should be, and nobody allowed that.
    #[error("`{path}` of `{skill}` is not read: it is more than one folder deep")]
    TooDeep {
        /// The skill.
        skill: String,
        /// The file, seen from it.
        path: String,
    },
    /// An MCP server does not do what it is there for.
    #[error("the MCP server `{server}` fails: {message}")]
    Server {
        /// Its label.
        server: String,
        /// What went wrong.
        message: String,
        /// What would help.
        hint: Option<String>,
    },
    /// There is no such MCP server.
    #[error("there is no MCP server `{label}`")]
    ServerNotFound {
        /// What was asked for.
        label: String,
        /// The label that was probably meant.
        nearest: Option<String>,
    },
    /// The user does not ask that MCP server for such a skill.
    #[error("the MCP server `{server}` is not asked for `{uri}`")]
    ServedSkillNotFound {
        /// The label of the server.
        server: String,
        /// The URI that was named.
        uri: String,
        /// The URI that was probably meant.
        nearest: Option<String>,
    },
    /// What a run committed is not taken back.
    #[error("what a run of `{skill}` committed is not taken back: {message}")]
    Undo {
        /// The skill.
        skill: String,
        /// Why.
        message: String,
    },
    /// The arguments are not what the skill describes.
    #[error("the arguments of `{skill}` do not fit: {message}")]
    Arguments {
        /// The skill.
        skill: String,
        /// What does not fit.
        message: String,
        /// The names of its arguments.
        names: String,
    },
    /// Libraries that a skill needs are not there.
    #[error("`{skill}` needs libraries that are not there: {}", missing.join(", "))]
    MissingLibraries {
        /// The skill.
        skill: String,
        /// Which.
        missing: Vec<String>,
        /// How to get them.
        hint: String,
    },
    /// There is no such package where libraries are installed.
    #[error("there is no installed package `{name}`")]
    LibraryNotFound {
        /// What was asked for.
        name: String,
    },
    /// Something that was named cannot be used for what was asked.
    #[error("`{what}` cannot be used: {message}")]
    Unusable {
        /// What.
        what: String,
        /// Why.
        message: String,
    },
    /// A package is not taken.
    #[error(transparent)]
    Package(#[from] PackError),
    /// It was not installed.
    #[error("`{name}` was not installed there by openskills")]
    NotInstalled {
        /// What was asked for.
        name: String,
        /// Where it is instead, or the name that was probably meant.
        hint: Option<String>,
    },
    /// There is no such approval.
    #[error("there is no approval `{name}`")]
    ApprovalNotFound {
        /// What was asked for.
        name: String,
    },
    /// The sandbox cannot give what the skill must be held to, so nothing was started.
    #[error("this machine cannot guarantee {}: {why}", missing.join(", "))]
    SandboxUnavailable {
        /// The guarantees that are missing.
        missing: Vec<String>,
        /// Why.
        why: String,
        /// What would help.
        fix: String,
    },
    /// A script cannot be run as it is.
    #[error("`{skill}` cannot be run: {message}")]
    Script {
        /// The skill.
        skill: String,
        /// Why.
        message: String,
        /// What would run.
        hint: Option<String>,
    },
    /// What a run wrote was not committed; the workspace is as it was.
    #[error("what `{skill}` wrote is not committed: {message}")]
    Commit {
        /// The skill.
        skill: String,
        /// Why.
        message: String,
    },
    /// What a run wrote was committed in part, and the rest could not be taken back.
    #[error("what `{skill}` wrote is committed in part: {message}")]
    PartlyCommitted {
        /// The skill.
        skill: String,
        /// What happened.
        message: String,
    },
    /// The surroundings are not as the runtime needs them.
    #[error("{message}")]
    Setup {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A configuration or state file is malformed.
    #[error("{file} is malformed: {}", first_error(diagnostics))]
    InvalidConfig {
        /// The file.
        file: String,
        /// Every problem of it, in order.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file or folder cannot be used.
    #[error(transparent)]
    Files(#[from] FsError),
    /// The log cannot be written or is broken, so nothing was done.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl From<StateError> for RuntimeError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Files(error) => Self::Files(error),
            StateError::Malformed { file, diagnostics } => {
                Self::InvalidConfig { file, diagnostics }
            }
        }
    }
}

impl RuntimeError {
    /// Returns the error of arguments that do not fit a schema.
    pub(crate) fn arguments(skill: &str, message: String, schema: &Value) -> Self {
        let names = schema.get("properties").and_then(Value::as_object);
        let names = names.map(|all| all.keys().cloned().collect::<Vec<_>>().join(", "));
        Self::Arguments { skill: skill.to_owned(), message, names: names.unwrap_or_default() }
    }

    /// Returns the stable name of this kind of failure.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SkillNotFound { .. } => "skill-not-found",
            Self::InvalidManifest { .. } => "invalid-manifest",
            Self::PermissionDenied { .. } => "permission-denied",
            Self::WasmError { .. } => "wasm-error",
            Self::SkillChanged { .. } => "skill-changed",
            Self::ResourceNotFound { .. } => "resource-not-found",
            Self::NeedsApproval { .. } => "needs-approval",
            Self::Declined { .. } => "declined",
            Self::TooDeep { .. } => "too-deep",
            Self::SandboxUnavailable { .. } => "sandbox-unavailable",
            Self::Script { .. } => "script",
            Self::Commit { .. } | Self::PartlyCommitted { .. } => "commit",
            Self::Arguments { .. } => "arguments",
            Self::Undo { .. } => "undo",
            Self::MissingLibraries { .. } => "missing-libraries",
            Self::LibraryNotFound { .. } => "library-not-found",
            Self::Unusable { .. } => "unusable",
            Self::Package(_) => "package",
            Self::NotInstalled { .. } => "not-installed",
            Self::Server { .. } => "mcp-server",
            Self::ServerNotFound { .. } => "mcp-server-not-found",
            Self::ServedSkillNotFound { .. } => "mcp-skill-not-found",
            Self::ApprovalNotFound { .. } => "approval-not-found",
            Self::Setup { .. } => "setup",
            Self::InvalidConfig { .. } => "invalid-config",
            Self::Files(_) => "files",
            Self::Log(_) => "log",
        }
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        let meant = |nearest: &Option<String>| {
            nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"))
        };
        match self {
            Self::SkillNotFound { nearest, .. } => Some(
                meant(nearest)
                    .unwrap_or_else(|| "`openskills list` shows all there are".to_owned()),
            ),
            Self::ResourceNotFound { nearest, skill, .. } => {
                Some(meant(nearest).unwrap_or_else(|| {
                    format!("`openskills files {}` shows all there are", shell_word(skill))
                }))
            }
            Self::InvalidManifest { diagnostics, .. } | Self::InvalidConfig { diagnostics, .. } => {
                diagnostics.iter().find_map(|diagnostic| diagnostic.hint.clone())
            }
            Self::PermissionDenied { hint, .. }
            | Self::NeedsApproval { hint, .. }
            | Self::Declined { hint, .. }
            | Self::Setup { hint, .. }
            | Self::Server { hint, .. }
            | Self::Script { hint, .. }
            | Self::WasmError { hint, .. } => hint.clone(),
            Self::Arguments { names, .. } if names.is_empty() => None,
            Self::Arguments { names, .. } => Some(format!(
                "it takes: {names}; as words in this order, as name=value, or as an object of JSON"
            )),
            Self::TooDeep { .. } => Some(
                "allow it with --nested; skills should keep their files one folder deep".to_owned(),
            ),
            Self::MissingLibraries { hint, .. } => Some(hint.clone()),
            Self::LibraryNotFound { .. } => Some(
                "name its folder or tarball; R_LIBS, PYTHONPATH and NODE_PATH say where else libraries are".to_owned(),
            ),
            Self::Package(error) => error.hint().map(str::to_owned),
            Self::NotInstalled { hint, .. } => Some(hint.clone().unwrap_or_else(|| {
                "`openskills list --installed` shows all there are".to_owned()
            })),
            Self::ServerNotFound { nearest, .. } => Some(
                meant(nearest)
                    .unwrap_or_else(|| "`openskills mcp list` shows all there are".to_owned()),
            ),
            Self::ServedSkillNotFound { nearest, .. } => Some(
                meant(nearest)
                    .unwrap_or_else(|| "`openskills mcp list` shows all there are".to_owned()),
            ),
            Self::ApprovalNotFound { .. } => {
                Some("`openskills approvals list` shows all there are".to_owned())
            }
            Self::SkillChanged { .. } => Some("discover the skills again".to_owned()),
            Self::Log(error) => error.hint(),
            Self::SandboxUnavailable { fix, .. } => Some(fix.clone()),
            Self::Unusable { .. }
            | Self::Commit { .. }
            | Self::PartlyCommitted { .. }
            | Self::Undo { .. } => None,
            Self::Files(error) => file_hint(error),
        }
    }
}

/// Returns what to do about a file or folder that cannot be used.
pub fn file_hint(error: &FsError) -> Option<String> {
    let hint = match error {
        FsError::NotFound { .. } => "look at how it is written; `ls` shows what is there",
        FsError::NotAFolder { .. } => "name a folder",
        FsError::NotRegular { .. } => "put a regular file there",
        FsError::Escapes { .. } => "copy what the link leads to",
        FsError::BadName { .. } => "give the file another name",
        FsError::TooLarge { .. } | FsError::Limit { .. } => {
            "name a folder further in, or take what is not needed out of it"
        }
        FsError::Changed { .. } => "try again",
        FsError::Io { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
            return Some(format!("see who may read and write it: ls -ld {}", shell_word(path)));
        }
        FsError::Io { .. } => return None,
    };
    Some(hint.to_owned())
}

fn first_error(diagnostics: &[Diagnostic]) -> &str {
    let mut all = diagnostics.iter();
    let error = all.find(|diagnostic| diagnostic.severity == skill::Severity::Error);
    error.or(diagnostics.first()).map_or("no reason is known", |diagnostic| &diagnostic.message)
}
