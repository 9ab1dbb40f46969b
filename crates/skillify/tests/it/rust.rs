//! Crates: the items that users can reach, and their paths.

use crate::check::{check, exports, refused, valid};

const MANIFEST: &str = "[package]\nname = \"my-lib\"\nversion = \"1.0.0\"\nedition = \"2021\"\n";

#[test]
fn the_word_hidden_in_a_doc_comment_hides_nothing() {
    check(
        &[
            ("Cargo.toml", MANIFEST),
            (
                "src/lib.rs",
                "/// Skips hidden files.\npub fn skip() {}\n#[doc(hidden)] pub fn no() {}\n#[doc(alias = \"hidden\")] pub fn yes() {}\n",
            ),
        ],
        "my_lib::skip: pub fn skip()\nmy_lib::yes: pub fn yes()",
    );
}

#[test]
fn the_library_name_may_differ_from_the_crate_name() {
    let manifest = format!("{MANIFEST}[lib]\nname = \"other\"\npath = \"./lib.rs\"\n");
    let all = [("Cargo.toml", manifest.as_str()), ("lib.rs", "pub fn go() {}\n")];
    check(&all, "other::go: pub fn go()");
    let (_, package) = valid(&all);
    let skill = crate::check::text(&package, "SKILL.md");
    assert!(
        skill.contains("`cargo add my-lib`") && skill.contains("imported as `other`"),
        "{skill}"
    );
}

#[test]
fn methods_belong_to_their_type_in_any_module() {
    check(
        &[
            ("Cargo.toml", MANIFEST),
            (
                "src/lib.rs",
                "mod error;\nmod inner;\npub struct Error { inner: u8 }\npub use inner::Deep;\npub struct Kept;\n",
            ),
            (
                "src/error.rs",
                "use crate::{Error, inner::*};\nimpl Error { pub fn new() -> Self { todo!() } fn no() {} pub const MAX: u8 = 1; }\nimpl Deep { pub fn dig() {} }\nimpl super::Kept { pub fn keep() {} }\n",
            ),
            ("src/inner.rs", "pub struct Deep;\n"),
        ],
        "my_lib::Deep: pub struct Deep;
my_lib::Deep::dig: pub fn dig()
my_lib::Error: pub struct Error { /* private fields */ }
my_lib::Error::MAX: pub const MAX: u8
my_lib::Error::new: pub fn new() -> Self
my_lib::Kept: pub struct Kept;
my_lib::Kept::keep: pub fn keep()",
    );
}

#[test]
fn private_items_are_not_listed() {
    check(
        &[
            ("Cargo.toml", MANIFEST),
            (
                "src/lib.rs",
                "mod traits;
pub struct Some { pub a: u8, b: u8, pub(crate) c: u8 }
pub struct All(pub u8, pub u16);
pub struct Part(pub u8, u16);
pub struct None<T>(T) where T: Copy;
#[cfg(test)] pub fn for_tests() {}
#[cfg(all(test, unix))] pub mod tests { pub fn x() {} }
#[cfg(test)] impl All { pub fn test() {} }
pub use traits::{Hidden, Open as _, Open as Renamed};
pub use traits::quiet as _;
",
            ),
            (
                "src/traits.rs",
                "#[doc(hidden)] pub trait Hidden {}\npub trait Open {}\npub fn quiet() {}\n",
            ),
        ],
        "my_lib::All: pub struct All(pub u8, pub u16);
my_lib::None: pub struct None<T>(/* private fields */) where T: Copy;
my_lib::Part: pub struct Part(pub u8, _);
my_lib::Renamed: pub trait Renamed
my_lib::Some: pub struct Some { pub a: u8, /* private fields */ }",
    );
}

#[test]
fn public_items_are_listed() {
    check(
        &[
            ("Cargo.toml", MANIFEST),
            (
                "src/lib.rs",
                "#[path = \"odd/place.rs\"] pub mod named;
pub use crate::Either::{Left, Right};
pub use Side::*;
pub enum Either<L, R> { Left(L), Right(R) }
pub enum Side { Up }
pub static COUNT: u8 = 1;
pub union Bits { pub a: u8, b: i8 }
pub trait Act: Clone + Send { const SIZE: usize; type Out: Copy; fn go(&self) -> Self::Out; }
#[macro_export] macro_rules! make { () => {} }
pub use make as build;
",
            ),
            ("src/odd/place.rs", "pub mod below;\npub fn here() {}\n"),
            ("src/odd/below.rs", "pub fn there() {}\n"),
        ],
        "my_lib::Act: pub trait Act: Clone + Send
my_lib::Act::Out: type Out: Copy;
my_lib::Act::SIZE: const SIZE: usize
my_lib::Act::go: fn go(&self) -> Self::Out
my_lib::Bits: pub union Bits { pub a: u8, /* private fields */ }
my_lib::COUNT: pub static COUNT: u8
my_lib::Either: pub enum Either<L, R> { Left(L), Right(R) }
my_lib::Left: Either::Left(L)
my_lib::Right: Either::Right(R)
my_lib::Side: pub enum Side { Up }
my_lib::Up: Side::Up
my_lib::build!: build!(...)
my_lib::make!: make!(...)
my_lib::named::below::there: pub fn there()
my_lib::named::here: pub fn here()",
    );
}

#[test]
fn procedural_macros_are_listed_as_they_are_used() {
    check(
        &[
            ("Cargo.toml", MANIFEST),
            (
                "src/lib.rs",
                "#[proc_macro] pub fn make(input: T) -> T {}\n#[proc_macro_attribute] pub fn mark(a: T, b: T) -> T {}\n#[proc_macro_derive(Shown, attributes(shown))] pub fn derive_shown(input: T) -> T {}\n",
            ),
        ],
        "my_lib::Shown: #[derive(Shown)]\nmy_lib::make!: make!(...)\nmy_lib::mark: #[mark]",
    );
}

#[test]
fn exports_that_were_not_read_are_reported() {
    let all = |code: &'static str| [("Cargo.toml", MANIFEST), ("src/lib.rs", code)];
    refused(
        &all("pub use my_lib_impl::*;\n"),
        "cannot read the exports of `my-lib`: `my_lib` re-exports everything from `my_lib_impl`, another crate that was not read",
    );
    refused(&all("fn no() {}\n"), "`my-lib` has no exports to document");
    let exports = exports(&all(
        "cfg_if! { if #[cfg(unix)] { pub fn x() {} } }\npub fn y() {}\npub use dep::Deep as D;\n",
    ));
    assert_eq!(
        exports,
        "my_lib::D: pub use dep::Deep as D;\nmy_lib::y: pub fn y()\nnot covered: Any items generated by these macros are not listed: `cfg_if!`.\n"
    );
}

#[test]
fn the_limit_is_reported_and_drops_members_first() {
    let code: String = (0..610).map(|n| format!("impl A {{ pub fn m{n}() {{}} }}\n")).collect();
    let code = format!("pub struct A;\n{code}pub fn zzz() {{}}\n");
    let (library, _) = valid(&[("Cargo.toml", MANIFEST), ("src/lib.rs", &code)]);
    assert_eq!(library.topics.len(), 600);
    assert!(library.topics.iter().any(|topic| topic.name == "my_lib::zzz"));
    assert_eq!(
        library.unread,
        ["Only 600 of 612 exports have a page. The first one without a page is `my_lib::A::m89`."]
    );
}
