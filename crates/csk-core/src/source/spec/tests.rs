use super::*;

fn parse(text: &str) -> String {
    let cwd = AbsPath::new("/work").unwrap();
    let home = AbsPath::new("/home/me").unwrap();
    let spec = match SourceSpec::parse(text, &cwd, Some(&home)) {
        Ok(spec) => spec,
        Err(error) => return format!("error: {}", error.reason),
    };
    let place = match spec.location {
        SourceLocation::Url(url) => url,
        SourceLocation::Folder(path) => format!("folder {path}"),
        SourceLocation::Cloned(name) => format!("cloned {name}"),
    };
    match spec.within {
        VersionAndFolder::Page(page) => format!("{place} page {page}"),
        VersionAndFolder::Known { reference, path } => {
            let reference = reference.map_or_else(String::new, |name| format!(" at {name}"));
            let path = path.map_or_else(String::new, |path| format!(" in {path}"));
            format!("{place}{reference}{path}")
        }
    }
}

#[test]
fn sources_are_written_as_people_paste_them() {
    for (text, expected) in [
        ("acme/skills", "https://github.com/acme/skills"),
        ("acme/skills/", "https://github.com/acme/skills"),
        ("acme/skills/skills/pdf", "https://github.com/acme/skills in skills/pdf"),
        ("acme/skills@v1.2", "https://github.com/acme/skills at v1.2"),
        ("acme/skills#feature/x", "https://github.com/acme/skills at feature/x"),
        ("acme/skills/pdf@v1", "https://github.com/acme/skills at v1 in pdf"),
        ("github:acme/skills", "https://github.com/acme/skills"),
        ("github.com/acme/skills/skills/pdf", "https://github.com/acme/skills in skills/pdf"),
        ("acme/skills/tree/main/skills/pdf", "https://github.com/acme/skills page main/skills/pdf"),
        ("gitlab:group/sub/skills", "https://gitlab.com/group/sub/skills"),
        ("github.com/acme/skills", "https://github.com/acme/skills"),
        ("https://github.com/acme/skills", "https://github.com/acme/skills"),
        ("https://github.com/acme/skills/", "https://github.com/acme/skills"),
        ("https://github.com/acme/skills?tab=readme-ov-file#use", "https://github.com/acme/skills"),
        ("https://github.com/acme/skills.git", "https://github.com/acme/skills.git"),
        ("https://github.com/acme/skills.git#v1", "https://github.com/acme/skills.git at v1"),
        ("https://github.com/acme/skills@v1", "https://github.com/acme/skills at v1"),
        ("git+https://github.com/acme/skills.git@v1", "https://github.com/acme/skills.git at v1"),
        (
            "https://github.com/acme/skills/tree/main/skills/pdf",
            "https://github.com/acme/skills page main/skills/pdf",
        ),
        (
            "https://github.com/acme/skills/blob/feature/x/a%20b/SKILL.md",
            "https://github.com/acme/skills page feature/x/a b/SKILL.md",
        ),
        (
            "https://raw.githubusercontent.com/acme/skills/refs/heads/main/pdf/SKILL.md",
            "https://github.com/acme/skills page main/pdf/SKILL.md",
        ),
        (
            "https://github.com/acme/skills/releases/tag/v1.2",
            "https://github.com/acme/skills at v1.2",
        ),
        (
            "https://github.com/acme/skills/commit/0a1b2c",
            "https://github.com/acme/skills at 0a1b2c",
        ),
        (
            "https://gitlab.com/group/sub/skills/-/tree/main/pdf",
            "https://gitlab.com/group/sub/skills page main/pdf",
        ),
        ("https://gitlab.com/group/sub/skills", "https://gitlab.com/group/sub/skills"),
        (
            "https://bitbucket.org/acme/skills/src/main/pdf",
            "https://bitbucket.org/acme/skills page main/pdf",
        ),
        (
            "https://codeberg.org/acme/skills/src/branch/main/pdf",
            "https://codeberg.org/acme/skills page main/pdf",
        ),
        ("https://git.example.com/deep/er/skills", "https://git.example.com/deep/er/skills"),
        ("https://git.example.com:8443/skills.git", "https://git.example.com:8443/skills.git"),
        ("git@github.com:acme/skills.git", "git@github.com:acme/skills.git"),
        ("git@github.com:acme/skills.git@v1", "git@github.com:acme/skills.git at v1"),
        ("ssh://git@git.example.com/acme/skills", "ssh://git@git.example.com/acme/skills"),
        ("ssh://git@git.example.com/acme/skills#v1", "ssh://git@git.example.com/acme/skills at v1"),
        ("./skills", "folder /work/skills"),
        (".", "folder /work"),
        ("..", "folder /work/.."),
        ("~/skills", "folder /home/me/skills"),
        ("/srv/skills", "folder /srv/skills"),
        ("file:///srv/skills", "folder /srv/skills"),
        ("/srv/skills@v1", "folder /srv/skills at v1"),
        ("skill-pdf", "cloned skill-pdf"),
        ("skill-pdf@v1", "cloned skill-pdf at v1"),
    ] {
        assert_eq!(parse(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_a_source_is_refused_with_the_reason() {
    for (text, reason) in [
        ("", "empty"),
        ("--all", "an option"),
        ("a\nb/c", "control characters"),
        ("http://github.com/a/b", "not encrypted"),
        ("git://github.com/a/b", "not encrypted"),
        ("oci://registry.example.com/x", "`oci://` are not supported"),
        ("npm:left-pad", "`npm:` are not supported"),
        ("https://github.com", "names no repository"),
        ("https://github.com/acme", "not of a repository"),
        ("https://github.com/acme/skills/pull/3", "not of a repository"),
        ("https://gitlab.com/a/b/-/issues/1", "not of a repository"),
        ("acme/../etc", "an owner and a repository"),
        ("acme/skills/../x", "is not a folder"),
        ("a b", "contains"),
        ("https://github.com/a/b/tree/main/%ff", "not valid UTF-8"),
    ] {
        let parsed = parse(text);
        assert!(parsed.starts_with("error: ") && parsed.contains(reason), "{text}: {parsed}");
    }
}
