//! Programs that pack and unpack. The contents of an archive are not known in advance, so it must be unpacked into its
//! own folder.

use super::{Program, Usage};

/// Common options of all tar calls: without `--to-command`, `-I`, `--checkpoint-action`, `-F`, `--rsh-command`, `-P`,
/// `-T` and `--absolute-names`.
const TAR: &str = "\
    -z|--gzip|--gunzip|--ungzip -j|--bzip2 -J|--xz --zstd -a|--auto-compress -v|--verbose -p|--preserve-permissions|--same-permissions \
    -k|--keep-old-files --skip-old-files --overwrite -m|--touch -O|--to-stdout --no-same-owner --no-same-permissions --strip-components=NUM \
    --exclude=TEXT --exclude-vcs --wildcards --no-wildcards --totals --numeric-owner --sort=TEXT --mtime=TEXT --owner=TEXT --group=TEXT \
    --format=TEXT -h|--dereference --show-transformed-names --full-time --warning=TEXT";

const UNZIP: &str = "-o -n -q -j -C -L -a -b";

pub(super) const PROGRAMS: &[Program] = &[
    Program::described(
        &["tar", "gtar"],
        "tar(1), GNU tar 1.35",
        &[
            Usage::new(&[TAR, "-t|--list -f|--file=READ -C|--directory=READ"], "TEXT*").needs("-t"),
            Usage::new(&[TAR, "-c|--create -f|--file=WRITE -C|--directory=READ"], "READ*")
                .needs("-c"),
            Usage::new(&[TAR, "-x|--extract|--get -f|--file=READ -C|--directory=FOLDER"], "TEXT*")
                .needs("-x -C"),
            Usage::new(&["--version"], "").needs("--version"),
        ],
    ),
    Program::described(
        &["zip"],
        // `-T` tests with another program; `-x` takes arguments until the next option.
        "zip(1), Info-ZIP 3.0",
        &[Usage::new(&["-r -q -v -j -9 -8 -7 -6 -5 -4 -3 -2 -1 -0 -D -X -u -y -l"], "WRITE READ*")],
    ),
    Program::described(
        &["unzip"],
        "unzip(1), Info-ZIP 6.0",
        &[
            // The arguments after the archive are names in it.
            Usage::new(&["-l -t -v -p -c -z -q"], "READ TEXT*")
                .needs("-l|-t|-v|-p|-c|-z")
                .options_first(""),
            Usage::new(&[UNZIP, "-d=FOLDER"], "READ TEXT*").needs("-d").options_first("-d"),
        ],
    ),
    Program::described(
        &["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd"],
        "gzip(1), bzip2(1), xz(1), zstd(1)",
        &[Usage::new(
            &[
                "-c|--stdout -d|--decompress -f|--force -k|--keep -q|--quiet -v|--verbose -t|--test -# -V|--version",
            ],
            "WRITE*",
        )],
    ),
    Program::described(
        &["zcat", "bzcat", "xzcat", "zstdcat"],
        "gzip(1), bzip2(1), xz(1), zstd(1)",
        &[Usage::new(&["-f|--force -q|--quiet"], "READ*")],
    ),
];
