//! `config.json`: where skills come from, and the configured projects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use skill::json::{Object, Text};
use skill::{Code, Identifier, RelPath};
use skill_fs::AbsPath;

use skill_state::audit::AuditMode;

use crate::config::agents::{Agent, Agents};
use crate::env_files::CommandOrder;
use crate::install::SKILLS;

/// The default pattern for task ids in branch names.
pub const DEFAULT_PATTERN: &str = "[A-Z]+-[0-9]+";

/// How csk creates an agent's entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AdapterMode {
    /// Symlinks if the platform supports them, otherwise copies.
    #[default]
    Auto,
    /// Always symlinks.
    Symlink,
    /// Always copies.
    Copy,
}

impl AdapterMode {
    const NAMES: [(&str, Self); 3] =
        [("auto", Self::Auto), ("symlink", Self::Symlink), ("copy", Self::Copy)];

    /// Parses the config value.
    pub fn parse(word: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == word).map(|(_, mode)| *mode)
    }

    /// Returns the config value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Symlink => "symlink",
            Self::Copy => "copy",
        }
    }

    /// Returns true if entries are symlinks on this platform.
    pub fn links(self) -> bool {
        match self {
            Self::Auto => cfg!(unix),
            Self::Symlink => true,
            Self::Copy => false,
        }
    }
}

/// The contents of `config.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The folder that holds the skill repositories.
    pub skills_root: AbsPath,
    /// Whether no config sets `skills_root`. Then the repositories are csk's own, and csk may fetch them when it needs
    /// to.
    pub owns_repositories: bool,
    /// The agents found on this machine, if no config sets agents; each project may have more.
    pub detected_agents: Option<Vec<String>>,
    /// The locale for projects that do not set one.
    pub preferred_locale: Option<String>,
    /// The agents for projects that do not set any.
    pub default_agents: Vec<String>,
    /// How csk creates an agent's entries.
    pub adapter_mode: AdapterMode,
    /// The pattern of task ids in branch names.
    pub worktree_alias_pattern: Option<String>,
    /// Whether cloning from `file://` and path URLs is allowed.
    pub allow_local_sources: bool,
    /// Where skill commands go on PATH.
    pub command_order: CommandOrder,
    /// How strictly installs are audited.
    pub audit: AuditMode,
    /// The user's own agents.
    pub agents: Agents,
    /// The index files that `csk find` searches.
    pub skill_indexes: Vec<AbsPath>,
    /// The projects, by checkout alias.
    pub projects: BTreeMap<Identifier, ProjectEntry>,
    /// The keys enforced by the system config.
    pub locked: BTreeSet<String>,
    /// The keys set from the environment, which overrides the project.
    pub from_environment: BTreeSet<&'static str>,
}

/// A configured project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectEntry {
    /// The project's folder.
    pub path: AbsPath,
    /// The project's agents, unless its Skillfile sets them.
    pub agents: Vec<String>,
    /// The alias of the logical project.
    pub project_alias: Identifier,
    /// The alias of this working copy.
    pub checkout_alias: Identifier,
}

impl Config {
    /// Returns an empty config for skills under `skills_root`.
    pub fn new(skills_root: AbsPath) -> Self {
        Self {
            skills_root,
            owns_repositories: false,
            detected_agents: None,
            preferred_locale: None,
            default_agents: Vec::new(),
            adapter_mode: AdapterMode::default(),
            worktree_alias_pattern: None,
            allow_local_sources: false,
            command_order: CommandOrder::Last,
            audit: AuditMode::Off,
            agents: Agents::default(),
            skill_indexes: Vec::new(),
            projects: BTreeMap::new(),
            locked: BTreeSet::new(),
            from_environment: BTreeSet::new(),
        }
    }

    /// Serializes the config for its file: sorted keys, two-space indent, without what csk chose itself.
    pub fn to_json(&self) -> String {
        let mut fields = self.fields();
        if self.owns_repositories {
            fields.remove("skills_root");
        }
        if self.detected_agents.is_some() {
            fields.remove("default_agents");
        }
        format!("{:#}\n", json!(fields))
    }

    /// Serializes the settings in effect, including what csk chose itself.
    pub fn effective_json(&self) -> String {
        let mut fields = self.fields();
        if let Some(detected) = &self.detected_agents {
            fields.insert("default_agents", detected.as_slice().into());
        }
        format!("{:#}\n", json!(fields))
    }

