//! Cached code is only used if its seal is valid.

use sandbox_wasm::{Artifact, CacheName, CompiledFor, compile};

use crate::guests::{World, hello, text};

#[test]
fn cached_code_runs_and_modified_code_does_not() {
    let (key, name) = ([7; 32], CacheName::of("hello", CompiledFor::ThisProcess).unwrap());
    let entry = compile(&hello()).unwrap().sealed(&key, &name);
    let code = Artifact::unsealed(&key, &name, &entry).unwrap();
    assert_eq!(text(&World::new().run_code(&code).stdout.bytes), "{\"hello\": 1}\n");
    for bit in (0..entry.len() * 8).step_by(997) {
        let mut changed = entry.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Artifact::unsealed(&key, &name, &changed), None, "bit {bit}");
    }
    for length in [0, 31, 32, 33, entry.len() - 1] {
        assert_eq!(Artifact::unsealed(&key, &name, &entry[..length]), None, "{length} bytes");
    }
    assert_eq!(Artifact::unsealed(&[8; 32], &name, &entry), None, "another key");
    // The code of one module is not valid under the name of another.
    let other = CacheName::of("other", CompiledFor::ThisProcess).unwrap();
    assert_eq!(Artifact::unsealed(&key, &other, &entry), None, "another name");
    assert_ne!(other, name);
    // Code for this process and code for the sandbox are not interchangeable.
    let inside = CacheName::of("hello", CompiledFor::Stage).unwrap();
    assert_eq!(Artifact::unsealed(&key, &inside, &entry), None);
    assert_eq!(CacheName::of("hello", CompiledFor::ThisProcess).unwrap(), name);
}
