//! The main flow of every command: whole outputs, in `flows.txt` beside this file.

use expect_test::expect_file;
use testkit::{TestEnv, stable};

use crate::openskills;

const SKILLS: &str = "\
//- /s/pdf/SKILL.md
---
name: pdf
description: Extracts tables from PDF files. Use when asked about a PDF.
allowed-tools: Read Bash(git:*)
---
Read `references/guide.md` first.
//- /s/pdf/references/guide.md
The guide.
//- /s/pdf/scripts/count.sh
#!/bin/sh
echo counted > count.txt
echo done
//- /work-folder/notes.md
Notes.
//- /package/DESCRIPTION
Package: tiny
Version: 1.0
Title: A Tiny Package
Description: Adds numbers.
License: MIT
//- /package/NAMESPACE
export(add)
//- /package/man/add.Rd
\\name{add}
\\title{Add}
\\description{Adds two numbers.}
\\usage{add(x, y)}
\\arguments{\\item{x}{A number.}\\item{y}{A number.}}
";

/// Commands in the order in which a user would type them.
const FLOW: &str = "\
discover --dir s
list --dir s
search tables --dir s
where pdf --dir s
show pdf --dir s
prompt --dir s
validate s/pdf
trust
activate pdf --dir s --session one
check-tool --session one --tool Read --input {\"file_path\":\"notes.md\"} --dir s
check-tool --session one --tool WebFetch --input {\"url\":\"https://example.com\"} --dir s
deactivate s/pdf --session one --yes
read pdf references/guide.md --dir s
files pdf --dir s
run pdf count.sh --dir s --workspace work-folder
approve pdf --dir s --yes
approvals list
run pdf count.sh --dir s --workspace work-folder --dry-run
run pdf count.sh --dir s --workspace work-folder
undo --workspace work-folder
approvals revoke s/pdf
disable pdf --dir s
enable pdf --dir s
log show
log stats
log verify
log tail -n 1
log archive
replay
new mine --dir s
test mine --dir s
migrate s/pdf --yes
pack s/pdf -o pdf.zip
install pdf.zip --yes
list
remove pdf
skillify package --output s/tiny
mcp list
mcp install claude-code --dry-run
";

#[test]
fn the_main_flow_of_every_command_is_unchanged() {
    let env = TestEnv::with(SKILLS);
    let script = env.path("s/pdf/scripts/count.sh");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut all = String::new();
    for line in FLOW.lines() {
        let text = openskills(&env, line).transcript();
        let text = text.replace(env!("CARGO_BIN_EXE_openskills"), "[PROGRAM]");
        all += &format!("$ openskills {line}\n{}\n", stable(&text));
    }
    expect_file!["./flows.txt"].assert_eq(&all);
}
