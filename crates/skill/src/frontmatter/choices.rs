//! The allowed values of enumerated fields, used by both the parser and the published schema.

use super::{Context, CortezaTrust, Interaction, ModelInvocation, Shell, SideEffect};

pub(crate) const CONTEXT: &[(&str, Context)] = &[("fork", Context::Fork)];

pub(crate) const SHELL: &[(&str, Shell)] =
    &[("bash", Shell::Bash), ("powershell", Shell::PowerShell)];

pub(crate) const MODEL_INVOCATION: &[(&str, ModelInvocation)] = &[
    ("auto", ModelInvocation::Auto),
    ("user-only", ModelInvocation::UserOnly),
    ("disabled", ModelInvocation::Disabled),
];

pub(crate) const SIDE_EFFECTS: &[(&str, SideEffect)] = &[
    ("none", SideEffect::None),
    ("filesystem", SideEffect::Filesystem),
    ("network", SideEffect::Network),
    ("session", SideEffect::Session),
    ("external", SideEffect::External),
];

pub(crate) const TRUST: &[(&str, CortezaTrust)] = &[
    ("local", CortezaTrust::Local),
    ("project", CortezaTrust::Project),
    ("user", CortezaTrust::User),
    ("package", CortezaTrust::Package),
    ("managed", CortezaTrust::Managed),
];

pub(crate) const INTERACTION: &[(&str, Interaction)] = &[
    ("returning", Interaction::Returning),
    ("conversational", Interaction::Conversational),
    ("oneshot", Interaction::Returning),
];

/// The only supported corteza format.
pub(crate) const SKILL_FORMAT: &str = "corteza.skill/v1";
