//! Programs that show the state of the machine, and simple shell builtins.

use super::{Program, Usage};

const COREUTILS: &str = "GNU coreutils 9.4 manual, options of each program";
const BASH: &str = "bash(1), shell builtin commands";

pub(super) const PROGRAMS: &[Program] = &[
    Program::described(&["true", "false", ":"], BASH, &[Usage::TEXT]),
    // Names that contain `[` are checked earlier, because bash evaluates them.
    Program::described(&["test", "["], BASH, &[Usage::TEXT]),
    Program::described(&["cd"], BASH, &[Usage::new(&["-L -P -e"], "READ?")]),
    Program::described(&["pwd"], BASH, &[Usage::new(&["-L|--logical -P|--physical"], "").only_prints()]),
    Program::described(&["type"], BASH, &[Usage::new(&["-a -f -p -P -t"], "TEXT*").only_prints()]),
    Program::described(
        &["which"],
        "which(1), debianutils and GNU which 2.21",
        &[Usage::new(&["-a|--all -s"], "TEXT*").only_prints()],
    ),
    Program::described(&["whereis"], "whereis(1), util-linux 2.39", &[Usage::new(&["-b -m -s -u"], "TEXT*")]),
    Program::described(
        &["date"],
        // `-s` and an operand without a `+` set the clock.
        COREUTILS,
        &[Usage::new(
            &["-d|--date=TEXT -I[=TEXT] --iso-8601[=TEXT] -R|--rfc-email --rfc-3339=TEXT -r|--reference=READ -u|--utc|--universal \
               --version"],
            "FORMAT?",
        )],
    ),
    Program::described(&["sleep"], COREUTILS, &[Usage::new(&["--version"], "NUM*").only_prints()]),
    Program::described(
        &["uname"],
        COREUTILS,
        &[Usage::new(
            &["-a|--all -s|--kernel-name -n|--nodename -r|--kernel-release -v|--kernel-version -m|--machine -p|--processor \
               -i|--hardware-platform -o|--operating-system --version"],
            "",
        )
        .only_prints()],
    ),
    Program::described(&["arch", "nproc", "tty", "logname", "whoami", "groups"], COREUTILS, &[
        Usage::new(&["--all --ignore=NUM -s|--silent --version"], "TEXT*").only_prints(),
    ]),
    Program::described(
        &["id"],
        COREUTILS,
        &[Usage::new(&["-g|--group -G|--groups -n|--name -r|--real -u|--user -z|--zero --version"], "TEXT*").only_prints()],
    ),
    // An operand would set the host name.
    Program::described(&["hostname"], "hostname(1)", &[Usage::new(&["-a -A -d -f -i -I -s"], "")]),
    Program::described(&["printenv"], COREUTILS, &[Usage::new(&["-0|--null --version"], "TEXT*").only_prints()]),
    Program::described(
        &["ps"],
        "ps(1), procps-ng 4.0",
        &[Usage::new(
            &["-A -a -d -e -f -F -j -l -L -T -w -H -y -M -N -p|--pid=TEXT -u|--user=TEXT -U=TEXT -g=TEXT -t|--tty=TEXT -C=TEXT \
               -o=TEXT -O=TEXT --ppid=TEXT --sort=TEXT --forest --no-headers --headers --width=NUM --cols=NUM"],
            "TEXT*",
        )
        .only_prints()],
    ),
    Program::described(&["pgrep"], "pgrep(1), procps-ng 4.0", &[Usage::new(
        &["-a|--list-full -c|--count -d|--delimiter=TEXT -f|--full -i|--ignore-case -l|--list-name -n|--newest -o|--oldest \
           -P|--parent=TEXT -u|--euid=TEXT -U|--uid=TEXT -x|--exact -v|--inverse"],
        "TEXT?",
    )]),
    Program::described(&["free"], "free(1), procps-ng 4.0", &[Usage::new(
        &["-b|--bytes -k|--kibi -m|--mebi -g|--gibi -h|--human -l|--lohi -t|--total -w|--wide -s|--seconds=NUM -c|--count=NUM \
           --si -V|--version"],
        "",
    )]),
    Program::described(&["uptime"], "uptime(1), procps-ng 4.0", &[Usage::new(&["-p|--pretty -s|--since -V|--version"], "")]),
    Program::described(&["lscpu", "lsblk", "lsmem"], "util-linux 2.39", &[Usage::new(
        &["-a|--all -b|--bytes -f|--fs -J|--json -l|--list -n|--noheadings -o|--output=TEXT -p -e -V|--version"],
        "READ*",
    )]),
    Program::described(
        &["lsof"],
        // `-D` writes a device cache; `-k`, `-m` and `-A` load kernel files.
        "lsof(8), lsof 4.95",
        &[Usage::new(&["-i[=TEXT] -n -P -t -p=TEXT -u=TEXT -c=TEXT -a -l -w -s[=TEXT]"], "READ*")],
    ),
    Program::described(
        &["ss"],
        // `-D` writes a file, `-F` reads a filter, `-K` closes sockets.
        "ss(8), iproute2 6.6",
        &[Usage::new(
            &["-n|--numeric -r|--resolve -a|--all -l|--listening -o|--options -e|--extended -m|--memory -p|--processes -i|--info \
               -s|--summary -4|--ipv4 -6|--ipv6 -t|--tcp -u|--udp -w|--raw -x|--unix -H|--no-header -O|--oneline -V|--version"],
            "TEXT*",
        )],
    ),
    Program::described(&["netstat"], "netstat(8), net-tools 2.10", &[Usage::new(
        &["-r|--route -i|--interfaces -g|--groups -s|--statistics -v|--verbose -n|--numeric -e|--extend -p|--programs \
           -a|--all -l|--listening -o|--timers -t|--tcp -u|--udp -w|--raw -x|--unix -4|--inet -6|--inet6 -c|--continuous -W|--wide"],
        "",
    )]),
    Program::described(
        &["nvidia-smi"],
        // Everything that changes a setting needs an option that is omitted here.
        "nvidia-smi --help",
        &[Usage::new(
            &["-L|--list-gpus -q|--query -i|--id=TEXT -d|--display=TEXT --query-gpu=TEXT --query-compute-apps=TEXT --format=TEXT \
               -x|--xml-format -l|--loop=NUM --version"],
            "",
        )],
    ),
    Program::described(&["dig", "nslookup", "host"], "dig(1), BIND 9.18", &[Usage::new(&["-4 -6 -t=TEXT -p=NUM -x=TEXT"], "TEXT*")]),
    Program::described(
        &["ping"],
        "ping(8), iputils",
        &[Usage::new(&["-4 -6 -c=NUM -i=NUM -n -q -W=NUM -w=NUM"], "TEXT")],
    ),
];
