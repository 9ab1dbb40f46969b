//! `config.json`: what the user decided once for all: folders of skills, what lists of tools mean, how the log is written.

use std::path::PathBuf;

use skill::json::{self, Object, Unknown};
use skill::{Code, Diagnostic};
use skill_fs::{AbsPath, read_text};
use skill_state::SkillSource;
use skill_state::audit::AuditMode;

use crate::decide::policy::ToolLists;
use crate::record::log::{CheckpointOptions, CheckpointPlace, Sync};
use crate::{Directory, Places, RuntimeError};

/// The name of the file.
const FILE: &str = "config.json";

/// What the user's configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) directories: Vec<Directory>,
    pub(crate) package_libraries: Vec<PathBuf>,
    pub(crate) allowed_tools: ToolLists,
    pub(crate) log: LogSettings,
    /// How much an audit decides about approvals.
    pub(crate) audit: AuditMode,
    /// Problems that did not stop it.
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            package_libraries: Vec::new(),
            allowed_tools: ToolLists::default(),
            log: LogSettings::default(),
            // An approval is a question of trust: what was found belongs to it.
            audit: AuditMode::Advisory,
            warnings: Vec::new(),
        }
    }
}

/// How the log is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LogSettings {
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) sync: Sync,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) checkpoints: CheckpointOptions,
}

/// The smallest size at which a new file of the log is begun.
const MIN_LOG_BYTES: u64 = 64 << 10;

impl Settings {
    /// Reads the user's configuration; where there is none, nothing is configured.
    pub(crate) fn load(places: &Places) -> Result<Self, RuntimeError> {
        let Some(path) = places.config.as_ref().map(|folder| folder.join(FILE)) else {
            return Ok(Self::default());
        };
        let Some(text) = read_text(&path)? else { return Ok(Self::default()) };
        let (settings, diagnostics) = Self::parse(path.as_str(), &text, places.home.as_ref());
        match settings {
            Some(settings) => Ok(Self { warnings: diagnostics, ..settings }),
            None => Err(RuntimeError::InvalidConfig { file: path.to_string(), diagnostics }),
        }
    }

    fn parse(file: &str, text: &str, home: Option<&AbsPath>) -> (Option<Self>, Vec<Diagnostic>) {
        json::read(file, text, |object| {
            schema_version(object)?;
            let directories = object.entries("directories", |name, directory| {
                let path = path_of(directory, "path", home);
                let source = directory.text("source").map(|source| {
                    let known = SkillSource::configured(&source.value);
                    if known.is_none() {
                        let message = format!(
                            "`source` is `{}`; expected `org`, `user` or `third_party`",
                            source.value
                        );
                        directory.problem(Code::BadValue, source.range, message);
                    }
                    known
                });
                // A word that cannot be read is an error of the file; nothing is guessed.
                let source = source.unwrap_or(Some(SkillSource::User))?;
                Some(Directory { path: path?, label: Some(name.value.clone()), source })
            });
            let package_libraries = object
                .texts("packages")
                .into_iter()
                .filter_map(|text| absolute(object, text, home))
                .collect();
            let allowed_tools = allowed_tools(object)?;
            let log = object.object("log", |log| log_settings(log, home));
            let log = log.unwrap_or_default();
            let audit = audit_mode(object)?;
            let warnings = Vec::new();
            Some(Self { directories, package_libraries, allowed_tools, log, audit, warnings })
        })
    }
}

fn allowed_tools(object: &mut Object<'_, '_, '_>) -> Option<ToolLists> {
    let Some(word) = object.text("allowed_tools") else { return Some(ToolLists::default()) };
    match word.value.as_str() {
        "allowlist" => Some(ToolLists::Allowlist),
        "preapprove" => Some(ToolLists::Preapprove),
        other => {
            let message =
                format!("`allowed_tools` is `{other}`; expected `allowlist` or `preapprove`");
            object.problem(Code::BadValue, word.range, message);
            None
        }
    }
}

fn audit_mode(object: &mut Object<'_, '_, '_>) -> Option<AuditMode> {
    let Some(word) = object.text("audit") else { return Some(AuditMode::Advisory) };
    let mode = AuditMode::parse(&word.value);
    if mode.is_none() {
        let message =
            format!("`audit` is `{}`; expected `off`, `advisory` or `strict`", word.value);
        object.problem(Code::BadValue, word.range, message);
    }
    mode
}

/// Reads how the log is written. A key that is not known could be one that should protect it.
fn log_settings(object: &mut Object<'_, '_, '_>, home: Option<&AbsPath>) -> LogSettings {
    object.unknown_keys(Unknown::Refused);
    let key_file = object.text("key_file").and_then(|text| absolute(object, text, home));
    let sync = match object.boolean("sync") {
        Some(true) => Sync::Always,
        Some(false) | None => Sync::Never,
    };
    let max_bytes = object.number("max_bytes");
    if let Some(few) = max_bytes.filter(|bytes| *bytes < MIN_LOG_BYTES) {
        let place = object.place();
        let message = format!("`log.max_bytes` is {few}; at least {MIN_LOG_BYTES} are needed");
        object.problem(Code::BadValue, place, message);
    }
    let checkpoints = object.object("checkpoints", |checkpoints| checkpoints_of(checkpoints, home));
    LogSettings { key_file, sync, max_bytes, checkpoints: checkpoints.unwrap_or_default() }
}

/// The socket of the system's log.
const SYSLOG: &str = "/dev/log";
/// Facilities of syslog that a user's program may use, with their numbers.
const FACILITIES: [(&str, u8); 12] = [
    ("user", 1),
    ("daemon", 3),
    ("auth", 4),
    ("authpriv", 10),
    ("local0", 16),
    ("local1", 17),
    ("local2", 18),
    ("local3", 19),
    ("local4", 20),
    ("local5", 21),
    ("local6", 22),
    ("local7", 23),
];

