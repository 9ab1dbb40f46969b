//! Builds the text that a model reads when a skill is activated.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use skill::{
    Arguments, Context, Diagnostic, Frontmatter, Interaction, MARKER_FILE, Shell, SideEffect,
    is_ignorable,
};
use skill_fs::{Root, SkillFile, WalkLimits, list_files};

use crate::decide::approvals::corteza_trust;
use crate::disclose::arguments::{SubstitutionInput, substitute};
use crate::disclose::load::Loaded;
use crate::disclose::prompt::xml_escaped;
use crate::disclose::schema_arguments::ParsedArguments;
use crate::discover::index::SkillLocation;
use crate::quote::shell_word;
use crate::{RuntimeError, Skill, SkillActivation};

/// The maximum number of files that an activation lists.
pub const MAX_LISTED: usize = 100;

/// Who invokes a skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Invoker {
    /// The model.
    #[default]
    Model,
    /// The user, with `/name`.
    User,
}

/// Options for [`activate`](crate::OpenSkillRuntime::activate).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActivateOptions {
    /// Who invokes it.
    pub invoker: Invoker,
    /// The arguments, as typed.
    pub arguments: Option<String>,
    /// The task that the activation belongs to.
    pub task_id: Option<String>,
    /// Whether to return the instructions even if they are already active in the session.
    pub repeat: bool,
    /// For clients without file access: how to read a file of the skill. If set, the skill's folder is not disclosed.
    pub read_hint: Option<String>,
    /// Whether a skill that requests it may attach its libraries instead of only loading them.
    pub attach: bool,
}

/// An activated skill.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSkill {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What the skill does and when to use it.
    pub description: String,
    /// The folder that relative paths refer to; absent for a builtin skill.
    pub directory: Option<String>,
    /// The instructions with arguments filled in, or a note if they are already active in the session.
    pub instructions: String,
    /// The full text for the model: the instructions, marked as a skill's, with its folder and the names of its files.
    pub content: String,
    /// The skill's files; only their names.
    pub resources: Resources,
    /// What its frontmatter requests from the host.
    pub requests: Requests,
    /// The arguments by name, if the skill has an argument schema.
    pub arguments: Option<Value>,
    /// The record for the log.
    pub activation: SkillActivation,
    /// Warnings found while loading it.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether this activation was recorded in the session.
    pub(crate) is_noted: bool,
}

/// The names of a skill's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Their paths relative to the skill's folder, sorted, at most [`MAX_LISTED`].
    pub files: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

/// What a skill's frontmatter requests from the host, as data. The runtime acts on none of it; hooks are never run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Requests {
    /// The tools that the skill may use; absent means no restriction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// The tools that the skill must not use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disallowed_tools: Option<Vec<String>>,
    /// The model to use while the skill is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reasoning effort for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// `fork` to run in a separate subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<&'static str>,
    /// The type of subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether it runs in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
    /// Lifecycle hooks, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Value>,
    /// Globs of the files that the skill applies to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The shell for its inline commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<&'static str>,
    /// Trust level: `managed`, `package`, `user`, `project` or `local`. It follows from where the skill is; the skill
    /// itself can only lower it. A host asks before the first use of a `local` skill in a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<&'static str>,
    /// `returning` if the skill runs to a result, `conversational` if it takes over the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<&'static str>,
    /// The side effects that the skill declares; absent if it declares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<Vec<&'static str>>,
    /// Libraries that the skill needs. All of them are installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// Whether to attach the libraries; true only if the host allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach: Option<bool>,
}

impl Requests {
    pub(crate) fn new(skill: &Skill, frontmatter: &Frontmatter, options: &ActivateOptions) -> Self {
        let rules = |tools: skill::AllowedTools| {
            tools.rules.iter().map(skill::ToolRule::to_string).collect()
        };
        let claude = &frontmatter.claude;
        Self {
            allowed_tools: frontmatter.tools_allowed().map(rules),
            disallowed_tools: frontmatter.tools_denied().map(rules),
            model: claude.model.clone(),
            effort: claude.effort.clone(),
            context: claude.context.map(|Context::Fork| "fork"),
            agent: claude.agent.clone(),
            background: claude.background,
            hooks: claude.hooks.as_ref().map(skill::Value::to_json),
            paths: claude.paths.clone(),
            shell: claude.shell.map(|shell| match shell {
                Shell::Bash => "bash",
                Shell::PowerShell => "powershell",
            }),
            trust: Some(corteza_trust(skill, frontmatter).as_str()),
            interaction: frontmatter.corteza.interaction.map(|interaction| match interaction {
                Interaction::Returning => "returning",
                Interaction::Conversational => "conversational",
            }),
            side_effects: side_effects(frontmatter),
            libraries: frontmatter.corteza.library_depends.clone(),
            attach: (!frontmatter.corteza.library_depends.is_empty())
                .then(|| options.attach && frontmatter.corteza.attach == Some(true)),
        }
    }
}

