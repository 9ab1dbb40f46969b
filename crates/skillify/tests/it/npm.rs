//! npm packages: the names that users import, and from where.

use crate::check::{check, exports, refused};

/// Returns a manifest with additional fields.
fn manifest(more: &str) -> String {
    format!("{{\"name\": \"my-lib\", \"version\": \"1.0.0\", {more}}}")
}

#[test]
fn subpaths_are_listed_only_if_their_exports_differ() {
    let manifest = manifest(
        r#""exports": {"./package.json": "./package.json", "./add": {"types": "./add.d.ts"}, "./fp": {"require": {"types": "./fp.d.cts"}, "import": {"types": "./fp.d.ts"}},
        ".": {"types": "./index.d.ts"}, "./locale/*": "./locale/*.js", "./style": "./style.css", "./gone": "./gone.js"}"#,
    );
    check(
        &[
            ("package.json", &manifest),
            ("index.d.ts", "export * from './add.ts';\n"),
            ("add.d.ts", "export declare function add(a: number): number;\n"),
            ("fp.d.ts", "export * from './fp/add.js';\n"),
            ("fp.d.cts", "export declare function old(): void;\n"),
            ("fp/add.d.ts", "export declare const add: Curried;\nexport declare function addWithOptions(o: O): number;\n"),
        ],
        "add: function add(a: number): number
my-lib/fp: add: import { add } from \"my-lib/fp\" | const add: Curried
my-lib/fp: addWithOptions: import { addWithOptions } from \"my-lib/fp\" | function addWithOptions(o: O): number
not covered: Imports matching the pattern `./locale/*` are not listed.
not covered: No files were found for the import `./gone`.",
    );
}

