//! `Skillfile.json`: the skills that a project declares.

use std::collections::BTreeMap;

use serde_json::json;
use skill::json::{Object, read};
use skill::{Code, Diagnostic, Identifier, RefKind, RelPath};

use crate::config::agents::Agents;
use crate::config::file::agent_ids;

/// The file name of the Skillfile.
pub const SKILLFILE: &str = "Skillfile.json";

/// The contents of `Skillfile.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skillfile {
    /// The alias of the logical project.
    pub project_alias: Option<Identifier>,
    /// The agents; if empty, the config decides.
    pub agents: Vec<String>,
    /// The locale; if absent, the config decides.
    pub locale: Option<String>,
    /// The skills, in file order.
    pub skills: Vec<Declaration>,
}

/// One skill declared by a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The name it is installed under.
    pub name: Identifier,
    /// The repository under `skills_root`.
    pub source: Identifier,
    /// The URL to clone from if the repository is missing.
    pub git: Option<String>,
    /// The repository folder that holds the skill; `None` means the whole repository.
    pub path: Option<RelPath>,
    /// The tag, branch or commit to install.
    pub reference: Reference,
}

/// A tag, branch or commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Tag, branch or revision.
    pub kind: RefKind,
    /// The name of the tag or branch, or the commit id.
    pub name: String,
}

impl Skillfile {
    /// Parses the file.
    pub fn parse(file: &str, text: &str, agents: &Agents) -> (Option<Self>, Vec<Diagnostic>) {
        read(file, text, |object| {
            object.schema_version(&[1])?;
            let project_alias =
                object.object("project", |project| project.identifier("alias")).flatten();
            let locale =
                object.text("locale").map(|text| text.value).filter(|locale| !locale.is_empty());
            let agents = agent_ids(object, "agents", agents);
            let mut skills: Vec<Declaration> = Vec::new();
            let declared = object.required_objects("skills", |skill| {
                let place = skill.opening_brace();
                declaration(skill).map(|declaration| (declaration, place))
            });
            let mut known: BTreeMap<String, Identifier> = BTreeMap::new();
            for (declaration, place) in declared {
                // macOS and Windows would put both in the same folder.
                let folded = declaration.name.as_str().to_ascii_lowercase();
                if let Some(other) = known.insert(folded, declaration.name.clone()) {
                    let name = &declaration.name;
                    let message = match other == *name {
                        true => format!("duplicate skill `{name}`"),
                        false => format!("skills `{other}` and `{name}` differ only in case"),
                    };
                    object.problem_with_hint(
                        Code::DuplicateName,
                        place,
                        message,
                        "remove one of the declarations",
                    );
                } else {
                    skills.push(declaration);
                }
            }
            Some(Self { project_alias, agents, locale, skills })
        })
    }

    /// Returns the file that a new project starts with.
    pub fn minimal() -> String {
        Self::empty(&[])
    }

    /// Returns a Skillfile without skills for these agents.
    pub fn empty(agents: &[&str]) -> String {
        format!("{:#}\n", json!({ "schema_version": 1, "agents": agents, "skills": [] }))
    }
}

fn declaration(skill: &mut Object<'_, '_, '_>) -> Option<Declaration> {
    let name = skill.required_identifier("name");
    let source = skill.identifier("source");
    let git = skill.text("git").map(|text| text.value).filter(|git| !git.is_empty());
    let path = folder(skill);
    let given: Vec<(RefKind, String)> =
        [("tag", RefKind::Tag), ("branch", RefKind::Branch), ("revision", RefKind::Revision)]
            .into_iter()
            .filter_map(|(key, kind)| Some((kind, skill.text(key)?.value)))
            .collect();
    let place = skill.opening_brace();
    let shown = name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
    let reference = match given.as_slice() {
        [(kind, name)] if is_ref_name(name) => Some(Reference { kind: *kind, name: name.clone() }),
        [(kind, name)] => {
            let message = format!("skill{shown} has an invalid {}: `{name}`", kind.as_str());
            skill.problem(Code::BadReference, place, message);
            None
        }
        [] => {
            let message = format!("skill{shown} has no `tag`, `branch` or `revision`");
            let hint = "add exactly one of `tag`, `branch` or `revision`";
            skill.problem_with_hint(Code::BadReference, place, message, hint);
            None
        }
        [..] => {
            let message =
                format!("skill{shown} has more than one of `tag`, `branch` and `revision`");
            let hint = "keep exactly one of `tag`, `branch` or `revision`";
            skill.problem_with_hint(Code::BadReference, place, message, hint);
            None
        }
    };
    let name = name?;
    Some(Declaration {
        source: source.unwrap_or_else(|| name.clone()),
        git,
        path: path?,
        reference: reference?,
        name,
    })
}