/// Returns the names of the side effects that a skill declares.
pub(crate) fn side_effects(frontmatter: &Frontmatter) -> Option<Vec<&'static str>> {
    let name = |effect: &SideEffect| match effect {
        SideEffect::None => "none",
        SideEffect::Filesystem => "filesystem",
        SideEffect::Network => "network",
        SideEffect::Session => "session",
        SideEffect::External => "external",
    };
    Some(frontmatter.corteza.side_effects.as_ref()?.iter().map(name).collect())
}

/// Fails if the skill's files do not allow `invoker` to invoke it.
pub(crate) fn check_invoker(
    skill: &Skill,
    loaded: &Loaded,
    invoker: Invoker,
) -> Result<(), RuntimeError> {
    let by_codex = loaded.codex.as_ref().and_then(|codex| codex.allow_implicit_invocation);
    let by_model = loaded.document.frontmatter.model_may_invoke() && by_codex != Some(false);
    let (message, hint) = match invoker {
        Invoker::Model if !by_model => (
            format!("the model is not allowed to invoke `{}`", skill.id),
            skill.user_may_invoke.then(|| {
                let name = format!("/{}", skill.id);
                format!("the user can run `openskills activate {}`", shell_word(&name))
            }),
        ),
        Invoker::User if !skill.user_may_invoke => {
            (format!("the user is not allowed to invoke `{}` by name", skill.id), None)
        }
        Invoker::Model | Invoker::User => return Ok(()),
    };
    Err(RuntimeError::PermissionDenied { message, hint })
}

/// Splits `/name arguments` into the name and the arguments; `None` if there is no slash.
///
/// ```
/// use openskills_runtime::user_invocation;
///
/// assert_eq!(user_invocation("/review a 'b c'"), Some(("review", Some("a 'b c'"))));
/// assert_eq!(user_invocation("/review"), Some(("review", None)));
/// assert_eq!(user_invocation("review"), None);
/// ```
pub fn user_invocation(text: &str) -> Option<(&str, Option<&str>)> {
    let text = text.trim().strip_prefix('/')?;
    match text.split_once(char::is_whitespace) {
        Some((name, arguments)) => Some((name, Some(arguments.trim_start()))),
        None => Some((text, None)),
    }
}

/// The values for placeholders in instructions.
pub(crate) struct PlaceholderInput<'a> {
    /// The arguments, as typed.
    pub(crate) arguments: Option<&'a str>,
    /// The arguments, parsed by the skill's schema.
    pub(crate) parsed: Option<&'a ParsedArguments>,
    pub(crate) session_id: &'a str,
    pub(crate) skill_dir: &'a str,
}

/// Returns the body with its placeholders filled in.
pub(crate) fn instructions(
    body: &str,
    frontmatter: &Frontmatter,
    skill: &Skill,
    given: &PlaceholderInput<'_>,
) -> Result<String, RuntimeError> {
    let PlaceholderInput { arguments, parsed, session_id, skill_dir } = *given;
    let names = match (&frontmatter.arguments, parsed) {
        (_, Some(parsed)) => parsed.names.as_slice(),
        (Some(Arguments::Names(names)), None) => names.as_slice(),
        (Some(Arguments::Schema(_)) | None, None) => &[],
    };
    let list = parsed.map(|parsed| parsed.list.as_slice());
    let values = SubstitutionInput { arguments, list, names, skill_dir, session_id };
    substitute(body, &values).ok_or_else(|| RuntimeError::PermissionDenied {
        message: format!(
            "the instructions of `{}` are too long after placeholder substitution",
            skill.id
        ),
        hint: None,
    })
}

