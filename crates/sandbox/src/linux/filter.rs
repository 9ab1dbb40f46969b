//! The seccomp filter: a list of calls that are let, conditions on some, and a report of those that should never happen.
//!
//! The program is emitted as ranges of numbers, since a rule for each would cost more than everything else at the start.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W,
    c_long, sock_filter,
};

/// What the program that is filtered lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterKind {
    /// Namespaces without a network: sockets inside the sandbox are let.
    TierA,
    /// The same with a proxy: streams of the internet are let as well.
    TierAWithProxy,
    /// The user's own view of files and processes: no socket is let, and nothing about files that Landlock does not hold.
    TierB,
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const REPORT: u32 = libc::SECCOMP_RET_USER_NOTIF;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
const fn errno(code: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | code as u32
}

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

/// Where the parts of a call are in what the filter sees.
const AT_NUMBER: u32 = 0;
const AT_ARCH: u32 = 4;
const fn at_argument(index: u32) -> u32 {
    16 + 8 * index
}

/// Calls that every program may make.
const USUAL: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_brk,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_sched_yield,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_madvise,
    libc::SYS_dup,
    libc::SYS_nanosleep,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_getpid,
    libc::SYS_sendfile,
    libc::SYS_connect,
    libc::SYS_accept,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_shutdown,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_wait4,
    libc::SYS_kill,
    libc::SYS_uname,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_fchown,
    libc::SYS_umask,
    libc::SYS_gettimeofday,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_getuid,
    libc::SYS_getgid,
    libc::SYS_geteuid,
    libc::SYS_getegid,
    libc::SYS_setpgid,
    libc::SYS_getppid,
    libc::SYS_setsid,
    libc::SYS_getgroups,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_capget,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_getpriority,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_mlockall,
    libc::SYS_munlockall,
    libc::SYS_prctl,
    libc::SYS_setrlimit,
    libc::SYS_sync,
    libc::SYS_gettid,
    libc::SYS_readahead,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_tkill,
    libc::SYS_futex,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_tid_address,
    libc::SYS_restart_syscall,
    libc::SYS_fadvise64,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_exit_group,
    libc::SYS_epoll_ctl,
    libc::SYS_tgkill,
    libc::SYS_waitid,
    libc::SYS_ioprio_get,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
    libc::SYS_mkdirat,
    libc::SYS_fchownat,
    libc::SYS_newfstatat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_pselect6,
    libc::SYS_ppoll,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_sync_file_range,
    libc::SYS_vmsplice,
    libc::SYS_utimensat,
    libc::SYS_epoll_pwait,
    libc::SYS_timerfd_create,
    libc::SYS_fallocate,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_accept4,
    libc::SYS_signalfd4,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_inotify_init1,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_recvmmsg,
    libc::SYS_syncfs,
    libc::SYS_sendmmsg,
    libc::SYS_getcpu,
    libc::SYS_sched_getattr,
    libc::SYS_renameat2,
    libc::SYS_getrandom,
    libc::SYS_memfd_create,
    libc::SYS_execveat,
    libc::SYS_membarrier,
    libc::SYS_mlock2,
    libc::SYS_copy_file_range,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_pkey_mprotect,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_statx,
    libc::SYS_rseq,
    libc::SYS_close_range,
    libc::SYS_faccessat2,
    libc::SYS_epoll_pwait2,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_futex_waitv,
    libc::SYS_getdents64,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
];

/// Memory, semaphores and queues that processes share by a number: harmless only in a namespace of their own.
const SHARED: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
];

/// Calls with a mode of a file, and which argument it is.
const WITH_MODE: &[(c_long, u32)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_openat, 3),
    (libc::SYS_mknodat, 2),
];
#[cfg(target_arch = "x86_64")]
const OWN_WITH_MODE: &[(c_long, u32)] =
    &[(libc::SYS_chmod, 1), (libc::SYS_open, 2), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(target_arch = "aarch64")]
const OWN_WITH_MODE: &[(c_long, u32)] = &[];

/// Calls that change modes and times.
const METADATA: &[c_long] = &[libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_utimensat];
/// Calls that change owners.
const OWNERS: &[c_long] = &[libc::SYS_fchown, libc::SYS_fchownat];
#[cfg(target_arch = "x86_64")]
const OWN_METADATA: &[c_long] =
    &[libc::SYS_chmod, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(target_arch = "x86_64")]
