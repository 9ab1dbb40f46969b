//! Files of a skill, and what they are.

use skill::interpreters::{self, Interpreter, InterpreterLanguage, without_version};

/// One file of a skill.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Where it is, seen from the skill, with `/` between names.
    pub path: &'a str,
    /// What it holds.
    pub bytes: &'a [u8],
    /// Whether it may be run.
    pub is_executable: bool,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Text with marks: a SKILL.md and what it refers to.
    Markdown,
    /// Shell code.
    Shell,
    /// Python code.
    Python,
    /// JavaScript code.
    JavaScript,
    /// TypeScript code.
    TypeScript,
    /// Code in another language.
    Code,
    /// Data and other text.
    Data,
    /// A picture or page that can hold code.
    Active,
    /// A picture, a font, a sound.
    Media,
    /// A document of an office program.
    Document,
    /// A program for a machine.
    Native,
    /// Code that was compiled.
    Bytecode,
    /// Files in a file.
    Archive,
    /// Bytes that are none of these.
    Binary,
}

impl Kind {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Shell => "shell",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Code => "code",
            Self::Data => "data",
            Self::Active => "active",
            Self::Media => "media",
            Self::Document => "document",
            Self::Native => "native",
            Self::Bytecode => "bytecode",
            Self::Archive => "archive",
            Self::Binary => "binary",
        }
    }

    /// Says what a file is: by how it begins, then by its name.
    pub fn of(file: &File<'_>) -> Self {
        // How text begins says nothing: a script may begin like a picture.
        if let Some(kind) = by_magic(file.bytes).filter(|_| !is_text(file.bytes)) {
            return kind;
        }
        let name = file.path.rsplit('/').next().unwrap_or(file.path).to_lowercase();
        let end = name.rsplit_once('.').map(|(_, end)| end);
        let kind = match end.unwrap_or_default() {
            "md" | "markdown" | "mdx" | "mdc" => Self::Markdown,
            "ts" | "mts" | "cts" | "tsx" => Self::TypeScript,
            // Languages without an interpreter in the table.
            "vbs" | "go" | "rs" | "java" | "cs" | "swift" | "kt" | "c" | "cpp" => Self::Code,
            "svg" | "html" | "htm" | "xhtml" => Self::Active,
            "zip" | "rar" | "7z" | "gz" | "tgz" | "xz" | "bz2" | "tar" | "jar" | "dmg" | "pkg"
            | "iso" | "deb" | "rpm" | "whl" => Self::Archive,
            "pyc" | "pyo" | "class" | "wasm" | "luac" => Self::Bytecode,
            "exe" | "dll" | "so" | "dylib" | "node" | "msi" | "scr" => Self::Native,
            end => interpreters::by_source(end).map_or(Self::Data, Self::run_by),
        };
        if kind != Self::Data {
            return kind;
        }
        match by_first_line(file.bytes) {
            Some(kind) => kind,
            None if is_text(file.bytes) => Self::Data,
            None => Self::Binary,
        }
    }

    /// Returns what an interpreter runs.
    fn run_by(interpreter: &Interpreter) -> Self {
        match interpreter.language {
            InterpreterLanguage::Shell => Self::Shell,
            InterpreterLanguage::Python => Self::Python,
            InterpreterLanguage::JavaScript => Self::JavaScript,
            InterpreterLanguage::PowerShell
            | InterpreterLanguage::Batch
            | InterpreterLanguage::Awk
            | InterpreterLanguage::Other => Self::Code,
        }
    }
}

fn by_magic(bytes: &[u8]) -> Option<Kind> {
    const MAGIC: [(&[u8], Kind); 26] = [
        (b"\x7fELF", Kind::Native),
        (b"MZ\x90", Kind::Native),
        (b"\xcf\xfa\xed\xfe", Kind::Native),
        (b"\xce\xfa\xed\xfe", Kind::Native),
        (b"\xca\xfe\xba\xbe", Kind::Native),
        (b"\0asm", Kind::Bytecode),
        (b"PK\x03\x04", Kind::Archive),
        (b"PK\x05\x06", Kind::Archive),
        (b"Rar!", Kind::Archive),
        (b"7z\xbc\xaf", Kind::Archive),
        (b"\x1f\x8b", Kind::Archive),
        (b"BZh", Kind::Archive),
        (b"\xfd7zXZ", Kind::Archive),
        (b"\x28\xb5\x2f\xfd", Kind::Archive),
        (b"xar!", Kind::Archive),
        (b"!<arch>", Kind::Archive),
        (b"\x89PNG", Kind::Media),
        (b"\xff\xd8\xff", Kind::Media),
        (b"GIF8", Kind::Media),
        (b"RIFF", Kind::Media),
        (b"OggS", Kind::Media),
        (b"ID3", Kind::Media),
        (b"wOFF", Kind::Media),
        (b"wOF2", Kind::Media),
        (b"%PDF", Kind::Document),
        (b"\xd0\xcf\x11\xe0", Kind::Document),
    ];
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}

fn by_first_line(bytes: &[u8]) -> Option<Kind> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let program = line
        .split_whitespace()
        .filter(|word| !word.starts_with('-'))
        .map(crate::programs::base)
        .find(|name| name != "env")?;
    // uv runs a script of Python with the packages that it names.
    if without_version(&program) == "uv" {
        return Some(Kind::Python);
    }
    Some(interpreters::find_in_any_case(&program).map_or(Kind::Code, Kind::run_by))
}

/// Returns true for bytes that are text to people.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(8192)];
    let odd =
        start.iter().filter(|byte| **byte < 9 || (14..32).contains(*byte) && **byte != 27).count();
    !start.contains(&0) && odd * 100 <= start.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_what_they_hold_and_how_they_are_called() {
        for (path, bytes, kind) in [
            ("SKILL.md", &b"---\n"[..], Kind::Markdown),
            ("scripts/run", b"#!/usr/bin/env python3\n", Kind::Python),
            ("scripts/run", b"#! /bin/bash -e\n", Kind::Shell),
            ("scripts/run", b"#!/usr/bin/env -S uv run --script\n", Kind::Python),
            ("scripts/run", b"#!/bin/mksh\n", Kind::Shell),
            ("scripts/run", b"#!/usr/bin/lua5.4\n", Kind::Code),
            ("a.lua", b"print()", Kind::Code),
            ("a.png", b"\x7fELF\x02", Kind::Native),
            ("a.py", b"print()", Kind::Python),
            ("x.pyc", b"\x42\x0d\x0d\x0a", Kind::Bytecode),
            ("x.dat", b"\0\x01\x02", Kind::Binary),
            ("x.txt", b"plain", Kind::Data),
            ("logo.svg", b"<svg/>", Kind::Active),
            ("scripts/a.sh", b"GIF89a=1\ncurl x", Kind::Shell),
            ("SKILL.md", b"ID3\n---\n", Kind::Markdown),
        ] {
            assert_eq!(Kind::of(&File { path, bytes, is_executable: false }), kind, "{path}");
        }
    }
}