    fn fields(&self) -> BTreeMap<&'static str, Value> {
        let projects: Map<String, Value> = self
            .projects
            .iter()
            .map(|(alias, entry)| (alias.to_string(), entry.to_json()))
            .collect();
        let mut fields = BTreeMap::from([
            ("adapter_mode", Value::from(self.adapter_mode.as_str())),
            ("default_agents", Value::from(self.default_agents.as_slice())),
            ("projects", Value::Object(projects)),
            ("schema_version", Value::from(1)),
            ("skills_root", Value::from(self.skills_root.as_str())),
        ]);
        if let Some(locale) = &self.preferred_locale {
            fields.insert("preferred_locale", locale.as_str().into());
        }
        if let Some(pattern) = &self.worktree_alias_pattern {
            fields.insert("worktree_alias_pattern", pattern.as_str().into());
        }
        if self.audit != AuditMode::Off {
            fields.insert("audit", self.audit.as_str().into());
        }
        if self.allow_local_sources || self.is_locked("allow_local_sources") {
            fields.insert("allow_local_sources", self.allow_local_sources.into());
        }
        if self.command_order == CommandOrder::First || self.is_locked("commands_first") {
            let is_first = self.command_order == CommandOrder::First;
            fields.insert("commands_first", is_first.into());
        }
        if !self.agents.custom().is_empty() {
            let agent = |agent: &Agent| {
                let paths =
                    json!({ "project_path": agent.adapter, "user_path": agent.user_adapter });
                (agent.id.clone(), paths)
            };
            fields
                .insert("agents", Value::Object(self.agents.custom().iter().map(agent).collect()));
        }
        if !self.skill_indexes.is_empty() {
            let paths: Vec<&str> = self.skill_indexes.iter().map(AbsPath::as_str).collect();
            fields.insert("skill_indexes", paths.into());
        }
        fields
    }
}

/// Reads the keys of a config. `base` has the `skills_root` if the config sets none.
pub(crate) fn fields(
    object: &mut Object<'_, '_, '_>,
    home: Option<&AbsPath>,
    base: &Config,
) -> Option<Config> {
    let root = if object.has("skills_root") {
        object.required("skills_root").and_then(|text| path(object, "skills_root", &text, home))
    } else {
        Some(base.skills_root.clone())
    };
    let Some(root) = root else {
        object.abandon();
        return None;
    };
    let mut config = Config::new(root);
    config.preferred_locale =
        object.text("preferred_locale").map(|text| text.value).filter(|locale| !locale.is_empty());
    config.agents = Agents::new(object.entries("agents", |id, agent| {
        let adapter = agent_folder(agent, "project_path", adapter_path);
        // A built-in agent keeps its home folder unless the config overrides it.
        let user_adapter = agent_folder(agent, "user_path", home_path);
        let known = Agents::default().find(&id.value);
        let user_adapter = user_adapter.or_else(|| known?.user_adapter);
        Some(Agent { id: id.value.clone(), adapter, user_adapter })
    }));
    let agents = config.agents.clone();
    config.default_agents = agent_ids(object, "default_agents", &agents);
    config.adapter_mode = adapter_mode(object);
    config.worktree_alias_pattern = pattern(object);
    config.allow_local_sources = object.boolean("allow_local_sources").unwrap_or(false);
    if object.boolean("commands_first") == Some(true) {
        config.command_order = CommandOrder::First;
    }
    config.audit = audit_mode(object);
    for text in object.texts("skill_indexes") {
        config.skill_indexes.extend(path(object, "skill_indexes", &text, home));
    }
    let projects = object.entries("projects", |alias, entry| project(alias, entry, &agents, home));
    config.projects = projects.into_iter().collect();
    Some(config)
}

impl ProjectEntry {
    fn to_json(&self) -> Value {
        json!({
            "agents": self.agents,
            "checkout_alias": self.checkout_alias.as_str(),
            "path": self.path.as_str(),
            "project_alias": self.project_alias.as_str(),
        })
    }
}

/// Returns the config `text` with project `alias` set to `entry`, or without it. Everything else stays, including keys
/// that this version does not know. Returns `None` if `text` is not a JSON object.
pub fn edit_project(
    text: &str,
    alias: &Identifier,
    entry: Option<&ProjectEntry>,
) -> Option<String> {
    let mut file: Map<String, Value> = serde_json::from_str(text).ok()?;
    let projects = file.entry("projects").or_insert_with(|| json!({})).as_object_mut()?;
    match entry {
        None => {
            projects.remove(alias.as_str());
        }
        Some(entry) => {
            let old =
                projects.entry(alias.as_str()).or_insert_with(|| json!({})).as_object_mut()?;
            old.extend(entry.to_json().as_object().cloned().unwrap_or_default());
        }
    }
    Some(format!("{:#}\n", sorted(Value::Object(file))))
}

/// Returns a value with the keys of every object sorted.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let entries: BTreeMap<String, Value> =
                object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(entries.into_iter().collect())
        }
        other => other,
    }
}

