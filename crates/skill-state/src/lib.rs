//! What both programs keep about trust: csk writes receipts for what it installs, openskills believes an origin only
//! with one; what the user approved; what the organisation forbids.

mod approvals;
mod key;
mod org_policy;
mod origin;
mod receipts;
mod source;

pub use approvals::{Approval, Approvals, Grant, StateError};
pub use key::key_of;
pub use org_policy::{OrgPolicy, RequiredTiers};
pub use origin::{Pattern, origin_key};
pub use receipts::Receipts;
pub use source::SkillSource;