#[test]
fn exports_of_the_package_itself_take_precedence_over_subpaths() {
    let many: String = (0..700).map(|n| format!("export declare const a{n}: number;\n")).collect();
    let manifest =
        manifest(r#""exports": {"./a": {"types": "./a.d.ts"}, ".": {"types": "./index.d.ts"}}"#);
    let exports = exports(&[
        ("package.json", &manifest),
        ("a.d.ts", &many),
        ("index.d.ts", "export declare function zzz(): void;\n"),
    ]);
    assert!(exports.contains("\nzzz: function zzz(): void\n"), "{exports}");
    assert!(exports.contains("not covered: Only 600 of 701 exports have a page."), "{exports}");
}

#[test]
fn default_and_named_exports_are_distinguished() {
    check(
        &[
            (
                "package.json",
                &manifest(r#""exports": {"types": "./index.d.ts", "default": "./index.js"}"#),
            ),
            (
                "index.d.ts",
                "/** Limits. */\nexport default function pLimit(n: number): Limit;\nexport function limitFunction(): void;\nexport * from './other.js';\nexport { default as Named } from './other.js';\n",
            ),
            (
                "other.d.ts",
                "export default class Other { /** Runs. */ run(): void }\nexport const x: number;\n",
            ),
        ],
        "Named: class Named
Named.run: run(): void
default: import pLimit from \"my-lib\" | function pLimit(n: number): Limit
limitFunction: function limitFunction(): void
x: const x: number",
    );
    check(
        &[
            ("package.json", &manifest(r#""main": "i.js""#)),
            ("i.js", "module.exports = class extends Base { go(a) {} }\n"),
        ],
        "default: import myLib from \"my-lib\" | class myLib extends Base\ndefault.go: go(a)",
    );
}

#[test]
fn re_exports_have_signatures() {
    check(
        &[
            ("package.json", &manifest(r#""main": "index.js""#)),
            (
                "index.js",
                "const satisfies = require('./satisfies')\nconst inner = require('./inner')\nconst { one, two: second } = require('./inner')\nconst all = require('./inner')\nmodule.exports = { satisfies, re: inner.re, one, second, all, direct: require('./inner').one, made(a) {}, 'odd-name': 1 }\n",
            ),
            (
                "satisfies.js",
                "/** Fits. */\nconst satisfies = (version, range) => true\nmodule.exports = satisfies\n",
            ),
            (
                "inner.js",
                "exports = module.exports = {}\nconst re = exports.re = []\nexports.one = function (a) {}\nexports.two = async b => b\n",
            ),
        ],
        "all: const all
direct: function direct(a)
made: function made(a)
odd-name: const odd-name = 1
one: function one(a)
re: const re = []
satisfies: function satisfies(version, range)
second: function second(b)",
    );
    check(
        &[
            ("package.json", &manifest(r#""types": "index.d.ts""#)),
            (
                "index.d.ts",
                "export { default as v4 } from './v4.js';\nexport * as inner from './v4.js';\n",
            ),
            ("v4.js", "export default function no() {}\n"),
            (
                "v4.d.ts",
                "declare function v4(o?: O): string;\ndeclare function v4(o: O, b: B): B;\nexport default v4;\n",
            ),
        ],
        "inner: const inner\nv4: function v4(o?: O): string | function v4(o: O, b: B): B",
    );
}

#[test]
fn only_importable_names_are_listed() {
    check(
        &[
            (
                "package.json",
                &manifest(r#""exports": {"require": "./b.cjs", "import": "./a.mjs"}"#),
            ),
            (
                "a.mjs",
                "function parse(a) {}\nexport { parse as 'module.exports', parse as default }\nexport const { a, b: [c] } = obj\n",
            ),
            ("b.cjs", "exports.onlyRequired = 1\n"),
        ],
        "a: const a\nc: const c\ndefault: import parse from \"my-lib\" | function parse(a)",
    );
    check(
        &[
            ("package.json", &manifest(r#""main": "index""#)),
            (
                "index.js",
                "exports.a = exports.b = void 0\nexports.a = function (x) {}\nmodule.exports = { ...require('./spread'), ...made(), [key]: 1, own: 2 }\nObject.defineProperty(exports, '__esModule', { value: true })\n",
            ),
            ("spread.js", "module.exports = { inner(y) {} }\nmodule.exports.default = 3\n"),
        ],
        "a: function a(x)
b: const b = void 0
inner: function inner(y)
own: const own = 2
not covered: `index.js` adds exports with `[key]: 1`, which skillify cannot evaluate.
not covered: `index.js` adds exports with `made()`, which skillify cannot evaluate.",
    );
}

#[test]
fn output_of_compilers_and_bundlers_is_read() {
    check(
        &[
            ("package.json", &manifest(r#""main": "index.js""#)),
            (
                "index.js",
                "if (process.env.NODE_ENV === 'production') {\n  module.exports = require('./cjs/lib.js');\n} else {\n  module.exports = require('./cjs/dev.js');\n}\n",
            ),
            (
                "cjs/lib.js",
                "var m = __importDefault(require('./m.js'))\nObject.defineProperty(exports, 'go', { enumerable: true, get: function () { return m.go; } });\n__exportStar(require('./m.js'), exports);\n0 && (module.exports = { late })\nfunction late(z) {}\n",
            ),
            ("cjs/m.js", "function go(far) {}\nexports.go = go\nexports.more = 1\n"),
            ("cjs/dev.js", "exports.dev = 1\n"),
        ],
        "go: function go(far)\nlate: function late(z)\nmore: const more = 1",
    );
}

#[test]
fn exports_that_cannot_be_read_are_reported() {
    let all = |code: &'static str| {
        [("package.json", manifest(r#""main": "index.js""#)), ("index.js", code.to_owned())]
    };
    let refused = |code: &'static str, why: &str| {
        let all = all(code);
        refused(&all.each_ref().map(|(path, text)| (*path, text.as_str())), why);
    };
    refused(
        "module.exports = require('other')\n",
        "cannot read the exports of `my-lib`: `index.js` re-exports everything from `other`, which is another package and was not read",
    );
    refused("const a = 1\n", "`my-lib` has no exports to document");
    check(
        &[
            ("package.json", &manifest(r#""main": "index.js""#)),
            ("index.js", "export { a } from 'other'\nexport * from './gone.js'\n"),
        ],
        "a: \nnot covered: `index.js` re-exports everything from `./gone.js`, which was not found.",
    );
}
