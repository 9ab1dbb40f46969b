//! Where the commands that name a skill look for it.

use std::path::PathBuf;

use openskills_runtime::{Directory, OpenSkillRuntime, RuntimeConfig, RuntimeError};
use skill::Severity;
use term::counted;

use crate::context::Context;

/// Where to look for skills.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Where to look")]
pub(crate) struct Look {
    /// Look in this folder alone, which holds skills or is one; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Vec<PathBuf>,
    /// The project, instead of the git repository around the working folder
    #[arg(long, value_name = "DIR", env = "OPENSKILLS_PROJECT", hide_env_values = true)]
    pub(crate) project: Option<PathBuf>,
}

impl Look {
    /// Returns what the runtime is to be like.
    pub(crate) fn config(&self) -> RuntimeConfig {
        let is_standard = self.dir.is_empty();
        RuntimeConfig {
            project_root: self.project.clone(),
            use_standard_locations: is_standard,
            use_builtin_skills: is_standard,
            custom_directories: self.dir.iter().map(Directory::new).collect(),
            ..RuntimeConfig::default()
        }
    }

    /// Finds the skills.
    pub(crate) fn discover(&self) -> Result<&'static mut OpenSkillRuntime, RuntimeError> {
        discover(self.config())
    }
}

/// Finds the skills that `config` asks for.
pub(crate) fn discover(
    config: RuntimeConfig,
) -> Result<&'static mut OpenSkillRuntime, RuntimeError> {
    let runtime = runtime(config);
    runtime.discover_skills()?;
    Ok(runtime)
}

/// Returns a runtime that is never taken apart: the process ends with the command, and to free a large index first
/// would be time spent for nothing.
pub(crate) fn runtime(config: RuntimeConfig) -> &'static mut OpenSkillRuntime {
    // The main thread works with the others: one thread less to start, and its memory is the quickest to grow.
    // If somebody has made threads before, those are used.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
    Box::leak(Box::new(OpenSkillRuntime::with_config(config)))
}

/// Says that there are problems, and which command shows them. Folders that were named and cannot be used are shown
/// at once.
pub(crate) fn tell_of_problems(
    context: &mut Context,
    runtime: &OpenSkillRuntime,
) -> std::io::Result<()> {
    let problems = runtime.problems();
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    let warnings = problems.iter().filter(|problem| problem.severity == Severity::Warning).count();
    let told: Vec<String> = [(errors, "error"), (warnings, "warning")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| counted(count, word))
        .collect();
    if told.is_empty() {
        return Ok(());
    }
    let told = told.join(" and ");
    context.ui.error(&format!("note: {told} on the way; to see more: openskills discover\n"))
}
