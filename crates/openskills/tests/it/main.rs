//! The tests of the command line: the real program on real files.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic, reason = "tests")]

mod approvals;
mod capability_walk;
mod check_tool;
mod corteza;
mod declared;
mod exec;
mod exec_everyday;
mod exec_git;
mod failures;
mod flows;
mod frame;
mod fuzz;
mod gate;
mod general;
mod hook;
mod hostile;
mod interrupted;
mod kill;
mod lists;
mod log;
mod log_events;
mod mcp;
mod mcp_conformance;
mod mcp_host;
mod mcp_http;
mod mcp_install;
mod mcp_protocol;
mod mcp_real;
mod mcp_rmcp;
mod mcp_suspended;
mod mcp_tools;
mod mcp_unlisted;
mod names;
mod output;
mod packages;
mod parity;
mod prepared_packages;
mod project_packages;
mod prompt;
mod recorded;
mod repository;
mod run;
mod runtime;
mod schemas;
mod scripts;
mod show;
mod skillify;
mod undo;
mod validate;
mod wasm;

use testkit::{Run, TestEnv};

/// Runs the program with `arguments`, split at white space.
fn openskills(env: &TestEnv, arguments: &str) -> Run {
    env.run(env!("CARGO_BIN_EXE_openskills"), arguments)
}

/// Two skills, one valid and one not.
const SKILLS: &str = "\
//- /skills/pdf/SKILL.md
---
name: pdf
description: Extracts text from PDFs. Use when a PDF is given.
license: MIT
allowed-tools: Read, Bash(git:*)
metadata:
  author: acme
---
# Steps

See [the guide](references/guide.md).
//- /skills/pdf/references/guide.md
Guide.
//- /skills/csv/SKILL.md
---
name: CSV Tools
description: Use when: asked
version: 1.0
---
Body.
";
