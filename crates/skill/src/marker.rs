//! `.csk-install.json`: what an install writes into a skill's folder about itself.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::manifest::{declared, is_basic};
use crate::{Code, DeclaredCapabilities, Diagnostic, Digest, Identifier, RelPath, json as reader};

/// How a skill was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefKind {
    /// A tag.
    Tag,
    /// A branch.
    Branch,
    /// A commit.
    Revision,
}

impl RefKind {
    /// Returns the key of the Skillfile and the word of the marker.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Branch => "branch",
            Self::Revision => "revision",
        }
    }

    /// Reads the word of the marker.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Tag, Self::Branch, Self::Revision].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Returns true for a whole commit id: forty lower-case hexadecimal digits.
pub fn is_commit_id(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.len() == 40 && text.chars().all(is_digit)
}

/// What is known of an installed skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The skill.
    pub name: Identifier,
    /// The repository it came from.
    pub source: Identifier,
    /// Its URL, if one was declared.
    pub git: Option<String>,
    /// The folder of the repository that it is, if it is not the whole.
    pub part: Option<Part>,
    /// How it was asked for.
    pub ref_kind: RefKind,
    /// What was asked for.
    pub reference: String,
    /// The commit that was.
    pub commit: String,
    /// The digest of the installed context.
    pub content_sha256: Digest,
    /// The digest of the installed context that covers modes and links as well.
    pub context_sha256: Option<Digest>,
    /// The digest of the whole snapshot.
    pub bundle_sha256: Option<Digest>,
    /// Which rules said what of the snapshot is installed; older versions do not say.
    pub context_rules: Option<u64>,
    /// The locale it was rendered in.
    pub locale: Option<String>,
    /// The agents it was installed for.
    pub agents: Vec<String>,
    /// The commands it declares, those of the system too.
    pub commands: Vec<String>,
    /// The commands it brings, each with its file in the runtime folder of the skill's commit.
    pub command_paths: BTreeMap<Identifier, RelPath>,
    /// The digest of the list of the runtime's files, if it has one.
    pub runtime_sha256: Option<Digest>,
    /// The folders of the skill that are runtime.
    pub runtime_roots: Vec<String>,
    /// The version of its manifest, if it has one.
    pub skill_schema_version: Option<u64>,
    /// What its manifest says that it may do.
    pub capabilities: Option<DeclaredCapabilities>,
    /// When, as RFC 3339 in UTC.
    pub installed_at: String,
    /// Its files, sorted.
    pub files: Vec<String>,
}

/// A folder of a repository that is a skill by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it is.
    pub path: RelPath,
    /// The id of its tree.
    pub tree: String,
}

impl Marker {
    /// Returns the name of the folder in the runtime store that holds its commands: the commit, or the tree of the part that it is.
    pub fn runtime_id(&self) -> &str {
        self.part.as_ref().map_or(&self.commit, |part| &part.tree)
    }

