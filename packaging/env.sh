# Sourced by the scripts of this folder: where things are, and what makes a build come out the same twice.
#
# PROFILE  the cargo profile of the programs. Packages for users are `release`.
# OUT      the folder that gets the results; `dist` in the checkout unless set.
# shellcheck shell=bash disable=SC2034 # The scripts that source this use what it sets.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
PROFILE=${PROFILE:-release}
OUT=${OUT:-$root/dist}
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd -P)
export PROFILE OUT

target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
version=$(sed -n '/^\[workspace\.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
# Outside of git (a source tarball) whoever builds says what time it is.
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}

# Sorting, dates and file modes must not depend on who builds.
export LC_ALL=C TZ=UTC
umask 022

# `dev` is for checks of the packaging itself. It takes the programs that `cargo test` built, so nothing that cargo or a
# build script looks at may change: RUSTFLAGS would rebuild every crate, SOURCE_DATE_EPOCH every crate with C in it.
if [ "$PROFILE" != dev ]; then
    export SOURCE_DATE_EPOCH=$epoch CARGO_INCREMENTAL=0
    cargo_home=${CARGO_HOME:-$HOME/.cargo}
    # Cargo separates these by the byte 0x1f, so a path may have spaces. Where two match, rustc takes the last: build scripts
    # write Rust into the target folder, which may be in the checkout or not.
    CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f' \
        "--remap-path-prefix=$root=/cocoaskills" \
        "--remap-path-prefix=$cargo_home=/cargo" \
        "--remap-path-prefix=$("${RUSTC:-rustc}" --print sysroot)=/rust" \
        "--remap-path-prefix=$target=/target")
    export CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%$'\x1f'}
    # The C of dependencies names its files in assertions. Scripts call each other, and this is added once.
    maps="-ffile-prefix-map=$root=/cocoaskills -ffile-prefix-map=$cargo_home=/cargo"
    case ${CFLAGS:-} in "$maps"*) ;; *) export CFLAGS="$maps${CFLAGS:+ $CFLAGS}" ;; esac
fi
