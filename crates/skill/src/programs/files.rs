//! Programs that list, read, copy and remove files.

use super::{Program, Usage};

const COREUTILS: &str = "GNU coreutils 9.4 manual, options of each program";

/// `md5sum` and similar programs, which share their options.
const SUMS: &str = "-b|--binary -c|--check -t|--text --tag -z|--zero --ignore-missing --quiet --status --strict -w|--warn \
     -a|--algorithm=TEXT -l|--length=NUM --version";

pub(super) const PROGRAMS: &[Program] = &[
    Program::described(
        &["ls", "dir", "vdir"],
        COREUTILS,
        &[Usage::new(
            &["-a|--all -A|--almost-all --author -b|--escape --block-size=TEXT -B|--ignore-backups -c -C \
               --color[=TEXT] -d|--directory -D|--dired -f -F --classify[=TEXT] --file-type --format=TEXT \
               --full-time -g --group-directories-first -G|--no-group -h|--human-readable --si -H --hide=TEXT \
               --hyperlink[=TEXT] --indicator-style=TEXT -i|--inode -I|--ignore=TEXT -k|--kibibytes -l \
               -L|--dereference -m -n|--numeric-uid-gid -N|--literal -o -p -q|--hide-control-chars \
               --show-control-chars -Q|--quote-name --quoting-style=TEXT -r|--reverse -R|--recursive -s|--size -S \
               --sort=TEXT --time=TEXT --time-style=TEXT -t -T|--tabsize=NUM -u -U -v -w|--width=NUM -x -X \
               -Z|--context --zero -1 --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["cat"],
        COREUTILS,
        &[Usage::new(
            &["-A|--show-all -b|--number-nonblank -e -E|--show-ends -n|--number -s|--squeeze-blank -t \
               -T|--show-tabs -u -v|--show-nonprinting --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["tac"],
        COREUTILS,
        &[Usage::new(&["-b|--before -r|--regex -s|--separator=TEXT --version"], "READ*").only_prints()],
    ),
    Program::described(
        &["nl"],
        COREUTILS,
        &[Usage::new(
            &["-b|--body-numbering=TEXT -n|--number-format=TEXT -w|--number-width=NUM -s|--number-separator=TEXT \
               -v|--starting-line-number=NUM -i|--line-increment=NUM --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["head", "tail"],
        COREUTILS,
        &[Usage::new(
            &["-c|--bytes=TEXT -n|--lines=TEXT -q|--quiet|--silent -v|--verbose -z|--zero-terminated \
               -f --follow[=TEXT] -F -s|--sleep-interval=NUM --retry --pid=NUM --max-unchanged-stats=NUM -# --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["wc"],
        COREUTILS,
        &[Usage::new(
            &["-c|--bytes -m|--chars -l|--lines -L|--max-line-length -w|--words --total=TEXT --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["stat"],
        COREUTILS,
        &[Usage::new(
            &["-L|--dereference -f|--file-system -c|--format=TEXT --printf=TEXT -t|--terse --cached=TEXT --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["du"],
        COREUTILS,
        &[Usage::new(
            &["-0|--null -a|--all --apparent-size -B|--block-size=TEXT -b|--bytes -c|--total -D|--dereference-args \
               -d|--max-depth=NUM -h|--human-readable -H --inodes -k -L|--dereference -l|--count-links -m \
               -P|--no-dereference -S|--separate-dirs --si -s|--summarize -t|--threshold=TEXT --time[=TEXT] \
               --time-style=TEXT --exclude=TEXT -x|--one-file-system --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["df"],
        COREUTILS,
        &[Usage::new(
            &["-a|--all -B|--block-size=TEXT -h|--human-readable -H|--si -i|--inodes -k -l|--local \
               --output[=TEXT] -P|--portability --total -t|--type=TEXT -T|--print-type -x|--exclude-type=TEXT \
               --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["basename", "dirname"],
        COREUTILS,
        &[Usage::new(&["-a|--multiple -s|--suffix=TEXT -z|--zero --version"], "TEXT*").only_prints()],
    ),
    Program::described(
        &["realpath", "readlink"],
        COREUTILS,
        &[Usage::new(
            &["-e|--canonicalize-existing -m|--canonicalize-missing -f|--canonicalize -L|--logical -P|--physical \
               -q|--quiet --relative-to=READ --relative-base=READ -s|--strip|--no-symlinks -z|--zero -n|--no-newline \
               -v|--verbose --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum"],
        COREUTILS,
        &[Usage::new(&[SUMS], "READ*").only_prints()],
    ),
    Program::described(
        &["shasum"],
        "shasum(1), Digest::SHA",
        &[Usage::new(&["-a|--algorithm=NUM -b|--binary -c|--check -t|--text -s|--status -w|--warn"], "READ*")],
    ),
    Program::described(
        &["file"],
        // `-C` compiles a magic file, `-m` names one, and `-z` runs unpackers.
        "file(1), file 5.45",
        &[Usage::new(
            &["-b|--brief -i|--mime --mime-type --mime-encoding -L|--dereference -h|--no-dereference -k|--keep-going \
               -N|--no-pad -0|--print0 -s|--special-files --extension --version"],
            "READ*",
        )],
    ),
    Program::described(
        &["tree"],
        "tree(1), tree 2.1",
        &[Usage::new(
            &["-a -d -l -f -x -L=NUM -P=TEXT -I=TEXT --gitignore --prune --noreport --dirsfirst --filelimit=NUM -q -N \
               -Q -p -u -g -s -h --si --du -D -F -v -t -c -U -r --sort=TEXT -i -n -C -J -X --charset=TEXT --version"],
            "READ*",
        )],
    ),
    Program::described(
        &["find"],
        // `-exec`, `-ok`, `-delete`, `-fprint` and `-files0-from` run programs, remove, write or read files, so they
        // are omitted.
        "find(1), GNU findutils 4.9",
        &[Usage::new(
            &["-H -L -P -amin=TEXT -anewer=READ -atime=TEXT -cmin=TEXT -cnewer=READ -ctime=TEXT -daystart -depth \
               -empty -executable -false -follow -fstype=TEXT -gid=TEXT -group=TEXT -ilname=TEXT -iname=TEXT \
               -inum=TEXT -ipath=TEXT -iregex=TEXT -iwholename=TEXT -links=TEXT -lname=TEXT -ls -maxdepth=NUM \
               -mindepth=NUM -mmin=TEXT -mount -mtime=TEXT -name=TEXT -newer=READ -nogroup -noleaf -nouser -o -or -a \
               -and -not -path=TEXT -perm=TEXT -print -print0 -printf=TEXT -prune -quit -readable -regex=TEXT \
               -regextype=TEXT -samefile=READ -size=TEXT -true -type=TEXT -uid=TEXT -used=TEXT -user=TEXT \
               -wholename=TEXT -writable -xdev -xtype=TEXT -newermt=TEXT -newerct=TEXT -newerat=TEXT --version"],
            "READ*",
        )],
    ),
    Program::described(
        &["fd", "fdfind"],
        // `-x` and `-X` run programs, and `-l` runs ls.
        "fd(1), fd 10",
        &[Usage::new(
            &["-H|--hidden -I|--no-ignore -u|--unrestricted --no-ignore-vcs --no-ignore-parent -s|--case-sensitive -i|--ignore-case \
               -g|--glob --regex -F|--fixed-strings -a|--absolute-path -L|--follow -p|--full-path -d|--max-depth=NUM --min-depth=NUM \
               --exact-depth=NUM --prune -t|--type=TEXT -e|--extension=TEXT -S|--size=TEXT --changed-within=TEXT --changed-before=TEXT \
               -E|--exclude=TEXT -c|--color=TEXT -j|--threads=NUM --max-results=NUM -1 -q|--quiet -0|--print0 --strip-cwd-prefix \
               -V|--version"],
            "TEXT? READ*",
        )],
    ),
    Program::described(
        &["mkdir"],
        COREUTILS,
        &[Usage::new(&["-p|--parents -v|--verbose -m|--mode=TEXT --version"], "WRITE*")],
    ),
    Program::described(
        &["rmdir"],
        COREUTILS,
        &[Usage::new(&["-v|--verbose --ignore-fail-on-non-empty --version"], "WRITE*")],
    ),
    Program::described(
        &["touch"],
        COREUTILS,
        &[Usage::new(
            &["-a -c|--no-create -d|--date=TEXT -h|--no-dereference -m -r|--reference=READ -t=TEXT --time=TEXT --version"],
            "WRITE*",
        )],
    ),
    Program::described(
        &["rm"],
        COREUTILS,
        &[Usage::new(
            &["-f|--force -i -I --interactive[=TEXT] --one-file-system --preserve-root[=TEXT] -r|-R|--recursive -d|--dir \
               -v|--verbose --version"],
            "REMOVED*",
        )],
    ),
    Program::described(
        &["cp"],
        // `-a`, `-d`, `-P`, `-l` and `-s` create links, which redirect later writes; `-T` merges folders.
        COREUTILS,
        &[Usage::new(
            &["-b --backup[=TEXT] -f|--force -i|--interactive -n|--no-clobber -p --preserve[=TEXT] -r|-R|--recursive \
               -L|--dereference -t|--target-directory=DEST -u --update[=TEXT] -v|--verbose -x|--one-file-system \
               --reflink[=TEXT] --version"],
            "COPIED* DEST",
        )],
    ),
    Program::described(
        &["mv"],
        COREUTILS,
        &[Usage::new(
            &["-b --backup[=TEXT] -f|--force -i|--interactive -n|--no-clobber -t|--target-directory=DEST \
               -u --update[=TEXT] -v|--verbose --version"],
            "MOVED* DEST",
        )],
    ),
    Program::described(
        &["chmod"],
        COREUTILS,
        &[Usage::new(&["-c|--changes -f|--silent|--quiet -v|--verbose -R|--recursive --version"], "TEXT WRITE*")],
    ),
    Program::described(
        &["tee"],
        // `-p` and `--output-error` only control what happens when a pipe breaks.
        COREUTILS,
        &[Usage::new(&["-a|--append -i|--ignore-interrupts -p --version"], "WRITE*")],
    ),
    Program::described(
        &["mktemp"],
        COREUTILS,
        &[Usage::new(&["-d|--directory -u|--dry-run -q|--quiet -t --version"], "")],
    ),
    Program::described(
        &["cmp"],
        "cmp(1), GNU diffutils 3.10",
        &[Usage::new(&["-b|--print-bytes -l|--verbose -n|--bytes=NUM -s|--quiet|--silent --version"], "READ READ?")],
    ),
    Program::described(
        &["diff"],
        // `-l` runs `pr`.
        "diff(1), GNU diffutils 3.10",
        &[Usage::new(
            &["-q|--brief -s|--report-identical-files -c -C|--context=NUM -u -U|--unified=NUM -e|--ed -n|--rcs \
               -y|--side-by-side -W|--width=NUM --left-column --suppress-common-lines -p|--show-c-function -t|--expand-tabs \
               -T|--initial-tab -r|--recursive --no-dereference -N|--new-file --unidirectional-new-file \
               --ignore-file-name-case -x|--exclude=TEXT -i|--ignore-case -E|--ignore-tab-expansion \
               -Z|--ignore-trailing-space -b|--ignore-space-change -w|--ignore-all-space -B|--ignore-blank-lines \
               -I|--ignore-matching-lines=TEXT -a|--text --strip-trailing-cr -d|--minimal --speed-large-files --color[=TEXT] \
               -L|--label=TEXT --version"],
            "READ READ",
        )],
    ),
];
