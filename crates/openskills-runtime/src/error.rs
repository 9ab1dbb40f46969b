//! Errors of the runtime, grouped by what a caller can do about them.

use std::io;

use serde_json::Value;
use skill::Diagnostic;
use skill_fs::FsError;
use skill_pack::PackError;
use skill_state::StateError;

use crate::quote::shell_word;
use crate::record::log::LogError;

/// A runtime error. Each has a stable [code](RuntimeError::code), and most have a [hint](RuntimeError::hint).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// There is no skill with this name or id.
    #[error("no skill named `{name}`")]
    SkillNotFound {
        /// The requested name.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// The SKILL.md cannot be loaded.
    #[error("cannot load `{file}`: {}", first_error(diagnostics))]
    InvalidManifest {
        /// The file.
        file: String,
        /// Its problems, in order of position.
        diagnostics: Vec<Diagnostic>,
    },
    /// The skill, the user, the organization's policy or the runtime forbids it.
    #[error("{message}")]
    PermissionDenied {
        /// What is forbidden, and why.
        message: String,
        /// What would allow it.
        hint: Option<String>,
    },
    /// A WASM module cannot be loaded, or it failed.
    #[error("cannot run module `{module}`: {message}")]
    WasmError {
        /// The module.
        module: String,
        /// Why.
        message: String,
        /// What would help.
        hint: Option<String>,
    },
    /// A skill changed after it was discovered.
    #[error("`{skill}` has changed since it was discovered: {what}")]
    SkillChanged {
        /// The skill.
        skill: String,
        /// What is different.
        what: String,
    },
    /// A skill has no such file.
    #[error("`{skill}` has no file `{path}`")]
    ResourceNotFound {
        /// The skill.
        skill: String,
        /// The requested path.
        path: String,
        /// The most similar path.
        nearest: Option<String>,
    },
    /// The user must approve it first.
    #[error("{message}")]
    NeedsApproval {
        /// What needs approval, and why.
        message: String,
        /// How the user can approve it.
        hint: Option<String>,
    },
    /// The user was asked and declined.
    #[error("the user declined to run `{skill}`")]
    Declined {
        /// The skill.
        skill: String,
        /// How the user can still approve it.
        hint: Option<String>,
    },
    /// A file is nested too deeply, and the caller did not allow that.
    #[error("cannot read `{path}` in `{skill}`: it is more than one folder deep")]
    TooDeep {
        /// The skill.
        skill: String,
        /// The file, relative to the skill's folder.
        path: String,
    },
    /// An MCP server failed or sent something invalid.
    #[error("MCP server `{server}` failed: {message}")]
    Server {
        /// Its label.
        server: String,
        /// What went wrong.
        message: String,
        /// What would help.
        hint: Option<String>,
    },
    /// There is no such MCP server.
    #[error("no MCP server named `{label}`")]
    ServerNotFound {
        /// The requested name.
        label: String,
        /// The most similar label.
        nearest: Option<String>,
    },
    /// The skill is not among those individually requested from the MCP server.
    #[error("`{uri}` is not one of the skills requested from MCP server `{server}`")]
    ServedSkillNotFound {
        /// The label of the server.
        server: String,
        /// The given URI.
        uri: String,
        /// The most similar URI.
        nearest: Option<String>,
    },
    /// The changes of a run cannot be undone.
    #[error("cannot undo a run of `{skill}`: {message}")]
    Undo {
        /// The skill.
        skill: String,
        /// Why.
        message: String,
    },
    /// The arguments do not match the skill's argument schema.
    #[error("invalid arguments for `{skill}`: {message}")]
    Arguments {
        /// The skill.
        skill: String,
        /// What is wrong with them.
        message: String,
        /// The names of the skill's arguments.
        names: String,
    },
    /// Libraries that a skill needs are not installed.
    #[error("`{skill}` needs libraries that are not installed: {}", missing.join(", "))]
    MissingLibraries {
        /// The skill.
        skill: String,
        /// The missing libraries.
        missing: Vec<String>,
        /// How to get them.
        hint: String,
    },
    /// No package with this name is installed.
    #[error("no installed package named `{name}`")]
    LibraryNotFound {
        /// The requested name.
        name: String,
    },
    /// An argument cannot be used for this operation.
    #[error("cannot use `{what}`: {message}")]
    Unusable {
        /// The argument.
        what: String,
        /// Why.
        message: String,
    },
    /// A package was rejected.
    #[error(transparent)]
    Package(#[from] PackError),
    /// openskills did not install this skill.
    #[error("`{name}` is not a skill that openskills installed here")]
    NotInstalled {
        /// The requested name.
        name: String,
        /// Where it is installed instead, or the most similar name.
        hint: Option<String>,
    },
    /// There is no such approval.
    #[error("no approval matches `{name}`")]
    ApprovalNotFound {
        /// The requested name.
        name: String,
    },
    /// The sandbox cannot provide a required guarantee; nothing was started.
    #[error("this machine cannot guarantee {}: {reason}", missing.join(", "))]
    SandboxUnavailable {
        /// The missing guarantees.
        missing: Vec<String>,
        /// Why.
        reason: String,
        /// What would help.
        hint: String,
    },
    /// A script cannot be run.
    #[error("cannot run `{skill}`: {message}")]
    Script {
        /// The skill.
        skill: String,
        /// Why.
        message: String,
        /// How to fix it, or what can be run instead.
        hint: Option<String>,
    },
    /// The changes of a run could not be applied; the workspace is unchanged.
    #[error("cannot apply the changes of `{skill}`: {message}")]
    Apply {
        /// The skill.
        skill: String,
        /// Why.
        message: String,
    },
    /// The changes of a run were partly applied, and could not be rolled back.
    #[error("the changes of `{skill}` were only partly applied: {message}")]
    PartlyApplied {
        /// The skill.
        skill: String,
        /// What went wrong.
        message: String,
    },
    /// Something in the environment prevents the operation.
    #[error("{message}")]
    Setup {
        /// What is wrong.
        message: String,
        /// How to fix it.
        hint: Option<String>,
    },
    /// A configuration or state file is malformed.
    #[error("`{file}` is malformed: {}", first_error(diagnostics))]
    InvalidConfig {
        /// The file.
        file: String,
        /// Its problems, in order of position.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file or folder cannot be used.
    #[error(transparent)]
    Files(#[from] FsError),
    /// The log cannot be written or is broken; nothing was done.
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
    /// Returns the error for arguments that do not match a schema.
    pub(crate) fn arguments(skill: &str, message: String, schema: &Value) -> Self {
        let names = schema.get("properties").and_then(Value::as_object);
        let names = names.map(|all| all.keys().cloned().collect::<Vec<_>>().join(", "));
        Self::Arguments { skill: skill.to_owned(), message, names: names.unwrap_or_default() }
    }

    /// Returns the stable code of this kind of error.
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
            Self::Apply { .. } | Self::PartlyApplied { .. } => "apply",
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

    /// Returns how to fix it.
    pub fn hint(&self) -> Option<String> {
        let did_you_mean = |nearest: &Option<String>| {
            nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"))
        };
        match self {
            Self::SkillNotFound { nearest, .. } => Some(
                did_you_mean(nearest)
                    .unwrap_or_else(|| "run `openskills list` to see all skills".to_owned()),
            ),
            Self::ResourceNotFound { nearest, skill, .. } => {
                Some(did_you_mean(nearest).unwrap_or_else(|| {
                    format!("run `openskills files {}` to list its files", shell_word(skill))
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
                "pass these arguments in order, as name=value pairs, or as one JSON object: {names}"
            )),
            Self::TooDeep { .. } => Some(
                "pass --nested to allow it; skills should keep their files one folder deep".to_owned(),
            ),
            Self::MissingLibraries { hint, .. } => Some(hint.clone()),
            Self::LibraryNotFound { .. } => Some(
                "pass its folder or tarball, or set R_LIBS, PYTHONPATH or NODE_PATH to where it is installed".to_owned(),
            ),
            Self::Package(error) => error.hint().map(str::to_owned),
            Self::NotInstalled { hint, .. } => Some(hint.clone().unwrap_or_else(|| {
                "run `openskills list --installed` to see installed skills".to_owned()
            })),
            Self::ServerNotFound { nearest, .. } => Some(
                did_you_mean(nearest)
                    .unwrap_or_else(|| "run `openskills mcp list` to see all servers".to_owned()),
            ),
            Self::ServedSkillNotFound { nearest, .. } => Some(
                did_you_mean(nearest)
                    .unwrap_or_else(|| "run `openskills mcp list` to see all servers".to_owned()),
            ),
            Self::ApprovalNotFound { .. } => {
                Some("run `openskills approvals list` to see all approvals".to_owned())
            }
            Self::SkillChanged { .. } => Some("run the command again".to_owned()),
            Self::Log(error) => error.hint(),
            Self::SandboxUnavailable { hint, .. } => Some(hint.clone()),
            Self::Unusable { .. }
            | Self::Apply { .. }
            | Self::PartlyApplied { .. }
            | Self::Undo { .. } => None,
            Self::Files(error) => file_hint(error),
        }
    }
}

/// Returns a hint for a file or folder that cannot be used.
pub fn file_hint(error: &FsError) -> Option<String> {
    let hint = match error {
        FsError::NotFound { .. } => "check the spelling; `ls` shows what exists",
        FsError::NotAFolder { .. } => "pass a folder",
        FsError::NotRegular { .. } => "replace it with a regular file",
        FsError::Escapes { .. } => "replace the symlink with a copy of its target",
        FsError::BadName { .. } => "rename the file",
        FsError::TooLarge { .. } | FsError::Limit { .. } => {
            "pass a more specific folder, or remove unneeded files"
        }
        FsError::Changed { .. } => "try again",
        FsError::Io { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
            return Some(format!("check its permissions: ls -ld {}", shell_word(path)));
        }
        FsError::Io { .. } => return None,
    };
    Some(hint.to_owned())
}

fn first_error(diagnostics: &[Diagnostic]) -> &str {
    let mut all = diagnostics.iter();
    let error = all.find(|diagnostic| diagnostic.severity == skill::Severity::Error);
    error.or(diagnostics.first()).map_or("unknown reason", |diagnostic| &diagnostic.message)
}
