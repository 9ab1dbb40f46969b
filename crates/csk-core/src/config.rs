//! What the user configures: `config.json` (`file`) in its layers, agents, and in each project the Skillfile and its lock.

pub(crate) mod agents;
pub(crate) mod file;
pub(crate) mod layers;
pub(crate) mod lockfile;
pub mod project;
pub(crate) mod skillfile;
pub(crate) mod skillfile_edit;
