# Sourced by the scripts in this folder: sets paths, and makes builds reproducible.
#
# PROFILE  cargo profile of the programs. Packages for users use `release`; `dev` and `tour` are for checks.
# OUT      folder for the results [default: `dist` in the checkout]
# shellcheck shell=bash disable=SC2034 # The scripts that source this use these variables.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
PROFILE=${PROFILE:-release}
OUT=${OUT:-$root/dist}
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd -P)
export PROFILE OUT

target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
native=$(uname -m)-unknown-linux-gnu
version=$(sed -n '/^\[workspace\.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
# A source tarball has no commit, so there SOURCE_DATE_EPOCH must be set.
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}

# Sort order, dates and file modes must not depend on the user's settings.
export LC_ALL=C TZ=UTC
umask 022

# Checks use programs that `cargo test` or `./tour` built before. RUSTFLAGS would rebuild every crate, and
# SOURCE_DATE_EPOCH every crate that contains C.
if [ "$PROFILE" != dev ] && [ "$PROFILE" != tour ]; then
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
