//! Which file of a skill runs, and by which interpreter. Nothing here touches the disk.

use skill::interpreters::program_for;
use skill::nearest;

use super::interpreter::Types;

/// A file of a skill that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Where it is, seen from the skill.
    pub(crate) path: String,
    pub(crate) is_executable: bool,
    /// How it begins.
    pub(crate) start: Vec<u8>,
}

/// How a file is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Runs {
    /// By itself: it is a program for this machine.
    Itself,
    /// By an interpreter of this name, with these options before the file.
    By { interpreter: String, options: Vec<String> },
    /// By our own engine: it is WebAssembly.
    Wasm,
}

/// A file and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) path: String,
    pub(crate) runs: Runs,
    /// The module of Python that it is run as.
    pub(crate) module: Option<Module>,
}

/// A module of Python, as in `python -m package.module`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) name: String,
    /// The folder of the skill that it is imported from; empty for the skill's own.
    pub(crate) folder: &'static str,
}

/// What runs where nothing is named.
const MODULE: &str = "wasm/skill.wasm";

/// Chooses the file: the one that is named; else `wasm/skill.wasm`, else the only module, else the only script. An error says what there
/// is.
pub(crate) fn choose(candidates: &[Candidate], named: Option<&str>) -> Result<Chosen, String> {
    let scripts: Vec<&Candidate> = candidates.iter().filter(|file| is_script(file)).collect();
    let modules: Vec<&Candidate> = candidates.iter().filter(|file| is_module(file)).collect();
    let all = || modules.iter().chain(&scripts).map(|file| file.path.as_str());
    let list = || all().collect::<Vec<_>>().join(", ");
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
                Some(meant) => format!("it has no file `{name}`; did you mean `{meant}`?"),
                None => format!("it has no file `{name}`; it could run: {}", list()),
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
                    return Err(format!("it has several that could run, name one of them: {list}"));
                }
            }
        }
    };
    let runs = how(file).ok_or_else(|| {
        let path = &file.path;
        format!("`{path}` says by nothing how it is run: it has no `#!` line and no ending that is known; it could run: {}", list())
    })?;
    Ok(Chosen { path: file.path.clone(), runs, module: None })
}

/// Finds the module that `package.module` names, seen from the skill or its scripts/. A file of that name comes first.
fn module(candidates: &[Candidate], name: &str) -> Option<Chosen> {
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
        // A script without a package around it is run as a file.
        let plain = || find(&format!("{base}.py")).filter(|_| name.contains('.'));
        let file = plain().or_else(|| find(&format!("{base}/__main__.py")))?;
        let runs = Runs::By { interpreter: "python3".to_owned(), options: Vec::new() };
        let module = Some(Module { name: name.to_owned(), folder });
        Some(Chosen { path: file.path.clone(), runs, module })
    })
}

/// Modules stand in `wasm/`, not deeper.
fn is_module(file: &Candidate) -> bool {
    let name = file.path.strip_prefix("wasm/").filter(|name| !name.contains('/'));
    name.is_some_and(|name| name.ends_with(".wasm"))
}

/// Scripts stand in `scripts/`, and can be run.
fn is_script(file: &Candidate) -> bool {
    file.path.starts_with("scripts/")
        && (file.is_executable || ending(&file.path).is_some())
        && how(file).is_some()
}

fn ending(path: &str) -> Option<&'static str> {
    let end = path.rsplit('/').next()?.rsplit_once('.')?.1;
    program_for(end)
}

/// Finds out how a file is run: by what it is, by its first line, by its name.
fn how(file: &Candidate) -> Option<Runs> {
    // What calls itself a module is never anything else: the engine says what it is instead.
    if file.path.ends_with(".wasm") || sandbox_wasm::is_wasm(&file.start) {
        return Some(Runs::Wasm);
    }
    if file.start.starts_with(b"\x7fELF") {
        return Some(Runs::Itself);
    }
    if let Some(line) = file.start.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or(line);
        return shebang(std::str::from_utf8(line).ok()?.trim());
    }
    let interpreter = ending(&file.path)?.to_owned();
    Some(Runs::By { interpreter, options: Vec::new() })
}

