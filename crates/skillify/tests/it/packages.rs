//! One package of each kind, and its bundle.

use skillify::{Files, derive};

use crate::check::{bundle, files, text, valid};

const RD: &str = r"% a comment
\name{add}
\alias{add}
\alias{plus}
\title{Add numbers}
\usage{
add(x, y = 1, \dots)
\method{add}{thing}(x)
}
\arguments{
\item{x}{a \code{numeric} vector, 100\% sure}
\item{y}{what is \emph{added}; see \link[base]{sum}}
\item{\dots}{more}
}
\description{Adds \code{y} to \strong{x}.}
\value{A list with \itemize{\item one \item two}}
\examples{add(1, 2)}
";

#[test]
fn an_r_source_package() {
    let (library, package) = valid(&[
        (
            "DESCRIPTION",
            "Package: my.math\nVersion: 0.2.1\nTitle: Small\n  Mathematics\nDescription: Adds <things> up.\nLicense: MIT\n",
        ),
        ("NAMESPACE", "export(add, plus)\nexport(undocumented)\n"),
        ("man/add.Rd", RD),
        (
            "man/hidden.Rd",
            "\\name{hidden}\\alias{hidden}\\title{No}\\keyword{internal}\\description{x}",
        ),
        ("vignettes/intro.Rmd", "---\ntitle: \"An introduction\"\n---\n"),
    ]);
    assert_eq!((library.name.as_str(), package.name.as_str()), ("my.math", "my-math"));
    let skill = text(&package, "SKILL.md");
    for part in [
        "library_depends: [\"my.math\"]",
        "version: \"0.2.1\"",
        "source_hash: \"sha256:",
        "[`add`](references/add.md), `plus`: Add numbers",
        "`my.math::name(...)`",
        "An introduction",
        "undocumented",
    ] {
        assert!(skill.contains(part), "{part}\n{skill}");
    }
    assert!(!skill.contains("hidden"), "{skill}");
    let page = text(&package, "references/add.md");
    for part in [
        "add(x, y = 1, ...)",
        "- `x`: a `numeric` vector, 100% sure",
        "- `y`: what is *added*; see sum",
        "- `...`: more",
        "Adds `y` to **x**.",
        "- one",
        "## S3 method for class 'thing'",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn a_python_package() {
    let (_, package) = valid(&[
        (
            "PKG-INFO",
            "Metadata-Version: 2.1\nName: my-tools\nVersion: 1.2\nSummary: Tools for it\nLicense: MIT\n\nA longer text about these tools and what they are for.\n",
        ),
        (
            "src/my_tools/__init__.py",
            "def fetch(url, *, timeout=3.0):\n    \"\"\"Fetch a page.\n\n    :param url: where it is\n    :param float timeout: how long\n        to wait\n    :returns: the text\n    \"\"\"\n\ndef _hidden(): pass\n",
        ),
        (
            "src/my_tools/shapes.py",
            "class Circle:\n    \"\"\"A circle.\"\"\"\n\n    def area(self, digits: int) -> float:\n        \"\"\"Its area.\n\n        Args:\n            digits (int): how exact\n\n        Returns:\n            a number\n        \"\"\"\n\n@cached\ndef total(a, b):\n    \"\"\"Sum.\n\n    Parameters\n    ----------\n    a : int\n        the first\n    b : int\n        the second\n    \"\"\"\n",
        ),
        ("src/my_tools/_private.py", "def secret(): pass\n"),
        ("tests/test_x.py", "def test_x(): pass\n"),
    ]);
    let skill = text(&package, "SKILL.md");
    assert!(
        skill.contains("library_depends: [\"python:my-tools\"]")
            && skill.contains("my_tools.shapes.Circle.area"),
        "{skill}"
    );
    assert!(
        !skill.contains("_hidden") && !skill.contains("secret") && !skill.contains("test_x"),
        "{skill}"
    );
    let page = text(&package, "references/my_tools-fetch.md");
    for part in [
        "def fetch(url, *, timeout=3.0)",
        "- `url`: where it is",
        "- `timeout`: how long to wait",
        "the text",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(
        text(&package, "references/my_tools-shapes-Circle-area.md")
            .contains("- `digits`: how exact")
    );
    assert!(
        text(&package, "references/my_tools-shapes-total.md").contains("- `b`: int the second")
    );
}

#[test]
fn a_crate() {
    let (_, package) = valid(&[
        (
            "Cargo.toml",
            "[package]\nname = \"my-crate\"\nversion = \"0.3.0\"\ndescription = \"Does things\"\nlicense = \"MIT\"\n",
        ),
        (
            "src/lib.rs",
            "//! A crate that does things.\n//!\n//! # Examples\nmod inner;\npub mod shapes;\npub use inner::Thing;\n/// Adds one.\n///\n/// More about it.\npub fn add_one(x: &mut Vec<u8>, by: Option<usize>) -> Result<u32, String> { todo!() }\nfn hidden() {}\n#[doc(hidden)]\npub fn secret() {}\n/// Greets.\n#[macro_export]\nmacro_rules! greet { () => {} }\n",
        ),
        (
            "src/inner.rs",
            "/// A thing.\n#[derive(Debug)]\npub struct Thing { /// x\n pub size: u32, }\nimpl Thing {\n /// Makes one.\n pub fn new() -> Self { todo!() }\n}\n",
        ),
        ("src/shapes.rs", "/// A circle.\npub enum Shape { Circle, Square(u32) }\n"),
    ]);
    let skill = text(&package, "SKILL.md");
    for part in [
        "my_crate::add_one",
        "my_crate::Thing",
        "my_crate::shapes::Shape",
        "my_crate::greet!",
        "A crate that does things.",
    ] {
        assert!(skill.contains(part), "{part}\n{skill}");
    }
    assert!(!skill.contains("hidden") && !skill.contains("secret"), "{skill}");
    let page = text(&package, "references/my_crate--add_one.md");
    assert!(
        page.contains("pub fn add_one(x: &mut Vec<u8>, by: Option<usize>) -> Result<u32, String>"),
        "{page}"
    );
    assert!(page.contains("More about it."), "{page}");
}

#[test]
fn an_npm_package() {
    let manifest = "{\"name\": \"@me/pad\", \"version\": \"2.0.0\", \"description\": \"Pads texts\", \"license\": \"MIT\", \"main\": \"lib/index.js\", \"types\": \"./lib/index.d.ts\"}";
    let (_, package) = valid(&[
        ("package.json", manifest),
        (
            "lib/index.d.ts",
            "/**\n * Pads a text.\n * @param text - what is padded\n * @param {number} width how wide\n * @returns the padded text\n */\nexport declare function pad(text: string, width: number): string;\nexport interface Options { fill: string }\nexport declare const VERSION: string;\n",
        ),
    ]);
    assert_eq!(package.name, "me-pad");
    let skill = text(&package, "SKILL.md");
    assert!(
        skill.contains("library_depends: [\"node:@me/pad\"]") && skill.contains("[`Options`]"),
        "{skill}"
    );
    let page = text(&package, "references/pad.md");
    for part in [
        "Pads a text.",
        "- `text`: what is padded",
        "- `width`: how wide",
        "the padded text",
        "function pad(text: string, width: number): string",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    // Without type declarations, the code is read.
    let (_, package) = valid(&[
        ("package.json", "{\"name\": \"plain\", \"version\": \"1.0.0\", \"main\": \"index\"}"),
        (
            "index.js",
            "/** Says hello. */\nexports.hello = function (name) {};\nmodule.exports.bye = 1;\n",
        ),
        ("README.md", "# plain\n\nA small package that says hello to everybody who asks for it.\n"),
    ]);
    assert!(text(&package, "SKILL.md").contains("[`hello`](references/hello.md): Says hello."));
}

#[test]
fn invalid_packages_are_reported() {
    for (all, message) in [
        (vec![("x.txt", "x")], "not an R (DESCRIPTION)"),
        (vec![("DESCRIPTION", "Version: 1\n")], "missing package name"),
        (vec![("Cargo.toml", "[package")], "Cargo.toml"),
        (vec![("Cargo.toml", "[package]\nname = \"a\"\n")], "no library"),
        (vec![("package.json", "{")], "package.json"),
        (vec![("package.json", "{\"name\": \"a\"}")], "has no exports to document"),
        (vec![("DESCRIPTION", "Package: a\n"), ("man/a.Rd", "\\name{a")], "unclosed brace"),
    ] {
        let error = derive(&files(&all)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn hostile_packages_cause_no_panic_or_unbounded_output() {
    let deep = format!("\\title{}", "{\\emph".repeat(5_000));
    assert!(derive(&files(&[("DESCRIPTION", "Package: a\n"), ("man/a.Rd", &deep)])).is_err());
    for bytes in [&b""[..], b"X\n", b"X\n\0\0\0\x02", &[0x1f, 0x8b, 8, 0], &[0; 64]] {
        let all = [
            ("DESCRIPTION".to_owned(), b"Package: a\n".to_vec()),
            ("help/a.rdx".to_owned(), bytes.to_vec()),
            ("help/a.rdb".to_owned(), bytes.to_vec()),
        ];
        assert!(derive(&Files::of(all)).is_err());
    }
    for code in [
        format!("{}{}", "pub mod a {".repeat(3_000), "}".repeat(3_000)),
        format!("const X: i32 = {}1;", "-".repeat(20_000)),
        format!("type T = {}u8{};", "A<".repeat(5_000), ">".repeat(5_000)),
    ] {
        let all = [("Cargo.toml", "[package]\nname = \"a\"\n"), ("src/lib.rs", code.as_str())];
        assert!(derive(&files(&all)).is_err());
    }
    let (_, package) = valid(&[
        ("package.json", "{\"name\": \"a\\u001b[31m\", \"version\": \"1.0\\u001b[31m\"}"),
        ("index.js", "exports.hello = 1;\n"),
    ]);
    assert!(!text(&package, "SKILL.md").contains('\u{1b}'));
    // Text of a package cannot break out of its place in the bundle.
    let (_, package) = valid(&[
        (
            "DESCRIPTION",
            "Package: a\nVersion: 1\nTitle: x\u{202e}y <b>\nDescription: ---\u{1b}[2J\n",
        ),
        (
            "man/a.Rd",
            "\\name{a}\\alias{../../evil}\\title{t\n---\nname: evil}\\description{``` end}\\usage{```\nx\n```}",
        ),
    ]);
    assert!(package.files.iter().all(|file| !file.path.as_str().contains("..")));
    let page = text(&package, "references/evil.md");
    assert!(page.contains("````r\n"), "{page}");
}

/// Writes values in R's serialization format, as far as help pages need it.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn int(&mut self, number: i32) {
        self.0.extend(number.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.int(9);
        self.int(i32::try_from(text.len()).unwrap());
        self.0.extend(text.as_bytes());
    }

    fn texts(&mut self, texts: &[&str]) {
        self.int(i32::try_from(texts.len()).unwrap());
        texts.iter().for_each(|text| self.text(text));
    }

    /// Writes the attributes of the previous value: one with this name, with texts.
    fn attribute(&mut self, name: &str, texts: &[&str]) {
        self.int(2 | 0x400);
        self.int(1);
        self.text(name);
        self.int(16);
        self.texts(texts);
        self.int(254);
    }

    /// Writes a piece of a page: a text with its tag.
    fn piece(&mut self, text: &str) {
        self.int(16 | 0x200);
        self.texts(&[text]);
        self.attribute("Rd_tag", &["TEXT"]);
    }

    /// Writes a part of a page: a tag around pieces or parts.
    fn part(&mut self, tag: &str, inner: &[&dyn Fn(&mut Self)]) {
        self.int(19 | 0x200);
        self.int(i32::try_from(inner.len()).unwrap());
        inner.iter().for_each(|write| write(self));
        self.attribute("Rd_tag", &[tag]);
    }

    /// Writes the content of one of several pairs of braces.
    fn group(&mut self, text: &str) {
        self.int(19);
        self.int(1);
        self.piece(text);
    }

    fn with_header() -> Self {
        let mut writer = Self(b"X\n".to_vec());
        [3, 0x0004_0202, 0x0003_0500, 5].into_iter().for_each(|number| writer.int(number));
        writer.0.extend(b"UTF-8");
        writer
    }
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn an_installed_r_library() {
    let mut page = Writer::with_header();
    page.int(19);
    page.int(6);
    page.part("\\name", &[&|page| page.piece("add")]);
    page.part("\\alias", &[&|page| page.piece("add")]);
    page.part("\\title", &[&|page| page.piece("Add numbers")]);
    page.part("\\usage", &[&|page| page.piece("add(x, y)\n")]);
    page.part(
        "\\arguments",
        &[
            &|page| page.piece("\n"),
            &|page| page.part("\\item", &[&|page| page.group("x"), &|page| page.group("a vector")]),
            &|page| page.part("\\item", &[&|page| page.group("y"), &|page| page.group("another")]),
        ],
    );
    page.part(
        "\\description",
        &[&|page| page.piece("Adds "), &|page| page.part("\\code", &[&|page| page.piece("x")])],
    );
    let packed = zlib(&page.0);
    let mut data = vec![0; 7];
    let mut entry = u32::try_from(page.0.len()).unwrap().to_be_bytes().to_vec();
    entry.extend(&packed);
    data.extend(&entry);
    let mut index = Writer::with_header();
    index.int(19 | 0x200);
    index.int(2);
    index.int(19 | 0x200);
    index.int(1);
    index.int(13);
    index.int(2);
    index.int(7);
    index.int(i32::try_from(entry.len()).unwrap());
    index.attribute("names", &["add"]);
    index.int(10);
    index.int(1);
    index.int(1);
    index.attribute("names", &["variables", "compressed"]);
    let all = |data: Vec<u8>| {
        Files::of([
            (
                "DESCRIPTION".to_owned(),
                b"Package: plus\nVersion: 1.0\nTitle: Plus\nDescription: Adds.\n".to_vec(),
            ),
            ("NAMESPACE".to_owned(), b"export(add)\n".to_vec()),
            ("INDEX".to_owned(), b"add                     Add numbers\n".to_vec()),
            ("help/plus.rdx".to_owned(), zlib(&index.0)),
            ("help/plus.rdb".to_owned(), data),
        ])
    };
    let library = derive(&all(data.clone())).unwrap();
    let page = text(&bundle(&library), "references/add.md");
    for part in ["add(x, y)", "- `x`: a vector", "- `y`: another", "Adds `x`"] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    // Whatever byte is changed, the data is refused or gives another page; it never panics.
    for at in 0..data.len() {
        let mut broken = data.clone();
        broken[at] ^= 0x55;
        let _ = derive(&all(broken));
    }
    assert!(derive(&all(data[..20].to_vec())).is_err());
}

#[test]
fn python_re_exports_have_the_name_that_users_import() {
    let (library, package) = valid(&[
        ("PKG-INFO", "Name: Evil.Pkg_x\nVersion: 1\nSummary: s\n"),
        (
            "evil/__init__.py",
            "from .sub import hello as hi\nfrom ._hidden import Thing, other\nfrom evil.deep.more import far\n__all__ = ['hi', 'Thing', 'far']\n",
        ),
        ("evil/sub.py", "def hello(a):\n    \"\"\"Say hello.\"\"\"\n"),
        (
            "evil/_hidden.py",
            "class Thing:\n    def go(self):\n        \"\"\"Go.\"\"\"\n\ndef other(): pass\n",
        ),
        ("evil/deep/__init__.py", ""),
        ("evil/deep/more.py", "def far(): pass\n\ndef near(): pass\n"),
    ]);
    let names: Vec<&str> = library.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(
        names,
        ["evil.Thing", "evil.Thing.go", "evil.deep.more.near", "evil.far", "evil.hi"]
    );
    assert!(text(&package, "SKILL.md").contains("Import what you need from `evil`."));
}

#[test]
fn npm_members_and_re_exports_are_listed() {
    let (library, package) = valid(&[
        ("package.json", r#"{"name": "a", "version": "1.0.0", "types": "index.d.ts"}"#),
        (
            "index.d.ts",
            "export * from './lib/more';\nexport { Local };\n/** A local one. */\ndeclare class Local {}\nexport class C {\n  /** Runs it. @param name what it is called @returns a number */\n  run(name: string): number;\n  private secret(): void;\n  _hidden(): void;\n  plain: string;\n}\nexport interface Options {\n  /** How loud. */\n  volume?: number;\n}\n",
        ),
        (
            "lib/more.d.ts",
            "export * from '../index';\n/** Adds. */\nexport declare function add(a: number): number;\n",
        ),
    ]);
    let names: Vec<&str> = library.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["C", "C.run", "Local", "Options", "Options.volume", "add"]);
    let page = text(&package, "references/C-run.md");
    for part in ["run(name: string): number", "- `name`: what it is called", "a number"] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(text(&package, "references/Local.md").contains("A local one."));
}

/// Development files next to a package are not part of it; names are those that users import.
#[test]
fn only_installed_modules_of_a_python_project_are_listed() {
    let (library, _) = valid(&[
        (
            "pyproject.toml",
            "[project]\nname = \"my-lib\"\nversion = \"1\"\ndescription = \"Does it.\"\n",
        ),
        ("noxfile.py", "def session(): pass\n"),
        ("bench/__init__.py", ""),
        ("bench/speed.py", "def run(): pass\n"),
        ("my_lib/__init__.py", "from .core import *\nfrom ._hidden import Shown as Public\n"),
        ("my_lib/core.py", "def do(x): 'Does it.'\ndef _no(): pass\n"),
        (
            "my_lib/_hidden.py",
            "class Shown:\n    'Shows.'\n    def __init__(self, size: int = 3, *, deep=False):\n        '''Makes one.\n\n        Args:\n            size: how large\n            deep: how deep\n        '''\n",
        ),
        (
            "my_lib/data.py",
            "from dataclasses import dataclass\n@dataclass\nclass Point:\n    'A point.'\n    x: int\n    y: int = 0\n",
        ),
    ]);
    let names: Vec<&str> = library.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["my_lib.Public", "my_lib.data.Point", "my_lib.do"]);
    let made = &library.topics[0];
    assert!(made.usage.ends_with("\nPublic(size: int = 3, *, deep=False)"), "{}", made.usage);
    let arguments: Vec<&str> = made.arguments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(arguments, ["size", "deep"]);
    assert!(
        library.topics[1].usage.ends_with("Point(x: int, y: int = 0)"),
        "{:?}",
        library.topics[1]
    );
}

#[test]
fn only_reachable_items_of_a_crate_are_listed() {
    let (library, _) = valid(&[
        (
            "Cargo.toml",
            "[package]\nname = \"my-lib\"\nversion = \"1.0.0\"\ndescription = \"Does it.\"\n",
        ),
        (
            "src/lib.rs",
            "mod imp;\nmod other;\npub mod open;\npub use imp::{Shown, make as build};\npub use other::*;\npub use dep::Thing;\n",
        ),
        (
            "src/imp.rs",
            "/// Shown.\npub struct Shown;\nimpl Shown { /// Makes one.\npub fn new(size: u8) -> Self { Shown } }\n/// Not let out.\npub struct Kept;\nimpl Kept { pub fn never() {} }\n/// Makes.\npub fn make() {}\n",
        ),
        ("src/other.rs", "/// All of it.\npub fn all() {}\nfn none() {}\n"),
        (
            "src/open.rs",
            "/// Acts.\npub trait Act { /// Goes.\nfn go(&self, far: u8) -> bool; }\nmod inner { pub fn hidden() {} }\n",
        ),
    ]);
    let names: Vec<&str> = library.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "my_lib::Shown",
            "my_lib::Shown::new",
            "my_lib::Thing",
            "my_lib::all",
            "my_lib::build",
            "my_lib::open::Act",
            "my_lib::open::Act::go",
        ]
    );
    assert_eq!(library.topics[6].usage, "fn go(&self, far: u8) -> bool");
    assert_eq!(library.topics[2].title, "re-exported from the crate `dep`, which was not read");
}

#[test]
fn npm_re_exports_have_their_exported_name_and_signature() {
    let (library, _) = valid(&[
        (
            "package.json",
            r#"{"name": "my-lib", "version": "1.0.0", "description": "Does it.", "main": "index.js"}"#,
        ),
        (
            "index.js",
            "export { go as walk } from './lib/go.js'\nexport { default as Maker } from './lib/maker.js'\n",
        ),
        (
            "lib/go.js",
            "/** Goes.\n * @param {number} far how far */\nexport function go(far) {}\nexport function no() {}\n",
        ),
        ("lib/maker.js", "/** Makes. */\nexport default (size) => size\n"),
    ]);
    let exports: Vec<(&str, &str)> =
        library.topics.iter().map(|topic| (topic.name.as_str(), topic.usage.as_str())).collect();
    assert_eq!(exports.len(), 2, "{exports:?}");
    assert_eq!(exports[0].0, "Maker");
    assert_eq!(exports[0].1, "function Maker(size)");
    assert_eq!(exports[1], ("walk", "function walk(far)"));
    assert_eq!(library.topics[1].arguments[0].name, "far");
    let (library, _) = valid(&[
        (
            "package.json",
            r#"{"name": "my-lib", "version": "1.0.0", "description": "Does it.", "main": "index.js"}"#,
        ),
        ("index.js", "module.exports = require('./lib/all')\n"),
        ("lib/all.js", "/** Goes. */\nexports.go = function (far) {}\n"),
    ]);
    let names: Vec<&str> = library.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["go"]);
}

/// An R help page may document several exports; each counts.
#[test]
fn r_exports_are_counted_from_the_namespace() {
    let (library, package) = valid(&[
        (
            "DESCRIPTION",
            "Package: sums\nVersion: 1.0\nTitle: Sums\nDescription: Adds\u{200b} and \u{202e}more.\n",
        ),
        ("NAMESPACE", "export(add, plus)\nexport(minus)\n"),
        ("man/add.Rd", RD),
    ]);
    assert_eq!(library.exports(), 3);
    let skill = text(&package, "SKILL.md");
    assert!(!skill.contains(['\u{200b}', '\u{202e}']), "{skill}");
}
