//! Where agents read skills. Data, not code: users can add or override agents in the config.

use skill::nearest;

use crate::Scope;

/// An agent and its folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The id used in `agents` lists.
    pub id: String,
    /// The project folder that needs an entry for each skill; `None` if the agent reads `.agents/skills` itself.
    pub adapter: Option<String>,
    /// The folder in the user's home that needs an entry for each globally installed skill.
    pub user_adapter: Option<String>,
}

impl Agent {
    /// Stands for every agent that reads the folders that agents share.
    pub fn any() -> Self {
        let user_adapter = Some(COMMON_HOME_FOLDER.to_owned());
        Self { id: "agents".to_owned(), adapter: None, user_adapter }
    }

    /// Returns the folder that needs entries in `scope`; a folder in the user's home starts with `~/`.
    pub fn folder(&self, scope: Scope) -> Option<String> {
        match scope {
            Scope::Project => self.adapter.clone(),
            Scope::Global => self.user_adapter.as_ref().map(|folder| format!("~/{folder}")),
        }
    }
}

/// Built-in agents that need adapter entries, with their project folder.
///
/// The first four ids come from the original csk and keep its paths, even if the agent now reads `.agents/skills`
/// itself.
const ADAPTED: &[(&str, &str)] = &[
    ("codex_cli", ".codex/skills"),
    ("claude_code", ".claude/skills"),
    ("gemini", ".gemini/skills"),
    ("cursor", ".cursor/rules"),
    ("claude-code", ".claude/skills"),
    ("adal", ".adal/skills"),
    ("augment", ".augment/skills"),
    ("bob", ".bob/skills"),
    ("codebuddy", ".codebuddy/skills"),
    ("codemaker", ".codemaker/skills"),
    ("command-code", ".commandcode/skills"),
    ("continue", ".continue/skills"),
    ("forgecode", ".forge/skills"),
    ("grok", ".grok/skills"),
    ("hermes-agent", ".hermes/skills"),
    ("iflow-cli", ".iflow/skills"),
    ("kiro-cli", ".kiro/skills"),
    ("kode", ".kode/skills"),
    ("lingma", ".lingma/skills"),
    ("mcpjam", ".mcpjam/skills"),
    ("mux", ".mux/skills"),
    ("neovate", ".neovate/skills"),
    ("ona", ".ona/skills"),
    ("openclaw", "skills"),
    ("pochi", ".pochi/skills"),
    ("qoder", ".qoder/skills"),
    ("qwen-code", ".qwen/skills"),
    ("tabnine-cli", ".tabnine/agent/skills"),
    ("trae", ".trae/skills"),
    ("zencoder", ".zencoder/skills"),
];

/// Built-in agents that read a project's `.agents/skills` themselves.
const NATIVE: &[&str] = &[
    "amp",
    "antigravity",
    "cline",
    "codex",
    "cortex",
    "crush",
    "cursor-agent",
    "deepagents",
    "devin",
    "dexto",
    "droid",
    "firebender",
    "fx",
    "gemini-cli",
    "github-copilot",
    "goose",
    "junie",
    "kilo",
    "kimi-code-cli",
    "loaf",
    "mistral-vibe",
    "opencode",
    "openhands",
    "pi",
    "replit",
    "roo",
    "rovodev",
    "warp",
    "windsurf",
    "zed",
];

/// Home folders of agents that differ from the agent's project folder.
const HOME_FOLDERS: &[(&str, &str)] = &[
    ("amp", ".config/agents/skills"),
    ("cortex", ".snowflake/cortex/skills"),
    ("crush", ".config/crush/skills"),
    ("cursor", ".cursor/skills"),
    ("cursor-agent", ".cursor/skills"),
    ("devin", ".config/devin/skills"),
    ("droid", ".factory/skills"),
    ("gemini-cli", ".gemini/skills"),
    ("github-copilot", ".copilot/skills"),
    ("goose", ".config/goose/skills"),
    ("openclaw", ".openclaw/skills"),
    ("opencode", ".config/opencode/skills"),
    ("windsurf", ".codeium/windsurf/skills"),
];

/// The home folder of agents that read `.agents/skills` in a project, unless listed above.
const COMMON_HOME_FOLDER: &str = ".agents/skills";

/// Returns a built-in agent's folder in the user's home.
fn home_folder(id: &str) -> Option<String> {
    let own = HOME_FOLDERS.iter().find(|(known, _)| *known == id);
    let adapted = || ADAPTED.iter().find(|(known, _)| *known == id);
    let native = || NATIVE.contains(&id).then_some(COMMON_HOME_FOLDER);
    own.or_else(adapted).map(|(_, folder)| *folder).or_else(native).map(str::to_owned)
}

