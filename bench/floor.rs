//! The least work that a program needs to find the skills of a folder, on one thread. `bench/run` compiles it.
//!
//!     floor read DIR    lists DIR and reads the first 4 KiB of every DIR/*/SKILL.md
//!     floor stat DIR    lists DIR and stats every DIR/*/SKILL.md

use std::fs::{File, metadata, read_dir};
use std::io::Read;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (job, folder) = (arguments.next().expect("a job"), arguments.next().expect("a folder"));
    let mut total = 0;
    let mut buffer = [0; 4096];
    for entry in read_dir(folder).expect("the folder can be listed") {
        let file = entry.expect("the entry can be read").path().join("SKILL.md");
        total += match job.as_str() {
            "read" => File::open(file).and_then(|mut file| file.read(&mut buffer)).expect("it can be read") as u64,
            "stat" => metadata(file).expect("it is there").len(),
            _ => panic!("read or stat"),
        };
    }
    println!("{total}");
}
