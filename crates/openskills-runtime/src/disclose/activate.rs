//! A skill's instructions, as a model gets to read them.

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
use crate::disclose::arguments::{Values, substitute};
use crate::disclose::load::Loaded;
use crate::disclose::prompt::xml_escaped;
use crate::disclose::schema_arguments::Fitting;
use crate::discover::index::Place;
use crate::quote::shell_word;
use crate::{RuntimeError, Skill, SkillActivation};

/// The most files of a skill that an activation names.
pub const MAX_LISTED: usize = 100;

/// Who starts a skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Invoker {
    /// The model, by itself.
    #[default]
    Model,
    /// The user, by `/name`.
    User,
}

/// How to activate a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActivateOptions {
    /// Who starts it.
    pub invoker: Invoker,
    /// The arguments, as they were typed.
    pub arguments: Option<String>,
    /// The task that it belongs to.
    pub task_id: Option<String>,
    /// Whether to give the instructions again even though they are active in the session.
    pub again: bool,
    /// How a client that has no files reads one of the skill, in words; it is not told where the skill is then.
    pub read_by: Option<String>,
    /// Whether a skill that asks for it may attach its libraries, in place of loading them alone.
    pub attach: bool,
}

/// An activated skill.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSkill {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The folder that relative paths start at; absent for a builtin skill.
    pub directory: Option<String>,
    /// What the model follows, arguments put in. Where the same is active in the session already, a note that says so.
    pub instructions: String,
    /// The instructions as they go to the model: marked as a skill's, with its folder and the names of its files.
    pub content: String,
    /// The skill's files, none of them read.
    pub resources: Resources,
    /// What its frontmatter asks of the host.
    pub requests: Requests,
    /// The arguments by name, where the skill describes them.
    pub arguments: Option<Value>,
    /// The record for the log.
    pub activation: SkillActivation,
    /// What was noticed on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether this very activation was noted in the session.
    pub(crate) is_noted: bool,
}

/// The names of a skill's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Their paths seen from the skill, sorted, at most [`MAX_LISTED`].
    pub files: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

/// What a skill's frontmatter asks of the host, as data. Nothing of it is done by the runtime: hooks are never run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Requests {
    /// The tools it may use; absent means no restriction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disallowed_tools: Option<Vec<String>>,
    /// The model for its turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the model should think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// `fork` for a sub-agent of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<&'static str>,
    /// The kind of sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether it runs in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
    /// Lifecycle hooks, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Value>,
    /// Globs of the files it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The shell of its inline commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<&'static str>,
    /// How far it is trusted: `managed`, `package`, `user`, `project` or `local`, by where it is, and lower where it says so itself. A host asks before the first use of a `local` one in a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<&'static str>,
    /// `returning` for a run to a result, `conversational` for a turn that is handed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<&'static str>,
    /// What it says that it changes; absent where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<Vec<&'static str>>,
    /// Libraries that it needs; they are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// Whether to attach them; only where the host allowed it.
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

/// Returns what a skill says that it changes, in words.
pub(crate) fn side_effects(frontmatter: &Frontmatter) -> Option<Vec<&'static str>> {
    let word = |effect: &SideEffect| match effect {
        SideEffect::None => "none",
        SideEffect::Filesystem => "filesystem",
        SideEffect::Network => "network",
        SideEffect::Session => "session",
        SideEffect::External => "external",
    };
    Some(frontmatter.corteza.side_effects.as_ref()?.iter().map(word).collect())
}

/// Refuses who may not start the skill, by all that its files say.
pub(crate) fn check_invoker(
    skill: &Skill,
    loaded: &Loaded,
    invoker: Invoker,
) -> Result<(), RuntimeError> {
    let by_codex = loaded.codex.as_ref().and_then(|codex| codex.allow_implicit_invocation);
    let by_model = loaded.document.frontmatter.model_may_invoke() && by_codex != Some(false);
    let (message, hint) = match invoker {
        Invoker::Model if !by_model => (
            format!("the model may not start `{}` by itself", skill.id),
            skill.user_may_invoke.then(|| {
                let name = format!("/{}", skill.id);
                format!("the user can: openskills activate {}", shell_word(&name))
            }),
        ),
        Invoker::User if !skill.user_may_invoke => {
            (format!("the user may not start `{}` by name", skill.id), None)
        }
        Invoker::Model | Invoker::User => return Ok(()),
    };
    Err(RuntimeError::PermissionDenied { message, hint })
}

/// Splits what a user typed after a slash into the name and the arguments; `None` if there is no slash.
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

/// What placeholders in instructions stand for.
pub(crate) struct Given<'a> {
    /// The arguments as they were written.
    pub(crate) arguments: Option<&'a str>,
    /// The arguments as the skill's schema takes them.
    pub(crate) fitting: Option<&'a Fitting>,
    pub(crate) session_id: &'a str,
    pub(crate) skill_dir: &'a str,
}

/// Returns the body with every placeholder filled in.
pub(crate) fn instructions(
    body: &str,
    frontmatter: &Frontmatter,
    skill: &Skill,
    given: &Given<'_>,
) -> Result<String, RuntimeError> {
    let Given { arguments, fitting, session_id, skill_dir } = *given;
    let names = match (&frontmatter.arguments, fitting) {
        (_, Some(fitting)) => fitting.names.as_slice(),
        (Some(Arguments::Names(names)), None) => names.as_slice(),
        (Some(Arguments::Schema(_)) | None, None) => &[],
    };
    let list = fitting.map(|fitting| fitting.list.as_slice());
    let values = Values { arguments, list, names, skill_dir, session_id };
    substitute(body, &values).ok_or_else(|| RuntimeError::PermissionDenied {
        message: format!(
            "the instructions of `{}` grow too long by what is put into them",
            skill.id
        ),
        hint: None,
    })
}

/// Returns the names of a skill's files, without its SKILL.md and the marker.
pub(crate) fn resources(skill: &Skill, root: Option<&Root>) -> Result<Resources, RuntimeError> {
    let all: Vec<String> = match (&skill.place, root) {
        (Place::Builtin(builtin), _) => {
            builtin.files.iter().skip(1).map(|(path, _)| (*path).to_owned()).collect()
        }
        (Place::Served(served), _) => served
            .files
            .iter()
            .map(|file| file.path.clone())
            .filter(|path| path != skill::SKILL_FILE)
            .collect(),
        (Place::Folder { .. }, None) => Vec::new(),
        (Place::Folder { file, .. }, Some(root)) => list_files(root, &WalkLimits::SKILL)?
            .into_iter()
            .map(|path| path.to_string())
            .filter(|path| SkillFile::named(path) != *file && path != MARKER_FILE)
            .collect(),
    };
    let more = all.len().saturating_sub(MAX_LISTED);
    Ok(Resources { files: all.into_iter().take(MAX_LISTED).collect(), more })
}

/// Returns the instructions as they go to the model (A5). Nothing in them can end the block they stand in.
pub(crate) fn content(loaded: &LoadedSkill, skill: &Skill, read_by: Option<&str>) -> String {
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
        match (&loaded.directory, read_by) {
            (_, Some(read_by)) => {
                writeln!(text, "To read a file of this skill: {read_by}")
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
        writeln!(text, "  <!-- {} more files are not listed -->", resources.more)
            .expect("writing to text cannot fail");
    }
    text.push_str("</skill_resources>\n");
}

/// Returns the text with every tag of the block that it stands in made harmless, and nothing else changed.
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
    fn a_body_cannot_end_its_block() {
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
