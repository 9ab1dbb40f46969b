//! Integration tests of the runtime library with real folders, files and symlinks.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic, reason = "tests")]

mod activation;
mod approvals;
mod changed;
mod checkpoints;
mod events;
mod index;
mod invalid_skills;
mod log;
mod modules;
mod provenance;
mod redaction;
mod resources;
mod roots;
mod schemas;
mod tool_rules;
mod watching;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use openskills_runtime::{Directory, OpenSkillRuntime, Places, RuntimeConfig, Skill};
use skill_fs::AbsPath;
use testkit::{TestEnv, write_tree};

/// A machine with an empty home folder and working folder.
struct World {
    env: TestEnv,
}

impl World {
    /// Creates a machine with the files of `literal`.
    fn new(literal: &str) -> Self {
        let world = Self { env: TestEnv::new() };
        world.add(literal);
        world
    }

    /// Adds the files of `literal`.
    fn add(&self, literal: &str) {
        write_tree(self.root().as_path(), literal);
    }

    fn root(&self) -> AbsPath {
        AbsPath::new(self.env.work().parent().unwrap()).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name).as_path().to_owned()
    }

    fn config(&self) -> RuntimeConfig {
        RuntimeConfig {
            use_builtin_skills: false,
            places: Some(Places::below(&self.root())),
            ..RuntimeConfig::default()
        }
    }

    /// Discovers skills in the standard locations.
    fn discover(&self) -> OpenSkillRuntime {
        discover(self.config())
    }

    /// Discovers skills in a single folder.
    fn discover_in(&self, folder: &str) -> OpenSkillRuntime {
        discover(RuntimeConfig {
            use_standard_locations: false,
            custom_directories: vec![Directory::new(self.path(folder))],
            ..self.config()
        })
    }

    /// Replaces the temporary folder in `text` with `[ROOT]`.
    fn shown(&self, text: &str) -> String {
        text.replace(self.root().as_str(), "[ROOT]")
    }

    fn link(&self, target: &str, at: &str) {
        fs::create_dir_all(self.path(at).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, self.path(at)).unwrap();
    }
}

fn discover(config: RuntimeConfig) -> OpenSkillRuntime {
    let mut runtime = OpenSkillRuntime::with_config(config);
    runtime.discover_skills().unwrap();
    runtime
}

/// Returns the file literal of a skill.
fn skill(path: &str, name: &str) -> String {
    format!(
        "//- /{path}/SKILL.md\n---\nname: {name}\ndescription: Does {name} in {path}.\n---\nBody of {path}.\n"
    )
}

/// Returns the ids of all skills and what shadows them, one per line.
fn ids(runtime: &OpenSkillRuntime) -> String {
    let line = |skill: &Arc<Skill>| {
        let state = match (&skill.shadowed_by, skill.is_enabled) {
            (_, false) => " disabled".to_owned(),
            (Some(by), true) => format!(" < {by}"),
            (None, true) => String::new(),
        };
        format!("{} {}{state}\n", skill.id, skill.source)
    };
    runtime.all_skills().iter().map(line).collect()
}

/// Returns all problems, one per line.
fn problems(world: &World, runtime: &OpenSkillRuntime) -> String {
    let line = |problem: &&skill::Diagnostic| {
        let severity = problem.severity.as_str();
        world
            .shown(&format!("{severity} {}: {}: {}\n", problem.code, problem.file, problem.message))
    };
    runtime.problems().iter().map(line).collect()
}
