//! Compares the exports of a small package with the expected ones.

use std::convert::Infallible;

use skill::{Input, Severity, Strictness, parse};
use skill_pack::Package;
use skillify::{Files, Library, derive};

pub(crate) fn files(all: &[(&str, &str)]) -> Files {
    Files::of(all.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())))
}

pub(crate) fn bundle(library: &Library) -> Package {
    library.bundle(|_, _| Ok::<_, Infallible>(None), None).unwrap()
}

pub(crate) fn text(package: &Package, path: &str) -> String {
    let file = package.file(path).unwrap_or_else(|| {
        panic!(
            "no {path} in {:?}",
            package.files.iter().map(|file| file.path.to_string()).collect::<Vec<_>>()
        )
    });
    String::from_utf8(file.bytes.clone()).unwrap()
}

/// Returns the library and its bundle, and checks that `openskills validate` would accept the bundle.
pub(crate) fn valid(all: &[(&str, &str)]) -> (Library, Package) {
    let library = derive(&files(all)).unwrap();
    let package = bundle(&library);
    let skill = text(&package, "SKILL.md");
    let input = Input { file: "SKILL.md", directory: Some(&package.name), bytes: skill.as_bytes() };
    let parsed = parse(&input, Strictness::Strict);
    let errors: Vec<_> =
        parsed.diagnostics.iter().filter(|one| one.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}\n{skill}");
    assert_eq!(bundle(&derive(&files(all)).unwrap()), package, "the bundle is not reproducible");
    (library, package)
}

/// Returns every export of a package with its usage, one per line, and the notes on what is not covered.
pub(crate) fn exports(all: &[(&str, &str)]) -> String {
    let (library, package) = valid(all);
    let topics = library.topics.iter();
    let mut exports: String = topics
        .map(|topic| format!("{}: {}\n", topic.name, topic.usage.replace('\n', " | ")))
        .collect();
    for note in &library.unread {
        assert!(text(&package, "SKILL.md").contains(note.as_str()), "{note}");
        exports += &format!("not covered: {note}\n");
    }
    exports
}

/// Checks the exports of a package.
#[track_caller]
pub(crate) fn check(all: &[(&str, &str)], wanted: &str) {
    let exports = exports(all);
    assert_eq!(exports.trim_end(), wanted.trim(), "\n{exports}");
}

/// Checks the error for a package without a bundle.
#[track_caller]
pub(crate) fn refused(all: &[(&str, &str)], why: &str) {
    assert_eq!(derive(&files(all)).unwrap_err().to_string(), why);
}
