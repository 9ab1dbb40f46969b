//! The check of the fuzz target, on the corpus and on what fuzzing has found.

#[path = "../../../../fuzz/check.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz target's file")]
mod check;

use testkit::corpus::cases;

#[test]
fn the_corpus_passes_the_check_of_the_fuzz_target() {
    for case in cases() {
        check::check(&case.bytes);
        // Every cut of a file is a file, too.
        for end in 0..case.bytes.len().min(300) {
            check::check(&case.bytes[..end]);
        }
    }
}

#[test]
fn inputs_found_by_fuzzing_stay_fixed() {
    check::check(b"-\xcc7\nn\n");
}
