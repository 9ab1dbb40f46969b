# shellcheck shell=bash disable=SC2154,SC2034 # `check` sources this file, sets the variables and uses them.
# The static tarball for AArch64, in an empty root folder. Elsewhere, qemu runs the programs; it cannot run the sandbox.

# shellcheck source=empty-root.sh
. "$here/checks/empty-root.sh"
if ! has aarch64-linux-gnu-gcc; then
    not_run "aarch64 (needs the Debian package gcc-aarch64-linux-gnu)"
elif [ "$(uname -m)" != aarch64 ] && ! has qemu-aarch64-static; then
    check "aarch64: builds" "$here/musl" aarch64
    not_run "aarch64: the programs (needs the Debian package qemu-user-static)"
else
    static aarch64
fi