fn path(
    object: &mut Object<'_, '_, '_>,
    key: &str,
    text: &Text,
    home: Option<&AbsPath>,
) -> Option<AbsPath> {
    let expanded = match (text.value.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if text.value == "~" => home?.clone(),
        _ => match AbsPath::new(text.value.as_str()) {
            Ok(path) => path,
            Err(_) => {
                let message = format!("`{key}` is `{}`, which is not an absolute path", text.value);
                object.problem_with_hint(
                    Code::BadPath,
                    text.range.clone(),
                    message,
                    "use an absolute path, or start it with `~/`",
                );
                return None;
            }
        },
    };
    Some(expanded)
}

/// Reads an agent's folder.
fn agent_folder(
    agent: &mut Object<'_, '_, '_>,
    key: &'static str,
    check: fn(&str) -> Result<Option<String>, &'static str>,
) -> Option<String> {
    let text = agent.text(key)?;
    check(&text.value).unwrap_or_else(|why| {
        let message = format!("`{}` is `{}`, {why}", agent.path_of(key), text.value);
        agent.problem(Code::BadPath, text.range, message);
        None
    })
}

/// Checks an agent's folder in the user's home; a leading `~/` is allowed.
fn home_path(text: &str) -> Result<Option<String>, &'static str> {
    let text = text.strip_prefix("~/").unwrap_or(text).trim_end_matches('/');
    let path = RelPath::new(text).map_err(|_| "which is not a path inside the home folder")?;
    Ok(Some(path.to_string()))
}

/// Checks an agent's project folder, which must not belong to git or csk. `.agents/skills` itself means that the agent
/// needs no entries.
fn adapter_path(text: &str) -> Result<Option<String>, &'static str> {
    let path = RelPath::new(text.trim_end_matches('/'))
        .map_err(|_| "which is not a path inside a project")?;
    match path.parts().next() {
        _ if path.as_str() == SKILLS => Ok(None),
        Some(".git" | ".agents") => Err("which is reserved for git or csk"),
        _ => Ok(Some(path.to_string())),
    }
}

fn audit_mode(object: &mut Object<'_, '_, '_>) -> AuditMode {
    let Some(text) = object.text("audit") else { return AuditMode::Off };
    AuditMode::parse(&text.value).unwrap_or_else(|| {
        let message =
            format!("`audit` is `{}`; expected `off`, `advisory` or `strict`", text.value);
        object.problem(Code::BadValue, text.range, message);
        AuditMode::Strict
    })
}

fn adapter_mode(object: &mut Object<'_, '_, '_>) -> AdapterMode {
    let Some(text) = object.text("adapter_mode") else { return AdapterMode::default() };
    let found = AdapterMode::NAMES.iter().find(|(word, _)| *word == text.value);
    if found.is_none() {
        let message =
            format!("`adapter_mode` is `{}`; expected `auto`, `symlink` or `copy`", text.value);
        object.problem(Code::BadValue, text.range, message);
    }
    found.map_or_else(AdapterMode::default, |(_, mode)| *mode)
}

fn pattern(object: &mut Object<'_, '_, '_>) -> Option<String> {
    let text = object.text("worktree_alias_pattern")?;
    if let Err(error) = regex::Regex::new(&text.value) {
        let reason = error
            .to_string()
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned();
        let message =
            format!("`worktree_alias_pattern` is not a valid regular expression: {reason}");
        object.problem(Code::BadValue, text.range, message);
        return None;
    }
    Some(text.value)
}

fn project(
    alias: &Text,
    entry: &mut Object<'_, '_, '_>,
    agents: &Agents,
    home: Option<&AbsPath>,
) -> Option<(Identifier, ProjectEntry)> {
    let key = Identifier::new(alias.value.as_str())
        .map_err(|error| {
            let message = format!("`{}` is not a valid alias: {error}", alias.value);
            entry.problem(Code::BadIdentifier, alias.range.clone(), message);
        })
        .ok();
    let path = entry.required("path").and_then(|text| path(entry, "path", &text, home));
    let agents = agent_ids(entry, "agents", agents);
    let project_alias = entry.identifier("project_alias");
    let checkout_alias = entry.identifier("checkout_alias");
    let key = key?;
    let entry = ProjectEntry {
        path: path?,
        agents,
        project_alias: project_alias.unwrap_or_else(|| key.clone()),
        checkout_alias: checkout_alias.unwrap_or_else(|| key.clone()),
    };
    Some((key, entry))
}

/// Reads a list of agent ids and reports unknown ones.
pub(crate) fn agent_ids(
    object: &mut Object<'_, '_, '_>,
    key: &'static str,
    agents: &Agents,
) -> Vec<String> {
    let mut ids = Vec::new();
    for text in object.texts(key) {
        if agents.find(&text.value).is_some() {
            ids.push(text.value);
            continue;
        }
        let message = format!("unknown agent `{}` in `{key}`", text.value);
        let hint = match agents.nearest(&text.value) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add it under `agents` in config.json".to_owned(),
        };
        object.problem_with_hint(Code::UnknownAgent, text.range, message, hint);
    }
    ids
}

