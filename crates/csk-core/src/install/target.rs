//! What skills are installed into: a project, or the user's account.

use skill::Identifier;
use skill_fs::AbsPath;

use crate::env_files::{CommandOrder, Scope, env_ps1, env_sh};
use crate::{AdapterMode, Agent, Declaration, Lockfile, Platform};

/// The folder of a project's skills.
pub const SKILLS: &str = ".agents/skills";
/// The folder of a project's commands.
pub const BIN: &str = ".agents/bin";

/// A project to install into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name in messages.
    pub alias: String,
    /// The project's folder.
    pub root: AbsPath,
    /// A project, or the user's account.
    pub scope: Scope,
    /// The folder that contains the agents' folders: the project, or the user's home.
    pub adapter_base: AbsPath,
    /// The agents, in order.
    pub agents: Vec<Agent>,
    /// Where the list of agents comes from.
    pub agents_from: AgentsFrom,
    /// How csk creates the agents' entries.
    pub adapter_mode: AdapterMode,
    /// Where the commands go on PATH.
    pub order: CommandOrder,
    /// The locale to render in.
    pub locale: Option<String>,
    /// The declared skills.
    pub skills: Vec<Declaration>,
    /// The lockfile, if the project has one.
    pub lock: Option<Lockfile>,
}

/// Where a list of agents comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentsFrom {
    /// The project, the config or the environment.
    Settings,
    /// What csk found on this machine.
    Detection,
}

impl Target {
    /// Returns the folder of the skills.
    pub fn skills_folder(&self) -> AbsPath {
        self.root.join(SKILLS)
    }

    /// Returns the adapter folders of the agents, each once, in order.
    pub fn adapters(&self) -> Vec<String> {
        let mut folders: Vec<String> = Vec::new();
        for folder in self.agents.iter().filter_map(|agent| agent.folder(self.scope)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    /// Returns the path of a folder of entries: csk's own are in the project, the agents' in `adapter_base`.
    pub fn folder(&self, folder: &str) -> AbsPath {
        match (folder, folder.strip_prefix("~/")) {
            (SKILLS | BIN, _) => self.root.join(folder),
            (_, Some(below)) => self.adapter_base.join(below),
            (_, None) => self.adapter_base.join(folder),
        }
    }

    /// Returns the path of a command's shim in the project.
    pub fn shim(&self, command: &Identifier) -> AbsPath {
        self.folder(BIN).join(Platform::CURRENT.shim_name(command))
    }

    /// Returns the target of the link from an agent's folder to a skill.
    pub(super) fn link_text(&self, folder: &str, name: &Identifier) -> String {
        match self.scope {
            Scope::Project => {
                let up = "../".repeat(folder.split('/').filter(|part| !part.is_empty()).count());
                format!("{up}{SKILLS}/{name}")
            }
            Scope::Global => self.skills_folder().join(name.as_str()).to_string(),
        }
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

    /// Returns the env files, which put the commands on PATH, by their path below the root.
    pub fn env_files(&self) -> Vec<(&'static str, String)> {
        match self.scope {
            Scope::Project => vec![
                (".agents/env.ps1", env_ps1("..", self.scope, self.order)),
                (".agents/env.sh", env_sh(&self.root, "..", self.scope, self.order)),
            ],
            Scope::Global => vec![
                ("env.ps1", env_ps1(".", self.scope, self.order)),
                ("env.sh", env_sh(&self.root, ".", self.scope, self.order)),
            ],
        }
    }
}
