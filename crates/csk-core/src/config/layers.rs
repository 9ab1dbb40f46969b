//! The system-wide config, and the user's config on top of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;
use skill::json::read;
use skill::{Code, Diagnostic};
use skill_fs::AbsPath;
use skill_state::audit::AuditMode;

use crate::Config;
use crate::config::file::fields;

/// The keys that the system config can enforce.
pub const LOCKABLE: [&str; 9] = [
    "skills_root",
    "preferred_locale",
    "default_agents",
    "adapter_mode",
    "worktree_alias_pattern",
    "allow_local_sources",
    "commands_first",
    "audit",
    "agents",
];

/// The system config, which applies to every user of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemConfig {
    /// The path of the file.
    pub file: String,
    config: Config,
    /// The keys that it sets.
    set: BTreeSet<&'static str>,
}

impl SystemConfig {
    /// Parses the file.
    pub fn parse(
        file: &str,
        text: &str,
        home: Option<&AbsPath>,
    ) -> (Option<Self>, Vec<Diagnostic>) {
        read(file, text, |object| {
            object.schema_version(&[1])?;
            let set: BTreeSet<&'static str> =
                LOCKABLE.into_iter().filter(|key| object.has(key)).collect();
            let mut locked = BTreeSet::new();
            for text in object.texts("locked") {
                if LOCKABLE.contains(&text.value.as_str()) {
                    locked.insert(text.value);
                } else {
                    let message =
                        format!("`locked` lists `{}`, which cannot be locked", text.value);
                    let hint = format!("keys that can be locked: {}", LOCKABLE.join(", "));
                    object.problem_with_hint(Code::BadValue, text.range, message, hint);
                }
            }
            let nowhere = AbsPath::new("/").ok()?;
            let mut config = fields(object, home, &Config::new(nowhere))?;
            config.locked = locked;
            Some(Self { file: file.to_owned(), config, set })
        })
    }

    /// Returns a config's text without the locked keys. `skills_root` stays if this config does not set it.
    pub fn without_locked(&self, text: &str) -> String {
        let Ok(Value::Object(mut keys)) = serde_json::from_str(text) else {
            return text.to_owned();
        };
        keys.retain(|key, _| {
            !self.config.locked.contains(key) || (key == "skills_root" && !self.sets(key))
        });
        format!("{:#}\n", Value::Object(keys))
    }

    /// Returns true if this config sets `key`.
    pub fn sets(&self, key: &str) -> bool {
        self.set.contains(key)
    }
}

/// What a user's config is read on top of.
#[derive(Debug, Clone, Copy)]
pub struct ConfigBase<'a> {
    /// The user's home folder, which replaces `~` in paths.
    pub home: Option<&'a AbsPath>,
    /// The system config, if there is one.
    pub system: Option<&'a SystemConfig>,
    /// The folder for repositories if no config sets `skills_root`.
    pub repositories: &'a AbsPath,
}

impl Config {
    /// Parses the user's config on top of the system config. The system config supplies unset and locked keys. Security
    /// settings can only be tightened.
    pub fn parse(file: &str, text: &str, base: ConfigBase<'_>) -> (Option<Self>, Vec<Diagnostic>) {
        let ConfigBase { home, system, repositories } = base;
        read(file, text, |object| {
            object.schema_version(&[1])?;
            let places: BTreeMap<&str, Range<usize>> =
                LOCKABLE.iter().filter_map(|key| Some((*key, object.key_range(key)?))).collect();
            let base = system.filter(|system| system.sets("skills_root"));
            let own = Self::new(repositories.clone());
            let has_root = object.has("skills_root") || base.is_some();
            let has_audit = object.has("audit");
            let mut config = fields(object, home, base.map_or(&own, |system| &system.config))?;
            config.owns_repositories = !has_root;
            // Whoever configures nothing gets the safe default; a config of the original csk keeps its own.
            if !has_root && !has_audit {
                config.audit = AuditMode::Advisory;
            }
            let Some(system) = system else { return Some(config) };
            let (own, from) = (config.clone(), &system.config);
            let wins = |key: &str| {
                from.locked.contains(key) || (system.sets(key) && !places.contains_key(key))
            };
            if wins("skills_root") && system.sets("skills_root") {
                config.skills_root = from.skills_root.clone();
            }
            if wins("preferred_locale") {
                config.preferred_locale.clone_from(&from.preferred_locale);
            }
            if wins("default_agents") {
                config.default_agents.clone_from(&from.default_agents);
            }
            if wins("adapter_mode") {
                config.adapter_mode = from.adapter_mode;
            }
            if wins("worktree_alias_pattern") {
                config.worktree_alias_pattern.clone_from(&from.worktree_alias_pattern);
            }
            if wins("commands_first") {
                config.command_order = from.command_order;
            }
            if wins("agents") {
                config.agents = from.agents.clone();
            }
            let is_refused = system.sets("allow_local_sources") && !from.allow_local_sources;
            if wins("allow_local_sources") || is_refused {
                config.allow_local_sources = from.allow_local_sources;
            }
            // The strictest setting wins, locked or not.
            config.audit = config.audit.max(from.audit);
            config.locked = from.locked.clone();
            if is_refused {
                config.locked.insert("allow_local_sources".to_owned());
            }
            let is_other = |key: &str| from.locked.contains(key) && differs(key, &own, &config);
            for (key, place) in places.iter().filter(|(key, _)| is_other(key)) {
                let file = &system.file;
                let message = format!("`{key}` is enforced by {file}; the value here is ignored");
                object.problem(Code::LockedKey, place.clone(), message);
            }
            Some(config)
        })
    }

    /// Returns true if the system config enforces `key`.
    pub fn is_locked(&self, key: &str) -> bool {
        self.locked.contains(key)
    }

    /// Returns true if `key` takes precedence over a project's own setting.
    pub fn overrides_projects(&self, key: &str) -> bool {
        self.is_locked(key) || self.from_environment.contains(key)
    }
}

/// Returns true if two configs differ in a lockable key.
fn differs(key: &str, one: &Config, other: &Config) -> bool {
    match key {
        "skills_root" => one.skills_root != other.skills_root,
        "preferred_locale" => one.preferred_locale != other.preferred_locale,
        "default_agents" => one.default_agents != other.default_agents,
        "adapter_mode" => one.adapter_mode != other.adapter_mode,
        "worktree_alias_pattern" => one.worktree_alias_pattern != other.worktree_alias_pattern,
        "allow_local_sources" => one.allow_local_sources != other.allow_local_sources,
        "commands_first" => one.command_order != other.command_order,
        "audit" => one.audit != other.audit,
        _ => one.agents != other.agents,
    }
}
