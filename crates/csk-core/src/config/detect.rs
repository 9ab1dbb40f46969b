//! Detects the agents on a machine: by their folders in the user's home and in a project, and by their programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use skill_fs::AbsPath;

use crate::which::find_program;
use crate::{Agents, Scope};

/// Where to look for signs of agents.
#[derive(Debug, Clone, Copy)]
pub struct AgentSigns<'a> {
    /// The user's home folder.
    pub home: Option<&'a AbsPath>,
    /// The user's `PATH`.
    pub path: Option<&'a OsStr>,
    /// A project.
    pub project: Option<&'a AbsPath>,
}

/// The ids of the original csk name agents that have another id as well.
const OTHER_IDS: [&str; 4] = ["codex_cli", "claude_code", "gemini", "cursor"];

/// Programs of agents.
const PROGRAMS: &[(&str, &str)] = &[
    ("amp", "amp"),
    ("augment", "auggie"),
    ("claude-code", "claude"),
    ("codebuddy", "codebuddy"),
    ("codex", "codex"),
    ("crush", "crush"),
    ("cursor-agent", "cursor"),
    ("cursor-agent", "cursor-agent"),
    ("droid", "droid"),
    ("forgecode", "forge"),
    ("gemini-cli", "gemini"),
    ("github-copilot", "copilot"),
    ("goose", "goose"),
    ("iflow-cli", "iflow"),
    ("kimi-code-cli", "kimi"),
    ("kiro-cli", "kiro-cli"),
    ("mistral-vibe", "vibe"),
    ("opencode", "opencode"),
    ("qwen-code", "qwen"),
    ("warp", "warp-terminal"),
    ("zed", "zed"),
];

/// Folders of agents in the user's home that do not contain the folder of their skills.
const HOME_SIGNS: &[(&str, &str)] =
    &[("codex", ".codex"), ("kilo", ".kilocode"), ("roo", ".roo"), ("zed", ".config/zed")];

/// Folders that several agents or other programs use.
const SHARED: [&str; 3] = [".agents", ".config", "skills"];

/// Returns the ids of the agents that left a sign, sorted.
pub fn detected_agents(agents: &Agents, signs: AgentSigns<'_>) -> Vec<String> {
    let is_folder = |base: Option<&AbsPath>, folder: &str| {
        base.is_some_and(|base| !folder.is_empty() && base.join(folder).as_path().is_dir())
    };
    let mut found: BTreeSet<String> = BTreeSet::new();
    for id in agents.ids().filter(|id| !OTHER_IDS.contains(id)) {
        let Some(agent) = agents.find(id) else { continue };
        let parent = |folder: String| {
            let parent = Path::new(&folder).parent().and_then(Path::to_str).map(str::to_owned);
            parent.filter(|parent| !SHARED.contains(&parent.as_str()))
        };
        let own = agent.folder(Scope::Global);
        let own = own.and_then(|own| parent(own.trim_start_matches("~/").to_owned()));
        let in_project = agent.folder(Scope::Project).and_then(parent);
        if own.is_some_and(|own| is_folder(signs.home, &own))
            || in_project.is_some_and(|own| is_folder(signs.project, &own))
        {
            found.insert(id.to_owned());
        }
    }
    let programs =
        PROGRAMS.iter().filter(|(_, name)| find_program(name, signs.path, &[]).is_some());
    let folders = HOME_SIGNS.iter().filter(|(_, folder)| is_folder(signs.home, folder));
    found.extend(programs.chain(folders).map(|(id, _)| (*id).to_owned()));
    found.into_iter().collect()
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "writes fixtures")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn agents_are_detected_by_folders_and_programs() {
        let scratch = tempfile::tempdir().unwrap();
        let base = AbsPath::new(scratch.path().to_owned()).unwrap();
        let [home, bin, project] = ["home", "bin", "project"].map(|name| base.join(name));
        for folder in [".claude", ".config/opencode", ".agents/skills", ".config"] {
            fs::create_dir_all(home.join(folder).as_path()).unwrap();
        }
        fs::create_dir_all(project.join(".qwen").as_path()).unwrap();
        fs::create_dir_all(project.join("skills").as_path()).unwrap();
        fs::create_dir_all(bin.as_path()).unwrap();
        fs::write(bin.join("codex").as_path(), "").unwrap();
        fs::set_permissions(bin.join("codex").as_path(), PermissionsExt::from_mode(0o755)).unwrap();
        let detect = |home: Option<&AbsPath>, path: Option<&AbsPath>, project: Option<&AbsPath>| {
            let path = path.map(|path| path.as_path().as_os_str());
            detected_agents(&Agents::default(), AgentSigns { home, path, project })
        };
        let all = detect(Some(&home), Some(&bin), Some(&project));
        assert_eq!(all, ["claude-code", "codex", "opencode", "qwen-code"]);
        assert_eq!(detect(Some(&bin), None, Some(&bin)), Vec::<String>::new());
        assert_eq!(detect(None, None, None), Vec::<String>::new());
    }

    #[test]
    fn every_sign_belongs_to_a_known_agent() {
        let agents = Agents::default();
        for (id, _) in PROGRAMS.iter().chain(HOME_SIGNS) {
            assert!(agents.find(id).is_some_and(|_| !OTHER_IDS.contains(id)), "{id}");
        }
    }
}
