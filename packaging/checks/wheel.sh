# shellcheck shell=bash disable=SC2154 # `check` sources this file and sets the variables.
# The wheel, installed by pip and by uv.

uv_version=0.13.8

check "wheel: builds" "$here/wheel"
wheel=$(echo "$OUT/cocoaskills-$version"-*.whl)
python3 -m venv "$scratch/venv"
check "wheel: pip installs it into a new environment" env HOME="$scratch/home" \
    "$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
runs "$scratch/venv/bin" "wheel, pip"
information=$(echo "$scratch"/venv/lib/python3*/site-packages/cocoaskills-*.dist-info)
check "wheel: has the version" grep -qx "Version: $version" "$information/METADATA"
check "wheel: has the licence" grep -qx 'License-Expression: Apache-2.0 OR MIT' "$information/METADATA"
for file in licenses/LICENSE-APACHE licenses/LICENSE-MIT licenses/THIRD-PARTY.txt sboms/sbom.cdx.json; do
    check "wheel: has $file" test -s "$information/$file"
done

# uv is not needed to build anything, so it is installed only for this check.
python3 -m venv "$scratch/uv"
if "$scratch/uv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$uv_version" > /dev/null 2>&1; then
    uvx() { alone "$scratch/uv/bin/uvx" --quiet --offline --from "$wheel" "$@"; }
    check "wheel: uvx runs csk" prints "csk $version" uvx csk --version
    check "wheel: uvx runs openskills" prints "openskills $version" uvx openskills --version
    check "wheel: uvx passes the exit code through" exits 1 uvx openskills validate "$scratch/skills/broken"
else
    not_run "wheel: uvx (cannot install uv)"
fi

mkdir "$scratch/wheel-again"
check "wheel: builds again" env OUT="$scratch/wheel-again" "$here/wheel"
check "wheel: the second build has the same bytes" cmp "$wheel" "$scratch/wheel-again/$(basename "$wheel")"
