//! `mcp.json` in the user's configuration folder: the configured MCP servers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use skill::Code;
use skill::json::{self as reader, Object, Text, UnknownKeys};
use skill_fs::{AbsPath, Lock, make_private_folder, read_text, write_file};

use super::entry::skill_path;
use crate::state::decisions::lock_state;
use crate::state::settings::schema_version;
use crate::{Places, RuntimeError};

/// The file name.
const FILE: &str = "mcp.json";
/// The maximum length of a label.
const MAX_LABEL: usize = 32;
/// Labels that are reserved for skill folders.
const RESERVED_LABELS: [&str; 6] = ["builtin", "org", "personal", "project", "nested", "package"];

/// A configured MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillServer {
    /// The user's label for it.
    pub label: String,
    /// How to connect to it.
    pub address: ServerAddress,
    /// URIs of skills to request individually, since a server need not list every skill.
    pub skills: BTreeSet<String>,
}

/// How to connect to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAddress {
    /// Start a program and use its standard input and output.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Environment variables to pass, in addition to those that every program needs.
        env: Vec<String>,
    },
    /// Connect over HTTP.
    Url {
        /// The URL of the server.
        url: String,
        /// The environment variable that contains the token.
        token_env: Option<String>,
    },
}

/// All configured servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillServers(BTreeMap<String, SkillServer>);

impl SkillServers {
    /// Reads `mcp.json`.
    pub fn load(places: &Places) -> Result<Self, RuntimeError> {
        let Some(path) = places.config.as_ref().map(|folder| folder.join(FILE)) else {
            return Ok(Self::default());
        };
        let Some(text) = read_text(&path)? else { return Ok(Self::default()) };
        let (servers, diagnostics) = reader::read(path.as_str(), &text, |object| {
            object.unknown_keys(UnknownKeys::Refused);
            schema_version(object)?;
            Some(object.entries("servers", server))
        });
        let is_wrong = diagnostics.iter().any(|problem| problem.severity == skill::Severity::Error);
        match servers.filter(|_| !is_wrong) {
            Some(servers) => {
                let labelled = servers.into_iter().map(|server| (server.label.clone(), server));
                Ok(Self(labelled.collect()))
            }
            None => Err(RuntimeError::InvalidConfig { file: path.to_string(), diagnostics }),
        }
    }

