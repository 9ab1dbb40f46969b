//! Bounds on all processes of a run together, where this user may make them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Limits;

const MOUNT: &str = "/sys/fs/cgroup";

/// The groups of a run; they are removed with it.
#[derive(Debug, Default)]
pub(super) struct Groups {
    folders: Vec<PathBuf>,
    /// Where the number of processes that memory ended is written.
    memory: Option<PathBuf>,
    pub(super) has_memory: bool,
    pub(super) has_pids: bool,
}

impl Groups {
    /// Makes groups and enters them, as far as that can be done. What cannot be had is not there.
    pub(super) fn enter(limits: &Limits) -> Self {
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
        if groups.enter_unified(limits, path("").as_deref()) {
            return groups;
        }
        let memory = limits.memory.to_string();
        if let Some(path) = path("memory") {
            let base = Path::new(MOUNT).join("memory").join(path);
            let settings = [("memory.limit_in_bytes", memory.as_str())];
            if let Ok(folder) = groups.enter_one(&base, &settings) {
                // Where swap counts, it must not be a way around.
                let _ = fs::write(folder.join("memory.memsw.limit_in_bytes"), &memory);
                groups.memory = Some(folder.join("memory.oom_control"));
                groups.has_memory = true;
            }
        }
        if let Some(path) = path("pids") {
            let base = Path::new(MOUNT).join("pids").join(path);
            let settings = [("pids.max", limits.pids.to_string())];
            let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
            groups.has_pids = groups.enter_one(&base, &settings).is_ok();
        }
        groups
    }

    /// The one hierarchy of newer systems: a leaf beside this process or at the root.
    fn enter_unified(&mut self, limits: &Limits, own: Option<&str>) -> bool {
        let Some(own) = own else { return false };
        if !Path::new(MOUNT).join("cgroup.controllers").exists() {
            return false;
        }
        let (memory, pids) = (limits.memory.to_string(), limits.pids.to_string());
        let settings = [("memory.max", memory.as_str()), ("pids.max", pids.as_str())];
        let around = Path::new(own).parent().unwrap_or(Path::new(""));
        for base in [Path::new(own), around, Path::new("")] {
            let base = Path::new(MOUNT).join(base);
            if let Ok(folder) = self.enter_one(&base, &settings) {
                let _ = fs::write(folder.join("memory.swap.max"), "0");
                let _ = fs::write(folder.join("memory.oom.group"), "1");
                self.memory = Some(folder.join("memory.events"));
                (self.has_memory, self.has_pids) = (true, true);
                return true;
            }
        }
        false
    }

    fn enter_one(&mut self, base: &Path, settings: &[(&str, &str)]) -> io::Result<PathBuf> {
        // One of a process of the same number may be left from before.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let folder = base.join(format!("openskills-{}-{now}", std::process::id()));
        fs::create_dir(&folder)?;
        let entered = settings
            .iter()
            .try_for_each(|(name, value)| fs::write(folder.join(name), value))
            .and_then(|()| fs::write(folder.join("cgroup.procs"), "0"));
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

    /// Returns true if memory ended a process.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let Some(file) = &self.memory else { return false };
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }

    /// Returns the folders of the groups, for somebody outside of them to remove.
    pub(super) fn folders(self) -> Vec<PathBuf> {
        self.folders
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
