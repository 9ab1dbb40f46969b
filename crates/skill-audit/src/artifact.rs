//! The files of a skill and their kinds.

use skill::interpreters::{self, Interpreter, InterpreterLanguage, without_version};

/// One file of a skill.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// The path relative to the skill, separated by `/`.
    pub path: &'a str,
    /// The content.
    pub bytes: &'a [u8],
    /// Whether the executable bit is set.
    pub is_executable: bool,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// Markdown.
    Markdown,
    /// Shell script.
    Shell,
    /// Python.
    Python,
    /// JavaScript.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// Code in another language.
    Code,
    /// Data or other text.
    Data,
    /// SVG or HTML, which can contain code.
    Active,
    /// Image, font or audio.
    Media,
    /// PDF or office document.
    Document,
    /// Native executable or library.
    Native,
    /// Compiled code.
    Bytecode,
    /// Archive.
    Archive,
    /// Unknown binary data.
    Binary,
}

impl FileKind {
    /// Returns the name.
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

    /// Detects the kind from the first bytes, then the file extension, then the `#!` line.
    pub fn of(file: &File<'_>) -> Self {
        // Magic bytes do not count in text: a script can start with those of an image.
        if let Some(kind) = by_magic(file.bytes).filter(|_| !is_text(file.bytes)) {
            return kind;
        }
        let name = file.path.rsplit('/').next().unwrap_or(file.path).to_lowercase();
        let end = name.rsplit_once('.').map(|(_, end)| end);
        let kind = match end.unwrap_or_default() {
            "md" | "markdown" | "mdx" | "mdc" => Self::Markdown,
            "ts" | "mts" | "cts" | "tsx" => Self::TypeScript,
            // Languages without an entry in the interpreter table.
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

    /// Returns the kind of script that an interpreter runs.
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

fn by_magic(bytes: &[u8]) -> Option<FileKind> {
    const MAGIC: [(&[u8], FileKind); 43] = [
        (b"\x7fELF", FileKind::Native),
        (b"MZ\x90", FileKind::Native),
        (b"\xcf\xfa\xed\xfe", FileKind::Native),
        (b"\xce\xfa\xed\xfe", FileKind::Native),
        (b"\xca\xfe\xba\xbe", FileKind::Native),
        (b"\0asm", FileKind::Bytecode),
        (b"PK\x03\x04", FileKind::Archive),
        (b"PK\x05\x06", FileKind::Archive),
        (b"Rar!", FileKind::Archive),
        (b"7z\xbc\xaf", FileKind::Archive),
        (b"\x1f\x8b", FileKind::Archive),
        (b"BZh", FileKind::Archive),
        (b"\xfd7zXZ", FileKind::Archive),
        (b"\x28\xb5\x2f\xfd", FileKind::Archive),
        (b"xar!", FileKind::Archive),
        (b"!<arch>", FileKind::Archive),
        (b"\x89PNG", FileKind::Media),
        (b"\xff\xd8\xff", FileKind::Media),
        (b"GIF8", FileKind::Media),
        (b"RIFF", FileKind::Media),
        (b"OggS", FileKind::Media),
        (b"ID3", FileKind::Media),
        (b"wOFF", FileKind::Media),
        (b"wOF2", FileKind::Media),
        (b"\0\x01\0\0\0", FileKind::Media),
        (b"OTTO\0", FileKind::Media),
        (b"true\0", FileKind::Media),
        (b"ttcf\0", FileKind::Media),
        (b"\0\0\x01\0", FileKind::Media),
        (b"II*\0", FileKind::Media),
        (b"MM\0*", FileKind::Media),
        (b"fLaC", FileKind::Media),
        (b"\xff\xfb", FileKind::Media),
        (b"\xff\xf3", FileKind::Media),
        (b"\x1aE\xdf\xa3", FileKind::Media),
        (b"\0\0\0\x18ftyp", FileKind::Media),
        (b"\0\0\0\x1cftyp", FileKind::Media),
        (b"\0\0\0 ftyp", FileKind::Media),
        (b"SQLite format 3\0", FileKind::Document),
        (b"\x93NUMPY", FileKind::Document),
        (b"PAR1", FileKind::Document),
        (b"%PDF", FileKind::Document),
        (b"\xd0\xcf\x11\xe0", FileKind::Document),
    ];
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}

fn by_first_line(bytes: &[u8]) -> Option<FileKind> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let program = line
        .split_whitespace()
        .filter(|word| !word.starts_with('-'))
        .map(crate::programs::base)
        .find(|name| name != "env")?;
    // uv runs Python scripts with inline dependencies.
    if without_version(&program) == "uv" {
        return Some(FileKind::Python);
    }
    Some(interpreters::find_ignoring_case(&program).map_or(FileKind::Code, FileKind::run_by))
}

/// Returns true if the bytes look like text.
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
    fn kind_follows_from_content_and_name() {
        for (path, bytes, kind) in [
            ("SKILL.md", &b"---\n"[..], FileKind::Markdown),
            ("scripts/run", b"#!/usr/bin/env python3\n", FileKind::Python),
            ("scripts/run", b"#! /bin/bash -e\n", FileKind::Shell),
            ("scripts/run", b"#!/usr/bin/env -S uv run --script\n", FileKind::Python),
            ("scripts/run", b"#!/bin/mksh\n", FileKind::Shell),
            ("scripts/run", b"#!/usr/bin/lua5.4\n", FileKind::Code),
            ("a.lua", b"print()", FileKind::Code),
            ("a.png", b"\x7fELF\x02", FileKind::Native),
            ("a.py", b"print()", FileKind::Python),
            ("x.pyc", b"\x42\x0d\x0d\x0a", FileKind::Bytecode),
            ("x.dat", b"\0\x01\x02", FileKind::Binary),
            ("x.txt", b"plain", FileKind::Data),
            ("logo.svg", b"<svg/>", FileKind::Active),
            ("scripts/a.sh", b"GIF89a=1\ncurl x", FileKind::Shell),
            ("SKILL.md", b"ID3\n---\n", FileKind::Markdown),
            ("assets/a.ttf", b"\0\x01\0\0\0\x0e", FileKind::Media),
            ("assets/a.otf", b"OTTO\0\x0c", FileKind::Media),
            ("favicon.ico", b"\0\0\x01\0\x02", FileKind::Media),
            ("data.sqlite", b"SQLite format 3\0\x10", FileKind::Document),
        ] {
            assert_eq!(FileKind::of(&File { path, bytes, is_executable: false }), kind, "{path}");
        }
    }
}
