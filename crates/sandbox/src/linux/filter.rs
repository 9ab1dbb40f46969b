//! The seccomp filter: an allowlist of system calls, conditions for some of them, and user notifications for calls that
//! no honest script makes.
//!
//! The filter program tests ranges of call numbers, because one rule per call would dominate the startup time.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W,
    c_long, sock_filter,
};

/// The sandbox that a filter is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterKind {
    /// Namespaces without a network: Unix sockets are allowed, because they stay inside the sandbox.
    TierA,
    /// Namespaces with a proxy: TCP over IPv4 is allowed as well.
    TierAWithProxy,
    /// Namespaces in which the processes may use the network among themselves: TCP and UDP are allowed.
    TierAWithLoopback,
    /// No namespaces: no sockets, and no file operations that Landlock does not restrict.
    TierB,
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const NOTIFY: u32 = libc::SECCOMP_RET_USER_NOTIF;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
const fn errno(code: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | code as u32
}

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

/// Offsets in `struct seccomp_data`, which the filter reads.
const NUMBER_OFFSET: u32 = 0;
const ARCH_OFFSET: u32 = 4;
/// The offset of the low half of an argument.
const fn argument_offset(index: u32) -> u32 {
    16 + 8 * index
}

/// Calls that every program may make.
const ALLOWED: &[c_long] = &[
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

/// System V shared memory, semaphores and message queues. They are system-wide, so they are only safe in an IPC
/// namespace.
const SYSV_IPC: &[c_long] = &[
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

/// Calls that set a file mode, and the index of that argument.
const MODE_CALLS: &[(c_long, u32)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_openat, 3),
    (libc::SYS_mknodat, 2),
];
#[cfg(target_arch = "x86_64")]
const ARCH_MODE_CALLS: &[(c_long, u32)] =
    &[(libc::SYS_chmod, 1), (libc::SYS_open, 2), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(target_arch = "aarch64")]
const ARCH_MODE_CALLS: &[(c_long, u32)] = &[];

/// Calls that change modes and times.
const CHMOD_AND_UTIME: &[c_long] = &[libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_utimensat];
/// Calls that change owners.
const CHOWN: &[c_long] = &[libc::SYS_fchown, libc::SYS_fchownat];
#[cfg(target_arch = "x86_64")]
const ARCH_CHMOD_AND_UTIME: &[c_long] =
    &[libc::SYS_chmod, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(target_arch = "x86_64")]
const ARCH_CHOWN: &[c_long] = &[libc::SYS_chown, libc::SYS_lchown];
#[cfg(target_arch = "aarch64")]
const ARCH_CHMOD_AND_UTIME: &[c_long] = &[];
#[cfg(target_arch = "aarch64")]
const ARCH_CHOWN: &[c_long] = &[];

/// Calls that change extended attributes, or read them by path. Landlock does not restrict these. Reading attributes
/// through a descriptor is safe, because Landlock restricts opening the file.
const XATTR: &[c_long] = &[
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
/// Calls that watch which files other programs open, read or write. Landlock does not restrict these either.
const INOTIFY: &[c_long] = &[libc::SYS_inotify_init1, libc::SYS_inotify_add_watch];
#[cfg(target_arch = "x86_64")]
const ARCH_INOTIFY: &[c_long] = &[libc::SYS_inotify_init];
#[cfg(target_arch = "aarch64")]
const ARCH_INOTIFY: &[c_long] = &[];

/// The `ioctl` requests that are allowed in tier B: for terminals and pipes, and requests that only read. Others can
/// change a file that was only opened for reading (its flags, its project, its subvolumes), and Landlock restricts
/// `ioctl` for devices only.
const TIER_B_IOCTLS: &[u32] = &[
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
    // FICLONE and FICLONERANGE: they need two open files, with the target open for writing.
    0x4004_9409,
    0x4020_940d,
    // FS_IOC_FIEMAP, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR.
    0xc020_660b,
    0x8008_6601,
    0x801c_581f,
];

/// Calls that are only allowed on the calling process, and the index of the argument with the process id, which must be
/// 0.
const ON_SELF_ONLY: &[(c_long, u32)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
];

/// Allowed calls that only exist on x86-64.
#[cfg(target_arch = "x86_64")]
const ARCH_ALLOWED: &[c_long] = &[
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
const ARCH_ALLOWED: &[c_long] = &[];

/// Calls that no honest script makes. They are blocked and reported.
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

/// The call for sockets. Those of a blocked address family are reported.
pub(super) const SOCKET: (c_long, &str) = (libc::SYS_socket, "socket");

/// Returns the filter program.
pub(super) fn program(kind: FilterKind) -> Vec<sock_filter> {
    let mut code =
        vec![load(ARCH_OFFSET), jump(BPF_JEQ, ARCH, 1, 0), ret(KILL), load(NUMBER_OFFSET)];
    // Call numbers of the x32 ABI have this bit set.
    if cfg!(target_arch = "x86_64") {
        code.extend([jump(BPF_JGE, 0x4000_0000, 0, 1), ret(KILL)]);
    }
    code.extend(conditional_rules(kind));
    let ipc = if kind == FilterKind::TierB { &[] } else { SYSV_IPC };
    let mut numbers: Vec<(u32, u32)> =
        ALLOWED.iter().chain(ARCH_ALLOWED).chain(ipc).map(|nr| (*nr as u32, ALLOW)).collect();
    numbers.extend(REPORTED.iter().map(|(nr, _)| (*nr as u32, NOTIFY)));
    numbers.sort_unstable();
    numbers.dedup_by_key(|(nr, _)| *nr);
    let mut at = 0;
    while at < numbers.len() {
        let (first, action) = numbers[at];
        let mut end = at;
        while end + 1 < numbers.len() && numbers[end + 1] == (numbers[end].0 + 1, action) {
            end += 1;
        }
        // A number after this range: try the next one. Before it: not in the list.
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

/// Returns the rules for calls that depend on their arguments.
fn conditional_rules(kind: FilterKind) -> Vec<sock_filter> {
    let new_namespaces = (libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET) as u32;
    let mut code = Vec::new();
    // clone: no new namespaces.
    code.extend(on_call(
        libc::SYS_clone,
        vec![
            load(argument_offset(0)),
            statement(BPF_ALU | BPF_AND | BPF_K, new_namespaces),
            jump(BPF_JEQ, 0, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ],
    ));
    // clone3: its flags are in memory, which a filter cannot read; programs fall back to clone.
    code.extend(on_call(libc::SYS_clone3, vec![ret(errno(libc::ENOSYS))]));
    code.extend(on_call(libc::SYS_ioctl, ioctl_rules(kind)));
    // fcntl: no leases, which make other programs wait, and no dnotify, which watches them.
    code.extend(on_call(
        libc::SYS_fcntl,
        vec![
            load(argument_offset(1)),
            jump(BPF_JEQ, libc::F_SETLEASE as u32, 1, 0),
            jump(BPF_JEQ, libc::F_NOTIFY as u32, 0, 1),
            ret(errno(libc::EINVAL)),
            ret(ALLOW),
        ],
    ));
    // personality: only the default one, and querying it.
    code.extend(on_call(
        libc::SYS_personality,
        vec![
            load(argument_offset(0)),
            jump(BPF_JEQ, 0, 1, 0),
            jump(BPF_JEQ, 0xffff_ffff, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ],
    ));
    let (unix, inet) = (libc::AF_UNIX as u32, libc::AF_INET as u32);
    let mut socket = vec![load(argument_offset(0))];
    if kind != FilterKind::TierB {
        socket.extend([jump(BPF_JEQ, unix, 0, 1), ret(ALLOW)]);
    }
    if kind == FilterKind::TierAWithProxy {
        socket.extend([
            jump(BPF_JEQ, inet, 0, 4),
            load(argument_offset(1)),
            statement(BPF_ALU | BPF_AND | BPF_K, 0xf),
            jump(BPF_JEQ, libc::SOCK_STREAM as u32, 0, 1),
            ret(ALLOW),
        ]);
    }
    if kind == FilterKind::TierAWithLoopback {
        for family in [inet, libc::AF_INET6 as u32] {
            socket.extend([
                jump(BPF_JEQ, family, 0, 6),
                load(argument_offset(1)),
                statement(BPF_ALU | BPF_AND | BPF_K, 0xf),
                jump(BPF_JEQ, libc::SOCK_STREAM as u32, 1, 0),
                jump(BPF_JEQ, libc::SOCK_DGRAM as u32, 0, 1),
                ret(ALLOW),
                ret(NOTIFY),
            ]);
        }
        // Programs list the network interfaces with it, and do without.
        let netlink = libc::AF_NETLINK as u32;
        socket.extend([jump(BPF_JEQ, netlink, 0, 1), ret(errno(libc::EAFNOSUPPORT))]);
    }
    socket.push(ret(NOTIFY));
    code.extend(on_call(libc::SYS_socket, socket));
    // A datagram socketpair can send to any path, and without a namespace that may be another program's socket.
    let mut pair =
        vec![load(argument_offset(0)), jump(BPF_JEQ, unix, 1, 0), ret(errno(libc::EAFNOSUPPORT))];
    if kind == FilterKind::TierB {
        pair.extend([
            load(argument_offset(1)),
            statement(BPF_ALU | BPF_AND | BPF_K, 0xf),
            jump(BPF_JEQ, libc::SOCK_STREAM as u32, 1, 0),
            jump(BPF_JEQ, libc::SOCK_SEQPACKET as u32, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ]);
    } else {
        pair.push(ret(ALLOW));
    }
    code.extend(on_call(libc::SYS_socketpair, pair));
    code.extend(file_rules(kind));
    code.extend(process_rules());
    code
}

/// Returns the rules for `ioctl`.
fn ioctl_rules(kind: FilterKind) -> Vec<sock_filter> {
    let mut code = vec![load(argument_offset(1))];
    if kind == FilterKind::TierB {
        let known = TIER_B_IOCTLS.iter().flat_map(|nr| [jump(BPF_JEQ, *nr, 0, 1), ret(ALLOW)]);
        code.extend(known);
        // The error for a file that does not support the request, which programs expect.
        code.push(ret(errno(libc::ENOTTY)));
    } else {
        // No input may be injected into a terminal.
        code.extend([
            jump(BPF_JEQ, libc::TIOCSTI as u32, 1, 0),
            jump(BPF_JEQ, libc::TIOCLINUX as u32, 0, 1),
            ret(errno(libc::EPERM)),
            ret(ALLOW),
        ]);
    }
    code
}

/// Returns the rules for modes, times, owners and attributes of files.
fn file_rules(kind: FilterKind) -> Vec<sock_filter> {
    let mut code = Vec::new();
    // In tier B all of the user's files exist, and Landlock does not restrict changes to modes, times, owners and
    // attributes. Changes to modes and times are silently ignored, which few programs notice; changes to owners fail.
    if kind == FilterKind::TierB {
        for number in CHMOD_AND_UTIME.iter().chain(ARCH_CHMOD_AND_UTIME) {
            code.extend(on_call(*number, vec![ret(errno(0))]));
        }
        for number in CHOWN.iter().chain(ARCH_CHOWN) {
            code.extend(on_call(*number, vec![ret(errno(libc::EPERM))]));
        }
        // The same errors as on a file system without attributes and a kernel without inotify, which programs handle.
        for number in XATTR {
            code.extend(on_call(*number, vec![ret(errno(libc::EOPNOTSUPP))]));
        }
        for number in INOTIFY.iter().chain(ARCH_INOTIFY) {
            code.extend(on_call(*number, vec![ret(errno(libc::ENOSYS))]));
        }
    }
    // No file may get the setuid or setgid bit.
    for (number, argument) in MODE_CALLS.iter().chain(ARCH_MODE_CALLS) {
        let checks = vec![
            load(argument_offset(*argument)),
            statement(BPF_ALU | BPF_AND | BPF_K, 0o6000),
            jump(BPF_JEQ, 0, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ];
        code.extend(on_call(*number, checks));
    }
    code
}

/// Returns the rules for limits and priorities of processes.
fn process_rules() -> Vec<sock_filter> {
    let mut code = Vec::new();
    // setpriority: only for the calling process, not for the user or a process group.
    code.extend(on_call(
        libc::SYS_setpriority,
        vec![
            load(argument_offset(0)),
            jump(BPF_JEQ, 0, 0, 3),
            load(argument_offset(1)),
            jump(BPF_JEQ, 0, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ],
    ));
    for (number, argument) in ON_SELF_ONLY {
        let checks = vec![
            load(argument_offset(*argument)),
            jump(BPF_JEQ, 0, 0, 1),
            ret(ALLOW),
            ret(errno(libc::EPERM)),
        ];
        code.extend(on_call(*number, checks));
    }
    code
}

/// Executes `then` for one call; `then` must end with a return. The call number must be loaded before, and stays loaded
/// for other calls.
fn on_call(number: c_long, then: Vec<sock_filter>) -> Vec<sock_filter> {
    let length = u8::try_from(then.len()).expect("rules are short");
    let mut code = vec![jump(BPF_JEQ, number as u32, 0, length)];
    code.extend(then);
    code
}

fn statement(code: u32, value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

fn load(offset: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, offset)
}

fn ret(action: u32) -> sock_filter {
    statement(BPF_RET | BPF_K, action)
}

fn jump(test: u32, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | test | BPF_K) as u16, jt: if_true, jf: if_false, k: value }
}

#[cfg(test)]
mod tests;
