//! What both programs keep about trust: csk writes receipts for what it installs, openskills believes an origin only
//! with one.

mod key;
mod receipts;

pub use key::key_of;
pub use receipts::Receipts;
