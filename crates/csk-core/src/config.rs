//! User configuration: `config.json` (`file`) and its `layers`, agents, and each project's Skillfile and lockfile.

pub(crate) mod agents;
pub(crate) mod detect;
pub(crate) mod file;
pub(crate) mod index;
pub(crate) mod layers;
pub(crate) mod lockfile;
pub mod project;
pub(crate) mod skillfile;
pub(crate) mod skillfile_edit;