const OWN_OWNERS: &[c_long] = &[libc::SYS_chown, libc::SYS_lchown];
#[cfg(target_arch = "aarch64")]
const OWN_METADATA: &[c_long] = &[];
#[cfg(target_arch = "aarch64")]
const OWN_OWNERS: &[c_long] = &[];

/// Calls that change attributes, or read them by path. Landlock does not hold them; what is read by a descriptor was opened, and that it holds.
const ATTRIBUTES: &[c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
];
/// Calls that tell who opens, reads or writes files elsewhere, by path. Landlock does not hold them either.
const WATCHES: &[c_long] = &[libc::SYS_inotify_init1, libc::SYS_inotify_add_watch];
#[cfg(target_arch = "x86_64")]
const OWN_WATCHES: &[c_long] = &[libc::SYS_inotify_init];
#[cfg(target_arch = "aarch64")]
const OWN_WATCHES: &[c_long] = &[];

/// What may be asked of a descriptor without a view of its own: about terminals and pipes, and what only reads. Others change a file that was
/// opened for reading alone (its flags, its project, its subvolumes), which Landlock holds for devices only.
const QUESTIONS: &[u32] = &[
    libc::TCGETS as u32,
    libc::TCSETS as u32,
    libc::TCSETSW as u32,
    libc::TCSETSF as u32,
    libc::TCGETS2 as u32,
    libc::TIOCGWINSZ as u32,
    libc::TIOCGPGRP as u32,
    libc::TIOCSPGRP as u32,
    libc::TIOCGSID as u32,
    libc::FIONREAD as u32,
    libc::FIONBIO as u32,
    libc::FIOCLEX as u32,
    libc::FIONCLEX as u32,
    // FICLONE and FICLONERANGE: both files are open, and the one that is written is open for that.
    0x4004_9409,
    0x4020_940d,
    // FS_IOC_FIEMAP, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR.
    0xc020_660b,
    0x8008_6601,
    0x801c_581f,
];

/// Calls about a process, and which argument says which: 0 is the caller itself.
const ABOUT_ITSELF: &[(c_long, u32)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
];

/// Calls that only x86 has.
#[cfg(target_arch = "x86_64")]
const OWN: &[c_long] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_poll,
    libc::SYS_access,
    libc::SYS_pipe,
    libc::SYS_select,
    libc::SYS_dup2,
    libc::SYS_pause,
    libc::SYS_alarm,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_getdents,
    libc::SYS_rename,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_link,
    libc::SYS_unlink,
    libc::SYS_symlink,
    libc::SYS_readlink,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_getpgrp,
    libc::SYS_utime,
    libc::SYS_arch_prctl,
    libc::SYS_time,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_utimes,
    libc::SYS_inotify_init,
    libc::SYS_futimesat,
    libc::SYS_signalfd,
    libc::SYS_eventfd,
];
#[cfg(target_arch = "aarch64")]
const OWN: &[c_long] = &[];

/// Calls that no honest script makes; each is reported.
pub(super) const REPORTED: &[(c_long, &str)] = &[
    (libc::SYS_ptrace, "ptrace"),
    (libc::SYS_process_vm_readv, "process_vm_readv"),
    (libc::SYS_process_vm_writev, "process_vm_writev"),
    (libc::SYS_mount, "mount"),
    (libc::SYS_umount2, "umount2"),
    (libc::SYS_pivot_root, "pivot_root"),
    (libc::SYS_chroot, "chroot"),
    (libc::SYS_open_tree, "open_tree"),
    (libc::SYS_move_mount, "move_mount"),
    (libc::SYS_fsopen, "fsopen"),
    (libc::SYS_fsconfig, "fsconfig"),
    (libc::SYS_fsmount, "fsmount"),
    (libc::SYS_fspick, "fspick"),
    (libc::SYS_mount_setattr, "mount_setattr"),
    (libc::SYS_unshare, "unshare"),
    (libc::SYS_setns, "setns"),
    (libc::SYS_bpf, "bpf"),
    (libc::SYS_perf_event_open, "perf_event_open"),
    (libc::SYS_userfaultfd, "userfaultfd"),
    (libc::SYS_keyctl, "keyctl"),
    (libc::SYS_add_key, "add_key"),
    (libc::SYS_request_key, "request_key"),
    (libc::SYS_open_by_handle_at, "open_by_handle_at"),
    (libc::SYS_pidfd_getfd, "pidfd_getfd"),
    (libc::SYS_io_uring_setup, "io_uring_setup"),
    (libc::SYS_io_uring_enter, "io_uring_enter"),
    (libc::SYS_io_uring_register, "io_uring_register"),
    (libc::SYS_init_module, "init_module"),
    (libc::SYS_finit_module, "finit_module"),
    (libc::SYS_kexec_load, "kexec_load"),
    (libc::SYS_reboot, "reboot"),
    (libc::SYS_swapon, "swapon"),
    (libc::SYS_sethostname, "sethostname"),
    (libc::SYS_syslog, "syslog"),
    (libc::SYS_seccomp, "seccomp"),
];

