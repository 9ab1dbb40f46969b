//! The data model of a skill, as text and values: no files, no clock, no environment.
//!
//! [`parse`] turns the bytes of a `SKILL.md` into a [`Document`] and a list of [`Diagnostic`]s: every problem at once,
//! each with its line and column. The same parser serves two levels of strictness ([`Strictness`]): `Strict` for
//! publishing a skill, `Lenient` for using an existing one.
//!
//! ```
//! use skill::{Input, Strictness, parse};
//!
//! let text = b"---\nname: pdf\ndescription: Extracts text from PDFs.\n---\n# Steps\n";
//! let parsed = parse(&Input { file: "pdf/SKILL.md", directory: Some("pdf"), bytes: text }, Strictness::Strict);
//! assert!(parsed.diagnostics.is_empty());
//! assert_eq!(parsed.document.expect("it is valid").frontmatter.name, "pdf");
//! ```

mod allowed_tools;
mod body;
mod byte_size;
pub mod capabilities;
mod characters;
mod code;
mod codex;
mod diagnostic;
mod digest;
mod document;
mod edit;
mod fence;
mod field;
mod file_name;
mod frontmatter;
mod identifier;
pub mod interpreters;
pub mod json;
mod library;
mod manifest;
mod marker;
mod migrate;
mod name;
mod nearest;
pub mod programs;
mod references;
mod rel_path;
mod report;
mod schema;
mod source;
mod value;
mod yaml;

pub use allowed_tools::{AllowedTools, ToolRule};
pub use body::{Body, MAX_BODY_LINES, MAX_BODY_TOKENS};
pub use byte_size::ByteSize;
pub use characters::{is_ignorable, is_invisible, is_unsafe_to_show};
pub use code::Code;
pub use codex::{CODEX_FILE, CodexFile, read_codex_file};
pub use diagnostic::{Diagnostic, Position, Severity, Span, Strictness};
pub use digest::{
    BundleHasher, ContentHasher, Digest, DigestError, EntryKind, LEDGER_FILE, MARKER_FILE,
};
pub use document::{
    Document, Head, Input, MAX_SKILL_FILE_BYTES, Parsed, RESOURCE_FOLDERS, SKILL_FILE,
    SKILL_FILE_FALLBACK, SchemaProblem, check_argument_schema, frontmatter_end, parse, parse_head,
    raw_frontmatter,
};
pub use edit::{add_frontmatter, set_frontmatter, set_yaml};
use field::{FIELDS, Owner};
pub use file_name::{
    FileNameError, FileNames, folded_name, is_bare_repository, is_device_name, is_git_folder,
    is_name_of,
};
pub use frontmatter::{
    Arguments, ClaudeFields, Context, CortezaFields, CortezaTrust, Frontmatter, GeneratedFrom,
    Interaction, MAX_COMPATIBILITY, MAX_DESCRIPTION, ModelInvocation, Shell, SideEffect, Tools,
    UnknownField,
};
pub use identifier::{Identifier, IdentifierError};
pub use library::{LibraryKind, NeededLibrary};
pub use manifest::{
    AGENT_MANIFEST_FILE, Command, CommandKind, DeclaredCapabilities, DeclaredFilesystem,
    DeclaredList, LEGACY_MANIFEST_FILE, MANIFEST_FILE, Manifest, ParsedManifest, RESERVED_COMMANDS,
    Tree, TreeEntry, manifest_schema,
};
pub use marker::{Marker, Part, RefKind, is_commit_id};
pub use migrate::{Migrated, SKILL_FORMAT, to_claude, to_v1};
pub use name::{MAX_NAME, NameError, SkillName, normalised};
pub use nearest::nearest;
pub use references::{Existence, check_references, linked_paths};
pub use rel_path::{RelPath, RelPathError};
use report::Report;
pub use schema::{corteza_schema, frontmatter_schema};
pub use source::Source;
pub use value::Value;
