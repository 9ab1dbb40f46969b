//! `openskills mcp`: skills for every client of the Model Context Protocol.
//!
//! `server.rs` answers; `tools.rs` has the four tools (`schemas.rs` what a client is told of them), `catalogue.rs` skills and their files as resources, `prompts.rs` skills as prompts,
//! `uri.rs` what they are called, `until_end.rs` notices that a client went. Everything that a client asks for goes through the runtime, with its policy, its permits and its log; work
//! is done on threads of its own, so that one client's script does not keep another waiting.

mod catalogue;
mod prompts;
mod schemas;
mod server;
mod tools;
mod until_end;
mod uri;

pub(crate) use server::{Served, ToolNames, serve_stdio};
