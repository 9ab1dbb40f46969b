//! Presents skills to a model: the catalog (`prompt`), a skill's instructions (`activate`, with its `arguments`), its
//! files (`resource`), and which skills are active in a `session`.

pub(crate) mod activate;
mod arguments;
pub(crate) mod contents;
mod deactivate;
pub(crate) mod elsewhere;
mod for_model;
pub(crate) mod load;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod schema_arguments;
pub(crate) mod search;
pub(crate) mod session;
pub mod uri;
pub(crate) mod wire;