    /// Writes `mcp.json`.
    pub fn save(&self, places: &Places) -> Result<AbsPath, RuntimeError> {
        let folder = places.config.as_ref().ok_or_else(|| RuntimeError::Setup {
            message: "cannot locate the configuration folder: HOME is not set".to_owned(),
            hint: Some("set HOME or XDG_CONFIG_HOME".to_owned()),
        })?;
        make_private_folder(folder)?;
        let servers: serde_json::Map<String, Value> =
            self.0.iter().map(|(label, server)| (label.clone(), server.json())).collect();
        let path = folder.join(FILE);
        let text = format!("{:#}\n", json!({"schema_version": 1, "servers": servers}));
        write_file(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Locks the configuration against other processes.
    pub fn lock(places: &Places) -> Result<Lock, RuntimeError> {
        lock_state(places.state.as_ref())
    }

    /// Adds a server, or replaces the one with the same label.
    pub fn add(&mut self, server: SkillServer) {
        self.0.insert(server.label.clone(), server);
    }

    /// Removes a server; returns false if it was not configured.
    pub fn remove(&mut self, label: &str) -> bool {
        self.0.remove(label).is_some()
    }

    /// Returns the server with this label.
    pub fn get(&self, label: &str) -> Option<SkillServer> {
        self.0.get(label).cloned()
    }

    /// Returns all servers, sorted by label.
    pub fn iter(&self) -> impl Iterator<Item = SkillServer> {
        self.0.values().cloned()
    }

    /// Checks that a label is valid.
    pub fn check_label(label: &str) -> Result<(), String> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if label.is_empty() || label.len() > MAX_LABEL || !label.bytes().all(is_plain) {
            return Err(format!(
                "`{label}` is not a valid label; use 1 to {MAX_LABEL} lowercase letters, digits and hyphens"
            ));
        }
        let is_reserved = |reserved: &str| {
            label
                .strip_prefix(reserved)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        match RESERVED_LABELS.into_iter().find(|reserved| is_reserved(reserved)) {
            Some(reserved) => Err(format!(
                "`{label}` is not a valid label; choose one other than `{reserved}` or `{reserved}-…`, which are reserved for skill folders"
            )),
            None => Ok(()),
        }
    }

    /// Checks that a URI refers to a skill.
    pub fn check_skill(uri: &str) -> Result<(), String> {
        let advice = "use the form skill://PATH/NAME/SKILL.md";
        skill_path(uri).map(|_| ()).map_err(|why| format!("{why}; {advice}"))
    }

    /// Checks that a URL is valid for a server.
    pub fn check_url(url: &str) -> Result<(), String> {
        let wrong = |why: &str| Err(format!("`{url}` is not a valid server URL; {why}"));
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if rest.contains(char::is_whitespace) || rest.chars().any(char::is_control) {
            return wrong("it contains whitespace");
        }
        if host.contains('@') {
            return wrong(
                "do not put secrets in it; pass the variable that holds the token with --token-env",
            );
        }
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        match scheme {
            "https" if !name.is_empty() => Ok(()),
            "http" if matches!(name, "localhost" | "127.0.0.1" | "[::1]") => Ok(()),
            "http" => wrong("remote servers must use https"),
            _ => wrong("use the form https://example.com/mcp"),
        }
    }
}

impl SkillServer {
    fn json(&self) -> Value {
        let mut value = match &self.address {
            ServerAddress::Command { command, env } if env.is_empty() => {
                json!({"command": command})
            }
            ServerAddress::Command { command, env } => json!({"command": command, "env": env}),
            ServerAddress::Url { url, token_env: None } => json!({"url": url}),
            ServerAddress::Url { url, token_env: Some(name) } => {
                json!({"url": url, "token_env": name})
            }
        };
        if !self.skills.is_empty() {
            value["skills"] = json!(self.skills);
        }
        value
    }
}

fn server(label: &Text, object: &mut Object<'_, '_, '_>) -> Option<SkillServer> {
    object.unknown_keys(UnknownKeys::Refused);
    if let Err(message) = SkillServers::check_label(&label.value) {
        object.problem(Code::BadValue, label.range.clone(), message);
        return None;
    }
    let texts = |texts: Vec<Text>| texts.into_iter().map(|text| text.value).collect::<Vec<_>>();
    let command = texts(object.texts("command"));
    let env = texts(object.texts("env"));
    let named = object.texts("skills");
    for uri in &named {
        if let Err(message) = SkillServers::check_skill(&uri.value) {
            object.problem(Code::BadValue, uri.range.clone(), message);
            return None;
        }
    }
    let skills = texts(named).into_iter().collect();
    let url = object.text("url");
    let token_env = object.text("token_env").map(|text| text.value);
    let address = match (command.is_empty(), url) {
        (false, None) if token_env.is_none() => ServerAddress::Command { command, env },
        (true, Some(url)) if env.is_empty() => {
            if let Err(message) = SkillServers::check_url(&url.value) {
                object.problem(Code::BadValue, url.range, message);
                return None;
            }
            ServerAddress::Url { url: url.value, token_env }
        }
        _ => {
            let message = "expected `command` (with `env`) or `url` (with `token_env`)";
            object.problem(Code::BadValue, label.range.clone(), message);
            return None;
        }
    };
    Some(SkillServer { label: label.value.clone(), address, skills })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_urls_are_validated() {
        for label in ["docs", "my-team-2", "a"] {
            SkillServers::check_label(label).unwrap();
        }
        for label in ["", "Docs", "a/b", "a b", "project", "nested-x", "personal-agents", "ä", "~"]
        {
            assert!(SkillServers::check_label(label).is_err(), "{label}");
        }
        for url in ["https://example.com/mcp", "http://127.0.0.1:8750/mcp", "http://[::1]:1/mcp"] {
            SkillServers::check_url(url).unwrap();
        }
        for url in [
            "http://example.com/mcp",
            "ftp://x",
            "example.com",
            "https://",
            "https://a:b@c/",
            "https://a b/",
            "http://127.0.0.1.evil.com/",
        ] {
            assert!(SkillServers::check_url(url).is_err(), "{url}");
        }
    }
}