/// A socket of a family that is not let is reported under this name.
pub(super) const SOCKET: (c_long, &str) = (libc::SYS_socket, "socket");

/// Returns the filter.
pub(super) fn program(kind: FilterKind) -> Vec<sock_filter> {
    let mut code = vec![load(AT_ARCH), jump(BPF_JEQ, ARCH, 1, 0), ret(KILL), load(AT_NUMBER)];
    // The other numbering of x86 has this bit.
    if cfg!(target_arch = "x86_64") {
        code.extend([jump(BPF_JGE, 0x4000_0000, 0, 1), ret(KILL)]);
    }
    code.extend(conditions(kind));
    let shared = if kind == FilterKind::TierB { &[] } else { SHARED };
    let mut numbers: Vec<(u32, u32)> =
        USUAL.iter().chain(OWN).chain(shared).map(|nr| (*nr as u32, ALLOW)).collect();
    numbers.extend(REPORTED.iter().map(|(nr, _)| (*nr as u32, REPORT)));
    numbers.sort_unstable();
    numbers.dedup_by_key(|(nr, _)| *nr);
    let mut at = 0;
    while at < numbers.len() {
        let (first, action) = numbers[at];
        let mut end = at;
        while end + 1 < numbers.len() && numbers[end + 1] == (numbers[end].0 + 1, action) {
            end += 1;
        }
        // Beyond the range: look on. Before it: not in the list.
        code.extend([
            jump(BPF_JGT, numbers[end].0, 3, 0),
            jump(BPF_JGE, first, 0, 1),
            ret(action),
            ret(errno(libc::ENOSYS)),
        ]);
        at = end + 1;
    }
    code.push(ret(errno(libc::ENOSYS)));
    code
}

