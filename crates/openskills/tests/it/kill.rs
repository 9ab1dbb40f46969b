//! Installs of packages and derived bundles that are killed at each of their changes: what is discovered is the old skill or the new one, what is
//! known of it fits, and the next run leaves nothing behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Fault, TestEnv, skip};

use crate::openskills;

const OPENSKILLS: &str = env!("CARGO_BIN_EXE_openskills");
const NO_STRACE: &str = "there is no `strace` to kill with";
/// A user's addition to a skill.
const EDIT: &str = "mine.md";

/// What is there before the install.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Old {
    Nothing,
    Installed,
    Edited,
}

/// Returns the names of all skills that are discovered and not built in.
fn discovered(env: &TestEnv, flags: &str) -> String {
    let run = openskills(env, &format!("list --json {flags}"));
    assert_eq!(run.code, Some(0), "{flags}: {}", run.stderr);
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    let all =
        list["skills"].as_array().unwrap().iter().filter(|skill| skill["source"] != "builtin");
    all.map(|skill| skill["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
}

/// Returns the version and the state of each skill that is known to be installed.
fn installed(env: &TestEnv) -> Vec<(String, String)> {
    let run = openskills(env, "list --installed --json");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = list["installed"].as_array().unwrap().iter();
    all.map(|one| (text(&one["version"]), text(&one["state"]))).collect()
}

/// Returns everything that unfinished work is in.
fn unfinished(env: &TestEnv) -> String {
    env.run("find", ". ../home -name .openskills-* -o -path */openskills/runs/run-*").stdout
}

/// Returns the files of a folder, each with its text.
fn files(folder: &Path) -> BTreeSet<(PathBuf, String)> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(
                files(&path)
                    .into_iter()
                    .map(|(inner, text)| (Path::new(&entry.file_name()).join(inner), text)),
            );
        } else {
            all.insert((entry.file_name().into(), fs::read_to_string(&path).unwrap()));
        }
    }
    all
}

/// Returns the files of each backup that can be seen.
fn backups(folder: &Path) -> Vec<BTreeSet<(PathBuf, String)>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_shown = |name: &str| !name.starts_with('.');
    let shown = entries.filter(|entry| is_shown(&entry.file_name().to_string_lossy()));
    shown.map(|entry| files(&entry.path())).collect()
}

fn package(version: u32) -> String {
    format!(
        "//- /src/pdf/SKILL.md\n---\nname: pdf\ndescription: Reads PDFs. Use when a PDF is given.\nmetadata:\n  version: '{version}'\n---\nBody.\n\
         //- /src/pdf/references/guide.md\nGuide {version}.\n//- /src/pdf/scripts/a.sh\necho {version}\n"
    )
}

/// A machine with what there is before, and a newer package beside it.
struct Machine {
    env: TestEnv,
    old: Old,
    skills: PathBuf,
    backups: PathBuf,
    /// The files of the skill as they were.
    before: BTreeSet<(PathBuf, String)>,
}

impl Machine {
    /// Returns none where nothing can be killed.
    fn new(old: Old, flag: &'static str) -> Option<Self> {
        let env = TestEnv::with(&package(1));
        if !env.has_faults() {
            return None;
        }
        let base = match flag {
            "--user" => "../home/.local/share/openskills",
            _ => ".keep-up",
        };
        let (skills, backups) =
            (env.path(&format!("{base}/skills")), env.path(&format!("{base}/backups")));
        if old != Old::Nothing {
            let run = openskills(&env, &format!("install src/pdf --yes {flag}"));
            assert_eq!(run.code, Some(0), "{}", run.stderr);
        }
        if old == Old::Edited {
            fs::write(skills.join("pdf").join(EDIT), "mine\n").unwrap();
        }
        let before = files(&skills.join("pdf"));
        Some(Self { env, old, skills, backups, before })
    }

    fn skill(&self) -> BTreeSet<(PathBuf, String)> {
        files(&self.skills.join("pdf"))
    }

