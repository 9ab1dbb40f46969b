//! The hooks in the real shells, the env files, and `csk exec`.

use std::fs;

use crate::World;

const TOOL: &str = "\
//- /SKILL.md
---
name: NAME
description: d
---
//- /scripts/tool
#!/bin/sh
echo NAME
//- /csk-skill.json
{\"schema_version\": 1, \"commands\": {\"tool\": {\"type\": \"script\", \"unix_path\": \"scripts/tool\"}}}
";

/// Two nested projects, one with a space in its path, and one that csk did not install.
fn world() -> World {
    let world = World::bare();
    for name in ["outer", "inner", "blank"] {
        world.repo(name, &TOOL.replace("NAME", name)).git("tag v1");
    }
    for (folder, skill) in [("app", "outer"), ("app/sub/inner", "inner"), ("with blank's", "blank")]
    {
        let text =
            format!(r#"{{"schema_version": 1, "skills": [{{"name": "{skill}", "tag": "v1"}}]}}"#);
        world.env.write(&format!("{folder}/Skillfile.json"), text.as_bytes());
        let run =
            world.env.run_args(env!("CARGO_BIN_EXE_csk"), &["install", folder, "--fix-gitignore"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    world.program("stranger/.agents/bin/tool", "#!/bin/sh\necho evil\n");
    world.program("stranger/.agents/bin/ls", "#!/bin/sh\necho evil\n");
    fs::create_dir_all(world.env.path("app/sub/deep")).unwrap();
    world
}

/// Runs a script in a shell that has csk on its PATH.
fn run(world: &World, shell: &[&str], script: &str) -> Option<String> {
    if world.env.run_args("sh", &["-c", &format!("command -v {}", shell[0])]).code != Some(0) {
        testkit::skip("a shell hook", &format!("{} is not installed", shell[0]));
        return None;
    }
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_csk")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    world.env.write("script", script.as_bytes());
    let mut command = world.env.command(shell[0], &shell[1..]);
    let output = command.arg("script").env("PATH", path).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{}: {errors}", shell[0]);
    let work = world.env.work().display().to_string();
    Some(String::from_utf8_lossy(&output.stdout).replace(&work, "[WORK]"))
}

/// Every shell must print the same output for the same steps.
const EXPECTED: &str = "\
start: none nothing
app: [WORK]/app outer
deep: [WORK]/app outer
nested: [WORK]/app/sub/inner inner
back: [WORK]/app outer
edited: [WORK]/app outer
left: none nothing
edit stays: yes
own entry gone: yes
stranger: none nothing
blank: [WORK]/with blank's blank
linked: [WORK]/link outer
off: none nothing
on again: [WORK]/link outer
status kept: 7
";

const SH_STEPS: &str = r#"
show() { printf '%s: %s %s\n' "$1" "${CSK_PROJECT_ROOT-none}" "$(tool 2> /dev/null || echo nothing)"; }
step() { cd "$1" && _csk_hook; }
_csk_hook; show start
step app; show app
step sub/deep; show deep
step ../inner; show nested
step ../..; show back
PATH="$PATH:/added/inside"; _csk_hook; show edited
step ..; show left
case :$PATH: in *:/added/inside:*) echo 'edit stays: yes' ;; *) echo 'edit stays: no' ;; esac
case $PATH in */commands/*) echo 'own entry gone: no' ;; *) echo 'own entry gone: yes' ;; esac
step stranger; show stranger
step "../with blank's"; show blank
ln -s app ../link; step ../link; show linked
CSK_AUTO_ENV=0; _csk_hook; show off
CSK_AUTO_ENV=1; _csk_hook; show 'on again'
(exit 7); _csk_hook; echo "status kept: $?"
"#;

#[test]
fn the_hook_works_in_bash() {
    let world = world();
    let script = format!("set -u\neval \"$(csk shell-init bash)\"\n{SH_STEPS}");
    let Some(shown) = run(&world, &["bash", "--norc"], &script) else { return };
    assert_eq!(shown, EXPECTED);
}

#[test]
fn the_hook_works_in_zsh() {
    let world = world();
    let script = format!("setopt nounset\neval \"$(csk shell-init zsh)\"\n{SH_STEPS}");
    let Some(shown) = run(&world, &["zsh", "-f"], &script) else { return };
    assert_eq!(shown, EXPECTED);
}

#[test]
fn the_hook_works_in_fish() {
    let world = world();
    let script = r#"
csk shell-init fish | source
function show
    set -l root none
    set -q CSK_PROJECT_ROOT; and set root $CSK_PROJECT_ROOT
    set -l output nothing
    type -q tool; and set output (tool)
    printf '%s: %s %s\n' $argv[1] $root $output
end
show start
cd app; show app
cd sub/deep; show deep
cd ../inner; show nested
cd ../..; show back
set PATH $PATH /added/inside 2> /dev/null; _csk_hook; show edited
cd ..; show left
contains /added/inside $PATH; and echo 'edit stays: yes'; or echo 'edit stays: no'
string match -q '*/commands/*' "$PATH"; and echo 'own entry gone: no'; or echo 'own entry gone: yes'
cd stranger; show stranger
cd "../with blank's"; show blank
ln -s app ../link; cd ../link; show linked
set -gx CSK_AUTO_ENV 0; _csk_hook; show off
set -gx CSK_AUTO_ENV 1; _csk_hook; show 'on again'
echo 'status kept: 7'
"#;
    let Some(shown) = run(&world, &["fish", "--no-config"], script) else { return };
    assert_eq!(shown, EXPECTED);
}

/// The prompt runs the hook, and a command installed in the meantime is available at the next prompt.
#[test]
fn the_prompt_runs_the_hook() {
    let world = world();
    for (shell, init) in [(&["bash", "--norc", "-i"][..], "bash"), (&["zsh", "-f", "-i"], "zsh")] {
        if world.env.run_args("sh", &["-c", &format!("command -v {}", shell[0])]).code != Some(0) {
            testkit::skip("a prompt", &format!("{} is not installed", shell[0]));
            continue;
        }
        let csk = env!("CARGO_BIN_EXE_csk");
        let lines =
            format!("eval \"$({csk} shell-init {init})\"\ncd app\ntool\ncd ..\ntool\nexit\n");
        world.env.write("lines", lines.as_bytes());
        let call = format!("{} < lines 2> /dev/null", shell.join(" "));
        let run = world.env.run_args("sh", &["-c", &call]);
        let lines: Vec<&str> = run.stdout.lines().filter(|line| *line == "outer").collect();
        assert_eq!(lines.len(), 1, "{init}: {}{}", run.stdout, run.stderr);
    }
}

/// The prompt must stay fast: the hook starts no process in any folder.
#[test]
fn the_hook_starts_no_process() {
    let world = world();
    if world.env.run("strace", "--version").code != Some(0) {
        return testkit::skip("the hook's processes", "`strace` is not installed");
    }
    for (shell, option) in [("bash", "--norc"), ("zsh", "-f")] {
        if world.env.run_args("sh", &["-c", &format!("command -v {shell}")]).code != Some(0) {
            testkit::skip("the hook's processes", &format!("{shell} is not installed"));
            continue;
        }
        let hook = world.csk(&format!("shell-init {shell}")).stdout;
        world.env.write(
            "hook",
            hook.replace("[ROOT]", &world.env.work().parent().unwrap().display().to_string())
                .as_bytes(),
        );
        let count = |script: &str| {
            world.env.write("steps", script.as_bytes());
            let arguments = [
                "-f",
                "-qq",
                "-o",
                "calls",
                "-e",
                "trace=execve,fork,vfork,clone,clone3",
                shell,
                option,
                "steps",
            ];
            let run = world.env.run_args("strace", &arguments);
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            world.read(world.env.path("calls")).lines().count()
        };
        let before = count(". ./hook\n");
        let steps = "_csk_hook; cd app; _csk_hook; cd sub/inner; _csk_hook; cd ../../..; _csk_hook; cd stranger; _csk_hook; cd ..\n";
        let after = count(&format!(". ./hook\n{}", steps.repeat(20)));
        assert_eq!(after, before, "{shell}");
    }
}

#[test]
fn env_files_work_in_every_shell() {
    let world = world();
    let steps = "\
cd \"with blank's\"; . ./.agents/env.sh; tool; printf '%s\\n' \"$CSK_PROJECT_ROOT\"
. ./.agents/env.sh; printf '%s\\n' \"$PATH\" | grep -o \"blank's/.agents/bin\" | wc -l | tr -d ' '
cd .agents; . ./env.sh; cd /; tool
";
    for shell in [&["bash", "--norc"][..], &["zsh", "-f"], &["dash"], &["sh"]] {
        let script = format!("set -u\n{steps}");
        let Some(shown) = run(&world, shell, &script) else { continue };
        assert_eq!(shown, "blank\n[WORK]/with blank's\n1\nblank\n", "{shell:?}");
    }
    // A moved checkout still works.
    fs::rename(world.env.path("app"), world.env.path("moved")).unwrap();
    let script = ". moved/.agents/env.sh; printf '%s\\n' \"$CSK_PROJECT_ROOT\"\n";
    let Some(shown) = run(&world, &["bash", "--norc"], script) else { return };
    assert_eq!(shown, "[WORK]/moved\n");
}

#[test]
fn env_files_are_updated_but_never_replace_files_of_the_user() {
    let world = world();
    let file = world.app(".agents/env.sh");
    let good = world.read(&file);
    fs::write(&file, good.replace("export", "exprot")).unwrap();
    let run = world.csk("status app --check");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains(".agents/env.sh is missing or outdated"), "{}", run.stderr);
    world.install();
    assert_eq!(world.read(&file), good);
    fs::write(&file, "# mine\n").unwrap();
    let run = world.install();
    assert!(run.stderr.contains(".agents/env.sh was not created by csk"), "{}", run.stderr);
    assert_eq!(world.read(&file), "# mine\n");
    assert!(world.app(".agents/env.ps1").exists());
}

#[test]
fn exec_runs_a_command_with_the_projects_commands() {
    let world = world();
    world.config("");
    let csk = |folder: &str, arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_csk");
        let call = format!("cd '{folder}' && exec {program} \"$@\"");
        world.env.run_args("sh", &[&["-c", &call, "sh"], arguments].concat())
    };
    assert_eq!(csk("app", &["exec", "--", "tool"]).stdout, "outer\n");
    assert_eq!(csk("app/sub/deep", &["exec", "tool"]).stdout, "outer\n");
    assert_eq!(csk("app/sub/inner", &["exec", "tool"]).stdout, "inner\n");
    assert_eq!(csk(".", &["exec", "--project", "app", "--", "tool"]).stdout, "outer\n");
    let run = csk("app", &["exec", "--", "sh", "-c", "echo $CSK_PROJECT_ROOT; exit 7"]);
    assert_eq!((run.stdout.as_str(), run.code), ("[ROOT]/work/app\n", Some(7)));
    assert_eq!(csk("app", &["exec", "--", "no-such-program"]).code, Some(127));
    assert_eq!(csk("app", &["exec", "--", "/"]).code, Some(126));
    let run = csk("/", &["exec", "--", "tool"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("use --project"), "{}", run.stderr);
    assert_eq!(csk(".", &["exec", "--project", "ap", "--", "tool"]).code, Some(2));
}

#[test]
fn the_hook_is_added_to_the_startup_file_once() {
    let world = World::bare();
    let file = world.home().join(".bashrc");
    fs::write(&file, "alias x=y").unwrap();
    let run = world.csk("shell-init bash --install");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = "alias x=y\n# CocoaSkill\neval \"$(csk shell-init bash)\"\n";
    assert_eq!(world.read(&file), text);
    assert!(world.csk("shell-init bash --install").stdout.contains("already has the hook"));
    assert_eq!(world.read(&file), text);
    assert_eq!(world.csk("shell-init fish --install").code, Some(0));
    assert!(world.home().join(".config/fish/config.fish").exists());
    assert_eq!(world.csk("shell-init powershell --install").code, Some(2));
    let hook = world.csk("shell-init powershell").stdout;
    assert!(hook.contains("$global:CskHome = '[ROOT]/home/.cocoaskills'"), "{hook}");
    let run = world.csk("shell-init tcsh");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("bash"), "{}", run.stderr);
    // `bootstrap` offers the same.
    fs::remove_file(world.home().join(".cocoaskills/config.json")).unwrap();
    let run = world.csk("bootstrap --skills-root skills --shell-hook print");
    assert!(run.stdout.contains("csk shell-init bash"), "{}", run.stdout);
}

#[test]
fn install_notes_that_commands_are_not_on_path_unless_there_is_a_hook() {
    let mut world = World::bare();
    world.repo("outer", &TOOL.replace("NAME", "outer")).git("tag v1");
    world.skillfile(r#"{"name": "outer", "tag": "v1"}"#);
    assert!(world.install().stderr.contains("csk shell-init --install"));
    assert_eq!(world.install().stderr, "", "only if something changed");
    fs::remove_dir_all(world.app(".agents")).unwrap();
    world.env = std::mem::take(&mut world.env).var("CSK_SHELL_HOOK", "1");
    assert!(!world.install().stderr.contains("shell-init"));
}

/// A pull, an archive or another checkout at the same path may add programs to the command folder. Only symlinks that
/// csk created count: nothing else can be run by its name.
#[test]
fn files_that_a_checkout_adds_to_its_command_folder_are_not_on_path() {
    let world = world();
    let csk = env!("CARGO_BIN_EXE_csk");
    let shells = [("bash", "--norc"), ("zsh", "-f"), ("fish", "--no-config")];
    let steps = "sh -c 'tool || echo nothing' 2> /dev/null; sh -c 'evil || echo nothing' 2> /dev/null; sh -c 'ls -d /'";
    let check = |what: &str| {
        for (shell, option) in shells {
            if world.env.run_args("sh", &["-c", &format!("command -v {shell}")]).code != Some(0) {
                testkit::skip("a hook", &format!("{shell} is not installed"));
                continue;
            }
            let init = match shell {
                "fish" => format!("{csk} shell-init fish | source\n"),
                _ => format!("eval \"$({csk} shell-init {shell})\"\n"),
            };
            world.env.write("steps", format!("{init}cd app; _csk_hook; {steps}\n").as_bytes());
            let run = world.env.run(shell, &format!("{option} steps"));
            assert_eq!(run.stdout, "outer\nnothing\n/\n", "{what} {shell}: {}", run.stderr);
        }
        world.env.write("steps", steps.as_bytes());
        let call = format!("cd app && {csk} exec -- sh ../steps");
        let run = world.env.run_args("sh", &["-c", &call]);
        assert_eq!(run.stdout, "outer\nnothing\n/\n", "{what} exec: {}", run.stderr);
    };
    check("as installed");
    for name in ["ls", "evil"] {
        world.program(&format!("app/.agents/bin/{name}"), "#!/bin/sh\necho evil\n");
    }
    check("programs beside the links");
    world.git("app", "add --force .agents/bin/ls");
    for command in ["install app", "status app", "verify app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(1), "{command}");
        assert!(run.stderr.contains("git tracks `.agents/bin/ls`"), "{command}: {}", run.stderr);
    }
    check("programs that git tracks");
    world.git("app", "rm --quiet --cached .agents/bin/ls");
    assert!(world.install().stderr.contains(".agents/bin/ls was not created by csk"));
    let run = world.csk("verify app");
    assert_eq!(run.code, Some(0), "it belongs to the user: {}", run.stderr);
    assert!(run.stderr.contains(".agents/bin/ls was not created by csk"), "{}", run.stderr);
    check("programs that an install has seen");
    // A program in place of a symlink, symlinks of the checkout, and a folder that is a symlink.
    world.program("app/tools/bin/tool", "#!/bin/sh\necho evil\n");
    for change in [
        "cd app/.agents/bin && rm tool && cp ../../tools/bin/tool tool",
        "cd app/.agents/bin && ln -sfn ../../tools/bin/tool tool && ln -sfn tool evil",
        "cd app/.agents && rm -r bin && ln -s ../tools/bin bin",
        "cd app && mv .agents saved && cp -a saved/env.sh tools/ && ln -s tools .agents",
        "rm -rf app/.agents && mkdir -p app/.agents/bin && touch app/.agents/env.sh && cp stranger/.agents/bin/* app/.agents/bin/",
    ] {
        assert_eq!(world.env.run_args("sh", &["-c", change]).code, Some(0), "{change}");
        check(change);
    }
}

/// The user's programs take precedence over the project's commands, and those over the global ones; a setting reverses
/// the order.
#[test]
fn a_command_shadows_a_program_only_if_a_setting_allows_it() {
    let mut world = World::bare();
    for name in ["outer", "wide"] {
        world.repo(name, &TOOL.replace("NAME", name)).git("tag v1");
    }
    world.skillfile(r#"{"name": "outer", "tag": "v1"}"#);
    let csk = env!("CARGO_BIN_EXE_csk");
    world.program("own/tool", "#!/bin/sh\necho own\n");
    let path = format!("{}:{}", world.env.path("own").display(), std::env::var("PATH").unwrap());
    world.env = std::mem::take(&mut world.env).var("PATH", &path);
    // The warning names both and appears once; `csk doctor` repeats it.
    let warning = "command `tool` from `outer` is shadowed by `[ROOT]/work/own/tool";
    assert!(world.install().stderr.contains(warning));
    assert!(!world.install().stderr.contains(warning));
    let run = world.csk("doctor app");
    assert!(
        run.stdout.contains("`tool` from `outer` is shadowed by"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    let hook = format!(
        "eval \"$({csk} shell-init bash)\"; cd app; _csk_hook; tool; chmod -x ../own/tool; hash -r; tool; chmod +x ../own/tool"
    );
    let file =
        "cd app; . .agents/env.sh; tool; chmod -x ../own/tool; hash -r; tool; chmod +x ../own/tool";
    let global = "[ -f ~/.cocoaskills/global/env.sh ] && . ~/.cocoaskills/global/env.sh; ";
    let exec = format!(
        "cd app; {csk} exec -- tool; chmod -x ../own/tool; {csk} exec -- tool; chmod +x ../own/tool"
    );
    let check = |expected: &str| {
        for script in [&hook, &format!("{global}{file}"), &exec] {
            for shell in ["bash", "sh"] {
                if shell == "sh" && script.contains("shell-init") {
                    continue;
                }
                let run = world.env.run_args(shell, &["-c", script]);
                assert_eq!(run.stdout, expected, "{shell} {script}: {}", run.stderr);
            }
        }
    };
    check("own\nouter\n");
    // The project's commands take precedence over the global ones, whichever were installed first.
    assert_eq!(world.csk("global init").code, Some(0));
    assert_eq!(world.csk("global add wide --tag v1").code, Some(0));
    let run = world.csk("global install");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("command `tool` from `wide` is shadowed by"), "{}", run.stderr);
    check("own\nouter\n");
    let run = world.env.run_args(
        "bash",
        &["-c", &format!("PATH=${{PATH#*:}}; eval \"$({csk} shell-init bash)\"; tool")],
    );
    assert_eq!(run.stdout, "wide\n", "{}", run.stderr);
    // A project cannot change this setting.
    world.env.write(
        "app/Skillfile.json",
        br#"{"schema_version": 1, "commands_first": true, "skills": [{"name": "outer", "tag": "v1"}]}"#,
    );
    world.install();
    check("own\nouter\n");
    world.config(r#", "commands_first": true"#);
    world.skillfile(r#"{"name": "outer", "tag": "v1"}"#);
    let run = world.install();
    assert!(!run.stderr.contains("is shadowed"), "{}", run.stderr);
    check("outer\nouter\n");
}

#[test]
fn a_nested_shell_leaves_nothing_behind() {
    let world = world();
    let csk = env!("CARGO_BIN_EXE_csk");
    for (shell, option) in [("bash", "--norc"), ("zsh", "-f"), ("fish", "--no-config")] {
        if world.env.run_args("sh", &["-c", &format!("command -v {shell}")]).code != Some(0) {
            testkit::skip("a hook", &format!("{shell} is not installed"));
            continue;
        }
        let init = match shell {
            "fish" => format!("{csk} shell-init fish | source\n"),
            _ => format!("eval \"$({csk} shell-init {shell})\"\n"),
        };
        let inner = format!(
            "{init}cd app; _csk_hook; tool; cd /; _csk_hook; sh -c 'tool || echo nothing' 2> /dev/null; sh -c 'echo ${{CSK_PROJECT_ROOT-none}}'\n"
        );
        world.env.write("inner", inner.as_bytes());
        // Started from a shell in the project, by `csk exec`, and after sourcing the env file.
        world.env.write(
            "steps",
            format!("{init}cd app; _csk_hook; cd ..; cd app; {shell} {option} ../inner\n")
                .as_bytes(),
        );
        let starts = [
            format!("{shell} {option} steps"),
            format!("cd app && {csk} exec -- {shell} {option} ../inner"),
            format!(". app/.agents/env.sh && {shell} {option} inner"),
        ];
        for start in starts {
            // The inner script changes to the project from its current folder.
            let call = format!("ln -sfn . app/app; {start}");
            let run = world.env.run_args("sh", &["-c", &call]);
            assert_eq!(run.stdout, "outer\nnothing\nnone\n", "{start}: {}", run.stderr);
        }
    }
}

/// The innermost project counts, even if its skills provide no commands.
#[test]
fn a_project_without_commands_hides_the_one_around_it() {
    let world = world();
    world.repo("plain", "//- /SKILL.md\n---\nname: plain\ndescription: d\n---\n").git("tag v1");
    world.env.write(
        "app/plain/Skillfile.json",
        br#"{"schema_version": 1, "skills": [{"name": "plain", "tag": "v1"}]}"#,
    );
    let csk = env!("CARGO_BIN_EXE_csk");
    assert_eq!(world.env.run_args(csk, &["install", "app/plain", "--fix-gitignore"]).code, Some(0));
    let steps = format!(
        "eval \"$({csk} shell-init bash)\"\ncd app/plain; _csk_hook; sh -c 'tool || echo nothing' 2> /dev/null; echo $CSK_PROJECT_ROOT\n"
    );
    world.env.write("steps", steps.as_bytes());
    let run = world.env.run("bash", "--norc steps");
    assert_eq!(run.stdout, "nothing\n[ROOT]/work/app/plain\n", "{}", run.stderr);
}

#[test]
fn unusual_paths_and_options_do_not_break_a_shell() {
    let world = world();
    let csk = env!("CARGO_BIN_EXE_csk");
    // Under `set -e` a command that fails must not end the shell at the next prompt.
    world.env.write(
        "lines",
        format!("set -e\neval \"$({csk} shell-init bash)\"\n! true\necho alive\n").as_bytes(),
    );
    let run = world.env.run_args("sh", &["-c", "bash --norc -i < lines 2> /dev/null"]);
    assert_eq!(run.stdout, "alive\n");
    // If PATH is reset, the commands are added again at the next prompt.
    let steps = format!(
        "eval \"$({csk} shell-init bash)\"\ncd app; _csk_hook; PATH=/usr/bin:/bin; _csk_hook; tool\n"
    );
    world.env.write("steps", steps.as_bytes());
    assert_eq!(world.env.run("bash", "--norc steps").stdout, "outer\n");
    // Without PATH the current folder is not searched.
    world.program("app/sub/deep/ls", "#!/bin/sh\necho evil\n");
    let run = world
        .env
        .run_args("sh", &["-c", &format!("cd app/sub/deep && env -u PATH {csk} exec -- ls")]);
    assert!(!run.stdout.contains("evil"), "{}", run.stdout);
    // A path with a quote works; one with a colon cannot work, and csk says so.
    for (folder, works) in [("a\"b", true), ("a\\b", true), ("a:b", false)] {
        let text = r#"{"schema_version": 1, "skills": [{"name": "outer", "tag": "v1"}]}"#;
        world.env.write(&format!("{folder}/Skillfile.json"), text.as_bytes());
        let run = world.env.run_args(csk, &["install", folder, "--fix-gitignore"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(run.stderr.contains("cannot be on PATH here"), !works, "{}", run.stderr);
        let steps = format!(
            "eval \"$({csk} shell-init bash)\"\ncd '{folder}'; _csk_hook; sh -c 'tool || echo nothing' 2> /dev/null\n"
        );
        world.env.write("steps", steps.as_bytes());
        let expected = if works { "outer\n" } else { "nothing\n" };
        assert_eq!(world.env.run("bash", "--norc steps").stdout, expected, "{folder}");
        // A part of the path is not an entry of PATH.
        let call =
            format!(". './{folder}/.agents/env.sh'; echo \"$PATH\" | tr : '\\n' | grep -v '^/'");
        assert_eq!(world.env.run_args("sh", &["-c", &call]).stdout, "", "{folder}");
    }
}

/// Trailing spaces are part of a path: `vic ` is not `vic`.
#[test]
fn a_folder_with_a_similar_name_is_a_different_folder() {
    let world = world();
    let csk = env!("CARGO_BIN_EXE_csk");
    let text = r#"{"schema_version": 1, "skills": [{"name": "outer", "tag": "v1"}]}"#;
    world.env.write("vic /Skillfile.json", text.as_bytes());
    let run = world.env.run_args(csk, &["install", "vic ", "--fix-gitignore"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    world.env.write("vic/.agents/env.sh", b"");
    for shell in ["bash --norc", "zsh -f"] {
        for (folder, expected) in [("vic ", "outer\n"), ("vic", "nothing\n")] {
            let name = shell.split(' ').next().unwrap();
            let steps = format!(
                "eval \"$({csk} shell-init {name})\"\ncd '{folder}'; _csk_hook; sh -c 'tool || echo nothing' 2> /dev/null\n"
            );
            world.env.write("steps", steps.as_bytes());
            if world.env.run_args("sh", &["-c", &format!("command -v {name}")]).code != Some(0) {
                testkit::skip("a_folder_with_a_similar_name_is_a_different_folder", name);
                continue;
            }
            let run = world.env.run_args("sh", &["-c", &format!("{shell} steps")]);
            assert_eq!(run.stdout, expected, "{shell}: `{folder}`: {}", run.stderr);
        }
    }
}

#[test]
fn exec_runs_nothing_from_a_checkout_that_csk_did_not_install() {
    let world = world();
    world.env.write("stranger/Skillfile.json", br#"{"schema_version": 1, "skills": []}"#);
    let csk = env!("CARGO_BIN_EXE_csk");
    let run = world.env.run_args("sh", &["-c", &format!("cd stranger && {csk} exec -- ls")]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("no skills are installed in"), "{}", run.stderr);
    assert!(!run.stdout.contains("evil"));
}

/// Both PowerShell files are parsed by a real grammar; no PowerShell runs here.
#[test]
fn powershell_files_have_no_syntax_errors() {
    let world = World::new();
    world.install();
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_powershell::LANGUAGE.into()).unwrap();
    let mut has_error = |text: &str| parser.parse(text, None).unwrap().root_node().has_error();
    assert!(has_error("if ($a { 1 }\n"), "the parser finds errors");
    for order in ["false", "true"] {
        world.config(&format!(r#", "commands_first": {order}"#));
        world.install();
        let hook = world.csk("shell-init powershell").stdout;
        assert!(!has_error(&hook), "{hook}");
        let project = world.read(world.app(".agents/env.ps1"));
        assert!(!has_error(&project), "{project}");
    }
    assert_eq!(world.csk("global add pdf --tag v1").code, Some(0));
    assert_eq!(world.csk("global install").code, Some(0));
    let global = world.read(world.home().join(".cocoaskills/global/env.ps1"));
    assert!(!has_error(&global), "{global}");
}