/// Makes a file of TypeScript run by an interpreter that needs to be told, or says why it cannot.
pub(crate) fn with_types(chosen: &mut Chosen, types: Types) -> Result<(), String> {
    let Runs::By { options, .. } = &mut chosen.runs else { return Ok(()) };
    match types {
        _ if !chosen.path.ends_with(".ts") => Ok(()),
        Types::Fine => Ok(()),
        Types::ByOption => {
            options.insert(0, "--experimental-strip-types".to_owned());
            Ok(())
        }
        Types::Never => Err(format!(
            "`{}` is TypeScript, which the node of this machine cannot run; it takes node 22.6 or newer",
            chosen.path
        )),
    }
}

/// Reads `/usr/bin/env python3 -u`: the interpreter by its name, since where it stands there says nothing here.
fn shebang(line: &str) -> Option<Runs> {
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
    is_name
        .then(|| Runs::By { interpreter, options: rest.into_iter().map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, start: &str) -> Candidate {
        let is_executable = !path.contains('.');
        Candidate { path: path.to_owned(), is_executable, start: start.as_bytes().to_vec() }
    }

    fn by(interpreter: &str, options: &[&str]) -> Runs {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Runs::By { interpreter: interpreter.to_owned(), options }
    }

    #[test]
    fn an_interpreter_is_chosen_by_what_a_file_says() {
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
            ("scripts/a", "\u{7f}ELF", Some(Runs::Itself)),
            ("wasm/a.wasm", "\0asm", Some(Runs::Wasm)),
            ("scripts/a", "\0asm", Some(Runs::Wasm)),
            ("wasm/a.wasm", "#!/bin/sh", Some(Runs::Wasm)),
            ("wasm/a.wasm", "\u{7f}ELF", Some(Runs::Wasm)),
        ] {
            assert_eq!(how(&file(path, start)), expected, "{path} {start}");
        }
    }

    #[test]
    fn a_module_of_python_is_named_as_python_names_it() {
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
            let module = Some(Module { name: named.to_owned(), folder });
            assert_eq!((chosen.path.as_str(), chosen.module), (path, module), "{named}");
        }
        assert_eq!(choose(&files, Some("a.py")).unwrap().module, None);
        for named in ["a", "x.y", "deep.er", "..etc", "scripts/a"] {
            let chosen = choose(&files, Some(named));
            assert!(chosen.is_err(), "{named}: {chosen:?}");
        }
    }

    #[test]
    fn typescript_runs_by_a_node_that_can() {
        let chosen = |path: &str| choose(&[file(path, "")], None).unwrap();
        for (path, types, expected) in [
            ("scripts/a.ts", Types::Fine, Some(vec![])),
            ("scripts/a.ts", Types::ByOption, Some(vec!["--experimental-strip-types"])),
            ("scripts/a.ts", Types::Never, None),
            ("scripts/a.js", Types::Never, Some(vec![])),
        ] {
            let mut chosen = chosen(path);
            let done = with_types(&mut chosen, types);
            assert_eq!(
                done.is_ok().then_some(chosen.runs),
                expected.map(|options| by("node", &options)),
                "{path}"
            );
        }
    }

    #[test]
    fn a_named_file_wins_else_the_only_script() {
        let one = [file("SKILL.md", ""), file("scripts/a.py", ""), file("scripts/notes.txt", "")];
        assert_eq!(choose(&one, None).unwrap().path, "scripts/a.py");
        assert_eq!(choose(&one, Some("a.py")).unwrap().path, "scripts/a.py");
        assert!(
            choose(&one, Some("scripts/b.py")).unwrap_err().contains("did you mean `scripts/a.py`")
        );
        assert!(choose(&one, Some("SKILL.md")).unwrap_err().contains("says by nothing"));
        let two = [file("scripts/a.py", ""), file("scripts/b.sh", "")];
        assert!(choose(&two, None).unwrap_err().ends_with("scripts/a.py, scripts/b.sh"));
        assert!(choose(&[], None).unwrap_err().contains("no script"));
        // Modules come first, and the one with the usual name before others.
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
