//! Decides: whether a tool may be called (`policy`), whether a skill may run (`permit`), and what the user and the organisation said of it.

pub(crate) mod approvals;
pub(crate) mod audited;
mod decisions;
pub(crate) mod org;
pub mod permit;
pub mod policy;
pub(crate) mod tools;
