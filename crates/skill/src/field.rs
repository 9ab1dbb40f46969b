//! The known frontmatter fields, and who defined each.

/// Who defined a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The Agent Skills standard.
    Standard,
    /// Claude Code.
    ClaudeCode,
    /// corteza.skill/v1.
    Corteza,
    /// OpenClaw. Rejected in strict mode.
    OpenClaw,
    /// Hermes. Rejected in strict mode.
    Hermes,
}

impl Owner {
    /// Returns the display name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "Agent Skills",
            Self::ClaudeCode => "Claude Code",
            Self::Corteza => "corteza.skill/v1",
            Self::OpenClaw => "OpenClaw",
            Self::Hermes => "Hermes",
        }
    }

    /// Returns true if strict mode accepts the owner's fields.
    pub(crate) fn is_accepted(self) -> bool {
        match self {
            Self::Standard | Self::ClaudeCode | Self::Corteza => true,
            Self::OpenClaw | Self::Hermes => false,
        }
    }
}

/// A known field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) owner: Owner,
}

/// Every known field, with those of the standard first.
pub(crate) const FIELDS: &[Field] = &[
    Field { name: "name", owner: Owner::Standard },
    Field { name: "description", owner: Owner::Standard },
    Field { name: "license", owner: Owner::Standard },
    Field { name: "compatibility", owner: Owner::Standard },
    Field { name: "metadata", owner: Owner::Standard },
    Field { name: "allowed-tools", owner: Owner::Standard },
    Field { name: "when_to_use", owner: Owner::ClaudeCode },
    Field { name: "argument-hint", owner: Owner::ClaudeCode },
    Field { name: "arguments", owner: Owner::ClaudeCode },
    Field { name: "disable-model-invocation", owner: Owner::ClaudeCode },
    Field { name: "user-invocable", owner: Owner::ClaudeCode },
    Field { name: "disallowed-tools", owner: Owner::ClaudeCode },
    Field { name: "model", owner: Owner::ClaudeCode },
    Field { name: "effort", owner: Owner::ClaudeCode },
    Field { name: "context", owner: Owner::ClaudeCode },
    Field { name: "agent", owner: Owner::ClaudeCode },
    Field { name: "background", owner: Owner::ClaudeCode },
    Field { name: "hooks", owner: Owner::ClaudeCode },
    Field { name: "paths", owner: Owner::ClaudeCode },
    Field { name: "shell", owner: Owner::ClaudeCode },
    Field { name: "skill_format", owner: Owner::Corteza },
    Field { name: "model_invocation", owner: Owner::Corteza },
    Field { name: "side_effects", owner: Owner::Corteza },
    Field { name: "tools", owner: Owner::Corteza },
    Field { name: "trust", owner: Owner::Corteza },
    Field { name: "library_depends", owner: Owner::Corteza },
    Field { name: "attach", owner: Owner::Corteza },
    Field { name: "generated_from", owner: Owner::Corteza },
    Field { name: "interaction", owner: Owner::Corteza },
    Field { name: "homepage", owner: Owner::OpenClaw },
    Field { name: "command-dispatch", owner: Owner::OpenClaw },
    Field { name: "command-tool", owner: Owner::OpenClaw },
    Field { name: "command-arg-mode", owner: Owner::OpenClaw },
    Field { name: "platforms", owner: Owner::Hermes },
    Field { name: "required_environment_variables", owner: Owner::Hermes },
];

/// Returns who defined the field `name`.
pub(crate) fn owner(name: &str) -> Option<Owner> {
    FIELDS.iter().find(|field| field.name == name).map(|field| field.owner)
}

/// Returns true for fields whose value is always prose, whatever character it starts with.
pub(crate) fn is_free_text(name: &str) -> bool {
    matches!(
        name,
        "name" | "description" | "license" | "compatibility" | "when_to_use" | "argument-hint"
    )
}
