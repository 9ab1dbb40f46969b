# shellcheck shell=bash disable=SC2154,SC2329 # `check` sources this file, sets the variables and calls the functions.
# The Debian package, installed into an empty root folder.

deb=$OUT/cocoaskills_${version}_$(dpkg --print-architecture).deb
field() { dpkg-deb --field "$deb" "$1" | grep -qE "$2"; }
foreign() { dpkg-deb --contents "$deb" | awk '$2 != "root/root" || substr($1, 6, 1) == "w" || substr($1, 9, 1) == "w" || $1 ~ /s|t/' | grep .; }
install_deb() {
    # The root folder lacks the dependencies. Only root can set the owner of files, so others unpack the package.
    if [ "$(id -u)" -eq 0 ]; then
        mkdir -p "$scratch/root/var/lib/dpkg"/{info,updates} && touch "$scratch/root/var/lib/dpkg/status"
        dpkg --root="$scratch/root" --log="$scratch/dpkg.log" --force-depends --install "$deb"
    else
        dpkg -x "$deb" "$scratch/root"
    fi
}
check "deb: builds" "$here/deb"
check "deb: has the name" field Package '^cocoaskills$'
check "deb: has the version" field Version "^$version\$"
check "deb: depends on git and on a version of libc" field Depends '^git, .*libc6 \(>= [0-9.]+\)'
check "deb: root owns all files, and others cannot write to them" exits 1 foreign
check "deb: installs into an empty root" install_deb
runs "$scratch/root/usr/bin" deb
share=$scratch/root/usr/share
for file in copyright changelog.gz README.md LICENSE-APACHE LICENSE-MIT THIRD-PARTY.txt.gz sbom.cdx.json.gz; do
    check "deb: has $file" test -s "$share/doc/cocoaskills/$file"
done
for program in csk openskills; do
    check "deb: completions of $program for bash" bash -n "$share/bash-completion/completions/$program"
    check "deb: completions of $program for zsh" grep -q "^#compdef $program" "$share/zsh/vendor-completions/_$program"
    check "deb: completions of $program for fish" grep -q "^complete .*$program" "$share/fish/vendor_completions.d/$program.fish"
    check "deb: man page of $program" gzip --test "$share/man/man1/$program.1.gz"
done
mkdir "$scratch/deb-again"
check "deb: builds again" env OUT="$scratch/deb-again" "$here/deb"
check "deb: the second build has the same bytes" cmp "$deb" "$scratch/deb-again/$(basename "$deb")"
