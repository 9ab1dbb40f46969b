//! The tests of csk.
