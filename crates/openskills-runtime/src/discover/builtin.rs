//! The skills that are compiled into the program.

use skill::{Digest, Document, Input, RelPath, SKILL_FILE, Strictness, parse};

/// A skill that is compiled into the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Builtin {
    /// The skill's name, which is also its folder's name.
    pub(crate) name: &'static str,
    /// The path that is shown for it.
    pub(crate) path: &'static str,
    /// Its files including SKILL.md, sorted by path.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// All builtin skills.
pub(crate) const BUILTINS: &[Builtin] = &[Builtin {
    name: "cocoaskills",
    path: "builtin:cocoaskills",
    files: &[
        (SKILL_FILE, include_str!("../../builtin/cocoaskills/SKILL.md")),
        ("references/csk.md", include_str!("../../builtin/cocoaskills/references/csk.md")),
        (
            "references/writing-skills.md",
            include_str!("../../builtin/cocoaskills/references/writing-skills.md"),
        ),
    ],
}];

impl Builtin {
    /// Returns the content of one of its files.
    pub(crate) fn file(&self, path: &RelPath) -> Option<&'static str> {
        self.files.iter().find(|(name, _)| *name == path.as_str()).map(|(_, text)| *text)
    }

    /// Parses its SKILL.md.
    pub(crate) fn document(&self) -> Document {
        let (_, text) = self.files[0];
        let input = Input { file: self.path, directory: Some(self.name), bytes: text.as_bytes() };
        parse(&input, Strictness::Strict).document.expect("a test reads every builtin skill")
    }

    /// Returns its content digest, computed as for a folder.
    pub(crate) fn hash(&self) -> Digest {
        let mut hasher = skill::ContentHasher::default();
        for (path, text) in self.files {
            hasher.file(&RelPath::new(*path).expect("a test reads every builtin skill"));
            hasher.bytes(text.as_bytes());
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtin_skills_are_valid_and_their_files_are_sorted() {
        for builtin in BUILTINS {
            assert_eq!(builtin.files[0].0, SKILL_FILE);
            assert!(builtin.files.is_sorted_by_key(|(path, _)| *path));
            assert_eq!(builtin.document().frontmatter.name, builtin.name);
            assert!(builtin.hash().to_string().starts_with("sha256:"));
            let (_, text) = builtin.files[0];
            let input =
                Input { file: builtin.path, directory: Some(builtin.name), bytes: text.as_bytes() };
            assert_eq!(parse(&input, Strictness::Strict).diagnostics, Vec::new());
        }
    }
}
