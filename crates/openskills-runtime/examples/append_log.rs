//! Appends events to a log, one by one, and prints the median time of an append in nanoseconds; then fills the log up to a
//! size. For `bench/run`.
//!
//!     append_log FOLDER COUNT BYTES

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program for the bench")]

use std::time::Instant;

use jiff::Timestamp;
use openskills_runtime::log::{Log, LogOptions};
use openskills_runtime::{Event, ResourceRead};
use skill_fs::AbsPath;
use skill_state::SkillSource;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, count, bytes] = arguments.as_slice() else {
        return Err("append_log FOLDER COUNT BYTES".into());
    };
    let log = Log::new(AbsPath::new(folder)?, LogOptions::default());
    let event = || {
        Event::ResourceRead(ResourceRead {
            skill_id: "personal/pdf-processing".to_owned(),
            source: SkillSource::User,
            session_id: "session-0123456789abcdef".to_owned(),
            path: "references/forms.md".to_owned(),
            size: 4096,
            sha256: format!("sha256:{}", "0".repeat(64)),
            origin: None,
            read_at: Timestamp::UNIX_EPOCH,
        })
    };
    let mut times = Vec::new();
    for _ in 0..count.parse()? {
        let start = Instant::now();
        log.append(&[event()], Timestamp::now())?;
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    println!("{}", times[times.len() / 2]);
    let batch: Vec<Event> = (0..1000).map(|_| event()).collect();
    let wanted: u64 = bytes.parse()?;
    let mut written = 0;
    while written < wanted {
        log.append(&batch, Timestamp::now())?;
        // A line has about so many bytes.
        written += 1000 * 390;
    }
    Ok(())
}
