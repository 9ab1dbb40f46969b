# shellcheck shell=bash disable=SC2154,SC2329 # `check` sources this file, sets the variables and calls the functions.
# A whole release, twice. With REBUILD=1, the second one compiles everything again.

if ! has aarch64-linux-gnu-gcc || ! has x86_64-w64-mingw32-gcc || ! has musl-gcc || [ "$(uname -m)" != x86_64 ]; then
    not_run "release (needs x86-64, and the Debian packages musl-tools, gcc-aarch64-linux-gnu and gcc-mingw-w64-x86-64)"
else
    first=$scratch/release second=$scratch/release-again
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$scratch/key"
    export RELEASE_KEY=$scratch/key RELEASE_URL=https://example.com/cocoaskills/v$version
    check "release: builds" "$here/release" "$first"
    again=$([ -n "${REBUILD:-}" ] && echo "$scratch/target" || echo "$target")
    check "release: builds again" env CARGO_TARGET_DIR="$again" MUSL_HEADERS="$target/musl-headers-arm64" \
        "$here/release" "$second"
    for file in "$first"/*; do
        check "release: the second $(basename "$file") has the same bytes" cmp "$file" "$second/$(basename "$file")"
    done
    expected() {
        printf '%s\n' SHA256SUMS SHA256SUMS.sig cocoaskills.rb "cocoaskills-$version.cdx.json" "cocoaskills-$version.tgz" \
            "cocoaskills-$version"-{x86_64,aarch64}-unknown-linux-musl.tar.gz "cocoaskills-$version-x86_64-pc-windows-gnu.zip" \
            "cocoaskills-"{linux-x64,linux-x64-musl,linux-arm64,win32-x64}"-$version.tgz" \
            "cocoaskills_${version}_amd64.deb" "$(cd "$first" && echo "cocoaskills-$version"-*.whl)" | sort
    }
    check "release: has all packages" prints "$(expected)" ls "$first"
    check "release: the checksums are correct" env -C "$first" sha256sum --check --strict --quiet SHA256SUMS
    listed() { [ "$(wc -l < "$first/SHA256SUMS")" -eq "$(find "$first" -name 'cocoaskills*' | wc -l)" ]; }
    check "release: every package has a checksum" listed

    printf 'release ' > "$scratch/signers" && cat "$scratch/key.pub" >> "$scratch/signers"
    verify() { ssh-keygen -Y verify -f "$scratch/signers" -I release -n cocoaskills-release -s "$first/SHA256SUMS.sig" < "$1"; }
    check "release: the signature is valid" verify "$first/SHA256SUMS"
    sed '1s/./x/' "$first/SHA256SUMS" > "$scratch/changed"
    check "release: the signature rejects other checksums" exits 255 verify "$scratch/changed"

    if has ruby; then
        check "release: the Homebrew formula is valid Ruby" ruby -c "$first/cocoaskills.rb"
        check "release: the Homebrew formula installs from the tarball" \
            ruby "$here/checks/homebrew.rb" "$first/cocoaskills.rb" "$first" "$scratch/homebrew"
        runs "$scratch/homebrew/bin" "Homebrew formula"
    else
        not_run "release: the Homebrew formula (needs ruby)"
    fi
    never_run "release: brew (the formula is evaluated with a stand-in for Homebrew)"

    # Paths of the machine that built them would make the bytes differ elsewhere.
    paths() {
        local file
        for file in "$first"/*.tgz; do
            tar -xzOf "$file" | strings -a | grep -F -e "$root" -e "$HOME/"
        done
    }
    [ "$PROFILE" != release ] || check "release: no program contains a path of this machine" exits 1 paths
fi
