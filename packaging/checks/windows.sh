# shellcheck shell=bash disable=SC2154,SC2329 # `check` sources this file, sets the variables and calls the functions.
# The ZIP file for Windows, under Wine.

name=cocoaskills-$version-x86_64-pc-windows-gnu
windows=$scratch/windows/$name
# A DLL that an installed Windows does not have would stop the programs.
unknown_imports() {
    x86_64-w64-mingw32-objdump --private-headers "$1" | sed -n 's/^\s*DLL Name: //p' | tr '[:upper:]' '[:lower:]' |
        grep -vE '^(kernel32|ntdll|advapi32|ws2_32|user32|userenv|bcrypt|bcryptprimitives|msvcrt|shell32|ole32|crypt32|secur32|psapi|powrprof|dbghelp|iphlpapi|ncrypt|api-ms-win-[a-z0-9-]*)\.dll$'
}
if ! has x86_64-w64-mingw32-gcc; then
    not_run "windows (needs the Debian package gcc-mingw-w64-x86-64)"
else
    check "windows: builds" "$here/windows"
    check "windows: unpacks" python3 -m zipfile --extract "$OUT/$name.zip" "$scratch/windows"
    for file in README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT THIRD-PARTY.txt sbom.cdx.json; do
        check "windows: has $file" test -s "$windows/$file"
    done
    for program in csk openskills; do
        check "windows: $program.exe is a program for x86-64" \
            grep -q 'file format pei-x86-64' <(x86_64-w64-mingw32-objdump --file-headers "$windows/$program.exe")
        check "windows: $program.exe needs only DLLs of Windows" exits 1 unknown_imports "$windows/$program.exe"
    done
    if has wine; then
        x86_64-w64-mingw32-gcc -O2 -shared -o "$windows/bcryptprimitives.dll" "$root/tests/windows/bcryptprimitives.c" -ladvapi32
        under_wine() {
            WINEPREFIX=$scratch/wine WINEDEBUG=-all WINEDLLOVERRIDES='bcryptprimitives=n;mscoree=;mshtml=' DISPLAY='' \
                wine "$@" | tr -d '\r'
        }
        # Creates the prefix.
        under_wine wineboot --init > /dev/null 2>&1 || true
        check "windows: csk prints its version" prints "csk $version" under_wine "$windows/csk.exe" --version
        check "windows: openskills prints its version" prints "openskills $version" under_wine "$windows/openskills.exe" --version
        check "windows: csk prints its help" grep -q '^Usage: csk' <(under_wine "$windows/csk.exe" --help)
        check "windows: openskills accepts a valid skill" under_wine "$windows/openskills.exe" validate "$scratch/skills/greet"
        check "windows: openskills rejects an invalid skill" \
            exits 1 under_wine "$windows/openskills.exe" validate "$scratch/skills/broken"
        WINEPREFIX=$scratch/wine wineserver --kill || true
    else
        not_run "windows: the programs (needs the Debian package wine)"
    fi
fi