    /// Returns the file: sorted keys, two blanks, a line break at the end.
    pub fn to_json(&self) -> String {
        let mut fields = json!({
            "agents": self.agents,
            "commands": self.commands,
            "commit": self.commit,
            "content_sha256": self.content_sha256.to_string(),
            "files": self.files,
            "installed_at": self.installed_at,
            "locale": self.locale,
            "name": self.name.as_str(),
            "ref": self.reference,
            "ref_kind": self.ref_kind.as_str(),
            "schema_version": 1,
            "source": self.source.as_str(),
        });
        let paths: Map<String, Value> = self
            .command_paths
            .iter()
            .map(|(name, path)| (name.to_string(), path.as_str().into()))
            .collect();
        // What a skill without a manifest does not have is not written.
        let more = [
            ("git", self.git.as_deref().map(Value::from)),
            ("path", self.part.as_ref().map(|part| part.path.as_str().into())),
            ("tree", self.part.as_ref().map(|part| part.tree.as_str().into())),
            ("context_sha256", self.context_sha256.map(|digest| digest.to_string().into())),
            ("bundle_sha256", self.bundle_sha256.map(|digest| digest.to_string().into())),
            ("context_rules", self.context_rules.map(Value::from)),
            ("runtime_sha256", self.runtime_sha256.map(|digest| digest.to_string().into())),
            ("command_paths", (!paths.is_empty()).then_some(Value::Object(paths))),
            ("runtime_roots", (!self.runtime_roots.is_empty()).then(|| json!(self.runtime_roots))),
            ("skill_schema_version", self.skill_schema_version.map(Value::from)),
            ("capabilities", self.capabilities.as_ref().map(DeclaredCapabilities::to_json)),
        ];
        if let Some(object) = fields.as_object_mut() {
            object
                .extend(more.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
            let mut sorted: Vec<(String, Value)> = std::mem::take(object).into_iter().collect();
            sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
            *object = sorted.into_iter().collect::<Map<_, _>>();
        }
        format!("{fields:#}\n")
    }

    /// Reads a marker. Keys that this version does not know belong to another one and are left alone.
    pub fn parse(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let (marker, mut problems) = reader::read(file, text, |object| {
            object.schema_version(&[1])?;
            let name = object.required_identifier("name");
            let source = object.required_identifier("source");
            let kind = object.required("ref_kind");
            let reference = object.required("ref");
            let commit = object.required("commit");
            let content = object.required("content_sha256");
            let bundle = object.text("bundle_sha256");
            let context = object.text("context_sha256");
            let runtime = object.text("runtime_sha256");
            let commit = commit.and_then(|text| {
                let is_id = is_commit_id(&text.value);
                if !is_id {
                    let message = format!("`commit` is `{}`, which is no commit id", text.value);
                    object.problem(Code::BadValue, text.range, message);
                }
                is_id.then_some(text.value)
            });
            let kind = kind.and_then(|text| {
                let kind = RefKind::parse(&text.value);
                if kind.is_none() {
                    let message = format!(
                        "`ref_kind` is `{}`; expected `tag`, `branch` or `revision`",
                        text.value
                    );
                    object.problem(Code::BadValue, text.range, message);
                }
                kind
            });
            let part = part(object)?;
            let mut digest = |text: Option<reader::Text>| {
                text.and_then(|text| {
                    let read = text.value.parse();
                    read.map_err(|error| {
                        object.problem(Code::BadValue, text.range, format!("{error}"));
                    })
                    .ok()
                })
            };
            let (content, bundle, context) = (digest(content), digest(bundle), digest(context));
            let runtime = digest(runtime);
            let texts =
                |texts: Vec<reader::Text>| texts.into_iter().map(|text| text.value).collect();
            Some(Self {
                name: name?,
                source: source?,
                git: object.text("git").map(|text| text.value),
                part,
                ref_kind: kind?,
                reference: reference?.value,
                commit: commit?,
                content_sha256: content?,
                context_sha256: context,
                bundle_sha256: bundle,
                context_rules: object.number("context_rules"),
                locale: object.text("locale").map(|text| text.value),
                agents: texts(object.texts("agents")),
                commands: texts(object.texts("commands")),
                command_paths: command_paths(object)?,
                runtime_sha256: runtime,
                runtime_roots: texts(object.texts("runtime_roots")),
                skill_schema_version: object.number("skill_schema_version"),
                capabilities: object.object("capabilities", declared::read),
                installed_at: object
                    .text("installed_at")
                    .map(|text| text.value)
                    .unwrap_or_default(),
                files: texts(object.texts("files")),
            })
        });
        problems.retain(|problem| problem.code != Code::UnknownKey);
        (marker, problems)
    }
}

/// Reads which folder of its repository a skill is. A marker may be a stranger's: what cannot be told makes it no marker.
#[expect(clippy::option_option, reason = "none is an error, none inside is a whole repository")]
fn part(object: &mut reader::Object<'_, '_, '_>) -> Option<Option<Part>> {
    let (path, tree) = (object.text("path"), object.text("tree"));
    let Some(path) = path else { return Some(None) };
    let read = RelPath::new(path.value.as_str()).ok();
    let tree = tree.map(|tree| tree.value).filter(|tree| is_commit_id(tree));
    if let (Some(path), Some(tree)) = (read, tree) {
        return Some(Some(Part { path, tree }));
    }
    let message = format!("`path` is `{}`, which is no folder with a `tree`", path.value);
    object.problem(Code::BadPath, path.range, message);
    None
}

/// Reads the commands that a skill brings. A marker may be a stranger's: names and paths are checked.
fn command_paths(object: &mut reader::Object<'_, '_, '_>) -> Option<BTreeMap<Identifier, RelPath>> {
    let mut paths = BTreeMap::new();
    for (name, path) in object.text_entries("command_paths") {
        let command = Identifier::new(name.value.as_str()).ok();
        // A command that a later version reserved still works until it is replaced.
        let command = command.filter(|command| !is_basic(command));
        let read = command.zip(RelPath::new(path.value).ok());
        let Some((name, path)) = read else {
            let message = format!("`command_paths.{}` is not a command and its file", name.value);
            object.problem(Code::BadPath, name.range, message);
            return None;
        };
        paths.insert(name, path);
    }
    Some(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> Marker {
        Marker {
            name: Identifier::new("pdf").unwrap(),
            source: Identifier::new("skill-pdf").unwrap(),
            git: Some("https://x.test/pdf.git".into()),
            part: Some(Part { path: RelPath::new("skills/pdf").unwrap(), tree: "b".repeat(40) }),
            ref_kind: RefKind::Tag,
            reference: "v1".into(),
            commit: "a".repeat(40),
            content_sha256: Digest::of(b"a"),
            context_sha256: Some(Digest::of(b"c")),
            bundle_sha256: Some(Digest::of(b"b")),
            context_rules: Some(2),
            locale: None,
            agents: vec!["claude_code".into()],
            commands: vec!["glab".into(), "mr".into()],
            command_paths: BTreeMap::from([(
                Identifier::new("mr").unwrap(),
                RelPath::new("scripts/mr").unwrap(),
            )]),
            runtime_sha256: Some(Digest::of(b"r")),
            runtime_roots: vec!["scripts".into()],
            skill_schema_version: Some(3),
            capabilities: Some(DeclaredCapabilities {
                env_read: Some(vec!["TOKEN".into()]),
                ..DeclaredCapabilities::default()
            }),
            installed_at: "2026-05-07T18:05:00Z".into(),
            files: vec!["SKILL.md".into()],
        }
    }

    #[test]
    fn a_marker_is_written_sorted_and_read_back() {
        let text = marker().to_json();
        let keys: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("  \"")?.split('"').next()).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert!(text.ends_with("}\n"));
        assert_eq!(Marker::parse("m", &text), (Some(marker()), Vec::new()));
    }

    #[test]
    fn a_newer_marker_is_refused_and_a_richer_one_is_read() {
        let newer = marker().to_json().replace("\"schema_version\": 1", "\"schema_version\": 2");
        assert_eq!(Marker::parse("m", &newer).1[0].code, Code::SchemaVersion);
        let richer =
            marker().to_json().replace("\"ref_kind\"", "\"something_new\": [], \"ref_kind\"");
        assert_eq!(Marker::parse("m", &richer), (Some(marker()), Vec::new()));
    }

    #[test]
    fn a_forged_marker_names_no_path_outside_the_store() {
        for (good, bad) in [
            ("\"scripts/mr\"", "\"../../x\""),
            ("\"scripts/mr\"", "\"/bin/sh\""),
            ("\"mr\":", "\"../mr\":"),
            ("\"mr\":", "\"git\":"),
            ("\"aaaa", "\"../../aaaa"),
        ] {
            let text = marker().to_json().replace(good, bad);
            assert_eq!(Marker::parse("m", &text).0, None, "{text}");
        }
    }
}
