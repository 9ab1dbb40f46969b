//! Generates the profile for the macOS sandbox from a specification. The default is deny; later rules override earlier
//! ones.
//!
//! The generated text is tested against expected profiles, but no profile has been run.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Network, Spec, Writes, protected};

/// The rules that every program needs to start.
const SYSTEM: &str = "\
(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow sysctl-read)
(allow signal (target same-sandbox))
(allow file-read-metadata (literal \"/\") (literal \"/tmp\") (literal \"/var\") (literal \"/etc\")
  (literal \"/private\"))
(allow file-read* (subpath \"/usr/lib\") (subpath \"/usr/share\") (subpath \"/usr/bin\") (subpath \"/bin\")
  (subpath \"/usr/sbin\") (subpath \"/sbin\") (subpath \"/usr/libexec\") (subpath \"/System/Library\")
  (subpath \"/Library/Apple\") (subpath \"/private/var/db/timezone\") (subpath \"/private/var/db/dyld\"))
(allow file-read* (literal \"/private/etc/localtime\") (literal \"/private/etc/ssl/cert.pem\"))
(allow file-read* file-write-data (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/random\")
  (literal \"/dev/urandom\"))
";

/// Returns the profile. `temporary` is the run's private folder for temporary files.
pub fn profile(spec: &Spec, temporary: &Path) -> Result<String, String> {
    let mut text = SYSTEM.to_owned();
    let mut rule = |line: String| writeln!(text, "{line}").expect("writing to text cannot fail");
    for path in spec.read.iter().chain([&spec.program]) {
        rule(format!("(allow file-read* (subpath {}))", quoted(path)?));
    }
    rule(format!("(allow file-read* file-write* (subpath {}))", quoted(temporary)?));
    if let Some(workspace) = &spec.workspace {
        let path = quoted(&workspace.path)?;
        match workspace.writes {
            Writes::Never => rule(format!("(allow file-read* (subpath {path}))")),
            // macOS has no layers; the approval says so.
            Writes::Layer | Writes::Direct => {
                rule(format!("(allow file-read* file-write* (subpath {path}))"));
                // On Linux, deletions are reviewed when a layer is applied. Without a layer they are only allowed if
                // direct writes were granted.
                if workspace.writes == Writes::Layer {
                    rule(format!("(deny file-write-unlink (subpath {path}))"));
                }
                for name in protected() {
                    let path = quoted(&workspace.path.join(name))?;
                    rule(format!("(deny file-write* (subpath {path}) (literal {path}))"));
                }
            }
        }
    }
    match spec.network {
        Network::None => rule("(deny network*)".to_owned()),
        Network::Proxy => {
            rule(
                "(deny network*)\n(allow network-outbound (remote ip \"localhost:*\"))".to_owned(),
            );
        }
    }
    Ok(text)
}

/// Returns a path as a string literal of the profile language. A path that could end the literal is refused.
fn quoted(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("`{}` is not valid UTF-8", path.display()))?;
    if text.contains(['"', '\\', '\n', '\r', '\0']) {
        return Err(format!("{text:?} cannot be used in a sandbox profile"));
    }
    Ok(format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::Workspace;

    #[test]
    fn a_profile_grants_exactly_what_the_specification_grants() {
        let mut spec = Spec::new("/opt/python/bin/python3");
        spec.read = vec!["/Users/me/skill".into(), "/opt/python".into()];
        spec.workspace = Some(Workspace { path: "/Users/me/work".into(), writes: Writes::Layer });
        let text = profile(&spec, Path::new("/private/tmp/run-1")).unwrap();
        let own = text.strip_prefix(SYSTEM).unwrap();
        let start: String = own.lines().take(8).map(|line| format!("{line}\n")).collect();
        expect![[r#"
            (allow file-read* (subpath "/Users/me/skill"))
            (allow file-read* (subpath "/opt/python"))
            (allow file-read* (subpath "/opt/python/bin/python3"))
            (allow file-read* file-write* (subpath "/private/tmp/run-1"))
            (allow file-read* file-write* (subpath "/Users/me/work"))
            (deny file-write-unlink (subpath "/Users/me/work"))
            (deny file-write* (subpath "/Users/me/work/.git") (literal "/Users/me/work/.git"))
            (deny file-write* (subpath "/Users/me/work/.gitmodules") (literal "/Users/me/work/.gitmodules"))
        "#]]
        .assert_eq(&start);
        assert!(own.ends_with("(deny network*)\n"));
        assert!(text.starts_with("(version 1)\n(deny default)\n"));
    }

    #[test]
    fn a_path_cannot_inject_rules() {
        let mut spec = Spec::new("/bin/sh");
        spec.read = vec!["/x\")) (allow default) (allow file-read* (subpath \"/".into()];
        assert!(profile(&spec, Path::new("/tmp/x")).is_err());
        spec.read = Vec::new();
        spec.workspace = Some(Workspace { path: "/w".into(), writes: Writes::Never });
        let text = profile(&spec, Path::new("/tmp/x")).unwrap();
        assert!(
            text.contains("(allow file-read* (subpath \"/w\"))")
                && !text.contains("file-write* (subpath \"/w\")")
        );
    }
}
