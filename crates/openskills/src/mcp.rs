//! `openskills mcp`: serves skills over the Model Context Protocol and uses skills from other servers.
//!
//! Incoming data is read by `stdio.rs` or `http.rs`, checked by `incoming.rs` and answered by `server.rs`, which
//! keeps the state of each client in `clients.rs`. `tools.rs` implements the four tools (described in `schemas.rs`),
//! `catalog.rs` offers skills and their files as resources, `prompts.rs` offers skills as prompts, and `error_text.rs`
//! describes failures. `ask.rs` asks the user through the client, `changes.rs` sends change notifications, and
//! `on_eof.rs` and `hangup.rs` notice when a client disconnects. `configure.rs` edits the config files of clients.
//! `host.rs` is the other side: it requests skills from other servers.
//!
//! Every request of a client goes through the runtime, with its policy, its permits and its log. Work runs on separate
//! threads, so that one client's script does not block another client.

/// The name that this server reports to clients.
const NAME: &str = "openskills";

mod ask;
mod catalog;
mod changes;
mod clients;
mod configure;
mod error_text;
mod hangup;
mod host;
mod http;
mod incoming;
mod on_eof;
mod payloads;
mod prompts;
mod schemas;
mod server;
mod server_info;
mod stdio;
mod tools;
mod write_timeout;

pub(crate) use configure::{ClientKind, ConfigScope, NoConfigFile, ServerCommand};
pub(crate) use host::{fetcher, list as list_skills};
pub(crate) use http::{HttpOptions, serve_http};
pub(crate) use server::{ListFilter, ServeConfig, ToolNames, serve_stdio};
