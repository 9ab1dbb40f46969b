//! Tests of the audit as a whole.
