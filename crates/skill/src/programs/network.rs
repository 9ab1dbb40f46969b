//! Programs that fetch from other machines.

use super::{Program, Usage};

/// curl options that neither read nor write a file. `-K`, `-O`, `-n`, `-x`, `--next`, `--trace`, `--libcurl`,
/// `--engine` and all others are omitted.
const CURL: &str = "\
    -s|--silent -S|--show-error -f|--fail --fail-with-body --fail-early -L|--location -i|--include|--show-headers -I|--head -v|--verbose \
    -G|--get -k|--insecure -X|--request=TEXT -H|--header=DATA -A|--user-agent=TEXT -e|--referer=TEXT -u|--user=TEXT -b|--cookie=COOKIE \
    -d|--data|--data-ascii=DATA --data-raw=TEXT --data-binary=DATA --data-urlencode=FORM --json=DATA -F|--form=FORM --form-string=TEXT \
    -T|--upload-file=SENT --url=URL --url-query=FORM -r|--range=TEXT -m|--max-time=NUM --connect-timeout=NUM --retry=NUM --retry-delay=NUM \
    --retry-max-time=NUM --retry-all-errors --retry-connrefused --compressed -0|--http1.0 --http1.1 --http2 --http3 -4|--ipv4 -6|--ipv6 \
    --max-redirs=NUM --max-filesize=NUM --limit-rate=TEXT --progress-bar --no-progress-meter -N|--no-buffer --create-dirs \
    --oauth2-bearer=TEXT --basic --digest --tlsv1.2 --tlsv1.3 --path-as-is -g|--globoff --tcp-nodelay -V|--version \
    -o|--output=OUT -D|--dump-header=OUT -w|--write-out=WRITEOUT -q|--disable";

const WGET: &str = "\
    -q|--quiet -v|--verbose -nv -nc -S|--server-response -T|--timeout=NUM -t|--tries=NUM -w|--wait=NUM --waitretry=NUM -U|--user-agent=TEXT \
    --header=TEXT --method=TEXT --post-data=TEXT --body-data=TEXT --no-check-certificate --https-only -4|--inet4-only -6|--inet6-only \
    --max-redirect=NUM --connect-timeout=NUM --read-timeout=NUM --show-progress --progress=TEXT --no-verbose --content-on-error \
    --user=TEXT --password=TEXT -V|--version";

pub(super) const PROGRAMS: &[Program] = &[
    Program::described(&["curl"], "curl(1), curl 8.5", &[Usage::new(&[CURL], "URL*")]),
    Program::described(
        &["wget"],
        // Without `-O`, the URL determines the file name.
        "wget(1), GNU Wget 1.21",
        &[
            Usage::new(&[WGET, "-O|--output-document=OUT -c|--continue"], "URL*").needs("-O"),
            Usage::new(&[WGET, "--spider"], "URL*").needs("--spider"),
            Usage::new(&["-V|--version"], "").needs("-V"),
        ],
    ),
];
