//! The Agent Skills runtime as a library. It discovers skills, lists them for a model, activates them, reads their
//! files and runs their scripts in a sandbox. Nothing here writes to a terminal, and only the constructor reads the
//! environment.
//!
//! ```no_run
//! # fn main() -> Result<(), openskills_runtime::RuntimeError> {
//! use openskills_runtime::{ExecutionOptions, OpenSkillRuntime};
//!
//! // Discover from standard locations
//! let mut runtime = OpenSkillRuntime::new();
//! let skills = runtime.discover_skills()?;
//!
//! // List available skills (progressive disclosure)
//! for skill in runtime.list_skills() {
//!     println!("{}: {}", skill.id, skill.description);
//! }
//!
//! // Activate a skill (load full instructions)
//! let loaded = runtime.activate_skill("my-skill")?;
//! println!("{}", loaded.instructions);
//!
//! // Run its script in the sandbox; `main` must call `openskills_runtime::init()` first
//! let result = runtime.execute_skill("my-skill", ExecutionOptions::default())?;
//! println!("{}", result.output);
//! # Ok(())
//! # }
//! ```
//!
//! Agents can add their own folders to the standard locations, or use only their own:
//!
//! ```
//! # #![expect(clippy::disallowed_methods)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use openskills_runtime::{OpenSkillRuntime, PromptOptions, ReadOptions, RuntimeConfig};
//! # use openskills_runtime::Places;
//! # let scratch = tempfile::tempdir()?;
//! # let folder = skill_fs::AbsPath::new(std::fs::canonicalize(scratch.path())?)?;
//! # let skills = folder.join("skills");
//! # std::fs::create_dir_all(skills.join("pdf/references").as_path())?;
//! # std::fs::write(skills.join("pdf/SKILL.md").as_path(), "---\nname: pdf\ndescription: Reads PDFs.\n---\nFix $1.\n")?;
//! # std::fs::write(skills.join("pdf/references/a.md").as_path(), "More.\n")?;
//! # let skills = skills.as_path();
//!
//! let config = RuntimeConfig {
//!     use_standard_locations: false,
//!     use_builtin_skills: false,
//! #   places: Some(Places::below(&folder)),
//!     ..RuntimeConfig::default()
//! };
//! let mut runtime = OpenSkillRuntime::with_config(config).with_custom_directory(skills);
//! let found = runtime.discover_skills()?;
//! assert_eq!(found[0].id, "skills/pdf");
//!
//! // For the system prompt
//! let prompt = runtime.prompt(&PromptOptions::default())?.prompt;
//! assert!(prompt.text.starts_with("<available_skills>"));
//!
//! let loaded = runtime.activate_skill("pdf")?;
//! assert_eq!(loaded.instructions, "Fix $1.");
//! assert_eq!(loaded.resources.files, ["references/a.md"]);
//!
//! let (resource, _) = runtime.read_resource("pdf", "references/a.md", &ReadOptions::default())?;
//! assert_eq!(resource.text(), Some("More.\n"));
//! assert!(runtime.read_resource("pdf", "../../etc/passwd", &ReadOptions::default()).is_err());
//! # Ok(())
//! # }
//! ```

mod command;
mod decide;
mod disclose;
mod discover;
mod error;
mod installed;
mod problem;
mod quote;
mod record;
pub mod run;
mod runtime;
mod schema;
mod served;
mod state;

pub use command::{
    CommandRequest, CommandResult, EndedBackground, KeptChanges, RedeemedTicket, Side, Ticket,
    TicketRecord, TicketState, UnconfinedState,
};
pub use decide::agent_rules::{AgentLine, AgentRules, UserDecision};
pub use decide::approvals::{change_lines, manifest_problems};
pub use decide::audit::AuditOutcome;
pub use decide::command::{
    ApplyTime, CommandPermit, CommandPlan, CommandStreams, Leftovers, RestrictingSkill,
};
pub use decide::tools::{CheckedCall, ToolContext};
pub use disclose::activate::{
    ActivateOptions, Invoker, LoadedSkill, MAX_LISTED, Requests, Resources, user_invocation,
};
pub use disclose::contents::{Contents, FileDigest, beyond_mcp_limits, beyond_standard};
pub use disclose::load::codex;
pub use disclose::prompt::{
    Addressing, CatalogEntry, Prompt, PromptFormat, PromptJson, PromptOptions, is_showable_path,
    one_line, prompt,
};
pub use disclose::resource::{Depth, MAX_RESOURCE_BYTES, ReadOptions, Resource, ResourceEntry};
pub use disclose::schema_arguments::argument_schema_problem;
pub use disclose::search::SearchHit;
pub use disclose::wire::{ServedEntry, SkillIndexEntry};
pub use discover::index::{RefusedSkill, Skill};
pub use discover::provenance::Provenance;
pub use discover::record::Summary;
pub use discover::roots::SkillRoot;
pub use discover::scan::file_name;
pub use discover::source::Scope;
pub use discover::watch::WatchUpdate;
pub use error::{RuntimeError, file_hint};
pub use installed::install::{InstallOrigin, InstallOutcome, InstallPlan, InstallScope};
pub use installed::{
    Installed, InstalledSkills, OriginUrl, OriginUrlError, SignatureRecord, back_up_bundle,
    clean_up, put as put_package,
};
pub use problem::{file_problem, problem_of};
pub use quote::shell_word;
pub use record::event::{
    ActivationFailure, Applied, ApplyFailure, ApplyInterruption, ApprovalChange, CallOutcome,
    Change, CheckpointFailure, CommandExecution, CommandFailure, CommandInterruption, CommandSkill,
    CommandStart, CommandUnconfined, CommandWrites, Event, EventSeverity, ExecutionEnd,
    ExecutionRecord, ExitStatus, InstallRecord, LogRecovered, LogStarted, PackagesPrepared,
    PolicyDecision, PreviousLog, RepeatInput, ResourceRead, ScriptExecution, ScriptFailure,
    ScriptInterruption, ScriptStart, SkillActivation, WasmExecution, WriteMode, rfc3339,
};
pub use record::process::ProcessIdentity;
pub use record::replay::{RepeatResult, Repeated, ReplayStatus, Replayed};
pub use run::undo::LastApplied;
pub use run::{
    Answer, Approver, Audience, Caller, Cancel, Execution, ExecutionOptions, Input, Invocation,
    Stage, WasmRun, init, prepare, prepare_command,
};
pub use runtime::{Disclosure, OpenSkillRuntime};
pub use schema::schemas;
pub use served::approved::ApprovalState;
pub use served::{
    DropSummary, FetchRequest, Fetcher, Listing, MAX_SERVED, ServerAddress, SkillServer,
    SkillServers, SyncChange, SyncedSkills,
};
pub use state::caches::{Cache, CacheKind, caches, clear_cache};
pub use state::config::{Directory, Logging, RuntimeConfig};
pub use state::decisions::{DisabledSkills, TrustedFolders};
pub use state::places::Places;
pub use state::variables::Variables;

pub use decide::unconfined::{unconfined, words_of};
pub use decide::{permit, policy};
pub use disclose::elsewhere::{arguments_may_run, may_run_when_loaded};
pub use disclose::uri;
pub use record::log;
pub use run::undo;
