//! Installing is: resolve, observe, plan, prepare, apply.
//!
//! [`resolve`] turns declarations into commits; [`observe`] reads what is in a project; [`plan`] is pure
//! and names every change; [`prepare`] reads and checks the content of what is new; [`apply`] performs
//! a plan. `status` is a plan that nobody applies.

mod apply;
mod cache;
mod gate;
mod journal;
mod observe;
mod plan;
mod prepare;
mod resolve;
mod run;
mod seen;
mod sources;
mod write;

use skill_fs::AbsPath;

use crate::{AdapterMode, Agent, Declaration};

pub use apply::{Applied, apply};
pub use cache::{Cache, Keep};
pub use journal::finish_interrupted;
pub use observe::{AdapterState, ContextState, Observed, observe};
pub use plan::{Adapter, Group, Label, Plan, Reason, Tags, plan};
pub use prepare::{PrepareError, Prepared, prepare};
pub use resolve::{Resolution, Resolved, SkillError, resolve};
pub use run::{
    Environment, Ignore, Mode, Options, Outcome, ProjectError, ProjectReport, RunError,
    SkillReport, install, status,
};
pub use seen::Seen;
pub use sources::{FetchReport, repositories, update};

/// The folder of a project's skills.
pub const SKILLS: &str = ".agents/skills";

/// A project to install into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name in messages.
    pub alias: String,
    /// Where it is.
    pub root: AbsPath,
    /// The agents, in order.
    pub agents: Vec<Agent>,
    /// How they get their entries.
    pub adapter_mode: AdapterMode,
    /// The locale to render in.
    pub locale: Option<String>,
    /// The skills.
    pub skills: Vec<Declaration>,
}

impl Target {
    /// Returns the folder of the skills.
    pub fn skills_folder(&self) -> AbsPath {
        self.root.join(SKILLS)
    }

    /// Returns the adapter folders of the agents, each once, in order.
    pub fn adapters(&self) -> Vec<String> {
        let mut folders: Vec<String> = Vec::new();
        for folder in self.agents.iter().filter_map(|agent| agent.adapter.clone()) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    /// Returns the ids of the agents.
    pub fn agent_ids(&self) -> Vec<String> {
        self.agents.iter().map(|agent| agent.id.clone()).collect()
    }

    /// Returns the entries that git must ignore.
    pub fn ignore_entries(&self) -> Vec<String> {
        std::iter::once(".agents/".to_owned())
            .chain(self.adapters().iter().map(|folder| format!("{folder}/")))
            .collect()
    }
}
