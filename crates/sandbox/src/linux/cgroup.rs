//! Control groups: limits for all processes of a run together, if this user may create groups.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::Limits;

const MOUNT: &str = "/sys/fs/cgroup";
/// The prefix of the name of every group of a run. The id of its stage and the time follow.
const PREFIX: &str = "openskills-";
/// How long a process may take to enter a group that it created. After that, an empty group counts as abandoned, even
/// if another process has the id of its creator now.
const ENTER_TIMEOUT: Duration = Duration::from_secs(60);

/// The list of a group's threads in cgroup v1. A process with a single thread, such as the stage, can enter a group
/// through it just as through `cgroup.procs`, without waiting for the kernel to synchronize with all forks in the
/// system, which takes 5 to 15 ms.
const TASKS: &str = "tasks";

/// The control groups of a run, which are removed when it ends.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    folders: Vec<PathBuf>,
    memory: Option<MemoryFiles>,
    /// The file that sets the limit of processes.
    pids: Option<PathBuf>,
}

/// The files of the memory controller.
#[derive(Debug)]
struct MemoryFiles {
    limit: PathBuf,
    /// The limit that includes swap, so that swap cannot be used to exceed the limit. Not every system has it.
    swap_limit: PathBuf,
    /// Contains the number of processes killed for lack of memory.
    oom_events: PathBuf,
}

/// Which limits are enforced.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnforcedLimits {
    pub(super) memory: bool,
    pub(super) pids: bool,
}

impl Cgroups {
    /// Creates the groups that this user may create, and enters them.
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
                groups.memory = Some(MemoryFiles {
                    limit: folder.join("memory.limit_in_bytes"),
                    swap_limit: folder.join("memory.memsw.limit_in_bytes"),
                    oom_events: folder.join("memory.oom_control"),
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

    /// Enters a group in the unified hierarchy (cgroup v2): below this process's group, next to it, or at the root.
    fn enter_unified(&mut self, own: Option<&str>) -> bool {
        let Some(own) = own else { return false };
        if !Path::new(MOUNT).join("cgroup.controllers").exists() {
            return false;
        }
        let parent = Path::new(own).parent().unwrap_or(Path::new(""));
        for base in [Path::new(own), parent, Path::new("")] {
            let base = Path::new(MOUNT).join(base);
            if let Ok(folder) = self.enter_one(&base, &["memory.max", "pids.max"], "cgroup.procs") {
                let _ = fs::write(folder.join("memory.oom.group"), "1");
                self.pids = Some(folder.join("pids.max"));
                self.memory = Some(MemoryFiles {
                    limit: folder.join("memory.max"),
                    swap_limit: folder.join("memory.swap.max"),
                    oom_events: folder.join("memory.events"),
                });
                return true;
            }
        }
        false
    }

    /// Creates a group that has these limit files, and enters it through its list of members.
    fn enter_one(&mut self, base: &Path, limits: &[&str], members: &str) -> io::Result<PathBuf> {
        // The name includes the time, because a group of an earlier process with the same id may still exist.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        let folder = base.join(format!("{PREFIX}{}-{}", std::process::id(), now.as_nanos()));
        fs::create_dir(&folder)?;
        sweep(base, now);
        let entered = limits
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

    /// Sets the limits. Returns which of them are enforced.
    pub(super) fn set_limits(&self, limits: &Limits) -> EnforcedLimits {
        let is_limited = limits.memory != u64::MAX;
        let memory = self.memory.as_ref().filter(|_| is_limited).is_some_and(|memory| {
            let limit = limits.memory.to_string();
            let is_set = fs::write(&memory.limit, &limit).is_ok();
            // The v2 file limits swap only, the v1 file limits memory and swap together.
            let is_swap_only = memory.swap_limit.ends_with("memory.swap.max");
            let _ = fs::write(&memory.swap_limit, if is_swap_only { "0" } else { &limit });
            is_set
        });
        let pids = self.pids.as_ref();
        let pids = pids.is_some_and(|file| fs::write(file, limits.pids.to_string()).is_ok());
        EnforcedLimits { memory, pids }
    }

    /// Returns true if the kernel killed a process for exceeding the memory limit.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let Some(memory) = &self.memory else { return false };
        let text = fs::read_to_string(&memory.oom_events).unwrap_or_default();
        text.lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }

    /// Returns the folders of the groups, which a process outside of them can remove.
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Leaves the groups and removes them. All other processes in them must have ended.
    pub(super) fn remove(self) {
        for folder in self.folders {
            let parent = folder.parent().map(Path::to_owned).unwrap_or_default();
            let _ = fs::write(parent.join("cgroup.procs"), "0");
            let _ = fs::remove_dir(&folder);
        }
    }
}

/// Removes groups of runs that were killed before they could remove them. This is safe: the kernel does not remove a
/// group with processes in it, and every run is in its own group. A group that was just created and not entered yet is
/// recognized because its creator is alive.
fn sweep(base: &Path, now: Duration) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_str().and_then(origin).is_some_and(|origin| is_abandoned(&origin, now)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Which process created a group, and when.
struct CgroupOrigin {
    process: u32,
    created: Duration,
}

/// Parses the name of a group; `None` for a group that no run created.
fn origin(name: &str) -> Option<CgroupOrigin> {
    let (process, nanoseconds) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let created = Duration::from_nanos(nanoseconds.parse().ok()?);
    Some(CgroupOrigin { process: process.parse().ok()?, created })
}

fn is_abandoned(origin: &CgroupOrigin, now: Duration) -> bool {
    let is_old = now.checked_sub(origin.created).is_some_and(|age| age > ENTER_TIMEOUT);
    is_old || !Path::new("/proc").join(origin.process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_ended_runs_are_abandoned() {
        let now = Duration::from_secs(1_000_000);
        let own = std::process::id();
        let is_abandoned =
            |name: &str| origin(name).is_some_and(|origin| is_abandoned(&origin, now));
        let just_now = (now - Duration::from_secs(1)).as_nanos();
        let long_ago = (now - Duration::from_secs(3600)).as_nanos();
        // No process has this id: it is greater than the kernel's maximum.
        assert!(is_abandoned(&format!("openskills-4194305-{just_now}")));
        assert!(is_abandoned(&format!("openskills-{own}-{long_ago}")), "the process id was reused");
        assert!(!is_abandoned(&format!("openskills-{own}-{just_now}")));
        for name in
            ["openskills", "openskills-", "openskills-1", "other-4194305-1", "openskills-x-1"]
        {
            assert!(!is_abandoned(name), "{name}");
        }
    }
}
