//! Chooses the file of a skill to run, and its interpreter, without touching the disk.

use skill::interpreters::program_for;
use skill::nearest;

use super::interpreter::TypeScriptSupport;

/// A file of a skill that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its path relative to the skill.
    pub(crate) path: String,
    pub(crate) is_executable: bool,
    /// Its first bytes.
    pub(crate) start: Vec<u8>,
}

/// How a file is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunMethod {
    /// A native program for this machine.
    Native,
    /// A script for the named interpreter, with these options before the file.
    Interpreted { interpreter: String, options: Vec<String> },
    /// A WebAssembly module for the built-in engine.
    Wasm,
}

/// A file and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenScript {
    pub(crate) path: String,
    pub(crate) runs: RunMethod,
    /// The Python module to run it as, if any.
    pub(crate) module: Option<PythonModule>,
}

/// A Python module, as in `python -m package.module`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonModule {
    pub(crate) name: String,
    /// The folder that it is imported from, relative to the skill; empty for the skill folder itself.
    pub(crate) folder: &'static str,
}

/// The default module if no script is specified.
const MODULE: &str = "wasm/skill.wasm";

/// Lists what can be run, without the files of Python packages that only imports need.
fn listed<'a>(all: impl Iterator<Item = &'a str>) -> String {
    const MAX_LISTED: usize = 12;
    let names: Vec<&str> = all.filter(|path| !path.ends_with("__init__.py")).collect();
    let more = names.len().saturating_sub(MAX_LISTED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let shown = names.iter().take(MAX_LISTED).map(|name| (*name).to_owned());
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// Chooses the specified file, otherwise `wasm/skill.wasm`, otherwise the only module, otherwise the only script.
/// Errors list what is available.
pub(crate) fn choose(
    candidates: &[Candidate],
    named: Option<&str>,
) -> Result<ChosenScript, String> {
    let scripts: Vec<&Candidate> = candidates.iter().filter(|file| is_script(file)).collect();
    let modules: Vec<&Candidate> = candidates.iter().filter(|file| is_module(file)).collect();
    let all = || modules.iter().chain(&scripts).map(|file| file.path.as_str());
    let list = || listed(all());
    if let Some(chosen) = named.and_then(|name| module(candidates, name)) {
        return Ok(chosen);
    }
    let file = match named {
        Some(name) => candidates
            .iter()
            .find(|file| file.path == name)
            .or_else(|| {
                let within = |folder: &str| {
                    candidates.iter().find(|file| file.path.strip_prefix(folder) == Some(name))
                };
                within("scripts/").or_else(|| within("wasm/"))
            })
            .ok_or_else(|| match nearest(name, all()) {
                Some(similar) => {
                    format!("it has no script or module `{name}`; did you mean `{similar}`?")
                }
                None => format!("it has no script or module `{name}`; {}", available(&list())),
            })?,
        None => {
            let usual = modules.iter().find(|file| file.path == MODULE);
            match (usual, modules.as_slice(), scripts.as_slice()) {
                (Some(one), _, _) | (None, [one], _) | (None, _, [one]) => one,
                (None, [], []) => {
                    return Err("it has no script in scripts/ and no module in wasm/".to_owned());
                }
                (None, _, _) => {
                    let list = list();
                    return Err(format!(
                        "it has several scripts or modules; specify one of: {list}"
                    ));
                }
            }
        }
    };
    let runs = how(file).ok_or_else(|| {
        let path = &file.path;
        format!(
            "cannot tell how to run `{path}`: no `#!` line and no known file extension; {}",
            available(&list())
        )
    })?;
    Ok(ChosenScript { path: file.path.clone(), runs, module: None })
}

fn available(list: &str) -> String {
    if list.is_empty() {
        "the skill has no scripts in scripts/ and no modules in wasm/".to_owned()
    } else {
        format!("available: {list}")
    }
}

/// Finds the Python module `package.module`, relative to the skill or its scripts/. A file of that name takes
/// precedence.
fn module(candidates: &[Candidate], name: &str) -> Option<ChosenScript> {
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let find = |path: &str| candidates.iter().find(|file| file.path == path);
    let is_file = find(name).is_some() || find(&format!("scripts/{name}")).is_some();
    if is_file || !name.split('.').all(is_word) {
        return None;
    }
    let path = name.replace('.', "/");
    ["", "scripts"].into_iter().find_map(|folder| {
        let base = if folder.is_empty() { path.clone() } else { format!("{folder}/{path}") };
        // A script outside a package is run as a file.
        let plain = || find(&format!("{base}.py")).filter(|_| name.contains('.'));
        let file = plain().or_else(|| find(&format!("{base}/__main__.py")))?;
        let runs =
            RunMethod::Interpreted { interpreter: "python3".to_owned(), options: Vec::new() };
        let module = Some(PythonModule { name: name.to_owned(), folder });
        Some(ChosenScript { path: file.path.clone(), runs, module })
    })
}

/// Returns true for modules directly in `wasm/`.
fn is_module(file: &Candidate) -> bool {
    let name = file.path.strip_prefix("wasm/").filter(|name| !name.contains('/'));
    name.is_some_and(|name| name.ends_with(".wasm"))
}

/// Returns true for runnable files in `scripts/`.
fn is_script(file: &Candidate) -> bool {
    file.path.starts_with("scripts/")
        && (file.is_executable || ending(&file.path).is_some())
        && how(file).is_some()
}

fn ending(path: &str) -> Option<&'static str> {
    let end = path.rsplit('/').next()?.rsplit_once('.')?.1;
    program_for(end)
}

/// Determines how to run a file: by its format, its first line, or its extension.
fn how(file: &Candidate) -> Option<RunMethod> {
    // A `.wasm` file is always treated as a module; if it is not one, the engine reports that.
    if file.path.ends_with(".wasm") || sandbox_wasm::is_wasm(&file.start) {
        return Some(RunMethod::Wasm);
    }
    if file.start.starts_with(b"\x7fELF") {
        return Some(RunMethod::Native);
    }
    if let Some(line) = file.start.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or(line);
        return shebang(std::str::from_utf8(line).ok()?.trim());
    }
    let interpreter = ending(&file.path)?.to_owned();
    Some(RunMethod::Interpreted { interpreter, options: Vec::new() })
}

