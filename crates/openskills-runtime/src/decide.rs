//! Policy decisions: whether a tool may be called (`policy`), whether a skill may run (`permit`), and the choices of
//! the user and the organization that these depend on.

pub(crate) mod agent_rules;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod command;
mod decisions;
pub(crate) mod org;
pub(crate) mod packages;
pub mod permit;
pub mod policy;
pub(crate) mod tools;
pub(crate) mod unconfined;
