//! Servers made with other libraries, fastmcp and the TypeScript SDK, over stdio and HTTP.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use testkit::{TestEnv, skip};

use crate::openskills;

const SKILLS: &str = "\
//- /skills/pdf/SKILL.md
---
name: pdf
description: Extracts text from PDFs.
---
Read the guide.
//- /skills/pdf/references/guide.md
The guide.
//- /skills/zip/SKILL.md
---
name: zip
description: Zips.
---
Zip.
";

/// How to start a server: the program, its script and the variable with the path of the library.
struct Library {
    program: &'static str,
    script: &'static str,
    variable: &'static str,
    /// The name of that variable in CI.
    given: &'static str,
}

const LIBRARIES: [Library; 2] = [
    Library {
        program: "python3",
        script: "mcp_real_server.py",
        variable: "PYTHONPATH",
        given: "MCP_FASTMCP",
    },
    Library {
        program: "node",
        script: "mcp_real_server.mjs",
        variable: "MCP_TYPESCRIPT",
        given: "MCP_TYPESCRIPT",
    },
];

/// A server that is killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn good(env: &TestEnv, arguments: &str) -> String {
    let run = openskills(env, arguments);
    assert_eq!(run.code, Some(0), "{arguments}: {}", run.stderr);
    run.stdout
}

fn is_read(env: &TestEnv, at: &str) {
    let listed = good(env, "list");
    assert!(listed.contains("mcp:docs, needs approval"), "{at}: {listed}");
    good(env, "approve docs/pdf --yes");
    assert!(good(env, "activate docs/pdf").contains("Read the guide."), "{at}");
    assert_eq!(good(env, "read docs/pdf references/guide.md"), "The guide.\n", "{at}");
    good(env, "mcp sync");
    good(env, "mcp remove docs");
}

#[test]
fn servers_made_with_other_libraries_work() {
    for library in LIBRARIES {
        let Some(place) = std::env::var_os(library.given) else {
            skip(
                "servers_made_with_other_libraries_work",
                &format!("{} is not set", library.given),
            );
            continue;
        };
        let env = TestEnv::with(SKILLS).var(library.variable, &place.to_string_lossy());
        let script = format!("{}/tests/it/{}", env!("CARGO_MANIFEST_DIR"), library.script);
        let (program, variable) = (library.program, library.variable);
        let skills = env.path("skills").display().to_string();
        let added =
            good(&env, &format!("mcp add docs --env {variable} -- {program} {script} {skills}"));
        assert!(added.contains("docs: 2 skills"), "{program}: {added}");
        is_read(&env, program);
        let mut command = env.command(program, &[&script, &skills, "http"]);
        let mut server = Running(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut url = String::new();
        BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let mut added = openskills(&env, &format!("mcp add docs {}", url.trim()));
        // The address is printed before the server listens.
        for _ in 0..100 {
            if added.code == Some(0) || !added.stderr.contains("onnection refused") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
            added = openskills(&env, &format!("mcp add docs {}", url.trim()));
        }
        assert!(added.stdout.contains("docs: 2 skills"), "{program}: {}", added.stderr);
        is_read(&env, &format!("{program} over HTTP"));
    }
}
