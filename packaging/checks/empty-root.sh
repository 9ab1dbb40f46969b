# shellcheck shell=bash disable=SC2154,SC2034,SC2329,SC2016 # `check` sources this file.
# Builds a static tarball and checks it in a root folder with nothing but the programs and busybox.

# static ARCHITECTURE
static() {
    local name=cocoaskills-$version-$1-unknown-linux-musl what="static $1"
    # Used by `within`.
    empty=$scratch/empty-$1 emulator=()
    check "$what: builds" "$here/musl" "$1"
    check "$what: unpacks" tar -xzf "$OUT/$name.tar.gz" -C "$scratch"
    local folder=$scratch/$name
    for file in README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT THIRD-PARTY.txt sbom.cdx.json man/csk.1 completions/_csk; do
        check "$what: has $file" test -s "$folder/$file"
    done

    if ! has busybox || ! unshare --mount true 2> /dev/null && ! unshare --user --map-root-user --mount true 2> /dev/null; then
        not_run "$what: in an empty root (needs namespaces, and the Debian package busybox-static)"
        return
    fi
    mkdir -p "$empty"/{bin,etc/ssl/certs,home/skills/hello/scripts,tmp,work}
    cp "$folder/bin/csk" "$folder/bin/openskills" "$(command -v busybox)" "$empty/bin/"
    for tool in sh true; do ln -s busybox "$empty/bin/$tool"; done
    printf '127.0.0.1 localhost\n' > "$empty/etc/hosts"
    cp -R "$scratch/skills" "$empty/"
    skill "$empty/home/skills/hello"
    printf '#!/bin/sh\necho "hello $1"\necho written > out.txt\n(echo > /home/escaped) 2> /dev/null && echo escaped\nexit 7\n' \
        > "$empty/home/skills/hello/scripts/hello.sh"
    if [ "$1" != "$(uname -m)" ]; then
        cp "$(command -v "qemu-$1-static")" "$empty/bin/qemu"
        emulator=(/bin/qemu)
    fi
    check "$what: csk prints its version" prints "csk $version" within /bin/csk --version
    check "$what: openskills prints its version" prints "openskills $version" within /bin/openskills --version
    check "$what: openskills accepts a valid skill" within /bin/openskills validate /skills/greet
    check "$what: openskills rejects an invalid skill" exits 1 within /bin/openskills validate /skills/broken

    run=(within /bin/openskills run --dir /home/skills --workspace /work --approve-once hello hello.sh -- there)
    if [ ${#emulator[@]} -eq 0 ]; then
        check "$what: the full sandbox is available" within /bin/openskills sandbox check
        check "$what: openskills runs a script in the sandbox" sandboxed
    else
        # qemu has no namespaces, Landlock or seccomp for the programs it runs, so nothing may start.
        check "$what: under qemu, openskills reports that there is no sandbox" exits 78 within /bin/openskills sandbox check
        check "$what: under qemu, openskills runs no script" starts_nothing
        never_run "$what: the sandbox (needs a machine with this processor)"
    fi
    check "$what: the log is intact" within /bin/openskills log verify
    https "$what"
}

# Runs a program of the empty root in it.
within() { "$here/checks/inside" "$empty" "${emulator[@]}" "$@"; }

sandboxed() {
    local status=0 output
    output=$("${run[@]}") || status=$?
    [ "$status" -eq 7 ] && [ "$output" = "hello there" ] || { echo "exit code $status: $output"; return 1; }
    # A script that fails changes nothing.
    [ ! -e "$empty/work/out.txt" ] && [ ! -e "$empty/home/escaped" ]
}

# 125 means that the sandbox itself did not start.
starts_nothing() {
    local status=0 output
    output=$("${run[@]}") || status=$?
    { [ "$status" -eq 78 ] || [ "$status" -eq 125 ]; } && [ -z "$output" ] || { echo "exit code $status: $output"; return 1; }
}

# https NAME: sends the log to a server, and installs a skill from one. csk starts git for that, so git and its
# libraries are added to the empty root.
https() {
    local files git file library
    files=$scratch/served-$(basename "$empty")
    mkdir -p "$files"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE \
        -keyout "$scratch/key.pem" -out "$scratch/certificate.pem" 2> /dev/null
    cp "$scratch/certificate.pem" "$empty/etc/ssl/certs/ca-certificates.crt"
    serve https-server.py "$files" "$scratch/certificate.pem" "$scratch/key.pem"

    check "$1: openskills sends its log over https" within /bin/openskills log export --endpoint "https://localhost:$port"
    check "$1: the server received it" grep -q resourceLogs "$files/posted"
    rm -f "$empty/etc/ssl/certs/ca-certificates.crt" "$files/posted"
    check "$1: openskills rejects a server with an unknown certificate" \
        exits 2 within /bin/openskills log export --endpoint "https://localhost:$port"
    check "$1: that server received nothing" test ! -e "$files/posted"

    cp "$scratch/certificate.pem" "$empty/etc/ssl/certs/ca-certificates.crt"
    local source=$files/source/greet
    skill "$source"
    git -C "$source" init --quiet --initial-branch main
    git -C "$source" add SKILL.md
    git -C "$source" -c user.name=check -c user.email=check@localhost commit --quiet --message check
    git clone --quiet --bare "$source" "$files/greet.git"
    git -C "$files/greet.git" update-server-info
    git=$(realpath "$(command -v git)")
    for file in "$git" "$(git --exec-path)/git-remote-https"; do
        install -D "$file" "$empty$file"
        for library in $(ldd "$file" | grep -o '/[^ ]*'); do install -D "$library" "$empty$library"; done
    done
    ln -sf "$git" "$empty/bin/git"
    printf '#!/bin/sh\nset -e\nexport GIT_SSL_CAINFO=/etc/ssl/certs/ca-certificates.crt\ncd /work\ngit init --quiet 2> /dev/null\n%s add "$1"\n' \
        "${emulator[*]} /bin/csk" > "$empty/bin/add-skill"
    chmod +x "$empty/bin/add-skill"
    check "$1: csk installs a skill over https" "$here/checks/inside" "$empty" /bin/add-skill "https://localhost:$port/greet.git"
    check "$1: the skill is installed" cmp "$empty/work/.agents/skills/greet/SKILL.md" "$source/SKILL.md"
    stop_server
}