/// Adds the flag that an interpreter needs to run TypeScript, or fails if it cannot.
pub(crate) fn add_typescript_flag(
    chosen: &mut ChosenScript,
    types: TypeScriptSupport,
) -> Result<(), String> {
    let RunMethod::Interpreted { options, .. } = &mut chosen.runs else { return Ok(()) };
    match types {
        _ if !chosen.path.ends_with(".ts") => Ok(()),
        TypeScriptSupport::Native => Ok(()),
        TypeScriptSupport::WithFlag => {
            options.insert(0, "--experimental-strip-types".to_owned());
            Ok(())
        }
        TypeScriptSupport::Unsupported => Err(format!(
            "`{}` is TypeScript, which the installed node cannot run; node 22.6 or newer is required",
            chosen.path
        )),
    }
}

/// Parses a `#!` line such as `/usr/bin/env python3 -u`. Only the interpreter's name counts, because its path may
/// differ on this machine.
fn shebang(line: &str) -> Option<RunMethod> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut rest: Vec<&str> = words.collect();
    let interpreter = if name(first) == "env" {
        rest.retain(|word| *word != "-S");
        if rest.is_empty() || rest[0].starts_with('-') || rest[0].contains('=') {
            return None;
        }
        rest.remove(0)
    } else {
        first
    };
    let interpreter = name(interpreter);
    let is_name = !interpreter.is_empty()
        && interpreter.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+".contains(&b));
    is_name.then(|| RunMethod::Interpreted {
        interpreter,
        options: rest.into_iter().map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, start: &str) -> Candidate {
        let is_executable = !path.contains('.');
        Candidate { path: path.to_owned(), is_executable, start: start.as_bytes().to_vec() }
    }

    fn by(interpreter: &str, options: &[&str]) -> RunMethod {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        RunMethod::Interpreted { interpreter: interpreter.to_owned(), options }
    }

    #[test]
    fn the_interpreter_is_chosen_by_shebang_or_extension() {
        for (path, start, expected) in [
            ("scripts/a.py", "print(1)", Some(by("python3", &[]))),
            ("scripts/a.sh", "", Some(by("sh", &[]))),
            ("scripts/a.mjs", "", Some(by("node", &[]))),
            ("scripts/a", "#!/usr/bin/env python3\n", Some(by("python3", &[]))),
            ("scripts/a", "#!/usr/bin/env -S python3 -u\n", Some(by("python3", &["-u"]))),
            ("scripts/a.py", "#! /opt/odd/bin/pypy3 -O\nx", Some(by("pypy3", &["-O"]))),
            ("scripts/a", "#!/usr/bin/env FOO=1 python3\n", None),
            ("scripts/a", "#!/usr/bin/env\n", None),
            ("scripts/a", "#!\n", None),
            ("scripts/a", "plain", None),
            ("scripts/a.txt", "plain", None),
            ("scripts/a", "\u{7f}ELF", Some(RunMethod::Native)),
            ("wasm/a.wasm", "\0asm", Some(RunMethod::Wasm)),
            ("scripts/a", "\0asm", Some(RunMethod::Wasm)),
            ("wasm/a.wasm", "#!/bin/sh", Some(RunMethod::Wasm)),
            ("wasm/a.wasm", "\u{7f}ELF", Some(RunMethod::Wasm)),
        ] {
            assert_eq!(how(&file(path, start)), expected, "{path} {start}");
        }
    }

    #[test]
    fn python_modules_are_found_by_dotted_name() {
        let files =
            ["scripts/a.py", "scripts/pack/b.py", "tool/__main__.py", "deep/er/c.py", "x.y"];
        let files = files.map(|path| file(path, ""));
        for (named, path, folder) in [
            ("scripts.a", "scripts/a.py", ""),
            ("pack.b", "scripts/pack/b.py", "scripts"),
            ("tool", "tool/__main__.py", ""),
            ("deep.er.c", "deep/er/c.py", ""),
        ] {
            let chosen = choose(&files, Some(named)).unwrap();
            let module = Some(PythonModule { name: named.to_owned(), folder });
            assert_eq!((chosen.path.as_str(), chosen.module), (path, module), "{named}");
        }
        assert_eq!(choose(&files, Some("a.py")).unwrap().module, None);
        for named in ["a", "x.y", "deep.er", "..etc", "scripts/a"] {
            let chosen = choose(&files, Some(named));
            assert!(chosen.is_err(), "{named}: {chosen:?}");
        }
    }

    #[test]
    fn typescript_requires_a_node_that_supports_it() {
        let chosen = |path: &str| choose(&[file(path, "")], None).unwrap();
        for (path, types, expected) in [
            ("scripts/a.ts", TypeScriptSupport::Native, Some(vec![])),
            ("scripts/a.ts", TypeScriptSupport::WithFlag, Some(vec!["--experimental-strip-types"])),
            ("scripts/a.ts", TypeScriptSupport::Unsupported, None),
            ("scripts/a.js", TypeScriptSupport::Unsupported, Some(vec![])),
        ] {
            let mut chosen = chosen(path);
            let done = add_typescript_flag(&mut chosen, types);
            assert_eq!(
                done.is_ok().then_some(chosen.runs),
                expected.map(|options| by("node", &options)),
                "{path}"
            );
        }
    }

    #[test]
    fn the_specified_file_or_else_the_only_script_is_chosen() {
        let one = [file("SKILL.md", ""), file("scripts/a.py", ""), file("scripts/notes.txt", "")];
        assert_eq!(choose(&one, None).unwrap().path, "scripts/a.py");
        assert_eq!(choose(&one, Some("a.py")).unwrap().path, "scripts/a.py");
        assert!(
            choose(&one, Some("scripts/b.py")).unwrap_err().contains("did you mean `scripts/a.py`")
        );
        assert!(choose(&one, Some("SKILL.md")).unwrap_err().contains("cannot tell how to run"));
        let two = [file("scripts/a.py", ""), file("scripts/b.sh", "")];
        assert!(choose(&two, None).unwrap_err().ends_with("scripts/a.py, scripts/b.sh"));
        assert!(choose(&[], None).unwrap_err().contains("no script"));
        // Modules come first, and `wasm/skill.wasm` before other modules.
        let modules = ["wasm/skill.wasm", "wasm/b.wasm", "scripts/a.py", "wasm/deep/c.wasm"];
        let modules = modules.map(|path| file(path, ""));
        assert_eq!(choose(&modules, None).unwrap().path, "wasm/skill.wasm");
        assert_eq!(choose(&modules[1..], None).unwrap().path, "wasm/b.wasm");
        assert_eq!(choose(&modules[1..], Some("a.py")).unwrap().path, "scripts/a.py");
        assert_eq!(choose(&modules[2..], None).unwrap().path, "scripts/a.py");
        assert_eq!(choose(&modules, Some("b.wasm")).unwrap().path, "wasm/b.wasm");
        let two = ["wasm/b.wasm", "wasm/d.wasm", "scripts/a.py", "scripts/b.py"];
        let two = two.map(|path| file(path, ""));
        assert_eq!(choose(&two[..3], None).unwrap().path, "scripts/a.py");
        assert!(
            choose(&two, None)
                .unwrap_err()
                .ends_with("wasm/b.wasm, wasm/d.wasm, scripts/a.py, scripts/b.py")
        );
    }
}
