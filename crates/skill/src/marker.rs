//! `.csk-install.json`: the marker that an install writes into a skill's folder.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::manifest::{declared, is_basic};
use crate::{Code, DeclaredCapabilities, Diagnostic, Digest, Identifier, RelPath, json as reader};

/// The type of git reference that was requested.
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
    /// Returns the key in the Skillfile, which is also the value in the marker.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Branch => "branch",
            Self::Revision => "revision",
        }
    }

    /// Parses the value in the marker.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Tag, Self::Branch, Self::Revision].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Returns true for a full commit ID: forty lower-case hexadecimal digits.
pub fn is_commit_id(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.len() == 40 && text.chars().all(is_digit)
}

/// The install marker of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The skill.
    pub name: Identifier,
    /// The repository it came from.
    pub source: Identifier,
    /// Its URL, if one was declared.
    pub git: Option<String>,
    /// The folder of the repository that contains the skill, if it is not the whole repository.
    pub part: Option<Part>,
    /// The type of the requested reference.
    pub ref_kind: RefKind,
    /// The requested reference.
    pub reference: String,
    /// The installed commit.
    pub commit: String,
    /// The digest of the installed files.
    pub content_sha256: Digest,
    /// The digest of the installed files that also covers modes and links.
    pub context_sha256: Option<Digest>,
    /// The digest of the whole snapshot.
    pub bundle_sha256: Option<Digest>,
    /// The version of the rules that selected the installed files; older versions of csk do not record it.
    pub context_rules: Option<u64>,
    /// The locale in which it was rendered.
    pub locale: Option<String>,
    /// The agents for which it was installed.
    pub agents: Vec<String>,
    /// The commands it declares, including system commands.
    pub commands: Vec<String>,
    /// The commands it provides, each with its file in the command store.
    pub command_paths: BTreeMap<Identifier, RelPath>,
    /// The digest of the list of command files, if there are any.
    pub runtime_sha256: Option<Digest>,
    /// The folders of the skill that hold command files.
    pub runtime_roots: Vec<String>,
    /// The version of its manifest, if it has one.
    pub skill_schema_version: Option<u64>,
    /// The capabilities that its manifest declares.
    pub capabilities: Option<DeclaredCapabilities>,
    /// Time of the install, as RFC 3339 in UTC.
    pub installed_at: String,
    /// Its files, sorted.
    pub files: Vec<String>,
}

/// A folder of a repository that is a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its path in the repository.
    pub path: RelPath,
    /// The ID of its git tree.
    pub tree: String,
}

impl Marker {
    /// Returns the folder name of its commands in the command store: the commit, or the tree ID of the skill's folder.
    pub fn runtime_id(&self) -> &str {
        self.part.as_ref().map_or(&self.commit, |part| &part.tree)
    }

    /// Returns the file contents: sorted keys, two-space indent, trailing line feed.
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
        // Fields that apply only to skills with a manifest are omitted.
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

    /// Parses a marker. Unknown keys belong to another version and are ignored.
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
                    let message = format!("`commit` is `{}`, which is not a commit ID", text.value);
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

/// Reads the folder that contains the skill. The marker may be untrusted, so an invalid folder makes the whole marker
/// invalid.
#[expect(
    clippy::option_option,
    reason = "outer None is an error, inner None is a whole repository"
)]
fn part(object: &mut reader::Object<'_, '_, '_>) -> Option<Option<Part>> {
    let (path, tree) = (object.text("path"), object.text("tree"));
    let Some(path) = path else { return Some(None) };
    let read = RelPath::new(path.value.as_str()).ok();
    let tree = tree.map(|tree| tree.value).filter(|tree| is_commit_id(tree));
    if let (Some(path), Some(tree)) = (read, tree) {
        return Some(Some(Part { path, tree }));
    }
    let message = format!("`path` is `{}`; expected a folder path and a valid `tree`", path.value);
    object.problem(Code::BadPath, path.range, message);
    None
}

/// Reads the commands that a skill provides. The marker may be untrusted, so names and paths are checked.
fn command_paths(object: &mut reader::Object<'_, '_, '_>) -> Option<BTreeMap<Identifier, RelPath>> {
    let mut paths = BTreeMap::new();
    for (name, path) in object.text_entries("command_paths") {
        let command = Identifier::new(name.value.as_str()).ok();
        // A command whose name was reserved later keeps working until it is replaced.
        let command = command.filter(|command| !is_basic(command));
        let read = command.zip(RelPath::new(path.value).ok());
        let Some((name, path)) = read else {
            let message =
                format!("`command_paths.{}` is not a valid command name and file path", name.value);
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
    fn a_newer_schema_is_rejected_and_extra_keys_are_ignored() {
        let newer = marker().to_json().replace("\"schema_version\": 1", "\"schema_version\": 2");
        assert_eq!(Marker::parse("m", &newer).1[0].code, Code::SchemaVersion);
        let richer =
            marker().to_json().replace("\"ref_kind\"", "\"something_new\": [], \"ref_kind\"");
        assert_eq!(Marker::parse("m", &richer), (Some(marker()), Vec::new()));
    }

    #[test]
    fn a_forged_marker_cannot_name_a_path_outside_the_store() {
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
