use shell::{Certainty, Line, read};

/// Formats a line: commands separated by `;`, words by `|`, followed by variables and files.
fn shown(line: &Line) -> String {
    let commands = line.commands.iter().map(|command| {
        let mut text: Vec<String> = command
            .words
            .iter()
            .map(|word| match word.certainty {
                Certainty::Exact => word.text.clone(),
                Certainty::Prefix => format!("{}…", word.text),
                Certainty::Unknown => format!("{}?", word.text),
            })
            .collect();
        text.extend(
            command.assignments.iter().map(|set| format!("{}={}", set.name, set.value.text)),
        );
        text.extend(command.redirects.iter().map(|file| {
            let direction = if file.is_read { '<' } else { '>' };
            format!("{direction}{}{}", if file.is_copy { "&" } else { "" }, file.target.text)
        }));
        text.join("|")
    });
    let mut commands: Vec<String> = commands.collect();
    commands.sort();
    commands.join(" ; ")
}

#[test]
fn plain_lines_are_split_into_commands() {
    for (line, expected) in [
        ("git", "git"),
        ("git status", "git|status"),
        ("git log | git apply", "git|apply ; git|log"),
        ("git status && rm -rf /", "git|status ; rm|-rf|/"),
        ("git log; curl x | sh", "curl|x ; git|log ; sh"),
        ("git status\nrm x", "git|status ; rm|x"),
        ("git status &", "git|status"),
        ("a |& b || c", "a ; b ; c"),
        ("sudo git push", "sudo|git|push"),
        ("LD_PRELOAD=x git x", "git|x|LD_PRELOAD=x"),
        ("A=1", "A=1"),
        ("git log > /etc/passwd", ">/etc/passwd ; git|log"),
        ("git log >> out 2>&1", ">out|>&1 ; git|log"),
        ("git apply < in", "<in ; git|apply"),
        ("git \"a b\"'c d'e\\ f", "git|a bc de f"),
        ("git 'it is $x'", "git|it is $x"),
        ("git $X \"$Y\" a\"$Z\" b$W", "git|$X?|$Y?|a$Z…|b$W?"),
        ("git *.py src/*.py ~/x {a,b}", "git|*.py?|src/*.py…|~/x…|a|b"),
        ("git -c a=b --exec-path=x", "git|-c|a=b|--exec-path=x"),
        ("git \"a\\\"b\\n\"", "git|a\"b\\n"),
        ("git # comment", "git"),
        ("# a comment\ngit a#b 'c#d'", "git|a#b|c#d"),
        ("git status # x; evil", "git|status"),
        ("git commit -m \"feat!: x\"", "git|commit|-m|feat!: x"),
        ("git show HEAD^ HEAD^{commit}", "git|show|HEAD^|HEAD^{commit}"),
        ("git stash pop stash@{0}", "git|stash|pop|stash@{0}"),
        ("find . ! -name x", "find|.|!|-name|x"),
        ("git a{b,c}", "git|ab|ac"),
        ("git {1..3} .{env,x*}", "git|1|2|3|.env|.x*…"),
        ("git -d '{\"a\": 1, \"b\": 2}'", "git|-d|{\"a\": 1, \"b\": 2}"),
        ("git -m $'a\\tb'", "git|-m|a\tb"),
    ] {
        assert_eq!(read(line).map(|line| shown(&line)).as_deref(), Ok(expected), "{line}");
    }
}

#[test]
fn other_lines_are_refused() {
    for line in [
        "",
        "   ",
        "git $(curl evil)",
        "git `curl evil`",
        "git <(curl evil)",
        "git \"$(curl evil)\"",
        "git \"`curl evil`\"",
        "git ${X:-$(evil)}",
        "git ${X@P}",
        "git $((1))",
        "git $'\\x41'",
        "git $'a\\'b'",
        "git {a,{b,c}}",
        "git {'a',b}",
        "{git,log}",
        "git > {a,b}",
        "git $\"a\"",
        "$X status",
        "*/x",
        "~/x",
        "g{i,}t",
        "(git)",
        "{ git; }",
        "! git",
        "if git; then git; fi",
        "for x in a; do git; done",
        "f() { git; }",
        "git <<< x",
        "git << E\nx\nE",
        "[[ a ]]",
        "git \\\nx",
        "git\\",
        "git 'a",
        "git \"a",
        "git a\u{a0}b",
        "git a\rb",
        "git a\0b",
        "git \u{2003}x",
        "a[0]=x git",
        "A+=x git",
        "A=(x) git",
        "&& git",
        "git &&",
        "git ;; x",
        "coproc git",
        "git >(x)",
        "time ! git",
        "time -p ! git",
        "git {a..z}",
    ] {
        assert!(read(line).is_err(), "{line:?}: {:?}", read(line));
    }
    assert!(read(&"a;".repeat(300)).is_err(), "too many");
    assert!(read(&"a ".repeat(40_000)).is_err(), "too long");
}
