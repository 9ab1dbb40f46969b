# shellcheck shell=bash disable=SC2154,SC2034 # `check` sources this file, sets the variables and uses them.
# The static tarball for x86-64, in an empty root folder.

# shellcheck source=empty-root.sh
. "$here/checks/empty-root.sh"
if [ "$(uname -m)" = x86_64 ] && has musl-gcc; then
    static x86_64
else
    not_run "static (this is not x86-64, or musl-gcc is not installed; Debian: musl-tools)"
fi
