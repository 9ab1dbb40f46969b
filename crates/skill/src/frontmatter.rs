//! The fields of a skill, typed: the standard's, Claude Code's and corteza's; the rest kept as written.

mod claude;
mod corteza;
mod fields;
mod read;
mod rules;
pub(crate) mod words;

use crate::{AllowedTools, Value};

pub(crate) use read::{Place, read};
pub use rules::{MAX_COMPATIBILITY, MAX_DESCRIPTION};

/// Everything a skill says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    /// The declared name, trimmed and in NFKC. In lenient reading it may break the rules of
    /// [`crate::SkillName`], and it is the folder's name where none is declared: treat it as text.
    pub name: String,
    /// What the skill does and when to use it, trimmed.
    pub description: String,
    /// Licence, as free text.
    pub license: Option<String>,
    /// What the skill needs around it, as free text.
    pub compatibility: Option<String>,
    /// Free key-value data, in the order of the file.
    pub metadata: Vec<(String, Value)>,
    /// The tools the skill may use. Absent means no restriction, an empty list means none.
    pub allowed_tools: Option<AllowedTools>,
    /// The arguments: Claude Code's names or corteza's schema, by the type of the value.
    pub arguments: Option<Arguments>,
    /// The fields of Claude Code.
    pub claude: ClaudeFields,
    /// The fields of corteza.skill/v1.
    pub corteza: CortezaFields,
    /// Every other field.
    pub unknown: Vec<Unknown>,
}

/// A field that is not accepted, kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Key and value as they stand in the file.
    pub yaml: String,
}

/// The extension fields of Claude Code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaudeFields {
    /// Appended to the description in listings.
    pub when_to_use: Option<String>,
    /// What to show after `/name`.
    pub argument_hint: Option<String>,
    /// Hidden from the model when true. A value that cannot be read counts as true.
    pub disable_model_invocation: Option<bool>,
    /// Not in the slash menu when false. A value that cannot be read counts as false.
    pub user_invocable: Option<bool>,
    /// Tools taken away. A malformed rule denies its whole tool, or every tool where it names none.
    pub disallowed_tools: Option<AllowedTools>,
    /// The model for this skill's turns.
    pub model: Option<String>,
    /// How hard the model should think.
    pub effort: Option<String>,
    /// Where the skill runs.
    pub context: Option<Context>,
    /// The kind of sub-agent for a forked context.
    pub agent: Option<String>,
    /// Runs in the background.
    pub background: Option<bool>,
    /// Lifecycle hooks, as data; never run by us.
    pub hooks: Option<Value>,
    /// Globs of files that the skill is about.
    pub paths: Vec<String>,
    /// The shell of inline commands.
    pub shell: Option<Shell>,
}

/// The fields of corteza.skill/v1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CortezaFields {
    /// The format's identifier; `corteza.skill/v1` is the one there is.
    pub skill_format: Option<String>,
    /// Who may invoke the skill. A value that cannot be read counts as `disabled`.
    pub model_invocation: Option<ModelInvocation>,
    /// What the skill changes. Absent means unknown.
    pub side_effects: Option<Vec<SideEffect>>,
    /// Tools allowed and denied at dispatch.
    pub tools: Option<Tools>,
    /// Declared provenance; it can only lower what the loader computes.
    pub trust: Option<CortezaTrust>,
    /// Libraries the skill needs.
    pub library_depends: Vec<String>,
    /// Attach the libraries instead of only loading them.
    pub attach: Option<bool>,
    /// What a derived bundle was made from.
    pub generated_from: Option<GeneratedFrom>,
    /// How an invocation goes on.
    pub interaction: Option<Interaction>,
}

/// Where a skill runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// In a sub-agent of its own.
    Fork,
}

/// The shell of a skill's inline commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// bash.
    Bash,
    /// PowerShell.
    PowerShell,
}

/// Who may invoke a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelInvocation {
    /// The model and the user.
    Auto,
    /// Only the user.
    UserOnly,
    /// Nobody.
    Disabled,
}

