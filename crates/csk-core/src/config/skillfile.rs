//! `Skillfile.json`: the skills of a project.

use std::collections::BTreeMap;

use serde_json::json;
use skill::json::{Object, read};
use skill::{Code, Diagnostic, Identifier, RefKind, RelPath};

use crate::config::agents::Agents;
use crate::config::file::agent_ids;

/// The name of the file.
pub const SKILLFILE: &str = "Skillfile.json";

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skillfile {
    /// The logical project.
    pub project_alias: Option<Identifier>,
    /// The agents; empty means those of the config.
    pub agents: Vec<String>,
    /// The locale; absent means that of the config.
    pub locale: Option<String>,
    /// The skills, in the order of the file.
    pub skills: Vec<Declaration>,
}

/// One skill that a project wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The name it is installed under.
    pub name: Identifier,
    /// The repository under `skills_root`.
    pub source: Identifier,
    /// Where to clone it from when it is missing.
    pub git: Option<String>,
    /// The folder of the repository that is the skill; none means the whole.
    pub path: Option<RelPath>,
    /// What of it.
    pub reference: Reference,
}

/// A tag, branch or commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Which of the three.
    pub kind: RefKind,
    /// Its name, or the commit.
    pub name: String,
}

impl Skillfile {
    /// Reads the file.
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
                let place = skill.place();
                declaration(skill).map(|declaration| (declaration, place))
            });
            let mut known: BTreeMap<String, Identifier> = BTreeMap::new();
            for (declaration, place) in declared {
                // macOS and Windows keep both in one folder.
                let folded = declaration.name.as_str().to_ascii_lowercase();
                if let Some(other) = known.insert(folded, declaration.name.clone()) {
                    let name = &declaration.name;
                    let message = match other == *name {
                        true => format!("the skill `{name}` is declared twice"),
                        false => format!("the skills `{other}` and `{name}` differ only in case"),
                    };
                    object.problem_with_hint(
                        Code::DuplicateName,
                        place,
                        message,
                        "keep one of the declarations",
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

    /// Returns the text of a Skillfile without skills, for these agents.
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
    let place = skill.place();
    let shown = name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
    let reference = match given.as_slice() {
        [(kind, name)] if is_ref_name(name) => Some(Reference { kind: *kind, name: name.clone() }),
        [(kind, name)] => {
            let message = format!(
                "the {} of the skill{shown} is `{name}`, which no git reference can be",
                kind.as_str()
            );
            skill.problem(Code::BadReference, place, message);
            None
        }
        [] => {
            let message = format!("the skill{shown} has no reference");
            let hint = "add exactly one of `tag`, `branch` and `revision`";
            skill.problem_with_hint(Code::BadReference, place, message, hint);
            None
        }
        [..] => {
            let message = format!("the skill{shown} has more than one reference");
            let hint = "keep exactly one of `tag`, `branch` and `revision`";
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

/// Reads the folder of the repository that a skill is.
#[expect(clippy::option_option, reason = "none is an error, none inside is a whole repository")]
fn folder(skill: &mut Object<'_, '_, '_>) -> Option<Option<RelPath>> {
    let Some(text) = skill.text("path").filter(|text| !text.value.is_empty()) else {
        return Some(None);
    };
    match RelPath::new(text.value.trim_end_matches('/')) {
        Ok(path) => Some(Some(path)),
        Err(error) => {
            let message = format!("`path` is `{}`, which is no folder: {error}", text.value);
            let hint = "expected the path of a folder in the repository, like `skills/pdf`";
            skill.problem_with_hint(Code::BadPath, text.range, message, hint);
            None
        }
    }
}

/// Returns true for names that can be a git reference and never an option or a path out of `refs/`.
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
                "2 bad-reference: the skill `a` has no reference",
                "3 bad-reference: the skill `b` has more than one reference",
                "4 bad-identifier: `skills[2].name` is `../c`, which is not an identifier: it starts with '.'; expected an ASCII letter or digit",
                "5 bad-reference: the tag of the skill `d` is `--upload-pack=x`, which no git reference can be",
                "7 duplicate-name: the skill `e` is declared twice",
                "8 bad-path: `path` is `../x`, which is no folder: the path `../x` leads out through `..`",
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
