//! All diagnostic rules: the stable code of each, and its severity at each strictness.
//!
//! In `Lenient`, an error means that the skill cannot be loaded; `silent` means that the rule is not reported.

use crate::{Severity, Strictness};

macro_rules! severity {
    (silent) => {
        None
    };
    ($severity:ident) => {
        Some(Severity::$severity)
    };
}

macro_rules! codes {
    ($($variant:ident = $text:literal, $strict:ident, $lenient:ident, $about:literal;)*) => {
        /// The stable code of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $about] $variant,)*
        }

        impl Code {
            /// Every code, in documentation order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the code as shown to people and written to JSON.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns a one-sentence description of the rule.
            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }

            /// Returns the severity of breaking the rule, or `None` if it is not reported at this strictness.
            pub fn severity(self, strictness: Strictness) -> Option<Severity> {
                let (strict, lenient) = match self {
                    $(Self::$variant => (severity!($strict), severity!($lenient)),)*
                };
                match strictness {
                    Strictness::Strict => strict,
                    Strictness::Lenient => lenient,
                }
            }
        }
    };
}

codes! {
    PathNotFound = "path-not-found", Error, Error, "The path does not exist.";
    PathNotText = "path-not-text", Error, Error, "A path is not valid UTF-8, or contains characters that are not allowed in a skill.";
    NoSkillFile = "no-skill-file", Error, Error, "The folder has no SKILL.md.";
    NothingFound = "nothing-found", Error, Error, "A recursive search found no skills.";
    SearchLimit = "search-limit", Error, Error, "A recursive search stopped because it reached a limit.";
    FileName = "file-name", Warning, Warning, "The file is named skill.md; the standard requires SKILL.md.";
    FileNameCase = "file-name-case", Error, Warning, "The file name differs from SKILL.md only in case.";
    NotAFile = "not-a-file", Error, Error, "SKILL.md is not a regular file.";
    LinkEscapes = "link-escapes", Error, Error, "A symbolic link points outside the skill, or outside an untrusted project.";
    FileTooLarge = "file-too-large", Error, Error, "The file exceeds the size limit for a skill.";
    Unreadable = "unreadable", Error, Error, "The file or folder cannot be read.";
    BeyondMcpLimits = "beyond-mcp-limits", Warning, silent, "The skill has more files or bytes than some MCP hosts accept.";
    NotListed = "not-listed", Warning, silent, "A field does not conform to the standard, so `openskills mcp` does not list the skill.";
    MissingDependency = "missing-dependency", Warning, Warning, "A dependency listed in `metadata.dependencies` is not installed.";
    Shadowed = "shadowed", Warning, Warning, "Another skill with the same name takes precedence.";
    DeniedByPolicy = "denied-by-policy", Warning, Warning, "The organization's policy does not allow this skill.";
    ContentDrift = "content-drift", Warning, Warning, "An installed skill has changed since csk installed it.";
    InstallMarker = "install-marker", Warning, Warning, "The install marker that csk wrote into a skill cannot be read.";

    NotUtf8 = "not-utf8", Error, Error, "The file is not valid UTF-8.";
    NulCharacter = "nul-character", Error, Error, "The file contains a NUL character.";
    ControlCharacter = "control-character", Error, Error, "The frontmatter contains a control character.";
    BodyControlCharacter = "body-control-character", Warning, Warning, "The body contains a control character.";
    HiddenCharacter = "hidden-character", Warning, Warning, "The text contains an invisible character, or one that changes the text direction.";
    ByteOrderMark = "byte-order-mark", Error, Warning, "The file starts with a byte order mark.";
    TextBeforeFrontmatter = "text-before-frontmatter", Error, Warning, "There are blank lines or comments before the frontmatter.";
    NoFrontmatter = "no-frontmatter", Error, Error, "The file does not start with frontmatter.";
    FrontmatterUnclosed = "frontmatter-unclosed", Error, Error, "The frontmatter is not closed with a `---` line.";

    YamlSyntax = "yaml-syntax", Error, Error, "The frontmatter is not valid YAML.";
    YamlTab = "yaml-tab", Error, Error, "A line is indented with a tab; YAML allows only spaces.";
    YamlTooDeep = "yaml-too-deep", Error, Error, "The frontmatter exceeds the nesting limit.";
    YamlTooBig = "yaml-too-big", Error, Error, "The frontmatter exceeds a size limit, counting expanded aliases.";
    DuplicateKey = "duplicate-key", Error, Error, "A mapping contains a duplicate key.";
    KeyNotText = "key-not-text", Error, Warning, "A key is not a string.";
    UnquotedValue = "unquoted-value", Error, Warning, "A value must be quoted, for example because it contains a colon.";
    CommentInValue = "comment-in-value", Warning, Warning, "A ` #` turns the rest of a value into a comment.";
    NotAMapping = "not-a-mapping", Error, Error, "The frontmatter is not a list of `key: value` lines.";

    UnknownField = "unknown-field", Error, Note, "A field is not part of the standard, Claude Code or corteza.skill/v1.";
    ExtensionField = "extension-field", Note, silent, "A field is an extension that the reference validator rejects.";
    WrongType = "wrong-type", Error, Warning, "A field has a value of the wrong type.";
    NotAString = "not-a-string", Note, silent, "Other YAML parsers read an unquoted value as a number, a date or a boolean.";
    BadBoolean = "bad-boolean", Error, Warning, "A field must be true or false.";
    BadValue = "bad-value", Error, Warning, "A field does not have one of its allowed values.";

    NameMissing = "name-missing", Error, Warning, "`name` is missing or empty.";
    NameUnknown = "name-unknown", Error, Error, "There is no `name`, and no folder name to use instead.";
    NameTooLong = "name-too-long", Error, Warning, "`name` is longer than 64 characters.";
    NameNotLowercase = "name-not-lowercase", Error, Warning, "`name` contains capital letters.";
    NameHyphens = "name-hyphens", Error, Warning, "`name` starts or ends with a hyphen, or contains two in a row.";
    NameCharacters = "name-characters", Error, Warning, "`name` contains something other than letters, digits and hyphens.";
    NameDirectory = "name-directory", Error, Warning, "`name` differs from the folder name.";
    NameReserved = "name-reserved", Warning, silent, "`name` contains a word that the Claude API rejects.";

    DescriptionMissing = "description-missing", Error, Error, "`description` is missing or empty.";
    DescriptionTooLong = "description-too-long", Error, Warning, "`description` is longer than 1024 characters.";
    DescriptionXml = "description-xml", Error, Warning, "`description` contains an XML tag.";
    CompatibilityEmpty = "compatibility-empty", Error, Warning, "`compatibility` is empty.";
    CompatibilityTooLong = "compatibility-too-long", Error, Warning, "`compatibility` is longer than 500 characters.";
    MetadataNested = "metadata-nested", Warning, silent, "A value in `metadata` is not a string.";
    ToolRuleMalformed = "tool-rule-malformed", Error, Warning, "A tool rule is malformed, so it matches nothing.";
    ToolRuleAnyCode = "tool-rule-any-code", Note, silent, "A tool rule lets the agent run arbitrary code.";
    ToolsEmpty = "tools-empty", Warning, Warning, "`allowed-tools` is empty: no tool is allowed.";
    InvocationConflict = "invocation-conflict", Warning, Warning, "Two fields disagree about who can invoke the skill; the stricter one applies.";
    SkillFormatUnknown = "skill-format-unknown", Error, Error, "`skill_format` specifies a format that this version does not support.";
    AgentsFile = "agents-file", Warning, Warning, "agents/openai.yaml cannot be read the way Codex reads it.";

    JsonSyntax = "json-syntax", Error, Error, "A file is not valid JSON.";
    SchemaVersion = "schema-version", Error, Error, "A file has a `schema_version` that this version does not support.";
    MissingKey = "missing-key", Error, Error, "A required key is missing.";
    UnknownKey = "unknown-key", Warning, Warning, "A JSON file contains an unknown key, which is ignored.";
    LockedKey = "locked-key", Warning, Warning, "A key is enforced by the system config, so the user's value is ignored.";
    RefusedKey = "refused-key", Error, Error, "csk-skill.json contains a key that is unknown or not allowed.";
    BadIdentifier = "bad-identifier", Error, Error, "A name is not an identifier: ASCII letters, digits, `.`, `_`, `-`.";
    BadReference = "bad-reference", Error, Error, "A skill must be declared with exactly one of `tag`, `branch` and `revision`.";
    DuplicateName = "duplicate-name", Error, Error, "Two declarations have the same name.";
    UnknownAgent = "unknown-agent", Error, Error, "An agent name is unknown.";
    BadUrl = "bad-url", Error, Error, "A `git` URL is not allowed.";
    RuntimeRoot = "runtime-root", Error, Error, "A runtime root is not a folder in the skill, or overlaps with another one.";
    CommandPath = "command-path", Error, Error, "A command path is not a file in the skill, or not inside a runtime root.";
    CommandReserved = "command-reserved", Error, Error, "A skill must not provide a command with the same name as a shell or a basic tool.";
    ManifestConflict = "manifest-conflict", Error, Error, "agent-skill.json and csk-skill.json have different contents.";
    LegacyCommand = "legacy-command", Warning, Warning, "A command in agents/runtime.json cannot be used, and is skipped.";
    BadPath = "bad-path", Error, Error, "A path in a configuration file is invalid.";

    BodyEmpty = "body-empty", Warning, silent, "There are no instructions after the frontmatter.";
    BodyLong = "body-long", Warning, silent, "The body is longer than 500 lines or about 5,000 tokens.";
    ReferenceMissing = "reference-missing", Warning, silent, "The body links to a file that is not in the skill.";
    ReferenceEscapes = "reference-escapes", Warning, silent, "The body links to a path outside the skill.";
    ReferenceDeep = "reference-deep", Note, silent, "The body links to a file more than one folder deep.";
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