/// Reads the repository folder that holds the skill.
#[expect(
    clippy::option_option,
    reason = "the outer `None` is an error, the inner one means the whole repository"
)]
fn folder(skill: &mut Object<'_, '_, '_>) -> Option<Option<RelPath>> {
    let Some(text) = skill.text("path").filter(|text| !text.value.is_empty()) else {
        return Some(None);
    };
    match RelPath::new(text.value.trim_end_matches('/')) {
        Ok(path) => Some(Some(path)),
        Err(error) => {
            let reason = error.reason();
            let message =
                format!("`path` is `{}`, which is not a valid folder: {reason}", text.value);
            let hint = "use the path of a folder in the repository, such as `skills/pdf`";
            skill.problem_with_hint(Code::BadPath, text.range, message, hint);
            None
        }
    }
}

/// Returns true if `name` can be a git reference: never an option, never a path out of `refs/`.
pub fn is_ref_name(name: &str) -> bool {
    let has_bad =
        name.contains(|c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c));
    let bad_part = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.ends_with(".lock") || part.ends_with('.')
    };
    !name.starts_with('-')
        && !has_bad
        && !name.contains("..")
        && !name.contains("@{")
        && !name.split('/').any(bad_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Option<Skillfile>, Vec<String>) {
        let (file, problems) = Skillfile::parse(SKILLFILE, text, &Agents::default());
        let shown = |problem: &Diagnostic| {
            format!(
                "{} {}: {}",
                problem.span.map_or(0, |span| span.start.line),
                problem.code,
                problem.message
            )
        };
        (file, problems.iter().map(shown).collect())
    }

    #[test]
    fn declarations_are_read() {
        let (file, problems) = parse(
            r#"{"schema_version": 1, "project": {"alias": "demo"}, "agents": ["codex_cli"], "locale": "ru", "skills": [
                {"name": "a", "git": "git@x.test:a.git", "tag": "v1.0.0"},
                {"name": "b", "source": "skill-b", "branch": "feature/x"},
                {"name": "c", "path": "skills/c/", "revision": "6deb71a"}]}"#,
        );
        assert_eq!(problems, Vec::<String>::new());
        let file = file.unwrap();
        let paths = file.skills.iter().map(|skill| skill.path.as_ref().map(RelPath::as_str));
        assert_eq!(paths.collect::<Vec<_>>(), [None, None, Some("skills/c")]);
        assert_eq!(file.skills[1].source.as_str(), "skill-b");
        assert_eq!(
            file.skills[2].reference,
            Reference { kind: RefKind::Revision, name: "6deb71a".into() }
        );
        assert_eq!(file.project_alias.unwrap().as_str(), "demo");
        assert!(parse(&Skillfile::minimal()).1.is_empty());
    }

    #[test]
    fn every_bad_declaration_is_named() {
        let (file, problems) = parse(
            "{\"schema_version\": 1, \"skills\": [\n{\"name\": \"a\"},\n{\"name\": \"b\", \"tag\": \"1\", \"branch\": \"m\"},\n\
             {\"name\": \"../c\", \"tag\": \"1\"},\n{\"name\": \"d\", \"tag\": \"--upload-pack=x\"},\n\
             {\"name\": \"e\", \"tag\": \"1\"},\n{\"name\": \"e\", \"tag\": \"2\"},\n{\"name\": \"f\", \"path\": \"../x\", \"tag\": \"2\"}]}",
        );
        assert_eq!(file, None);
        assert_eq!(
            problems,
            [
                "2 bad-reference: skill `a` has no `tag`, `branch` or `revision`",
                "3 bad-reference: skill `b` has more than one of `tag`, `branch` and `revision`",
                "4 bad-identifier: `skills[2].name` is `../c`, which is not an identifier: it starts with '.'; expected an ASCII letter or digit",
                "5 bad-reference: skill `d` has an invalid tag: `--upload-pack=x`",
                "7 duplicate-name: duplicate skill `e`",
                "8 bad-path: `path` is `../x`, which is not a valid folder: it contains `..`",
            ]
        );
    }

    #[test]
    fn references_are_never_options_or_paths() {
        for good in ["v1.0.0", "main", "feature/x-1", "6deb71a", "release@2"] {
            assert!(is_ref_name(good), "{good}");
        }
        for bad in [
            "", "-x", "a..b", "../x", "a/../b", "a b", "a~1", "HEAD^", "a:b", "/a", "a/", "x.lock",
            "@{u}", "a\nb",
        ] {
            assert!(!is_ref_name(bad), "{bad}");
        }
    }
}
