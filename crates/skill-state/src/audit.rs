//! The user's audit decisions, stored verdicts, and their effect on installs.
//!
//! Everything is stored in `audit/` under csk's home folder: nothing that a skill ships can act as a decision of the user.

mod bundle;
mod gate;
mod policy;
mod verdicts;

pub use bundle::{Bundle, MAX_AUDITED_BYTES};
pub use gate::{
    AuditMode, AuditSubject, Clearance, ClearanceInputs, ConfirmationRequest, Decision, clear,
    decide,
};
pub use policy::{AuditPolicy, Pin, Revocation, Revoked, Suppression};
pub use verdicts::Verdicts;

use skill_fs::AbsPath;

/// Returns the folder of all audit state.
pub fn audit_folder(home: &AbsPath) -> AbsPath {
    home.join("audit")
}
