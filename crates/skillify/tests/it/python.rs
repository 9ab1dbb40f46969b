//! Python packages: names that can be imported, and constructors.

use skill_fs::AbsPath;
use skillify::{Files, derive};

use crate::check::{check, exports, refused, text, valid};

const INFO: (&str, &str) = ("PKG-INFO", "Name: my-lib\nVersion: 1\nSummary: s\n");

#[test]
fn a_star_import_imports_what_all_lists() {
    check(
        &[
            INFO,
            (
                "my_lib/__init__.py",
                "from .funcs import *\nfrom .open import *\nfrom .made import *\n",
            ),
            (
                "my_lib/funcs.py",
                "__all__ = ('compose',)\n__all__ += ['late']\ndef compose(f): pass\ndef late(): pass\nclass Compose: pass\n",
            ),
            (
                "my_lib/open.py",
                "from ._more import deep\ndef plain(): pass\ndef gone(): pass\ndel gone\n",
            ),
            ("my_lib/_more.py", "def deep(): pass\n"),
            ("my_lib/made.py", "__all__ = ['a'] + names()\ndef a(): pass\n"),
        ],
        "my_lib.a: def a()
my_lib.compose: def compose(f)
my_lib.deep: def deep()
my_lib.funcs.Compose: class Compose | Compose()
my_lib.late: def late()
my_lib.plain: def plain()
not covered: `__all__` of `my_lib.made` is computed; names added at runtime are not listed.",
    );
}

#[test]
fn names_that_may_not_exist_are_not_listed() {
    check(
        &[
            INFO,
            (
                "my_lib/__init__.py",
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ._x import Typed\nif PY2:\n    def old(): pass\nif PY3:\n    def both(a): pass\nelse:\n    def both(b): pass\n    def other(): pass\ntry:\n    from ._x import fast\nexcept ImportError:\n    def fast(): pass\ndef _make(): pass\ns = made = _make\n",
            ),
            ("my_lib/_x.py", "class Typed: pass\ndef fast(a): pass\n"),
        ],
        "my_lib.both: def both(a)\nmy_lib.fast: def fast(a)\nmy_lib.made: def made()\nmy_lib.s: def s()",
    );
}

#[test]
fn modules_whose_name_begins_with_test_are_listed() {
    check(
        &[
            INFO,
            ("my_lib/__init__.py", ""),
            ("my_lib/testing.py", "def runner(): pass\n"),
            ("my_lib/test/__init__.py", "def client(): pass\n"),
            ("my_lib/test_it.py", "def test_no(): pass\n"),
            ("my_lib/tests/__init__.py", "def test_no(): pass\n"),
        ],
        "my_lib.test.client: def client()\nmy_lib.testing.runner: def runner()",
    );
}

#[test]
fn every_installed_package_is_listed() {
    let all = [
        ("pyproject.toml", "[project]\nname = \"attrs\"\nversion = \"1\"\n"),
        ("src/attr/__init__.py", "from ._make import define\n"),
        (
            "src/attr/_make.py",
            "def define(cls): pass\nclass Factory: pass\nFactory = wrapped(Factory)\n",
        ),
        (
            "src/attrs/__init__.py",
            "from attr import define\nfrom attr._make import Factory\n__all__ = ['define', 'Factory']\n",
        ),
    ];
    check(
        &all,
        "attr.define: def define(cls)
attrs.Factory: class Factory | Factory()
attrs.define: def define(cls)",
    );
    let (_, package) = valid(&all);
    let skill = text(&package, "SKILL.md");
    assert!(skill.contains("Import what you need from `attrs` or `attr`."), "{skill}");
    // Only packages with exports are named, not simply the first by name.
    let (_, package) = valid(&[
        ("toolz.dist-info/METADATA", "Name: toolz\nVersion: 1\n"),
        ("tlz/__init__.py", "fill()\n"),
        ("toolz/__init__.py", "def get(): pass\n"),
    ]);
    assert!(text(&package, "SKILL.md").contains("Import what you need from `toolz`."));
}

