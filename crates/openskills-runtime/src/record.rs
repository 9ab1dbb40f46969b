//! Records what happened: `event` says what there is to record, `log` writes it, `replay` goes through it again.

pub(crate) mod event;
pub mod log;
pub(crate) mod process;
mod recorded;
pub(crate) mod replay;
pub(crate) mod run_record;
