//! One lockfile, two machines: the same bytes are installed, whatever the settings of git, the shell and the locale.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::TestEnv;

use crate::World;

/// Returns every file below a folder with the permissions of its owner (the umask determines the others) and its target
/// or bytes, without the times in markers.
fn listing(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<String>) {
        let mut entries: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let shown = path.strip_prefix(root).unwrap().display().to_string();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_symlink() {
                found.push(format!("{shown} -> {}", fs::read_link(&path).unwrap().display()));
            } else if metadata.is_dir() {
                found.push(format!("{shown}/ {:o}", metadata.permissions().mode() & 0o700));
                walk(&path, root, found);
            } else {
                let bytes = fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                let text: String =
                    text.lines().filter(|line| !line.contains("\"installed_at\"")).collect();
                let digest = skill::Digest::of(if shown.ends_with(".json") {
                    text.as_bytes()
                } else {
                    &bytes
                });
                found.push(format!("{shown} {:o} {digest}", metadata.permissions().mode() & 0o700));
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found
}

const ODD: &str = "\
//- /references/crlf.md
one
//- /.gitattributes
* text=auto eol=crlf
*.md filter=evil ident
//- /references/ident.md
$Id$
//- /.skill_triggers/de.md
Auslöser
//- /scripts/run.sh
#!/bin/sh
echo ok
";

#[test]
fn machines_with_different_settings_install_the_same_bytes() {
    let made = World::new();
    made.commit("pdf", ODD);
    fs::write(made.env.path("skills/pdf/references/crlf.md"), "one\r\ntwo\n").unwrap();
    fs::set_permissions(
        made.env.path("skills/pdf/scripts/run.sh"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    made.git("skills/pdf", "-c core.autocrlf=false add --all");
    made.git("skills/pdf", "-c core.autocrlf=false commit --quiet -m odd");
    made.git("skills/pdf", "tag -f v1");
    assert_eq!(made.csk("lock --project app").code, Some(0));
    let lock = made.read(made.app("Skillfile.lock"));
    let url = made.env.path("skills/pdf").display().to_string();

    let machine = |git: &str, umask: &str, lang: &str| -> (TestEnv, Vec<String>) {
        let mut world = World::bare();
        world.config(r#", "allow_local_sources": true"#);
        world.env.write("gitconfig", git.as_bytes());
        let config = world.env.path("gitconfig").display().to_string();
        let env = std::mem::take(&mut world.env).var("GIT_CONFIG_GLOBAL", &config);
        world.env = env.var("LANG", lang).var("LC_ALL", lang);
        world.git(".", &format!("clone --quiet {url} skills/pdf"));
        world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
        world.env.write("app/Skillfile.lock", lock.as_bytes());
        let call =
            format!("umask {umask}; exec {} install app --frozen", env!("CARGO_BIN_EXE_csk"));
        let run = world.env.run_args("sh", &["-c", &call]);
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
        assert_eq!(world.csk("verify app").code, Some(0));
        let all = [".agents/skills", ".claude/skills"].map(|folder| listing(&world.app(folder)));
        (world.env, all.concat())
    };
    let (_first, one) = machine("", "022", "C");
    let odd = "[core]\n\tautocrlf = true\n\teol = crlf\n\tsymlinks = false\n\tfileMode = false\n\tattributesFile = /nonexistent\n[filter \"evil\"]\n\tclean = tr a-z A-Z\n\tsmudge = tr a-z A-Z\n\trequired = true\n";
    let (_second, other) = machine(odd, "077", "de_DE.UTF-8");
    assert!(one.iter().any(|line| line.contains("references/crlf.md")), "{one:#?}");
    assert_eq!(one, other);
    let (_third, wide) = machine(odd, "000", "tr_TR.UTF-8");
    assert_eq!(one, wide);
}