/// Returns the names of a skill's files, except its SKILL.md and the install marker.
pub(crate) fn resources(skill: &Skill, root: Option<&Root>) -> Result<Resources, RuntimeError> {
    let all: Vec<String> = match (&skill.place, root) {
        (SkillLocation::Builtin(builtin), _) => {
            builtin.files.iter().skip(1).map(|(path, _)| (*path).to_owned()).collect()
        }
        (SkillLocation::Served(served), _) => served
            .files
            .iter()
            .map(|file| file.path.clone())
            .filter(|path| path != skill::SKILL_FILE)
            .collect(),
        (SkillLocation::Folder { .. }, None) => Vec::new(),
        (SkillLocation::Folder { file, .. }, Some(root)) => list_files(root, &WalkLimits::SKILL)?
            .into_iter()
            .map(|path| path.to_string())
            .filter(|path| SkillFile::named(path) != *file && path != MARKER_FILE)
            .collect(),
    };
    let more = all.len().saturating_sub(MAX_LISTED);
    Ok(Resources { files: all.into_iter().take(MAX_LISTED).collect(), more })
}

/// Returns the text for the model (A5). The instructions cannot close the block that they are in.
pub(crate) fn content(loaded: &LoadedSkill, skill: &Skill, read_hint: Option<&str>) -> String {
    let mut text = String::new();
    let server =
        skill.served_by().map(|(server, _)| format!(" server=\"{}\"", xml_escaped(server)));
    let opening = format!(
        "<skill_content name=\"{}\" id=\"{}\" source=\"{}\"{} hash=\"{}\">",
        xml_escaped(&skill.name),
        xml_escaped(&skill.id),
        skill.source,
        server.unwrap_or_default(),
        loaded.activation.hash,
    );
    let body = defused(&loaded.instructions);
    writeln!(text, "{opening}\n{body}\n").expect("writing to text cannot fail");
    if !loaded.activation.repeated {
        match (&loaded.directory, read_hint) {
            (_, Some(read_hint)) => {
                writeln!(text, "To read a file of this skill: {read_hint}")
                    .expect("writing to text cannot fail");
            }
            (Some(directory), None) => {
                let directory = xml_escaped(directory);
                writeln!(text, "Skill directory: {directory}")
                    .expect("writing to text cannot fail");
                text.push_str("Relative paths in this skill are relative to that directory.\n");
            }
            (None, None) => {
                let id = xml_escaped(&skill.id);
                writeln!(text, "To read a file of this skill: openskills read {id} PATH")
                    .expect("writing to text cannot fail");
            }
        }
        push_resources(&mut text, &loaded.resources);
    }
    text.push_str("</skill_content>\n");
    text
}

fn push_resources(text: &mut String, resources: &Resources) {
    if resources.files.is_empty() {
        return;
    }
    text.push_str("<skill_resources>\n");
    for file in &resources.files {
        writeln!(text, "  <file>{}</file>", xml_escaped(file))
            .expect("writing to text cannot fail");
    }
    if resources.more > 0 {
        writeln!(text, "  <!-- not listed: {} more -->", resources.more)
            .expect("writing to text cannot fail");
    }
    text.push_str("</skill_resources>\n");
}

/// Escapes the tags of the surrounding block in `text` and leaves everything else unchanged.
fn defused(text: &str) -> String {
    const TAGS: [&str; 2] = ["skill_content", "skill_resources"];
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        safe.push_str(before);
        let is_between = |c: char| c == '/' || c.is_whitespace() || is_ignorable(c);
        let name = tag[1..].trim_start_matches(is_between);
        let is_ours = TAGS.iter().any(|ours| {
            name.get(..ours.len()).is_some_and(|start| start.eq_ignore_ascii_case(ours))
        });
        safe.push_str(if is_ours { "&lt;" } else { "<" });
        rest = &tag[1..];
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_cannot_close_their_block() {
        for (body, expected) in [
            ("a </skill_content> b", "a &lt;/skill_content> b"),
            ("< / SKILL_content >", "&lt; / SKILL_content >"),
            ("<skill_resources><file>x", "&lt;skill_resources><file>x"),
            ("if a < b && <div>", "if a < b && <div>"),
            ("<", "<"),
            ("<<//skill_content", "<&lt;//skill_content"),
            ("<\u{200b}/skill_content>", "&lt;\u{200b}/skill_content>"),
            (
                "<\u{200d}/\u{200c}\u{fe0f}skill_content>",
                "&lt;\u{200d}/\u{200c}\u{fe0f}skill_content>",
            ),
            ("<é", "<é"),
        ] {
            assert_eq!(defused(body), expected);
        }
    }
}
