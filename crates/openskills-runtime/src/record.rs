//! Records what happened: `event` defines the events, `log` stores them, `replay` compares them with the current
//! skills.

pub(crate) mod event;
pub mod log;
pub(crate) mod process;
mod recorded;
pub(crate) mod replay;
pub(crate) mod run_record;
