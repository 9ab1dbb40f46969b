//! Git: the repositories of skills, read in this process (`repository`, `objects`), and the `git` program for what needs the user's credentials
//! (`program`). What is asked about a project is answered without git (`checkout`).

pub(crate) mod checkout;
pub(crate) mod object;
pub(crate) mod objects;
pub(crate) mod program;
pub(crate) mod quick_ref;
pub(crate) mod repository;
mod settings;
pub(crate) mod url;
mod user;
