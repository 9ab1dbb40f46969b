use testkit::{TestEnv, entries};

#[test]
fn a_literal_contains_several_files() {
    let files = entries("\n//- /a/b.md\none\ntwo\n//- /c\n");
    assert_eq!(
        files,
        [("a/b.md".to_owned(), "one\ntwo\n".to_owned()), ("c".to_owned(), String::new())]
    );
}

#[test]
fn programs_inherit_only_path() {
    let env = TestEnv::with("//- /file\n").var("ONE", "1");
    let run = env.run("env", "");
    let mut names: Vec<&str> =
        run.stdout.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "ONE", "PATH"]);
    assert_eq!(env.run("ls", "").transcript(), "exit 0\nstdout: file\n");
}
