//! The user's `config.json`: skill folders, how tool lists are applied, and logging.

use std::path::PathBuf;

use skill::json::{self, Object, UnknownKeys};
use skill::{Code, Diagnostic};
use skill_fs::{AbsPath, read_text};
use skill_state::SkillSource;
use skill_state::audit::AuditMode;

use crate::decide::policy::ToolLists;
use crate::record::log::{CheckpointDestination, CheckpointOptions, Sync};
use crate::{Directory, Places, RuntimeError};

/// The file name.
const FILE: &str = "config.json";

/// The user's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) directories: Vec<Directory>,
    pub(crate) package_libraries: Vec<PathBuf>,
    pub(crate) allowed_tools: ToolLists,
    pub(crate) log: LogSettings,
    /// How audit results affect approvals.
    pub(crate) audit: AuditMode,
    /// Warnings about the file.
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            package_libraries: Vec::new(),
            allowed_tools: ToolLists::default(),
            log: LogSettings::default(),
            // Approving is a matter of trust, so audit findings are shown.
            audit: AuditMode::Advisory,
            warnings: Vec::new(),
        }
    }
}

/// Logging options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LogSettings {
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) sync: Sync,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) checkpoints: CheckpointOptions,
}

/// The minimum size for log rotation.
const MIN_LOG_BYTES: u64 = 64 << 10;

impl Settings {
    /// Reads the user's configuration; defaults if there is none.
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
                // An invalid value is an error; there is no fallback.
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
    let Some(text) = object.text("allowed_tools") else { return Some(ToolLists::default()) };
    match text.value.as_str() {
        "allowlist" => Some(ToolLists::Allowlist),
        "preapprove" => Some(ToolLists::Preapprove),
        other => {
            let message =
                format!("`allowed_tools` is `{other}`; expected `allowlist` or `preapprove`");
            object.problem(Code::BadValue, text.range, message);
            None
        }
    }
}

fn audit_mode(object: &mut Object<'_, '_, '_>) -> Option<AuditMode> {
    let Some(text) = object.text("audit") else { return Some(AuditMode::Advisory) };
    let mode = AuditMode::parse(&text.value);
    if mode.is_none() {
        let message =
            format!("`audit` is `{}`; expected `off`, `advisory` or `strict`", text.value);
        object.problem(Code::BadValue, text.range, message);
    }
    mode
}

/// Parses the logging options. Unknown keys are errors, because they could be meant to protect the log.
fn log_settings(object: &mut Object<'_, '_, '_>, home: Option<&AbsPath>) -> LogSettings {
    object.unknown_keys(UnknownKeys::Refused);
    let key_file = object.text("key_file").and_then(|text| absolute(object, text, home));
    let sync = match object.boolean("sync") {
        Some(true) => Sync::Always,
        Some(false) | None => Sync::Never,
    };
    let max_bytes = object.number("max_bytes");
    if let Some(few) = max_bytes.filter(|bytes| *bytes < MIN_LOG_BYTES) {
        let place = object.opening_brace();
        let message = format!("`log.max_bytes` is {few}; expected at least {MIN_LOG_BYTES}");
        object.problem(Code::BadValue, place, message);
    }
    let checkpoints = object.object("checkpoints", |checkpoints| checkpoints_of(checkpoints, home));
    LogSettings { key_file, sync, max_bytes, checkpoints: checkpoints.unwrap_or_default() }
}

/// The default syslog socket.
const SYSLOG: &str = "/dev/log";
/// Syslog facilities that user programs may use, with their numbers.
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

/// Parses the destinations of checkpoints. An invalid destination is an error; none is skipped.
fn checkpoints_of(object: &mut Object<'_, '_, '_>, home: Option<&AbsPath>) -> CheckpointOptions {
    object.unknown_keys(UnknownKeys::Refused);
    let mut places = Vec::new();
    let file = object.text("file").and_then(|text| absolute(object, text, home));
    places.extend(file.and_then(|path| AbsPath::new(path).ok()).map(CheckpointDestination::File));
    places.extend(object.object("syslog", |syslog| syslog_of(syslog, home)).flatten());
    places.extend(object.object("otlp", otlp_of).flatten());
    let required = object.boolean("required").unwrap_or(false);
    if places.is_empty() {
        let place = object.opening_brace();
        let message =
            "`log.checkpoints` needs at least one of `file`, `syslog` and `otlp`".to_owned();
        object.problem(Code::BadValue, place, message);
    }
    CheckpointOptions { destinations: places, required }
}

fn syslog_of(
    object: &mut Object<'_, '_, '_>,
    home: Option<&AbsPath>,
) -> Option<CheckpointDestination> {
    object.unknown_keys(UnknownKeys::Refused);
    let socket = match object.text("socket") {
        Some(text) => absolute(object, text, home)?,
        None => PathBuf::from(SYSLOG),
    };
    let facility = match object.text("facility") {
        None => FACILITIES[0].1,
        Some(text) => {
            let known = FACILITIES.iter().find(|(name, _)| *name == text.value);
            let Some((_, number)) = known else {
                let all = FACILITIES.map(|(name, _)| name).join(", ");
                let message = format!("`facility` is `{}`; expected one of: {all}", text.value);
                object.problem(Code::BadValue, text.range, message);
                return None;
            };
            *number
        }
    };
    Some(CheckpointDestination::Syslog { socket: AbsPath::new(socket).ok()?, facility })
}

fn otlp_of(object: &mut Object<'_, '_, '_>) -> Option<CheckpointDestination> {
    object.unknown_keys(UnknownKeys::Refused);
    let endpoint = object.required("endpoint")?;
    if !["http://", "https://"].iter().any(|scheme| endpoint.value.starts_with(scheme)) {
        let message = format!("`endpoint` is `{}`; expected an http or https URL", endpoint.value);
        object.problem(Code::BadValue, endpoint.range, message);
        return None;
    }
    let token_env = object.text("token_env").map(|text| text.value);
    Some(CheckpointDestination::Otlp { endpoint: endpoint.value, token_env })
}

/// Checks the `schema_version` of one of our files.
pub(crate) fn schema_version(object: &mut Object<'_, '_, '_>) -> Option<u64> {
    object.schema_version_or(&[1], |found| {
        let message = format!("`schema_version` is {found}; this version supports 1");
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

/// Parses an absolute path, or a path that starts with `~/`.
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
    let hint = "use an absolute path, or start it with `~/`";
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
    fn folders_have_a_label_and_a_trust_level() {
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
    fn invalid_values_are_errors() {
        check(
            r#"{"schema_version": 1, "directories": {
                "a": {"path": "skills"}, "b": {"path": "/b", "source": "builtin"}, "c": {}
            }, "packges": []}"#,
            &expect![[r#"
                error: the path `skills` is not absolute
                error: `source` is `builtin`; expected `org`, `user` or `third_party`
                error: `directories.c.path` is missing; expected a string
                warning: unknown key `packges`; it is ignored
            "#]],
        );
        check(
            r#"{"schema_version": 2}"#,
            &expect![[r#"
                error: `schema_version` is 2; this version supports 1
            "#]],
        );
    }
}
