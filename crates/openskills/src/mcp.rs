//! `openskills mcp`: skills for every client of the Model Context Protocol.
//!
//! What comes goes this way: `lines.rs` (standard input) or `http.rs` (an address) takes it, `incoming.rs` looks whether it is a message at all, `server.rs` answers it,
//! with what `clients.rs` keeps for each client. `tools.rs` has the four tools (`schemas.rs` what a client is told of them), `catalogue.rs` skills and their files as
//! resources, `prompts.rs` skills as prompts; `error_text.rs` says what failed. `ask.rs` asks the user through the client, `changes.rs` tells of what changed, `until_end.rs` and
//! `hangup.rs` notice that a client went. `configure.rs` writes it into the files of clients. `host.rs` is the other side: it asks other servers for their skills. Everything that a
//! client asks for goes through the runtime, with its policy, its permits and its log; work is done on threads of its own, so that one client's script does not keep another waiting.

/// What this server calls itself.
const NAME: &str = "openskills";

mod ask;
mod catalogue;
mod changes;
mod clients;
mod configure;
mod error_text;
mod hangup;
mod host;
mod http;
mod incoming;
mod introduced;
mod lines;
mod payloads;
mod prompts;
mod schemas;
mod server;
mod stalled;

mod tools;
mod until_end;

pub(crate) use configure::{ClientKind, Entry, NoFile, Reach};
pub(crate) use host::{fetcher, list as list_skills};
pub(crate) use http::{Http, serve_http};
pub(crate) use server::{Listed, Served, ToolNames, serve_stdio};
