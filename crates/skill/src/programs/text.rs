//! Programs that search, sort and change text.

use super::{Program, Usage};

const COREUTILS: &str = "GNU coreutils 9.4 manual, options of each program";

/// sed options except the script itself and `-i`. `-f` names a script file that is not checked; `-s` only changes line
/// numbers.
const SED: &str = "-n|--quiet|--silent -E|-r|--regexp-extended -s|--separate -u|--unbuffered -z|--null-data --posix --debug --sandbox \
     -e|--expression=SED --version";

pub(super) const PROGRAMS: &[Program] = &[
    Program::described(
        &["echo"],
        // Every argument that is not an option is printed.
        "bash(1), echo",
        &[Usage::TEXT],
    ),
    Program::described(
        &["printf"],
        // `-v` sets a variable.
        "bash(1), printf",
        &[Usage::new(&[], "TEXT*")],
    ),
    Program::described(
        &["grep", "egrep", "fgrep"],
        "grep(1), GNU grep 3.11",
        &[Usage::new(
            &["-E|--extended-regexp -F|--fixed-strings -G|--basic-regexp -P|--perl-regexp -e|--regexp=TEXT -f|--file=READ \
               -i|-y|--ignore-case --no-ignore-case -v|--invert-match -w|--word-regexp -x|--line-regexp -c|--count \
               --color[=TEXT] --colour[=TEXT] -L|--files-without-match -l|--files-with-matches -m|--max-count=NUM \
               -o|--only-matching -q|--quiet|--silent -s|--no-messages -b|--byte-offset -H|--with-filename \
               -h|--no-filename --label=TEXT -n|--line-number -T|--initial-tab -Z|--null -A|--after-context=NUM \
               -B|--before-context=NUM -C|--context=NUM --group-separator=TEXT --no-group-separator -a|--text \
               --binary-files=TEXT -D|--devices=TEXT -d|--directories=TEXT --exclude=TEXT --exclude-from=READ \
               --exclude-dir=TEXT -I --include=TEXT -r|--recursive -R|--dereference-recursive --line-buffered \
               -U|--binary -z|--null-data -# -V|--version"],
            "TEXT READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["rg", "ripgrep"],
        // `--pre` and `--hostname-bin` run programs, and so does `-z` to unpack.
        "rg(1), ripgrep 14.1",
        &[Usage::new(
            &["-A|--after-context=NUM -B|--before-context=NUM -C|--context=NUM -a|--text --binary -b|--byte-offset \
               -s|--case-sensitive --color=TEXT --colors=TEXT --column --context-separator=TEXT -c|--count \
               --count-matches --crlf --debug --dfa-size-limit=TEXT -E|--encoding=TEXT --engine=TEXT -e|--regexp=TEXT \
               -f|--file=READ --files -l|--files-with-matches --files-without-match -F|--fixed-strings -L|--follow \
               -g|--glob=TEXT --glob-case-insensitive --heading --no-heading -.|--hidden --iglob=TEXT -i|--ignore-case \
               --include-zero -v|--invert-match --json -x|--line-regexp -n|--line-number -N|--no-line-number \
               --max-columns=NUM -M=NUM --max-columns-preview -m|--max-count=NUM -d|--max-depth=NUM --max-filesize=TEXT \
               --mmap --no-mmap -U|--multiline --multiline-dotall --no-config --no-ignore --no-ignore-vcs \
               --no-ignore-parent --no-ignore-dot --no-messages --no-filename -I --no-unicode -0|--null \
               --one-file-system -o|--only-matching --passthru --path-separator=TEXT -P|--pcre2 -p|--pretty -q|--quiet \
               --regex-size-limit=TEXT -r|--replace=TEXT -S|--smart-case --sort=TEXT --sortr=TEXT --stats \
               -j|--threads=NUM --trim -t|--type=TEXT -T|--type-not=TEXT --type-list -u|--unrestricted --vimgrep \
               -H|--with-filename -w|--word-regexp -V|--version"],
            "TEXT READ*",
        )],
    ),
    Program::described(
        &["sort"],
        // `--compress-program` runs one; `--files0-from` reads names; `-T` writes elsewhere.
        COREUTILS,
        &[Usage::new(
            &["-b|--ignore-leading-blanks -d|--dictionary-order -f|--ignore-case -g|--general-numeric-sort \
               -i|--ignore-nonprinting -M|--month-sort -h|--human-numeric-sort -n|--numeric-sort -R|--random-sort \
               -r|--reverse --sort=TEXT -V|--version-sort -c --check[=TEXT] -C -k|--key=TEXT -m|--merge -o|--output=OUT \
               -s|--stable -S|--buffer-size=TEXT -t|--field-separator=TEXT --parallel=NUM -u|--unique \
               -z|--zero-terminated --version"],
            "READ*",
        )],
    ),
    Program::described(
        &["uniq"],
        COREUTILS,
        &[Usage::new(
            &["-c|--count -d|--repeated -D --all-repeated[=TEXT] -f|--skip-fields=NUM --group[=TEXT] -i|--ignore-case \
               -s|--skip-chars=NUM -u|--unique -z|--zero-terminated -w|--check-chars=NUM --version"],
            "READ? OUT?",
        )],
    ),
    Program::described(
        &["cut"],
        COREUTILS,
        &[Usage::new(
            &["-b|--bytes=TEXT -c|--characters=TEXT -d|--delimiter=TEXT -f|--fields=TEXT -n --complement \
               -s|--only-delimited --output-delimiter=TEXT -z|--zero-terminated --version"],
            "READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["tr"],
        COREUTILS,
        &[Usage::new(&["-c|-C|--complement -d|--delete -s|--squeeze-repeats -t|--truncate-set1 --version"], "TEXT*")
            .only_prints()],
    ),
    Program::described(
        &["paste"],
        COREUTILS,
        &[Usage::new(&["-s|--serial -d|--delimiters=TEXT -z|--zero-terminated --version"], "READ*").only_prints()],
    ),
    Program::described(
        &["comm"],
        COREUTILS,
        &[Usage::new(&["-1 -2 -3 --check-order --nocheck-order --total -z|--zero-terminated --version"], "READ READ")
            .only_prints()],
    ),
    Program::described(
        &["fold"],
        COREUTILS,
        &[Usage::new(&["-b|--bytes -s|--spaces -w|--width=NUM --version"], "READ*").only_prints()],
    ),
    Program::described(
        &["column"],
        "column(1), util-linux 2.39",
        &[Usage::new(&["-t|--table -s|--separator=TEXT -o|--output-separator=TEXT -x|--fillrows -n|--table-name=TEXT -J|--json"], "READ*")
            .only_prints()],
    ),
    Program::described(&["rev"], "rev(1), util-linux 2.39", &[Usage::new(&[], "READ*").only_prints()]),
    Program::described(
        &["seq"],
        COREUTILS,
        &[Usage::new(&["-f|--format=TEXT -s|--separator=TEXT -w|--equal-width --version"], "NUM*").only_prints()],
    ),
    Program::described(
        &["jq"],
        // `-L` names module folders. A jq program cannot write, run or send anything.
        "jq(1), jq 1.7",
        &[Usage::new(
            &["-n|--null-input -R|--raw-input -s|--slurp -c|--compact-output -r|--raw-output --raw-output0 \
               -j|--join-output -a|--ascii-output -S|--sort-keys -C|--color-output -M|--monochrome-output --tab \
               --indent=NUM --unbuffered --stream --stream-errors --seq -f|--from-file=READ -e|--exit-status \
               --arg=TEXT,TEXT --argjson=TEXT,TEXT --slurpfile=TEXT,READ --rawfile=TEXT,READ --args --jsonargs -V|--version"],
            "TEXT? READ*",
        )
        .only_prints()],
    ),
    Program::described(
        &["yq"],
        // Version 4; `-i` writes, `--split-exp` creates files, `--from-file` and `env` are as in jq.
        "yq(1), mikefarah/yq 4",
        &[Usage::new(
            &["-r|--unwrapScalar -o|--output-format=TEXT -p|--input-format=TEXT -P|--prettyPrint -C|--colors \
               -M|--no-colors -e|--exit-status -n|--null-input -N|--no-doc -I|--indent=NUM -i|--inplace -V|--version"],
            "TEXT? READ*",
        )
        .writes_if("-i")],
    ),
    Program::described(
        &["sed", "gsed"],
        // Scripts are restricted to printing, deleting and replacing: see the role SED.
        "sed(1), GNU sed 4.9",
        &[Usage::new(&[SED, "-i|--in-place[=ENDING]"], "SED READ*").writes_if("-i")],
    ),
    Program::described(
        &["base64", "base32"],
        COREUTILS,
        &[Usage::new(&["-d|--decode -i|--ignore-garbage -w|--wrap=NUM --version"], "READ?").only_prints()],
    ),
    Program::described(
        &["strings"],
        // `-T` and plugins load code.
        "strings(1), GNU binutils 2.41",
        &[Usage::new(&["-a|--all -f|--print-file-name -n|--bytes=NUM -t|--radix=TEXT -w -e=TEXT"], "READ*")],
    ),
    Program::described(
        &["xxd"],
        "xxd(1), vim 9.0",
        &[Usage::new(&["-a -b -c=NUM -e -g=NUM -i -l=NUM -o=NUM -p -ps -r -s=TEXT -u"], "READ? OUT?")],
    ),
    Program::described(
        &["hexdump"],
        // `-f` names a format file, which can only print.
        "hexdump(1), util-linux 2.39",
        &[Usage::new(&["-b -c -C|--canonical -d -n|--length=NUM -o -s|--skip=NUM -v -x"], "READ*")],
    ),
];