#[cfg(test)]
mod tests {
    use skill::Diagnostic;

    use super::*;
    use crate::ConfigBase;

    const FULL: &str = r#"{
      "schema_version": 1,
      "skills_root": "~/agents/skills",
      "preferred_locale": "ru",
      "default_agents": ["codex_cli", "mine"],
      "adapter_mode": "copy",
      "worktree_alias_pattern": "[A-Z]+-[0-9]+",
      "agents": {"mine": {"project_path": ".mine/skills"}},
      "projects": {"demo": {"path": "/p/demo", "agents": ["cursor"], "project_alias": "demo-ios"}}
    }"#;

    fn parse(text: &str) -> (Option<Config>, Vec<String>) {
        let home = AbsPath::new("/home/me").unwrap();
        let repositories = &AbsPath::new("/home/me/own").unwrap();
        let base = ConfigBase { home: Some(&home), system: None, repositories };
        let (config, problems) = Config::parse("config.json", text, base);
        let shown = |problem: &Diagnostic| format!("{}: {}", problem.code, problem.message);
        (config, problems.iter().map(shown).collect())
    }

    #[test]
    fn a_config_is_read_and_written_back() {
        let (config, problems) = parse(FULL);
        assert_eq!(problems, Vec::<String>::new());
        let config = config.unwrap();
        assert_eq!(config.skills_root.as_str(), "/home/me/agents/skills");
        let demo = &config.projects[&Identifier::new("demo").unwrap()];
        assert_eq!(
            (demo.project_alias.as_str(), demo.checkout_alias.as_str()),
            ("demo-ios", "demo")
        );
        assert_eq!(parse(&config.to_json()), (Some(config), Vec::new()));
    }

    #[test]
    fn without_a_folder_for_repositories_they_are_csk_s_own() {
        let own = parse("{\"schema_version\": 1}").0.unwrap();
        assert!(own.owns_repositories);
        assert_eq!(own.skills_root.as_str(), "/home/me/own");
        assert!(!own.to_json().contains("skills_root"));
        assert!(own.effective_json().contains("/home/me/own"));
        assert!(!parse(FULL).0.unwrap().owns_repositories);
    }

    #[test]
    fn editing_a_project_keeps_everything_else() {
        let text = r#"{"skills_root": "/s", "schema_version": 1, "my_note": {"b": 1, "a": 2}, "projects": {"x": {"path": "/x", "note": "n"}}}"#;
        let path = AbsPath::new("/y").unwrap();
        let alias = Identifier::new("x").unwrap();
        let entry = ProjectEntry {
            path,
            agents: vec![],
            project_alias: alias.clone(),
            checkout_alias: alias.clone(),
        };
        let edited: Value =
            serde_json::from_str(&edit_project(text, &alias, Some(&entry)).unwrap()).unwrap();
        assert_eq!(edited["my_note"], json!({ "a": 2, "b": 1 }));
        assert_eq!(
            (&edited["projects"]["x"]["note"], &edited["projects"]["x"]["path"]),
            (&json!("n"), &json!("/y"))
        );
        let removed: Value =
            serde_json::from_str(&edit_project(text, &alias, None).unwrap()).unwrap();
        assert_eq!(removed["projects"], json!({}));
        assert_eq!(edit_project("[]", &alias, None), None);
    }

    #[test]
    fn the_folder_of_an_agent_is_a_folder_of_the_project() {
        assert_eq!(adapter_path(".mine/skills/"), Ok(Some(".mine/skills".into())));
        assert_eq!(adapter_path(".agents/skills"), Ok(None));
        for bad in ["", ".", "..", "../x", "/etc", ".git/hooks", ".agents/.csk-stage", "a/../b"] {
            assert!(adapter_path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bad_values_are_named_together() {
        let (config, problems) = parse(
            r#"{"schema_version": 1, "skills_root": "skills", "default_agents": ["claud_code"], "adapter_mode": "hardlink",
                "worktree_alias_pattern": "(", "projects": {"../x": {"path": "p"}}}"#,
        );
        assert_eq!(config, None);
        // An unusable root stops parsing; earlier problems are still reported.
        assert_eq!(
            problems[0],
            "bad-path: `skills_root` is `skills`, which is not an absolute path"
        );
        let (_, problems) = parse(
            r#"{"schema_version": 1, "skills_root": "/s", "default_agents": ["claud_code"], "adapter_mode": "hardlink",
                "worktree_alias_pattern": "(", "projects": {"../x": {"path": "p"}}}"#,
        );
        let codes: Vec<&str> =
            problems.iter().filter_map(|problem| problem.split(':').next()).collect();
        assert_eq!(
            codes,
            ["unknown-agent", "bad-value", "bad-value", "bad-identifier", "bad-path"]
        );
    }
}
