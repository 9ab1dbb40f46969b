//! Reads one skill folder: its document and every problem with its files.

use openskills_runtime::{
    argument_schema_problem, beyond_mcp_limits, beyond_standard, codex, file_name, file_problem,
    manifest_problems,
};
use serde_json::{Map, Value};
use skill::{
    Arguments, CODEX_FILE, Code, CodexFile, Diagnostic, Document, Existence, Input,
    MAX_SKILL_FILE_BYTES, RelPath, SKILL_FILE, Severity, Source, Strictness, check_argument_schema,
    check_references, parse, raw_frontmatter,
};
use skill_fs::{Entry, FsError, Kind, Root, WalkLimits, walk};
use term::Palette;

use crate::target::{SKILL_HINT, Target, shown_in};

/// A skill folder that has been read.
#[derive(Debug)]
pub(crate) struct LoadedFolder {
    /// The folder as the user typed it; `.` for the current directory.
    pub(crate) folder: String,
    /// The path of SKILL.md, as shown in diagnostics.
    pub(crate) file: String,
    /// The path of SKILL.md relative to the folder, if it exists.
    pub(crate) skill_file: Option<RelPath>,
    pub(crate) document: Option<Document>,
    pub(crate) codex: Option<CodexFile>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The bytes of SKILL.md, to show lines of it.
    bytes: Vec<u8>,
}

impl LoadedFolder {
    /// Returns a folder that could not be read.
    pub(crate) fn failed(folder: &str, diagnostic: Diagnostic) -> Self {
        Self {
            folder: folder.to_owned(),
            file: diagnostic.file.clone(),
            skill_file: None,
            document: None,
            codex: None,
            diagnostics: vec![diagnostic],
            bytes: Vec::new(),
        }
    }

