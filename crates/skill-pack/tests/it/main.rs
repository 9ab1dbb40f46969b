//! Archives made by other programs, and malicious archives.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod honest;
mod hostile;
mod signed;