/// Reads where checkpoints of the log go. One that cannot be read is an error of the file: nothing is left out.
fn checkpoints_of(object: &mut Object<'_, '_, '_>, home: Option<&AbsPath>) -> CheckpointOptions {
    object.unknown_keys(Unknown::Refused);
    let mut places = Vec::new();
    let file = object.text("file").and_then(|text| absolute(object, text, home));
    places.extend(file.and_then(|path| AbsPath::new(path).ok()).map(CheckpointPlace::File));
    places.extend(object.object("syslog", |syslog| syslog_of(syslog, home)).flatten());
    places.extend(object.object("otlp", otlp_of).flatten());
    let required = object.boolean("required").unwrap_or(false);
    if places.is_empty() {
        let place = object.place();
        let message = "`log.checkpoints` names no place: `file`, `syslog` or `otlp`".to_owned();
        object.problem(Code::BadValue, place, message);
    }
    CheckpointOptions { places, required }
}

fn syslog_of(object: &mut Object<'_, '_, '_>, home: Option<&AbsPath>) -> Option<CheckpointPlace> {
    object.unknown_keys(Unknown::Refused);
    let socket = match object.text("socket") {
        Some(text) => absolute(object, text, home)?,
        None => PathBuf::from(SYSLOG),
    };
    let facility = match object.text("facility") {
        None => FACILITIES[0].1,
        Some(word) => {
            let known = FACILITIES.iter().find(|(name, _)| *name == word.value);
            let Some((_, number)) = known else {
                let all = FACILITIES.map(|(name, _)| name).join(", ");
                let message = format!("`facility` is `{}`; expected one of: {all}", word.value);
                object.problem(Code::BadValue, word.range, message);
                return None;
            };
            *number
        }
    };
    Some(CheckpointPlace::Syslog { socket: AbsPath::new(socket).ok()?, facility })
}

fn otlp_of(object: &mut Object<'_, '_, '_>) -> Option<CheckpointPlace> {
    object.unknown_keys(Unknown::Refused);
    let endpoint = object.required("endpoint")?;
    if !["http://", "https://"].iter().any(|scheme| endpoint.value.starts_with(scheme)) {
        let message = format!("`endpoint` is `{}`; expected an http(s) address", endpoint.value);
        object.problem(Code::BadValue, endpoint.range, message);
        return None;
    }
    let token_env = object.text("token_env").map(|text| text.value);
    Some(CheckpointPlace::Otlp { endpoint: endpoint.value, token_env })
}

/// Checks the `schema_version` of a file of ours.
pub(crate) fn schema_version(object: &mut Object<'_, '_, '_>) -> Option<u64> {
    object.schema_version_or(&[1], |found| {
        let message = format!("`schema_version` is {found}; this version knows 1");
        (message, "the file requires a newer openskills; update it".to_owned())
    })
}

fn path_of(
    object: &mut Object<'_, '_, '_>,
    key: &'static str,
    home: Option<&AbsPath>,
) -> Option<PathBuf> {
    let text = object.required(key)?;
    absolute(object, text, home)
}

/// Takes an absolute path, or one below the home folder.
fn absolute(
    object: &mut Object<'_, '_, '_>,
    text: json::Text,
    home: Option<&AbsPath>,
) -> Option<PathBuf> {
    let path = match (text.value.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below).as_path().to_owned(),
        _ => PathBuf::from(&text.value),
    };
    if path.is_absolute() {
        return Some(path);
    }
    let message = format!("the path `{}` is not absolute", text.value);
    let hint = "write the whole path, or start it with `~/`";
    object.problem_with_hint(Code::BadPath, text.range, message, hint);
    None
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: &Expect) {
        let home = AbsPath::new("/home/me").unwrap();
        let (settings, problems) = Settings::parse("config.json", text, Some(&home));
        let mut shown = String::new();
        for directory in settings.iter().flat_map(|settings| &settings.directories) {
            let label = directory.label.as_deref().unwrap_or_default();
            shown += &format!("{label} {} {}\n", directory.source, directory.path.display());
        }
        for path in settings.iter().flat_map(|settings| &settings.package_libraries) {
            shown += &format!("packages {}\n", path.display());
        }
        for problem in problems {
            shown += &format!("{}: {}\n", problem.severity.as_str(), problem.message);
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn folders_have_a_name_and_a_tier() {
        check(
            r#"{"schema_version": 1, "directories": {
                "team": {"path": "~/team/skills"},
                "acme": {"path": "/opt/acme", "source": "org"}
            }, "packages": ["/usr/lib/R/library"]}"#,
            &expect![[r#"
                team user /home/me/team/skills
                acme org /opt/acme
                packages /usr/lib/R/library
            "#]],
        );
    }

    #[test]
    fn nothing_is_guessed() {
        check(
            r#"{"schema_version": 1, "directories": {
                "a": {"path": "skills"}, "b": {"path": "/b", "source": "builtin"}, "c": {}
            }, "packges": []}"#,
            &expect![[r#"
                error: the path `skills` is not absolute
                error: `source` is `builtin`; expected `org`, `user` or `third_party`
                error: `directories.c.path` is missing; expected text
                warning: `packges` is not a key that is known; it is ignored
            "#]],
        );
        check(
            r#"{"schema_version": 2}"#,
            &expect![[r#"
                error: `schema_version` is 2; this version knows 1
            "#]],
        );
    }
}
