//! Compiled code is believed only where nobody can have changed it.

use sandbox_wasm::{Artifact, CacheName, CompiledFor, compile};

use crate::guests::{World, hello, text};

#[test]
fn code_that_was_kept_runs_and_one_bit_more_or_less_does_not() {
    let (key, name) = ([7; 32], CacheName::of("hello", CompiledFor::Us).unwrap());
    let kept = compile(&hello()).unwrap().sealed(&key, &name);
    let code = Artifact::unsealed(&key, &name, &kept).unwrap();
    assert_eq!(text(&World::new().run_code(&code).stdout.bytes), "{\"hello\": 1}\n");
    for bit in (0..kept.len() * 8).step_by(997) {
        let mut changed = kept.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Artifact::unsealed(&key, &name, &changed), None, "bit {bit}");
    }
    for length in [0, 31, 32, 33, kept.len() - 1] {
        assert_eq!(Artifact::unsealed(&key, &name, &kept[..length]), None, "{length} bytes");
    }
    assert_eq!(Artifact::unsealed(&[8; 32], &name, &kept), None, "another key");
    // Code of one module is nothing under the name of another.
    let other = CacheName::of("other", CompiledFor::Us).unwrap();
    assert_eq!(Artifact::unsealed(&key, &other, &kept), None, "another name");
    assert_ne!(other, name);
    // Nor is what was compiled inside the sandbox under that of what was compiled here.
    let inside = CacheName::of("hello", CompiledFor::Stage).unwrap();
    assert_eq!(Artifact::unsealed(&key, &inside, &kept), None);
    assert_eq!(CacheName::of("hello", CompiledFor::Us).unwrap(), name);
}
