//! Runs an agent's command lines in the sandbox, restricted to what every active skill may do.
//!
//! A command line is planned, authorized (`decide/command.rs`), run and recorded like a script, with the differences
//! that an agent needs: it works in the project with its own shell, keeps a home folder and temporary files for its
//! session, may use the repository, and may leave processes running until the session ends.

mod background;
mod environment;
mod git_settings;
mod kept;
mod plan;
mod run;
mod runs_later;
mod session_folders;
mod spec;
mod ticket;
mod toolchains;

pub use background::EndedBackground;
pub(crate) use environment::is_command_variable;
pub use kept::{KeptChanges, Side};
pub use plan::CommandRequest;
pub use run::CommandResult;
pub(crate) use session_folders::HOMES;
pub(crate) use spec::required;
pub use ticket::{RedeemedTicket, Ticket, TicketRecord, TicketState, UnconfinedState};
