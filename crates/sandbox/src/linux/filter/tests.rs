//! Interprets the filter program, so that its decisions are checked without installing it: also those for another
//! processor, under an emulator.

use super::*;

/// What `struct seccomp_data` contains.
struct Call {
    number: u32,
    arch: u32,
    arguments: [u64; 6],
}

impl Call {
    fn word(&self, offset: u32) -> u32 {
        match offset {
            NUMBER_OFFSET => self.number,
            ARCH_OFFSET => self.arch,
            _ => {
                let argument = self.arguments[(offset as usize - 16) / 8];
                if offset.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 }
            }
        }
    }
}

/// Runs the program as the kernel does.
fn decide(program: &[sock_filter], call: &Call) -> u32 {
    let (mut at, mut loaded) = (0, 0_u32);
    loop {
        let line = &program[at];
        at += 1;
        let code = u32::from(line.code);
        let is_true = |is_true: bool| usize::from(if is_true { line.jt } else { line.jf });
        const LOAD: u32 = BPF_LD | BPF_W | BPF_ABS;
        const MASK: u32 = BPF_ALU | BPF_AND | BPF_K;
        const EQUAL: u32 = BPF_JMP | BPF_JEQ | BPF_K;
        const AT_LEAST: u32 = BPF_JMP | BPF_JGE | BPF_K;
        const GREATER: u32 = BPF_JMP | BPF_JGT | BPF_K;
        const ANY_BIT: u32 = BPF_JMP | libc::BPF_JSET | BPF_K;
        const ALWAYS: u32 = BPF_JMP | libc::BPF_JA;
        match code {
            LOAD => loaded = call.word(line.k),
            MASK => loaded &= line.k,
            EQUAL => at += is_true(loaded == line.k),
            AT_LEAST => at += is_true(loaded >= line.k),
            GREATER => at += is_true(loaded > line.k),
            ANY_BIT => at += is_true(loaded & line.k != 0),
            ALWAYS => at += line.k as usize,
            _ if code == BPF_RET | BPF_K => return line.k,
            _ => panic!("unknown instruction {code:#x}"),
        }
    }
}

fn decision(kind: FilterKind, number: u32) -> &'static str {
    let call = Call { number, arch: ARCH, arguments: [0; 6] };
    match decide(&program(kind), &call) {
        ALLOW => "allow",
        NOTIFY => "report",
        KILL => "kill",
        refused if refused & 0xffff_0000 == libc::SECCOMP_RET_ERRNO => "refuse",
        other => panic!("unknown action {other:#x}"),
    }
}

/// Numbers from the kernel's tables for x86-64 and for aarch64 (`None`: the call does not exist), and the decision in
/// tier A, with all arguments 0.
const CALLS: &[(&str, u32, Option<u32>, &str)] = &[
    ("read", 0, Some(63), "allow"),
    ("write", 1, Some(64), "allow"),
    ("openat", 257, Some(56), "allow"),
    ("close", 3, Some(57), "allow"),
    ("execve", 59, Some(221), "allow"),
    ("exit_group", 231, Some(94), "allow"),
    ("wait4", 61, Some(260), "allow"),
    ("clone", 56, Some(220), "allow"),
    ("getdents64", 217, Some(61), "allow"),
    ("futex", 202, Some(98), "allow"),
    ("getrandom", 318, Some(278), "allow"),
    ("fork", 57, None, "allow"),
    ("open", 2, None, "allow"),
    ("ptrace", 101, Some(117), "report"),
    ("process_vm_readv", 310, Some(270), "report"),
    ("process_vm_writev", 311, Some(271), "report"),
    ("mount", 165, Some(40), "report"),
    ("umount2", 166, Some(39), "report"),
    ("pivot_root", 155, Some(41), "report"),
    ("chroot", 161, Some(51), "report"),
    ("unshare", 272, Some(97), "report"),
    ("setns", 308, Some(268), "report"),
    ("bpf", 321, Some(280), "report"),
    ("perf_event_open", 298, Some(241), "report"),
    ("userfaultfd", 323, Some(282), "report"),
    ("keyctl", 250, Some(219), "report"),
    ("add_key", 248, Some(217), "report"),
    ("open_by_handle_at", 304, Some(265), "report"),
    ("pidfd_getfd", 438, Some(438), "report"),
    ("io_uring_setup", 425, Some(425), "report"),
    ("io_uring_enter", 426, Some(426), "report"),
    ("init_module", 175, Some(105), "report"),
    ("finit_module", 313, Some(273), "report"),
    ("kexec_load", 246, Some(104), "report"),
    ("reboot", 169, Some(142), "report"),
    ("seccomp", 317, Some(277), "report"),
    ("name_to_handle_at", 303, Some(264), "refuse"),
    ("settimeofday", 164, Some(170), "refuse"),
    ("acct", 163, Some(89), "refuse"),
    ("quotactl", 179, Some(60), "refuse"),
    ("vhangup", 153, Some(58), "refuse"),
    ("landlock_restrict_self", 446, Some(446), "allow"),
    ("a call of the future", 900, Some(900), "refuse"),
];

#[test]
fn each_call_is_decided_by_its_number_on_this_processor() {
    let mut wrong = Vec::new();
    for (name, x86_64, aarch64, expected) in CALLS {
        let number = if cfg!(target_arch = "x86_64") { Some(*x86_64) } else { *aarch64 };
        let Some(number) = number else { continue };
        let found = decision(FilterKind::TierA, number);
        if found != *expected {
            wrong.push(format!("{name} ({number}): {found}, expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_reported_call_is_reported_in_every_tier_and_no_listed_number_is_shadowed() {
    use FilterKind::{TierA, TierAWithLoopback, TierAWithProxy, TierB};
    for kind in [TierA, TierAWithProxy, TierAWithLoopback, TierB] {
        for (number, name) in REPORTED {
            assert_eq!(decision(kind, *number as u32), "report", "{name}");
        }
        let listed = ALLOWED.iter().chain(ARCH_ALLOWED).map(|number| *number as u32);
        let both: Vec<u32> = listed
            .filter(|number| REPORTED.iter().any(|(other, _)| *other as u32 == *number))
            .collect();
        assert!(both.is_empty(), "allowed and reported: {both:?}");
    }
}

#[test]
fn calls_of_another_architecture_end_the_process() {
    for arch in [0xc000_003e, 0xc000_00b7, 0x4000_0003, 0x4000_0028, 0] {
        let call = Call { number: 0, arch, arguments: [0; 6] };
        let is_killed = decide(&program(FilterKind::TierA), &call) == KILL;
        assert_eq!(is_killed, arch != ARCH, "{arch:#x}");
    }
    if cfg!(target_arch = "x86_64") {
        assert_eq!(decision(FilterKind::TierA, 0x4000_0000 + 1), "kill", "the x32 ABI");
    }
}

#[test]
fn new_namespaces_are_never_cloned() {
    let number = libc::SYS_clone as u32;
    for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWPID, libc::CLONE_NEWNET] {
        let arguments = [u64::from(flag as u32), 0, 0, 0, 0, 0];
        let call = Call { number, arch: ARCH, arguments };
        assert_ne!(decide(&program(FilterKind::TierA), &call), ALLOW, "{flag:#x}");
    }
}
