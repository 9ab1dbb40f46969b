//! Where the commands that name a skill look for it.

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
use crate::target::meant;

/// Where to look for skills.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Where to look")]
pub(crate) struct DiscoveryArgs {
    /// Look in this folder alone, which holds skills or is one; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Vec<PathBuf>,
    /// The project, instead of the git repository around the working folder
    #[arg(long, value_name = "DIR", env = "OPENSKILLS_PROJECT", hide_env_values = true)]
    pub(crate) project: Option<PathBuf>,
}

impl DiscoveryArgs {
    /// Returns what the runtime is to be like. A folder that is not there is a slip.
    pub(crate) fn config(&self, context: &Context) -> Result<RuntimeConfig, RuntimeError> {
        for dir in &self.dir {
            check_folder(context, dir, "--dir takes a folder of skills")?;
        }
        if let Some(project) = &self.project {
            check_folder(context, project, "name the folder of a project")?;
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

    /// Returns the same as words of a command, each after a space.
    pub(crate) fn words(&self) -> String {
        let word =
            |flag: &str, path: &PathBuf| format!(" {flag} {}", shell_word(&path.to_string_lossy()));
        let dirs = self.dir.iter().map(|dir| word("--dir", dir));
        dirs.chain(self.project.iter().map(|project| word("--project", project))).collect()
    }

    /// Finds the skills.
    pub(crate) fn discover(
        &self,
        context: &Context,
    ) -> Result<&'static mut OpenSkillRuntime, RuntimeError> {
        discover(self.config(context)?)
    }

    /// Prints that there are problems, and which command shows them.
    pub(crate) fn note_problems(
        &self,
        context: &mut Context,
        runtime: &OpenSkillRuntime,
    ) -> std::io::Result<()> {
        let problems = runtime.problems();
        let count =
            |severity| problems.iter().filter(|problem| problem.severity == severity).count();
        let told: Vec<String> =
            [(count(Severity::Error), "error"), (count(Severity::Warning), "warning")]
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| counted(count, word))
                .collect();
        if told.is_empty() {
            return Ok(());
        }
        let dirs: String = self.dir.iter().map(|dir| format!(" --dir {}", dir.display())).collect();
        let told =
            format!("{} on the way; to see more: openskills discover{dirs}", told.join(" and "));
        context.ui.note(&format!("note: {}\n", safe_line(&told)))
    }
}

/// Makes sure that a folder that was named is there, and returns where it is. `hint` says what to name instead.
pub(crate) fn check_folder(
    context: &Context,
    dir: &Path,
    hint: &str,
) -> Result<AbsPath, RuntimeError> {
    let wrong = |message: String, hint: String| RuntimeError::Setup { message, hint: Some(hint) };
    let (shown, hint) = (dir.display(), hint.to_owned());
    let path = AbsPath::new(context.cwd.as_path().join(dir))
        .map_err(|error| wrong(error.to_string(), hint.clone()))?;
    match fs::metadata(path.as_path()) {
        Ok(metadata) if metadata.is_dir() => Ok(path),
        Ok(_) => Err(wrong(format!("{shown} is not a folder"), hint)),
        Err(error) => {
            let hint = meant(&path).unwrap_or(hint);
            Err(wrong(format!("cannot look in {shown}: {error}"), hint))
        }
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
