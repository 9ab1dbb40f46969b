//! The capabilities declared by a version 3 manifest, as written.

use serde_json::{Map, Value, json};

use crate::Code;
use crate::capabilities::CapabilityKind;
use crate::json::{Object, OneOrMany, Text, UnknownKeys};

/// The key for the purpose of a skill, which is not a capability.
const PROMPT_SCOPE: &str = "prompt_scope";

/// The `capabilities` of a manifest. A missing field means "not declared", which differs from "none".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredCapabilities {
    /// Hosts that are contacted: exact names or `*.suffix`.
    pub network: Option<DeclaredList>,
    /// Files that are read and written.
    pub filesystem: Option<DeclaredFilesystem>,
    /// Programs that are started.
    pub exec: Option<DeclaredList>,
    /// Services whose secrets are used.
    pub secrets: Option<DeclaredList>,
    /// Environment variables that are read.
    pub env_read: Option<Vec<String>>,
    /// The purpose of the skill, in one line.
    pub prompt_scope: Option<String>,
}

/// `none`, or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredList {
    /// Explicitly none.
    None,
    /// Only these.
    Only(Vec<String>),
}

/// The declared extent of file access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredFilesystem {
    /// Files in the repository.
    Repo,
    /// The user's configuration folder.
    HomeConfig,
    /// These paths and everything below them.
    Paths(Vec<String>),
}

impl DeclaredCapabilities {
    /// Returns the object as written in a manifest.
    pub fn to_json(&self) -> Value {
        let list = |list: &DeclaredList| match list {
            DeclaredList::None => json!("none"),
            DeclaredList::Only(items) => json!(items),
        };
        let filesystem = |filesystem: &DeclaredFilesystem| match filesystem {
            DeclaredFilesystem::Repo => json!("repo"),
            DeclaredFilesystem::HomeConfig => json!("home-config"),
            DeclaredFilesystem::Paths(paths) => json!(paths),
        };
        let fields = [
            (CapabilityKind::Env.declared_as(), self.env_read.as_ref().map(|names| json!(names))),
            (CapabilityKind::Exec.declared_as(), self.exec.as_ref().map(list)),
            (CapabilityKind::Read.declared_as(), self.filesystem.as_ref().map(filesystem)),
            (CapabilityKind::Network.declared_as(), self.network.as_ref().map(list)),
            (PROMPT_SCOPE, self.prompt_scope.as_ref().map(|scope| json!(scope))),
            (CapabilityKind::Secrets.declared_as(), self.secrets.as_ref().map(list)),
        ];
        let present = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Value::Object(present.collect::<Map<_, _>>())
    }
}

/// Reads the object `capabilities`.
pub(crate) fn read(object: &mut Object<'_, '_, '_>) -> DeclaredCapabilities {
    object.unknown_keys(UnknownKeys::Refused);
    DeclaredCapabilities {
        network: list(object, CapabilityKind::Network, "a host or `*.suffix`", is_host),
        filesystem: filesystem(object),
        exec: list(object, CapabilityKind::Exec, "a program name", is_program),
        secrets: list(object, CapabilityKind::Secrets, "a service name", is_line),
        env_read: names(object),
        prompt_scope: scope(object),
    }
}

fn list(
    object: &mut Object<'_, '_, '_>,
    kind: CapabilityKind,
    expected: &str,
    is_good: fn(&str) -> bool,
) -> Option<DeclaredList> {
    let key = kind.declared_as();
    match object.one_or_many(key)? {
        OneOrMany::One(text) if text.value == "none" => Some(DeclaredList::None),
        OneOrMany::One(text) => {
            wrong(object, key, &text, "`none` or a list");
            None
        }
        OneOrMany::Many(texts) => {
            Some(DeclaredList::Only(good(object, key, texts, expected, is_good)))
        }
    }
}

fn filesystem(object: &mut Object<'_, '_, '_>) -> Option<DeclaredFilesystem> {
    // One key declares both reading and writing.
    let key = CapabilityKind::Read.declared_as();
    match object.one_or_many(key)? {
        OneOrMany::One(text) => match text.value.as_str() {
            "repo" => Some(DeclaredFilesystem::Repo),
            "home-config" => Some(DeclaredFilesystem::HomeConfig),
            _ => {
                wrong(object, key, &text, "`repo`, `home-config` or a list of paths");
                None
            }
        },
        OneOrMany::Many(texts) => {
            let expected = "a path without `..`";
            Some(DeclaredFilesystem::Paths(good(object, key, texts, expected, is_path)))
        }
    }
}

fn names(object: &mut Object<'_, '_, '_>) -> Option<Vec<String>> {
    let key = CapabilityKind::Env.declared_as();
    match object.one_or_many(key)? {
        OneOrMany::One(text) => {
            wrong(object, key, &text, "a list of names");
            None
        }
        OneOrMany::Many(texts) => Some(good(object, key, texts, "a variable name", is_variable)),
    }
}

fn scope(object: &mut Object<'_, '_, '_>) -> Option<String> {
    let text = object.text(PROMPT_SCOPE)?;
    if is_line(&text.value) {
        return Some(text.value);
    }
    wrong(object, PROMPT_SCOPE, &text, "one line of text");
    None
}

fn good(
    object: &mut Object<'_, '_, '_>,
    key: &str,
    texts: Vec<Text>,
    expected: &str,
    is_good: fn(&str) -> bool,
) -> Vec<String> {
    let mut values = Vec::new();
    for text in texts {
        if is_good(&text.value) {
            values.push(text.value);
        } else {
            wrong(object, key, &text, expected);
        }
    }
    values
}

fn wrong(object: &mut Object<'_, '_, '_>, key: &str, text: &Text, expected: &str) {
    let message =
        format!("`{}` contains `{}`; expected {expected}", object.path_of(key), text.value);
    object.problem(Code::BadValue, text.range.clone(), message);
}

fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_control)
}

fn is_host(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
            && !label.starts_with('-')
    };
    // A suffix with one label would be a whole top-level domain.
    name.split('.').all(is_label) && (name.len() == text.len() || name.contains('.'))
}

fn is_program(text: &str) -> bool {
    is_line(text) && !text.starts_with('-') && !text.contains(['/', '\\', ' '])
}

fn is_path(text: &str) -> bool {
    is_line(text) && !text.contains('\\') && !text.split('/').any(|part| part == "..")
}

fn is_variable(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.starts_with(|c: char| !c.is_ascii_digit())
}