#[test]
fn installed_modules_that_were_not_read_are_reported() {
    refused(
        &[
            ("METADATA", "Name: six\nVersion: 1\n"),
            ("RECORD", "six.py,sha256=x,1\n../../bin/six.py,,\nsix.dist-info/METADATA,,\n"),
        ],
        "cannot read the exports of `six`: The package installs `six`, which was not read",
    );
    let exports = exports(&[
        ("attrs.dist-info/METADATA", "Name: attrs\nVersion: 1\n"),
        ("attrs.dist-info/RECORD", "attr/__init__.py,,\nattrs/__init__.py,,\n"),
        ("attrs/__init__.py", "def own(): pass\n"),
    ]);
    assert_eq!(
        exports,
        "attrs.own: def own()\nnot covered: The package installs `attr`, which was not read.\n"
    );
}

#[test]
fn an_installed_package_is_read_by_its_record() {
    let scratch = testkit::TestEnv::with(
        "//- /site/six-1.dist-info/METADATA\nName: six\nVersion: 1\n//- /site/six-1.dist-info/RECORD\nsix.py,,\n../bin/x.py,,\nattr/__init__.py,,\n//- /site/six.py\ndef b(s): pass\n//- /site/attr/__init__.py\ndef c(): pass\n//- /site/other.py\ndef no(): pass\n//- /bin/x.py\ndef no(): pass\n",
    );
    let about = AbsPath::new(scratch.path("site/six-1.dist-info")).unwrap();
    let library = derive(&Files::of_installed_python(&about).unwrap()).unwrap();
    let names: Vec<&str> = library.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["attr.c", "six.b"]);
}

#[test]
fn constructors_are_inherited() {
    check(
        &[
            INFO,
            (
                "my_lib/__init__.py",
                "from ._base import Late as Early, Base
class Plain: pass
class Child(Base): pass
class Both(Left, Base): pass
class Left: pass
class New:
    def __new__(cls, a, b=1): pass
class Open:
    def __new__(cls, *args, **kwargs): pass
    def __init__(self, c): pass
class Outside(Exception): pass
class Wrapped(Plain, Generic[T]): pass
@attr.define
class Elsewhere:
    x: int
",
            ),
            (
                "my_lib/_base.py",
                "class Base:\n    def __init__(self, size, # how large\n                 *, deep=False): pass\n    @property\n    def width(self): pass\n    @width.setter\n    def width(self, value): pass\nclass Late(Base): 'Late.'\n",
            ),
        ],
        "my_lib.Base: class Base | Base(size, *, deep=False)
my_lib.Base.width: @property | def width(self)
my_lib.Both: class Both(Left, Base) | Both(size, *, deep=False)
my_lib.Child: class Child(Base) | Child(size, *, deep=False)
my_lib.Early: class Early(Base) | Early(size, *, deep=False)
my_lib.Elsewhere: class Elsewhere
my_lib.Left: class Left | Left()
my_lib.New: class New | New(a, b=1)
my_lib.Open: class Open | Open(c)
my_lib.Outside: class Outside(Exception)
my_lib.Plain: class Plain | Plain()
my_lib.Wrapped: class Wrapped(Plain, Generic[T]) | Wrapped()",
    );
}

#[test]
fn only_init_fields_of_data_classes_are_parameters() {
    check(
        &[
            INFO,
            (
                "my_lib/__init__.py",
                "@dataclass
class Base:
    count: ClassVar[int] = 0
    a: int
    b: str = 'x'
@dataclasses.dataclass(frozen=True)
class Child(Base):
    a: float
    made: int = field(init=False, default=1)
    many: list = field(default_factory=list)
    some: int = field(default=3, repr=False)
    seed: InitVar[int] = 5
    _: KW_ONLY
    last: bool = False
class Plain(Child): pass
@dataclass(init=False)
class Own(Plain): pass
class Pair(NamedTuple):
    left: int
    right: int = 2
",
            ),
        ],
        "my_lib.Base: class Base | Base(a: int, b: str = 'x')
my_lib.Child: class Child(Base) | Child(a: float, b: str = 'x', many: list = ..., some: int = 3, seed: int = 5, *, last: bool = False)
my_lib.Own: class Own(Plain)
my_lib.Pair: class Pair(NamedTuple) | Pair(left: int, right: int = 2)
my_lib.Plain: class Plain(Child) | Plain(a: float, b: str = 'x', many: list = ..., some: int = 3, seed: int = 5, *, last: bool = False)",
    );
}