    /// Checks that only the user's edited version was backed up, completely, unless it is still in its place.
    fn check_backups(&self, at: &str) {
        let found = backups(&self.backups);
        let most = usize::from(self.old == Old::Edited);
        assert!(
            found.len() <= most && found.iter().all(|one| *one == self.before),
            "{at}: {found:?}"
        );
        assert!(
            self.skill() == self.before || found.len() == most,
            "{at}: what was edited is gone"
        );
    }

    /// Makes sure that what is known is what is there.
    fn check_known(&self, at: &str, new: &BTreeSet<(PathBuf, String)>) {
        let now = self.skill();
        let state = |version: &str, state: &str| vec![(version.to_owned(), state.to_owned())];
        let expected = match self.old {
            _ if now == *new => state("2", "installed"),
            Old::Nothing => Vec::new(),
            Old::Installed => state("1", "installed"),
            Old::Edited => state("1", "edited"),
        };
        assert!(now == self.before || now == *new, "{at}: {now:?}");
        assert_eq!(installed(&self.env), expected, "{at}");
        assert_eq!(discovered(&self.env, ""), if now.is_empty() { "" } else { "pdf" }, "{at}");
    }

    /// Makes sure that the file beside the skills says what is known.
    fn check_beside(&self, at: &str) {
        let read = |path: &Path| -> Value {
            serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
        };
        let known = read(&self.env.path("../home/.local/state/openskills/installed.json"));
        let known: Vec<&Value> = known["skills"].as_object().unwrap().values().collect();
        assert_eq!(known, [&read(&self.skills.join(".openskills/pdf.json"))], "{at}");
    }

    fn good(&self, at: &str, words: &str) {
        let run = openskills(&self.env, words);
        assert_eq!(run.code, Some(0), "{at}: {words}: {}{}", run.stdout, run.stderr);
    }
}

fn install_is_killed(test: &str, old: Old, flag: &'static str) {
    let Some(machine) = Machine::new(old, flag) else { return skip(test, NO_STRACE) };
    testkit::write_tree(&machine.env.work(), &package(2));
    let new = files(&machine.env.path("src/pdf"));
    let mut words = vec![OPENSKILLS, "install", "src/pdf", "--yes"];
    words.extend(Some(flag).filter(|flag| !flag.is_empty()));
    let kills = machine.env.at_each_change(Fault::Kill, &words, |at, _| {
        machine.check_known(at, &new);
        machine.check_backups(at);
        machine.good(at, &format!("install src/pdf --yes {flag}"));
        assert_eq!(machine.skill(), new, "{at}");
        machine.check_known(at, &new);
        machine.check_backups(at);
        machine.check_beside(at);
        assert_eq!(unfinished(&machine.env), "", "{at}");
        machine.good(at, "log verify");
        machine.good(at, &format!("remove pdf {flag}"));
        assert_eq!(
            (discovered(&machine.env, ""), installed(&machine.env)),
            (String::new(), vec![])
        );
        machine.check_backups(at);
    });
    assert!(kills > 15, "only {kills} changes were killed at");
}

#[test]
fn a_killed_first_install_leaves_no_skill_or_a_complete_one() {
    let test = "a_killed_first_install_leaves_no_skill_or_a_complete_one";
    install_is_killed(test, Old::Nothing, "");
}

#[test]
fn a_killed_install_leaves_the_old_or_the_new_skill() {
    install_is_killed("a_killed_install_leaves_the_old_or_the_new_skill", Old::Installed, "");
}

#[test]
fn a_killed_install_keeps_one_backup_of_edits() {
    install_is_killed("a_killed_install_keeps_one_backup_of_edits", Old::Edited, "");
}

#[test]
fn a_killed_user_install_leaves_the_old_or_the_new_skill() {
    let test = "a_killed_user_install_leaves_the_old_or_the_new_skill";
    install_is_killed(test, Old::Installed, "--user");
    install_is_killed(test, Old::Edited, "--user");
}

