//! Packages and programs that a failed run did not find, with how to get them.

/// Python modules whose package has another name.
const PYTHON_PACKAGES: [(&str, &str); 24] = [
    ("Crypto", "pycryptodome"),
    ("OpenSSL", "pyOpenSSL"),
    ("PIL", "pillow"),
    ("attr", "attrs"),
    ("bs4", "beautifulsoup4"),
    ("cv2", "opencv-python-headless"),
    ("dateutil", "python-dateutil"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("fitz", "pymupdf"),
    ("frontmatter", "python-frontmatter"),
    ("git", "GitPython"),
    ("github", "PyGithub"),
    ("google", "google-api-python-client"),
    ("jose", "python-jose"),
    ("jwt", "PyJWT"),
    ("magic", "python-magic"),
    ("markdown_it", "markdown-it-py"),
    ("pptx", "python-pptx"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("slugify", "python-slugify"),
    ("yaml", "PyYAML"),
];

/// Programs that scripts of skills often start, with their Debian package.
const PROGRAMS: [(&str, &str); 24] = [
    ("convert", "imagemagick"),
    ("curl", "curl"),
    ("dot", "graphviz"),
    ("exiftool", "libimage-exiftool-perl"),
    ("ffmpeg", "ffmpeg"),
    ("gh", "gh"),
    ("git", "git"),
    ("gs", "ghostscript"),
    ("jq", "jq"),
    ("libreoffice", "libreoffice"),
    ("magick", "imagemagick"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("pandoc", "pandoc"),
    ("pdfinfo", "poppler-utils"),
    ("pdftk", "pdftk-java"),
    ("pdftoppm", "poppler-utils"),
    ("pdftotext", "poppler-utils"),
    ("qpdf", "qpdf"),
    ("rg", "ripgrep"),
    ("soffice", "libreoffice"),
    ("tesseract", "tesseract-ocr"),
    ("unzip", "unzip"),
    ("xelatex", "texlive-xetex"),
];

/// Returns the name under which a Python module is packaged.
pub(super) fn python_package(module: &str) -> &str {
    let found = PYTHON_PACKAGES.iter().find(|(name, _)| *name == module);
    found.map_or(module, |(_, package)| package)
}

/// Returns the name of the Node.js package that contains a module.
pub(super) fn node_package(module: &str) -> &str {
    let parts = if module.starts_with('@') { 2 } else { 1 };
    let end = module.match_indices('/').nth(parts - 1).map_or(module.len(), |(at, _)| at);
    &module[..end]
}

/// Returns the Debian package of a program.
pub(super) fn debian_package(program: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|(name, _)| *name == program).map(|(_, package)| *package)
}

/// Finds the program that could not be started, in the messages of shells, Python and Node.js.
pub(super) fn missing_program(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let line = line.trim();
        let name = line
            .strip_suffix(": not found")
            .or_else(|| line.strip_suffix(": command not found"))
            .map(|rest| rest.rsplit(": ").next().unwrap_or(rest))
            .or_else(|| {
                between(line, "FileNotFoundError: [Errno 2] No such file or directory: '", "'")
            })
            .or_else(|| between(line, "spawn ", " ENOENT"))
            .or_else(|| between(line, "env: ‘", "’: No such file"))
            .or_else(|| between(line, "env: '", "': No such file"))?;
        // A name with an extension is a file.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+".contains(c);
        (!name.is_empty() && name.len() <= 40 && name.chars().all(is_plain)).then_some(name)
    })
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    Some(text.split_once(start)?.1.split_once(end)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_found_in_messages() {
        for (text, name) in [
            ("FileNotFoundError: [Errno 2] No such file or directory: 'soffice'", Some("soffice")),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'in.pdf'", None),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'a/b'", None),
            ("go.sh: 3: pdftoppm: not found", Some("pdftoppm")),
            ("go.sh: line 3: qpdf: command not found", Some("qpdf")),
            ("Error: spawn pandoc ENOENT", Some("pandoc")),
            ("/usr/bin/env: ‘deno’: No such file or directory", Some("deno")),
            ("404: Not Found", None),
            ("sh: 1: $(rm -rf x): not found", None),
        ] {
            assert_eq!(missing_program(text), name, "{text}");
        }
        assert_eq!(node_package("@scope/name/sub"), "@scope/name");
        assert_eq!(node_package("docx/build"), "docx");
        assert_eq!(python_package("PIL"), "pillow");
    }
}
