//! Git access: skill repositories are read in this process (`repository`, `objects`); the `git` program runs only for
//! what needs the user's credentials (`program`). Questions about a project are answered without git (`checkout`).

pub(crate) mod checkout;
pub(crate) mod object;
pub(crate) mod objects;
pub(crate) mod program;
pub(crate) mod quick_ref;
pub(crate) mod repository;
mod settings;
pub(crate) mod skill_folders;
pub(crate) mod url;
mod user;