/// Calls that are let by what they are given.
fn conditions(kind: FilterKind) -> Vec<sock_filter> {
    let new_namespaces = (libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET) as u32;
    let mut code = Vec::new();
    // clone: no new namespace.
    code.extend(when(
        libc::SYS_clone,
        vec![
            load(at_argument(0)),
            statement(BPF_ALU | BPF_AND | BPF_K, new_namespaces),
            jump(BPF_JEQ, 0, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ],
    ));
    // clone3: its flags are in memory, which a filter cannot see; programs fall back to clone.
    code.extend(when(libc::SYS_clone3, vec![ret(errno(libc::ENOSYS))]));
    code.extend(when(libc::SYS_ioctl, questions(kind)));
    // fcntl: nobody waits for a script to let go of a file, nor is told what happens in a folder.
    code.extend(when(
        libc::SYS_fcntl,
        vec![
            load(at_argument(1)),
            jump(BPF_JEQ, libc::F_SETLEASE as u32, 1, 0),
            jump(BPF_JEQ, libc::F_NOTIFY as u32, 0, 1),
            ret(errno(libc::EINVAL)),
            ret(ALLOW),
        ],
    ));
    // personality: only the usual one, and asking for it.
    code.extend(when(
        libc::SYS_personality,
        vec![
            load(at_argument(0)),
            jump(BPF_JEQ, 0, 1, 0),
            jump(BPF_JEQ, 0xffff_ffff, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ],
    ));
    let (unix, inet) = (libc::AF_UNIX as u32, libc::AF_INET as u32);
    let mut socket = vec![load(at_argument(0))];
    if kind != FilterKind::TierB {
        socket.extend([jump(BPF_JEQ, unix, 0, 1), ret(ALLOW)]);
    }
    if kind == FilterKind::TierAWithProxy {
        socket.extend([
            jump(BPF_JEQ, inet, 0, 4),
            load(at_argument(1)),
            statement(BPF_ALU | BPF_AND | BPF_K, 0xf),
            jump(BPF_JEQ, libc::SOCK_STREAM as u32, 0, 1),
            ret(ALLOW),
        ]);
    }
    socket.push(ret(REPORT));
    code.extend(when(libc::SYS_socket, socket));
    // A pair that sends whole messages could send one to any path; without a namespace that is another program's.
    let mut pair =
        vec![load(at_argument(0)), jump(BPF_JEQ, unix, 1, 0), ret(errno(libc::EAFNOSUPPORT))];
    if kind == FilterKind::TierB {
        pair.extend([
            load(at_argument(1)),
            statement(BPF_ALU | BPF_AND | BPF_K, 0xf),
            jump(BPF_JEQ, libc::SOCK_STREAM as u32, 1, 0),
            jump(BPF_JEQ, libc::SOCK_SEQPACKET as u32, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ]);
    } else {
        pair.push(ret(ALLOW));
    }
    code.extend(when(libc::SYS_socketpair, pair));
    code.extend(about_files(kind));
    code.extend(about_processes());
    code
}

/// What may be asked of a descriptor.
fn questions(kind: FilterKind) -> Vec<sock_filter> {
    let mut code = vec![load(at_argument(1))];
    if kind == FilterKind::TierB {
        let known = QUESTIONS.iter().flat_map(|nr| [jump(BPF_JEQ, *nr, 0, 1), ret(ALLOW)]);
        code.extend(known);
        // As if the file did not know of it, which programs expect.
        code.push(ret(errno(libc::ENOTTY)));
    } else {
        // Nothing is typed into a terminal.
        code.extend([
            jump(BPF_JEQ, libc::TIOCSTI as u32, 1, 0),
            jump(BPF_JEQ, libc::TIOCLINUX as u32, 0, 1),
            ret(errno(libc::EPERM)),
            ret(ALLOW),
        ]);
    }
    code
}

/// Modes, times, owners and attributes of files.
fn about_files(kind: FilterKind) -> Vec<sock_filter> {
    let mut code = Vec::new();
    // Without a view of its own the files of the user are all there, and Landlock does not hold modes, times, owners and attributes.
    // Modes and times are left as they are, which few programs mind; owners are refused.
    if kind == FilterKind::TierB {
        for number in METADATA.iter().chain(OWN_METADATA) {
            code.extend(when(*number, vec![ret(errno(0))]));
        }
        for number in OWNERS.iter().chain(OWN_OWNERS) {
            code.extend(when(*number, vec![ret(errno(libc::EPERM))]));
        }
        // As on a file system without attributes, and a kernel without watches: programs do without.
        for number in ATTRIBUTES {
            code.extend(when(*number, vec![ret(errno(libc::EOPNOTSUPP))]));
        }
        for number in WATCHES.iter().chain(OWN_WATCHES) {
            code.extend(when(*number, vec![ret(errno(libc::ENOSYS))]));
        }
    }
    // No file becomes one that runs as its owner.
    for (number, argument) in WITH_MODE.iter().chain(OWN_WITH_MODE) {
        let checks = vec![
            load(at_argument(*argument)),
            statement(BPF_ALU | BPF_AND | BPF_K, 0o6000),
            jump(BPF_JEQ, 0, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ];
        code.extend(when(*number, checks));
    }
    code
}

/// Limits and priorities of processes.
fn about_processes() -> Vec<sock_filter> {
    let mut code = Vec::new();
    // A priority is that of the caller, and not of its whole user.
    code.extend(when(
        libc::SYS_setpriority,
        vec![
            load(at_argument(0)),
            jump(BPF_JEQ, 0, 0, 3),
            load(at_argument(1)),
            jump(BPF_JEQ, 0, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ],
    ));
    // Limits and priorities are the caller's own.
    for (number, argument) in ABOUT_ITSELF {
        let checks = vec![
            load(at_argument(*argument)),
            jump(BPF_JEQ, 0, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ];
        code.extend(when(*number, checks));
    }
    code
}

/// Does `then` for one call; it must return in the end. The number is loaded before and after.
fn when(number: c_long, then: Vec<sock_filter>) -> Vec<sock_filter> {
    let length = u8::try_from(then.len()).expect("conditions are short");
    let mut code = vec![jump(BPF_JEQ, number as u32, 0, length)];
    code.extend(then);
    code
}

fn statement(code: u32, value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

fn load(at: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, at)
}

fn ret(action: u32) -> sock_filter {
    statement(BPF_RET | BPF_K, action)
}

fn jump(kind: u32, value: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | kind | BPF_K) as u16, jt: yes, jf: no, k: value }
}
