//! Bounds on all processes of a run together, where this user may make them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::Limits;

const MOUNT: &str = "/sys/fs/cgroup";
/// What the name of every group of a run begins with; its process and the time follow.
const PREFIX: &str = "openskills-";
/// How long the maker of a group may take to enter it. After that an empty one is nobody's, whatever has its maker's number now.
const ENTERED: Duration = Duration::from_secs(60);

/// The list of threads of a group in the older hierarchies. A process of one thread, as the stage is, may enter by it just as by `cgroup.procs`, and
/// need not wait until every process of the system has been seen between two forks, which takes 5 to 15 ms.
const TASKS: &str = "tasks";

/// The groups of a run; they are removed with it.
#[derive(Debug, Default)]
pub(super) struct Groups {
    folders: Vec<PathBuf>,
    /// Where a bound on memory is set, and where the number of processes that memory ended is written.
    memory: Option<Memory>,
    /// Where a bound on processes is set.
    pids: Option<PathBuf>,
}

#[derive(Debug)]
struct Memory {
    bound: PathBuf,
    /// The bound with swap, which must not be a way around. Not every system counts it.
    with_swap: PathBuf,
    ended: PathBuf,
}

/// The bounds that a run has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) memory: bool,
    pub(super) pids: bool,
}

impl Groups {
    /// Makes groups and enters them, as far as that can be done. What cannot be had is not there.
    pub(super) fn enter() -> Self {
        let mut groups = Self::default();
        let Ok(own) = fs::read_to_string("/proc/self/cgroup") else { return groups };
        let path = |controller: &str| {
            own.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let (names, path) = (parts.next()?, parts.next()?);
                let is_it = names.split(',').any(|name| name == controller);
                is_it.then(|| path.trim_start_matches('/').to_owned())
            })
        };
        if groups.enter_unified(path("").as_deref()) {
            return groups;
        }
        if let Some(path) = path("memory") {
            let base = Path::new(MOUNT).join("memory").join(path);
            if let Ok(folder) = groups.enter_one(&base, &["memory.limit_in_bytes"], TASKS) {
                groups.memory = Some(Memory {
                    bound: folder.join("memory.limit_in_bytes"),
                    with_swap: folder.join("memory.memsw.limit_in_bytes"),
                    ended: folder.join("memory.oom_control"),
                });
            }
        }
        if let Some(path) = path("pids") {
            let base = Path::new(MOUNT).join("pids").join(path);
            let folder = groups.enter_one(&base, &["pids.max"], TASKS);
            groups.pids = folder.ok().map(|folder| folder.join("pids.max"));
        }
        groups
    }

    /// The one hierarchy of newer systems: a leaf beside this process or at the root.
    fn enter_unified(&mut self, own: Option<&str>) -> bool {
        let Some(own) = own else { return false };
        if !Path::new(MOUNT).join("cgroup.controllers").exists() {
            return false;
        }
        let around = Path::new(own).parent().unwrap_or(Path::new(""));
        for base in [Path::new(own), around, Path::new("")] {
            let base = Path::new(MOUNT).join(base);
            if let Ok(folder) = self.enter_one(&base, &["memory.max", "pids.max"], "cgroup.procs") {
                let _ = fs::write(folder.join("memory.oom.group"), "1");
                self.pids = Some(folder.join("pids.max"));
                self.memory = Some(Memory {
                    bound: folder.join("memory.max"),
                    with_swap: folder.join("memory.swap.max"),
                    ended: folder.join("memory.events"),
                });
                return true;
            }
        }
        false
    }

    /// Makes a group that has these bounds, and enters it by its list of members.
    fn enter_one(&mut self, base: &Path, bounds: &[&str], members: &str) -> io::Result<PathBuf> {
        // One of a process of the same number may be left from before.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        let folder = base.join(format!("{PREFIX}{}-{}", std::process::id(), now.as_nanos()));
        fs::create_dir(&folder)?;
        sweep(base, now);
        let entered = bounds
            .iter()
            .try_for_each(|name| {
                fs::OpenOptions::new().write(true).open(folder.join(name)).map(drop)
            })
            .and_then(|()| fs::write(folder.join(members), "0"));
        match entered {
            Ok(()) => {
                self.folders.push(folder.clone());
                Ok(folder)
            }
            Err(error) => {
                let _ = fs::remove_dir(&folder);
                Err(error)
            }
        }
    }

    /// Sets the bounds. Returns which of them hold.
    pub(super) fn bound(&self, limits: &Limits) -> Bounds {
        let memory = self.memory.as_ref().is_some_and(|memory| {
            let bound = limits.memory.to_string();
            let is_set = fs::write(&memory.bound, &bound).is_ok();
            // The newer file counts swap alone, the older one both together.
            let is_alone = memory.with_swap.ends_with("memory.swap.max");
            let _ = fs::write(&memory.with_swap, if is_alone { "0" } else { &bound });
            is_set
        });
        let pids = self.pids.as_ref();
        let pids = pids.is_some_and(|file| fs::write(file, limits.pids.to_string()).is_ok());
        Bounds { memory, pids }
    }

    /// Returns true if memory ended a process.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let Some(memory) = &self.memory else { return false };
        let text = fs::read_to_string(&memory.ended).unwrap_or_default();
        text.lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }

    /// Returns the folders of the groups, for somebody outside of them to remove.
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Leaves the groups and removes them. The processes in them are gone.
    pub(super) fn remove(self) {
        for folder in self.folders {
            let around = folder.parent().map(Path::to_owned).unwrap_or_default();
            let _ = fs::write(around.join("cgroup.procs"), "0");
            let _ = fs::remove_dir(&folder);
        }
    }
}

/// Removes groups of runs that were killed before they could. The kernel removes no group with a process in it, and every run is in its own: what
/// can be removed is empty. One that was only just made, and is not entered yet, is known by its maker, which lives.
fn sweep(base: &Path, now: Duration) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_str().and_then(made_by).is_some_and(|made| is_abandoned(&made, now)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Who made a group, and when.
struct MadeBy {
    process: u32,
    at: Duration,
}

/// Returns who made a group; `None` for a group that no run made.
fn made_by(name: &str) -> Option<MadeBy> {
    let (process, nanoseconds) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let at = Duration::from_nanos(nanoseconds.parse().ok()?);
    Some(MadeBy { process: process.parse().ok()?, at })
}

fn is_abandoned(made: &MadeBy, now: Duration) -> bool {
    let is_old = now.checked_sub(made.at).is_some_and(|age| age > ENTERED);
    is_old || !Path::new("/proc").join(made.process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_runs_that_are_over_are_abandoned() {
        let now = Duration::from_secs(1_000_000);
        let own = std::process::id();
        let is_abandoned = |name: &str| made_by(name).is_some_and(|made| is_abandoned(&made, now));
        let just_now = (now - Duration::from_secs(1)).as_nanos();
        let long_ago = (now - Duration::from_secs(3600)).as_nanos();
        // No process has that number: it is beyond what the kernel gives out.
        assert!(is_abandoned(&format!("openskills-4194305-{just_now}")));
        assert!(
            is_abandoned(&format!("openskills-{own}-{long_ago}")),
            "the number was given out again"
        );
        assert!(!is_abandoned(&format!("openskills-{own}-{just_now}")));
        for name in
            ["openskills", "openskills-", "openskills-1", "other-4194305-1", "openskills-x-1"]
        {
            assert!(!is_abandoned(name), "{name}");
        }
    }
}
