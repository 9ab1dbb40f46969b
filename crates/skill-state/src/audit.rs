//! What the user said about audits, what was found before, and what follows for an install.
//!
//! Everything is kept under csk's home, in `audit/`: nothing that a skill ships is ever read as a word of the user.

mod bundle;
mod gate;
mod policy;
mod verdicts;

pub use bundle::{Bundle, MOST_OF_A_FILE};
pub use gate::{Asked, AuditMode, Clearance, Decision, Known, Subject, clear, decide};
pub use policy::{AuditPolicy, Pin, Revocation, Revoked, Suppression};
pub use verdicts::Verdicts;

use skill_fs::AbsPath;

/// Returns the folder of everything about audits.
pub fn audit_folder(home: &AbsPath) -> AbsPath {
    home.join("audit")
}
