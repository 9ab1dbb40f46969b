//! The skills that are part of the program.

use skill::{Digest, Document, Input, RelPath, SKILL_FILE, Strictness, parse};

/// A skill that is part of the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Builtin {
    /// Its name, which is also its folder's.
    pub(crate) name: &'static str,
    /// Where it says that it is.
    pub(crate) path: &'static str,
    /// Its files, sorted by path, the SKILL.md among them.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// Every one of them.
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
    /// Returns the bytes of one of its files.
    pub(crate) fn file(&self, path: &RelPath) -> Option<&'static str> {
        self.files.iter().find(|(name, _)| *name == path.as_str()).map(|(_, text)| *text)
    }

    /// Reads its SKILL.md.
    pub(crate) fn document(&self) -> Document {
        let (_, text) = self.files[0];
        let input = Input { file: self.path, directory: Some(self.name), bytes: text.as_bytes() };
        parse(&input, Strictness::Strict).document.expect("a test reads every builtin skill")
    }

    /// Returns the digest of its content, as that of a folder.
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
    fn every_builtin_skill_is_valid_and_its_files_are_sorted() {
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
