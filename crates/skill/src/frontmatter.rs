//! The typed fields of a skill: those of the standard, Claude Code and corteza. Other fields are kept as written.

pub(crate) mod choices;
mod claude;
mod corteza;
mod fields;
mod read;
mod rules;

use crate::{AllowedTools, Value};

pub(crate) use read::{SkillFileContext, read};
pub use rules::{MAX_COMPATIBILITY, MAX_DESCRIPTION};

/// All frontmatter fields of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    /// The declared name, trimmed and in NFKC. In lenient mode it may break the rules of [`crate::SkillName`], and
    /// defaults to the folder name: treat it as arbitrary text.
    pub name: String,
    /// What the skill does and when to use it, trimmed.
    pub description: String,
    /// License, as free text.
    pub license: Option<String>,
    /// Environment requirements, as free text.
    pub compatibility: Option<String>,
    /// Free key-value data, in file order.
    pub metadata: Vec<(String, Value)>,
    /// The tools the skill may use. `None` means no restriction, an empty list means no tools.
    pub allowed_tools: Option<AllowedTools>,
    /// Claude Code's argument names or corteza's schema, depending on the type of the value.
    pub arguments: Option<Arguments>,
    /// The fields of Claude Code.
    pub claude: ClaudeFields,
    /// The fields of corteza.skill/v1.
    pub corteza: CortezaFields,
    /// Every other field.
    pub unknown: Vec<UnknownField>,
}

/// A field that is not accepted, kept as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Key and value exactly as in the file.
    pub yaml: String,
}

/// The extension fields of Claude Code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaudeFields {
    /// Appended to the description in listings.
    pub when_to_use: Option<String>,
    /// The text to show after `/name`.
    pub argument_hint: Option<String>,
    /// Hides the skill from the model if true. A value that cannot be read counts as true.
    pub disable_model_invocation: Option<bool>,
    /// Hides the skill from the slash menu if false. A value that cannot be read counts as false.
    pub user_invocable: Option<bool>,
    /// Denied tools. A malformed rule denies its whole tool, or every tool if it names none.
    pub disallowed_tools: Option<AllowedTools>,
    /// The model for this skill's turns.
    pub model: Option<String>,
    /// The reasoning effort of the model.
    pub effort: Option<String>,
    /// Where the skill runs.
    pub context: Option<Context>,
    /// The type of sub-agent for a forked context.
    pub agent: Option<String>,
    /// Whether the skill runs in the background.
    pub background: Option<bool>,
    /// Lifecycle hooks, as data; openskills never runs them.
    pub hooks: Option<Value>,
    /// Globs of the files that the skill applies to.
    pub paths: Vec<String>,
    /// The shell of inline commands.
    pub shell: Option<Shell>,
}

/// The fields of corteza.skill/v1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CortezaFields {
    /// The format identifier; only `corteza.skill/v1` exists.
    pub skill_format: Option<String>,
    /// Who may invoke the skill. A value that cannot be read counts as `disabled`.
    pub model_invocation: Option<ModelInvocation>,
    /// What the skill changes. `None` means not declared.
    pub side_effects: Option<Vec<SideEffect>>,
    /// Tools allowed and denied at dispatch.
    pub tools: Option<Tools>,
    /// Declared provenance; it can only lower the trust level that the loader computes.
    pub trust: Option<CortezaTrust>,
    /// Libraries the skill needs.
    pub library_depends: Vec<String>,
    /// Whether to attach the libraries instead of only loading them.
    pub attach: Option<bool>,
    /// The package that a derived bundle was generated from.
    pub generated_from: Option<GeneratedFrom>,
    /// Whether an invocation returns or takes over the conversation.
    pub interaction: Option<Interaction>,
}

/// Where a skill runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// In its own sub-agent.
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
    /// Contacts the network.
    Network,
    /// The session it runs in.
    Session,
    /// Something outside this machine.
    External,
}

/// `tools.allow` and `tools.deny`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    /// `None` means no restriction, an empty list means no tools.
    pub allow: Option<AllowedTools>,
    /// Takes precedence over every allow rule. A malformed rule denies its whole tool, or every tool if it names none.
    pub deny: AllowedTools,
}

/// The `trust` field of corteza.skill/v1, ordered from least to most trusted. It is not the trust level that decides
/// what may run (`SkillSource`), and can only lower it.
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
    /// The organization.
    Managed,
}

impl CortezaTrust {
    /// Returns the value used in the frontmatter.
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

/// The package that a derived bundle was generated from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFrom {
    /// The name of the package.
    pub package: String,
    /// Its version.
    pub version: Option<String>,
    /// The digest of the package source.
    pub source_hash: Option<String>,
}

/// What happens after an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interaction {
    /// Runs to completion and returns a result.
    Returning,
    /// Takes over the conversation.
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
    /// Returns true if the model may invoke the skill on its own. The strictest field decides.
    pub fn model_may_invoke(&self) -> bool {
        let by_corteza = match self.corteza.model_invocation {
            None | Some(ModelInvocation::Auto) => true,
            Some(ModelInvocation::UserOnly | ModelInvocation::Disabled) => false,
        };
        by_corteza && self.claude.disable_model_invocation != Some(true)
    }

    /// Returns true if the user may invoke the skill by name.
    pub fn user_may_invoke(&self) -> bool {
        self.corteza.model_invocation != Some(ModelInvocation::Disabled)
            && self.claude.user_invocable != Some(false)
    }

    /// Returns the tools that the skill may use, from `allowed-tools` and `tools.allow` combined; `None` if it has
    /// neither.
    pub fn tools_allowed(&self) -> Option<AllowedTools> {
        let corteza = self.corteza.tools.as_ref().and_then(|tools| tools.allow.as_ref());
        match (&self.allowed_tools, corteza) {
            (None, None) => None,
            (Some(list), None) | (None, Some(list)) => Some(list.clone()),
            (Some(one), Some(other)) => Some(one.meet(other)),
        }
    }

    /// Returns the tools that the skill must not use, from `disallowed-tools` and `tools.deny` combined; `None` if it
    /// has neither.
    pub fn tools_denied(&self) -> Option<AllowedTools> {
        let corteza = self.corteza.tools.as_ref().map(|tools| &tools.deny);
        match (&self.claude.disallowed_tools, corteza.filter(|list| !list.rules.is_empty())) {
            (None, None) => None,
            (Some(list), None) | (None, Some(list)) => Some(list.clone()),
            (Some(one), Some(other)) => Some(one.join(other)),
        }
    }

    /// Returns a value of `metadata` as text; empty if it is missing.
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
