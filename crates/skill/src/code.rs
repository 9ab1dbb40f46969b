//! Every rule there is: its stable code, and how bad breaking it is at each strictness.
//!
//! In `Lenient` an error means that the skill cannot be loaded; `silent` means that nothing is said.

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
        /// The stable name of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $about] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the code as people and programs see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns one sentence about the rule.
            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }

            /// Returns how bad breaking the rule is, or `None` where it is not reported.
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
    PathNotFound = "path-not-found", Error, Error, "The given path does not exist.";
    PathNotText = "path-not-text", Error, Error, "A path is not valid UTF-8, or holds characters that no skill may use.";
    NoSkillFile = "no-skill-file", Error, Error, "The folder has no SKILL.md.";
    NothingFound = "nothing-found", Error, Error, "A recursive search found no skill.";
    SearchLimit = "search-limit", Error, Error, "A recursive search reached a limit and stopped there.";
    FileName = "file-name", Warning, Warning, "The file is called skill.md; the standard asks for SKILL.md.";
    FileNameCase = "file-name-case", Error, Warning, "The file is called neither SKILL.md nor skill.md, only nearly.";
    NotAFile = "not-a-file", Error, Error, "SKILL.md is not a regular file.";
    LinkEscapes = "link-escapes", Error, Error, "A link leads out of the skill, or out of a project that nobody trusts.";
    FileTooLarge = "file-too-large", Error, Error, "The file is larger than any skill may be.";
    Unreadable = "unreadable", Error, Error, "The file or folder cannot be read.";
    BeyondMcpLimits = "beyond-mcp-limits", Warning, silent, "The skill has more files or bytes than every MCP host accepts.";
    NotListed = "not-listed", Warning, silent, "A field does not fit the standard, so `openskills mcp` leaves the skill out of its list.";
    MissingDependency = "missing-dependency", Warning, Warning, "Something that `metadata.dependencies` names is not installed here.";
    Shadowed = "shadowed", Warning, Warning, "Another skill of the same name comes first.";
    DeniedByPolicy = "denied-by-policy", Warning, Warning, "The organisation does not let a skill be used.";
    ContentDrift = "content-drift", Warning, Warning, "An installed skill is not what csk installed.";
    InstallMarker = "install-marker", Warning, Warning, "The marker that csk left in a skill cannot be read.";

    NotUtf8 = "not-utf8", Error, Error, "The file is not valid UTF-8.";
    NulCharacter = "nul-character", Error, Error, "The file holds a NUL character.";
    ControlCharacter = "control-character", Error, Error, "The frontmatter holds a control character.";
    BodyControlCharacter = "body-control-character", Warning, Warning, "The body holds a control character.";
    HiddenCharacter = "hidden-character", Warning, Warning, "The text holds an invisible character, or one that changes the direction of writing.";
    ByteOrderMark = "byte-order-mark", Error, Warning, "The file starts with a byte order mark.";
    TextBeforeFrontmatter = "text-before-frontmatter", Error, Warning, "Blank lines or comments stand before the frontmatter.";
    NoFrontmatter = "no-frontmatter", Error, Error, "The file does not start with frontmatter.";
    FrontmatterUnclosed = "frontmatter-unclosed", Error, Error, "The frontmatter is not closed by a line `---`.";

    YamlSyntax = "yaml-syntax", Error, Error, "The frontmatter is not valid YAML.";
    YamlTab = "yaml-tab", Error, Error, "A tab indents YAML; only spaces may.";
    YamlTooDeep = "yaml-too-deep", Error, Error, "The frontmatter is nested more deeply than any skill needs.";
    YamlTooBig = "yaml-too-big", Error, Error, "The frontmatter holds more values than any skill needs, aliases expanded.";
    DuplicateKey = "duplicate-key", Error, Error, "A key stands twice in one mapping.";
    KeyNotText = "key-not-text", Error, Warning, "A key is not plain text.";
    UnquotedValue = "unquoted-value", Error, Warning, "A value must be quoted, for example because it holds a colon.";
    CommentInValue = "comment-in-value", Warning, Warning, "A ` #` cuts the rest of a value off as a comment.";
    NotAMapping = "not-a-mapping", Error, Error, "The frontmatter is not a list of `key: value` lines.";

    UnknownField = "unknown-field", Error, Note, "A field is not part of the standard, Claude Code or corteza.skill/v1.";
    ExtensionField = "extension-field", Note, silent, "A field is an extension that the reference validator refuses.";
    WrongType = "wrong-type", Error, Warning, "A field has a value of the wrong kind.";
    NotAString = "not-a-string", Note, silent, "An unquoted value is a number, a date or a boolean to other YAML readers.";
    BadBoolean = "bad-boolean", Error, Warning, "A field takes true or false.";
    BadValue = "bad-value", Error, Warning, "A field takes one of a few words.";

    NameMissing = "name-missing", Error, Warning, "`name` is missing or empty.";
    NameUnknown = "name-unknown", Error, Error, "There is neither a `name` nor a folder to take it from.";
    NameTooLong = "name-too-long", Error, Warning, "`name` is longer than 64 characters.";
    NameNotLowercase = "name-not-lowercase", Error, Warning, "`name` holds capital letters.";
    NameHyphens = "name-hyphens", Error, Warning, "`name` starts or ends with a hyphen, or holds two in a row.";
    NameCharacters = "name-characters", Error, Warning, "`name` holds something other than letters, digits and hyphens.";
    NameDirectory = "name-directory", Error, Warning, "`name` and the folder's name differ.";
    NameReserved = "name-reserved", Warning, silent, "`name` holds a word that Claude's API refuses.";

    DescriptionMissing = "description-missing", Error, Error, "`description` is missing or empty.";
    DescriptionTooLong = "description-too-long", Error, Warning, "`description` is longer than 1024 characters.";
    DescriptionXml = "description-xml", Error, Warning, "`description` holds an XML tag.";
    CompatibilityEmpty = "compatibility-empty", Error, Warning, "`compatibility` is empty.";
    CompatibilityTooLong = "compatibility-too-long", Error, Warning, "`compatibility` is longer than 500 characters.";
    MetadataNested = "metadata-nested", Warning, silent, "`metadata` holds more than text.";
    ToolRuleMalformed = "tool-rule-malformed", Error, Warning, "A tool rule cannot be read, so it matches nothing.";
    ToolRuleAnyCode = "tool-rule-any-code", Note, silent, "A tool rule lets the agent run any code.";
    ToolsEmpty = "tools-empty", Warning, Warning, "`allowed-tools` is empty: no tool is allowed.";
    InvocationConflict = "invocation-conflict", Warning, Warning, "Two fields disagree about who may invoke the skill; the stricter one holds.";
    SkillFormatUnknown = "skill-format-unknown", Error, Error, "`skill_format` names a format that this version does not know.";
    AgentsFile = "agents-file", Warning, Warning, "agents/openai.yaml cannot be read as Codex would.";

    JsonSyntax = "json-syntax", Error, Error, "A file is not valid JSON.";
    SchemaVersion = "schema-version", Error, Error, "A file has a `schema_version` that this version does not know.";
    MissingKey = "missing-key", Error, Error, "A key that every such file must have is missing.";
    UnknownKey = "unknown-key", Warning, Warning, "A key of a JSON file is not known; it is ignored.";
    LockedKey = "locked-key", Warning, Warning, "A key is locked by the system's config; what the user's says is ignored.";
    RefusedKey = "refused-key", Error, Error, "A key of csk-skill.json is not known, or never allowed.";
    BadIdentifier = "bad-identifier", Error, Error, "A name is not an identifier: ASCII letters, digits, `.`, `_`, `-`.";
    BadReference = "bad-reference", Error, Error, "A skill must be declared by exactly one of `tag`, `branch` and `revision`.";
    DuplicateName = "duplicate-name", Error, Error, "Two declarations have the same name.";
    UnknownAgent = "unknown-agent", Error, Error, "An agent is not known.";
    BadUrl = "bad-url", Error, Error, "A `git` URL is not one that is allowed.";
    RuntimeRoot = "runtime-root", Error, Error, "A runtime root is not a folder of the skill, or overlaps with another.";
    CommandPath = "command-path", Error, Error, "The path of a command is not a file of the skill, or not inside a runtime root.";
    CommandReserved = "command-reserved", Error, Error, "A skill may not bring a command that is called like a shell or a basic tool.";
    ManifestConflict = "manifest-conflict", Error, Error, "agent-skill.json and csk-skill.json say different things.";
    LegacyCommand = "legacy-command", Warning, Warning, "A command of agents/runtime.json cannot be used, and is left out.";
    BadPath = "bad-path", Error, Error, "A path in a configuration file cannot be used.";

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
