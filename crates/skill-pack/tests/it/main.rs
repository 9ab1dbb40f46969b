//! Archives that others made, and archives that nobody should take.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod honest;
mod hostile;
mod signed;
