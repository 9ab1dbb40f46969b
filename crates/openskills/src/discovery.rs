//! The flags that say where to look for skills, and the runtime that finds them.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

use openskills_runtime::{
    Directory, Logging, OpenSkillRuntime, RuntimeConfig, RuntimeError, shell_word,
};
use skill::Severity;
use skill_fs::AbsPath;
use term::{counted, safe_line};

use crate::context::Context;
use crate::target::did_you_mean;

/// Where to look for skills.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Where to look")]
pub(crate) struct DiscoveryArgs {
    /// Look only in this folder (a skill, or a folder of skills); can be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Vec<PathBuf>,
    /// Project folder [default: the enclosing git repository]
    #[arg(long, value_name = "DIR", env = "OPENSKILLS_PROJECT", hide_env_values = true)]
    pub(crate) project: Option<PathBuf>,
}

impl DiscoveryArgs {
    /// Returns the runtime configuration. Fails if a given folder does not exist.
    pub(crate) fn config(&self, context: &Context) -> Result<RuntimeConfig, RuntimeError> {
        for dir in &self.dir {
            check_folder(context, dir, "pass a folder of skills to --dir")?;
        }
        if let Some(project) = &self.project {
            check_folder(context, project, "pass a project folder")?;
        }
        let is_standard = self.dir.is_empty();
        Ok(RuntimeConfig {
            project_root: self.project.clone(),
            use_standard_locations: is_standard,
            use_builtin_skills: is_standard,
            custom_directories: self.dir.iter().map(Directory::new).collect(),
            fetcher: Some(crate::mcp::fetcher()),
            logging: if is_standard { Logging::All } else { Logging::WithoutDiscoveries },
            ..RuntimeConfig::default()
        })
    }

    /// Returns the flags as they are typed, each after a space, for commands in hints.
    pub(crate) fn flags(&self) -> String {
        let flag =
            |flag: &str, path: &PathBuf| format!(" {flag} {}", shell_word(&path.to_string_lossy()));
        let dirs = self.dir.iter().map(|dir| flag("--dir", dir));
        dirs.chain(self.project.iter().map(|project| flag("--project", project))).collect()
    }

    /// Discovers the skills and returns the runtime.
    pub(crate) fn discover(
        &self,
        context: &Context,
    ) -> Result<&'static mut OpenSkillRuntime, RuntimeError> {
        discover(self.config(context)?)
    }

    /// Prints how many problems discovery found, and the command that shows them.
    pub(crate) fn note_problems(
        &self,
        context: &mut Context,
        runtime: &OpenSkillRuntime,
    ) -> std::io::Result<()> {
        let problems = runtime.problems();
        let count =
            |severity| problems.iter().filter(|problem| problem.severity == severity).count();
        let counts: Vec<String> =
            [(count(Severity::Error), "error"), (count(Severity::Warning), "warning")]
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| counted(count, word))
                .collect();
        if counts.is_empty() {
            return Ok(());
        }
        let dirs: String = self.dir.iter().map(|dir| format!(" --dir {}", dir.display())).collect();
        let note =
            format!("{} found; for details, run `openskills discover{dirs}`", counts.join(" and "));
        context.ui.note(&format!("note: {}\n", safe_line(&note)))
    }
}

/// Checks that a folder exists and returns its absolute path. `hint` says what to pass instead.
pub(crate) fn check_folder(
    context: &Context,
    dir: &Path,
    hint: &str,
) -> Result<AbsPath, RuntimeError> {
    let failure = |message: String, hint: String| RuntimeError::Setup { message, hint: Some(hint) };
    let (shown, hint) = (dir.display(), hint.to_owned());
    let path = AbsPath::new(context.cwd.as_path().join(dir))
        .map_err(|error| failure(error.to_string(), hint.clone()))?;
    match fs::metadata(path.as_path()) {
        Ok(metadata) if metadata.is_dir() => Ok(path),
        Ok(_) => Err(failure(format!("`{shown}` is not a folder"), hint)),
        Err(error) => {
            let hint = did_you_mean(&path).unwrap_or(hint);
            Err(failure(format!("cannot open `{shown}`: {error}"), hint))
        }
    }
}

/// Discovers skills with `config` and returns the runtime.
pub(crate) fn discover(
    config: RuntimeConfig,
) -> Result<&'static mut OpenSkillRuntime, RuntimeError> {
    let runtime = runtime(config);
    runtime.discover_skills()?;
    Ok(runtime)
}

/// Returns a runtime that is never dropped: the process ends with the command, so freeing a large index would be wasted
/// time.
pub(crate) fn runtime(config: RuntimeConfig) -> &'static mut OpenSkillRuntime {
    // The main thread joins the pool: one thread less to start, and its memory grows fastest. An existing pool is kept.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
    Box::leak(Box::new(OpenSkillRuntime::with_config(config)))
}

/// Returns a runtime that knows the active skills of its session.
pub(crate) fn discover_active(
    config: RuntimeConfig,
) -> Result<&'static mut OpenSkillRuntime, RuntimeError> {
    let runtime = runtime(config);
    runtime.discover_active_skills()?;
    Ok(runtime)
}