/// The agents available to this run: built-in ones, overridden by the user's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    custom: Vec<Agent>,
}

impl Agents {
    /// Takes the user's own agents, which take precedence over built-in ones with the same id.
    pub fn new(custom: Vec<Agent>) -> Self {
        Self { custom }
    }

    /// Returns the user's own agents.
    pub fn custom(&self) -> &[Agent] {
        &self.custom
    }

    /// Returns every folder in which csk may have created entries.
    pub fn adapter_folders(&self, scope: Scope) -> Vec<String> {
        let custom = self.custom.iter().filter_map(|agent| agent.folder(scope));
        let known = ADAPTED.iter().map(|(id, _)| *id).chain(NATIVE.iter().copied());
        let known = known.filter_map(|id| built_in_agent(id)?.folder(scope));
        known.chain(custom).collect()
    }

    /// Returns the ids of all agents.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        let known = ADAPTED.iter().map(|(id, _)| *id).chain(NATIVE.iter().copied());
        known.chain(self.custom.iter().map(|agent| agent.id.as_str()))
    }

    /// Returns the agent with this id.
    pub fn find(&self, id: &str) -> Option<Agent> {
        if let Some(agent) = self.custom.iter().find(|agent| agent.id == id) {
            return Some(agent.clone());
        }
        built_in_agent(id)
    }

    /// Returns the closest known id, for a "did you mean" hint.
    pub fn nearest(&self, id: &str) -> Option<String> {
        let ids = self.ids().collect::<Vec<_>>().into_iter();
        // A truncated name counts as a typo, too.
        let whole = ids.clone().find(|known| id.len() > 2 && known.starts_with(id));
        nearest(id, ids).or(whole).map(str::to_owned)
    }
}

/// Returns the built-in agent with this id.
fn built_in_agent(id: &str) -> Option<Agent> {
    let adapter =
        ADAPTED.iter().find(|(known, _)| *known == id).map(|(_, path)| (*path).to_owned());
    let is_known = adapter.is_some() || NATIVE.contains(&id);
    is_known.then(|| Agent { id: id.to_owned(), adapter, user_adapter: home_folder(id) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_ids_keep_their_paths_and_users_win() {
        let agents = Agents::default();
        let adapter = |agents: &Agents, id: &str| agents.find(id).and_then(|agent| agent.adapter);
        for (id, path) in [
            ("codex_cli", ".codex/skills"),
            ("claude_code", ".claude/skills"),
            ("gemini", ".gemini/skills"),
            ("cursor", ".cursor/rules"),
            ("tabnine-cli", ".tabnine/agent/skills"),
        ] {
            assert_eq!(adapter(&agents, id).as_deref(), Some(path), "{id}");
        }
        assert_eq!(adapter(&agents, "zed"), None);
        let home = |id: &str| agents.find(id).and_then(|agent| agent.user_adapter).unwrap();
        for (id, path) in [
            ("zed", ".agents/skills"),
            ("claude_code", ".claude/skills"),
            ("cursor", ".cursor/skills"),
            ("opencode", ".config/opencode/skills"),
            ("qwen-code", ".qwen/skills"),
        ] {
            assert_eq!(home(id), path, "{id}");
        }
        assert_eq!(agents.find("claud_code"), None);
        assert_eq!(agents.nearest("claud_code").as_deref(), Some("claude_code"));
        assert_eq!(agents.nearest("claude").as_deref(), Some("claude_code"));
        assert_eq!(agents.nearest("xyz"), None);
        let mine = Agents::new(vec![Agent {
            id: "cursor".into(),
            adapter: Some(".cursor/skills".into()),
            user_adapter: None,
        }]);
        assert_eq!(adapter(&mine, "cursor").as_deref(), Some(".cursor/skills"));
    }

    #[test]
    fn the_reference_lists_every_agent() {
        let page = include_str!("../../../../docs/reference.md");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let adapted = ADAPTED.iter().map(|(id, path)| format!("`{id}` (`{path}`)"));
        for agent in adapted.chain(NATIVE.iter().map(|id| format!("`{id}`"))) {
            assert!(page.contains(&agent), "docs/reference.md does not list {agent}");
        }
    }

    #[test]
    fn no_agent_is_listed_twice() {
        let mut ids: Vec<&str> =
            ADAPTED.iter().map(|(id, _)| *id).chain(NATIVE.iter().copied()).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