#[test]
fn a_killed_removal_can_be_repeated() {
    let test = "a_killed_removal_can_be_repeated";
    let Some(machine) = Machine::new(Old::Edited, "") else { return skip(test, NO_STRACE) };
    let words = [OPENSKILLS, "remove", "pdf"];
    let kills = machine.env.at_each_change(Fault::Kill, &words, |at, _| {
        let now = machine.skill();
        assert!(now == machine.before || now.is_empty(), "{at}: {now:?}");
        machine.check_backups(at);
        let run = openskills(&machine.env, "remove pdf");
        // It is not known any more if all of it was done.
        assert!(matches!(run.code, Some(0 | 3)), "{at}: {}", run.stderr);
        assert!(!machine.skills.join(".openskills/pdf.json").exists(), "{at}");
        assert_eq!((machine.skill(), installed(&machine.env)), (BTreeSet::new(), vec![]), "{at}");
        machine.check_backups(at);
        assert_eq!(unfinished(&machine.env), "", "{at}");
    });
    assert!(kills > 10, "only {kills} changes were killed at");
}

#[test]
fn a_killed_skillify_leaves_the_old_or_the_new_bundle() {
    let sources = |text: &str| {
        format!(
            "//- /py/my_tools-1.2.dist-info/METADATA\nName: my-tools\nVersion: 1.2\nSummary: Tools for it\n\
             //- /py/my_tools/__init__.py\ndef fetch(url):\n    \"\"\"Fetch {text}.\"\"\"\n\ndef store(url):\n    \"\"\"Store {text}.\"\"\"\n"
        )
    };
    for old in [Old::Nothing, Old::Installed, Old::Edited] {
        let env = TestEnv::with(&sources("one"));
        if !env.has_faults() {
            return skip("a_killed_skillify_leaves_the_old_or_the_new_bundle", NO_STRACE);
        }
        let python = env.path("py");
        let env = env.var("PYTHONPATH", &python.to_string_lossy());
        // A folder in one that skills are looked for in.
        let words = ["skillify", "python:my-tools", "--output", ".claude/skills/group", "--yes"];
        let bundle = env.path(".claude/skills/group/my-tools");
        if old != Old::Nothing {
            assert_eq!(env.run_args(OPENSKILLS, &words).code, Some(0));
        }
        if old == Old::Edited {
            fs::write(bundle.join(EDIT), "mine\n").unwrap();
        }
        let before = files(&bundle);
        testkit::write_tree(&env.work(), &sources("two"));
        let is_new = || {
            let page = |name: &str| {
                let path = bundle.join(format!("references/my_tools-{name}.md"));
                fs::read_to_string(path).is_ok_and(|text| text.contains("two"))
            };
            page("fetch") && page("store") && !bundle.join(EDIT).exists()
        };
        let kept = env.path("../home/.local/share/openskills/backups");
        let most = usize::from(old == Old::Edited);
        let check_backups = |at: &str, is_needed: bool| {
            let found = backups(&kept);
            assert!(
                found.len() <= most && found.iter().all(|one| *one == before),
                "{at}: {found:?}"
            );
            assert!(!is_needed || found.len() == most, "{at}: what was edited is gone");
        };
        let call = [&[OPENSKILLS][..], &words].concat();
        let kills = env.at_each_change(Fault::Kill, &call, |at, _| {
            assert!(is_new() || files(&bundle) == before, "{at}: {:?}", files(&bundle));
            let expected = if bundle.exists() { "my-tools" } else { "" };
            assert_eq!(discovered(&env, ""), expected, "{at}");
            check_backups(at, is_new());
            let run = env.run_args(OPENSKILLS, &words);
            assert_eq!(run.code, Some(0), "{at}: {}", run.stderr);
            assert!(is_new(), "{at}");
            check_backups(at, true);
            assert_eq!(
                (discovered(&env, ""), unfinished(&env)),
                ("my-tools".into(), String::new())
            );
            let validated = openskills(&env, "validate .claude/skills/group/my-tools");
            assert_eq!(validated.code, Some(0), "{at}");
        });
        assert!(kills > 10, "only {kills} changes were killed at");
    }
}
