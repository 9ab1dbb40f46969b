//! Index files: lists of skills and where to get them, for `csk find`.

use skill::Identifier;
use skill::json::read;
use skill_fs::{AbsPath, read_text};

/// The contents of an index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillIndex {
    /// The skills, in file order.
    pub(crate) skills: Vec<IndexedSkill>,
}

/// A skill in an index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedSkill {
    /// Its name.
    pub(crate) name: Identifier,
    /// Its description.
    pub(crate) description: String,
    /// What `csk add` accepts as its source.
    pub(crate) source: String,
}

impl SkillIndex {
    /// Reads an index file. The error names the file, the position and the problem.
    pub(crate) fn read(path: &AbsPath) -> Result<Self, String> {
        let text = read_text(path).map_err(|error| error.to_string())?;
        let text = text.ok_or_else(|| format!("`{path}` does not exist"))?;
        let (index, problems) = read(path.as_str(), &text, |object| {
            object.schema_version(&[1])?;
            let skills = object.required_objects("skills", |skill| {
                let name = skill.required_identifier("name");
                let description = skill.text("description").map(|text| text.value);
                let source = skill.required("source").map(|text| text.value);
                Some(IndexedSkill {
                    name: name?,
                    description: description.unwrap_or_default(),
                    source: source?,
                })
            });
            Some(Self { skills })
        });
        index.ok_or_else(|| {
            let problem = problems.first();
            let position =
                problem.and_then(|problem| problem.span).map_or_else(String::new, |span| {
                    format!(":{}:{}", span.start.line, span.start.column)
                });
            let message = problem.map_or("", |problem| problem.message.as_str());
            format!("{path}{position}: {message}")
        })
    }
}