/// What a skill changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideEffect {
    /// Nothing.
    None,
    /// Files.
    Filesystem,
    /// Talks to the network.
    Network,
    /// The session it runs in.
    Session,
    /// Something outside this machine.
    External,
}

/// `tools.allow` and `tools.deny`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    /// Absent means no restriction, an empty list means none.
    pub allow: Option<AllowedTools>,
    /// Beats everything. A malformed rule denies its whole tool, or every tool where it names none.
    pub deny: AllowedTools,
}

/// The `trust` of corteza.skill/v1, from the least trusted up. It is not the trust level that decides what runs (`SkillSource`); it can
/// only lower that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CortezaTrust {
    /// A folder on this machine.
    Local,
    /// A project.
    Project,
    /// The user.
    User,
    /// A reviewed package.
    Package,
    /// The organisation.
    Managed,
}

impl CortezaTrust {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
            Self::Package => "package",
            Self::Managed => "managed",
        }
    }
}

/// What a derived bundle was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFrom {
    /// The package.
    pub package: String,
    /// Its version.
    pub version: Option<String>,
    /// The digest of its source.
    pub source_hash: Option<String>,
}

/// How an invocation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interaction {
    /// Runs to a result and ends.
    Returning,
    /// Takes over the turn.
    Conversational,
}

/// The arguments of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// Claude Code: the names of positional arguments.
    Names(Vec<String>),
    /// corteza: a JSON Schema.
    Schema(Value),
}

impl Frontmatter {
    /// Returns true if the model may start the skill by itself. The strictest of all fields holds.
    pub fn model_may_invoke(&self) -> bool {
        let by_corteza = match self.corteza.model_invocation {
            None | Some(ModelInvocation::Auto) => true,
            Some(ModelInvocation::UserOnly | ModelInvocation::Disabled) => false,
        };
        by_corteza && self.claude.disable_model_invocation != Some(true)
    }

    /// Returns true if the user may start the skill by name.
    pub fn user_may_invoke(&self) -> bool {
        self.corteza.model_invocation != Some(ModelInvocation::Disabled)
            && self.claude.user_invocable != Some(false)
    }

    /// Returns the one list of tools that the skill may use, by `allowed-tools` and `tools.allow` together; `None` if it has neither.
    pub fn tools_allowed(&self) -> Option<AllowedTools> {
        let corteza = self.corteza.tools.as_ref().and_then(|tools| tools.allow.as_ref());
        match (&self.allowed_tools, corteza) {
            (None, None) => None,
            (Some(list), None) | (None, Some(list)) => Some(list.clone()),
            (Some(one), Some(other)) => Some(one.meet(other)),
        }
    }

    /// Returns the one list of tools that the skill must not use, by `disallowed-tools` and `tools.deny` together; `None` if it has neither.
    pub fn tools_denied(&self) -> Option<AllowedTools> {
        let corteza = self.corteza.tools.as_ref().map(|tools| &tools.deny);
        match (&self.claude.disallowed_tools, corteza.filter(|list| !list.rules.is_empty())) {
            (None, None) => None,
            (Some(list), None) | (None, Some(list)) => Some(list.clone()),
            (Some(one), Some(other)) => Some(one.join(other)),
        }
    }

    /// Returns a text of `metadata`; empty if there is none.
    pub fn metadata_text(&self, key: &str) -> String {
        let value = self.metadata.iter().find(|(name, _)| name == key);
        match value.map(|(_, value)| value.to_json()) {
            Some(serde_json::Value::String(text)) => text,
            Some(serde_json::Value::Number(number)) => number.to_string(),
            _ => String::new(),
        }
    }

    /// Returns the description as listings show it: one line, `when_to_use` appended.
    pub fn listing(&self) -> String {
        let parts =
            std::iter::once(self.description.as_str()).chain(self.claude.when_to_use.as_deref());
        parts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
    }
}