    /// Returns every frontmatter field as written.
    pub(crate) fn raw_frontmatter(&self) -> Map<String, Value> {
        let raw = std::str::from_utf8(&self.bytes).ok().and_then(raw_frontmatter);
        match raw.map(|raw| raw.to_json()) {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    /// Returns true if both SKILL.md and agents/openai.yaml let the model invoke the skill.
    pub(crate) fn model_may_invoke(&self) -> bool {
        let by_codex = self.codex.as_ref().and_then(|codex| codex.allow_implicit_invocation);
        let by_skill =
            self.document.as_ref().is_some_and(|document| document.frontmatter.model_may_invoke());
        by_skill && by_codex != Some(false)
    }

    /// Adds the problems for which `openskills approve` refuses a skill, however strictly SKILL.md is read.
    pub(crate) fn add_approval_problems(&mut self, target: &Target, strictness: Strictness) {
        if strictness == Strictness::Lenient {
            self.diagnostics.extend(file_diagnostics(target, &self.file, strictness));
        }
        let frontmatter = self.document.as_ref().map(|document| &document.frontmatter);
        let is_uninvocable = frontmatter
            .is_some_and(|fields| !fields.model_may_invoke() && !fields.user_may_invoke());
        if is_uninvocable {
            let message =
                "neither the model nor the user may invoke this skill, so it cannot be approved";
            let found = Diagnostic::of_file(
                Code::InvocationConflict,
                strictness,
                &self.file,
                message.to_owned(),
            );
            let hint = "remove `disable-model-invocation`, `user-invocable` or `model_invocation`";
            self.diagnostics.extend(found.map(|found| found.with_hint(hint)));
        }
    }

    /// Returns the number of problems of one severity.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// Returns every problem as text, with the lines it refers to.
    pub(crate) fn rendered(&self, palette: Palette) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let source = Source::new(&text);
        let show = |diagnostic: &Diagnostic| {
            let source = (diagnostic.file == self.file).then_some(&source);
            term::render(diagnostic, source, palette) + "\n"
        };
        self.diagnostics.iter().map(show).collect()
    }
}

/// Reads the skill in `target`.
pub(crate) fn load(target: &Target, strictness: Strictness) -> LoadedFolder {
    let folder = if target.shown.is_empty() { "." } else { &target.shown };
    let Some(path) = target.file.path() else {
        let code = Code::NoSkillFile;
        let message = format!("no {SKILL_FILE} in this folder");
        let diagnostic = Diagnostic::of_file(code, strictness, folder, message)
            .expect("this code is always reported");
        return LoadedFolder::failed(folder, diagnostic.with_hint(SKILL_HINT));
    };
    let file = shown_in(&target.shown, &path);
    let bytes = match target.root.read(&path, MAX_SKILL_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return LoadedFolder::failed(folder, file_problem(&error, &file)),
    };
    let input = Input { file: &file, directory: target.directory.as_deref(), bytes: &bytes };
    let parsed = parse(&input, strictness);
    let mut diagnostics: Vec<Diagnostic> =
        file_name(&target.file, strictness, &file).into_iter().collect();
    diagnostics.extend(parsed.diagnostics);
    if let Some(body) = &parsed.body {
        let existence = |path: &RelPath| existence(&target.root, path);
        diagnostics.extend(check_references(&input, body, strictness, existence));
    }
    if has_argument_schema(parsed.document.as_ref()) {
        diagnostics.extend(check_argument_schema(&input, strictness, argument_schema_problem));
    }
    let shown =
        shown_in(&target.shown, &RelPath::new(CODEX_FILE).expect("CODEX_FILE is a relative path"));
    let (codex, problems) = codex(&target.root, strictness, &shown);
    diagnostics.extend(problems);
    if strictness == Strictness::Strict {
        diagnostics.extend(file_diagnostics(target, &file, strictness));
    }
    let refused = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    if strictness == Strictness::Strict && !refused {
        diagnostics.extend(nonstandard_fields(&bytes, &file));
    }
    LoadedFolder {
        folder: folder.to_owned(),
        skill_file: Some(path),
        document: parsed.document.filter(|_| !refused),
        codex,
        diagnostics,
        bytes,
        file,
    }
}

fn has_argument_schema(document: Option<&Document>) -> bool {
    let arguments = document.and_then(|document| document.frontmatter.arguments.as_ref());
    matches!(arguments, Some(Arguments::Schema(_)))
}

/// Returns problems that prevent approval whatever SKILL.md says: files that cannot be hashed and an invalid manifest.
/// If `strictness` is strict, also returns a note if some MCP hosts would refuse the skill for its size.
fn file_diagnostics(target: &Target, file: &str, strictness: Strictness) -> Vec<Diagnostic> {
    let root = &target.root;
    let problem = |error: &FsError| file_problem(error, &target.shown_path(error.path()));
    let entries = match walk(root, &WalkLimits::SKILL) {
        Ok(entries) => entries,
        Err(error) => return vec![problem(&error)],
    };
    let mut found = Vec::new();
    for entry in &entries {
        let shown = || root.path().join(entry.path.as_str()).to_string();
        let error = match entry.kind {
            Kind::Link(_) => match root.has(&entry.path) {
                // A dangling link does not lead outside.
                Ok(true | false) => continue,
                Err(error) => error,
            },
            Kind::Other(kind) => FsError::NotRegular { path: shown(), kind },
            Kind::Folder | Kind::File { .. } => continue,
        };
        found.push(problem(&error));
    }
    let show = |name: &'static str| target.shown_path(root.path().join(name).as_str());
    match manifest_problems(root, show) {
        Ok(problems) => found.extend(problems),
        Err(error) => found.push(problem(&error)),
    }
    found.extend(beyond_limits(&entries, file).filter(|_| strictness == Strictness::Strict));
    found
}

fn beyond_limits(entries: &[Entry], file: &str) -> Option<Diagnostic> {
    let strictness = Strictness::Strict;
    let sizes = entries.iter().filter_map(|entry| match entry.kind {
        Kind::File { size, .. } => Some(size),
        _ => None,
    });
    let (count, bytes) = sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size));
    let message = beyond_mcp_limits(count, bytes)?;
    let found = Diagnostic::of_file(Code::BeyondMcpLimits, strictness, file, message)?;
    Some(found.with_hint("make the skill smaller, so that every client can load it; `openskills mcp` still serves it"))
}

/// Returns a note if strict MCP clients would reject any list that includes this skill.
fn nonstandard_fields(bytes: &[u8], file: &str) -> Option<Diagnostic> {
    let raw = raw_frontmatter(std::str::from_utf8(bytes).ok()?)?;
    let Value::Object(fields) = raw.to_json() else { return None };
    let message = beyond_standard(&fields)?;
    let found = Diagnostic::of_file(Code::NotListed, Strictness::Strict, file, message)?;
    Some(found.with_hint(
        "fix these fields; until then, `openskills mcp` omits the skill from `skills/list` unless you pass `--list-nonstandard`, because strict clients reject a list with such a skill",
    ))
}

fn existence(root: &Root, path: &RelPath) -> Existence {
    match root.has(path) {
        Ok(true) => Existence::Present,
        Ok(false) => Existence::Missing,
        Err(FsError::Escapes { .. }) => Existence::Outside,
        Err(_) => Existence::Unknown,
    }
}
