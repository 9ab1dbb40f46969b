# shellcheck shell=bash disable=SC2154,SC2034,SC2329 # `check` sources this file, sets the variables and uses them.
# The npm packages, installed by npm from a registry on this machine.

platforms=(linux-x64 linux-x64-musl)
if ! has npm || [ "$(uname -m)" != x86_64 ]; then
    not_run "npm (npm is not installed, or this is not x86-64)"
else
    check "npm: builds" "$here/npm" "${platforms[@]}"
    serve npm-registry.py "$OUT"
    registry=http://127.0.0.1:$port
    node=$(dirname "$(command -v node)")
    # Starts npm or npx without settings or cache of the user.
    fresh() { (cd "$scratch/home" && alone npm_config_registry="$registry" npm_config_audit=false npm_config_fund=false "$@"); }

    mkdir "$scratch/project"
    check "npm: npm installs it into a project" fresh npm install --silent --prefix "$scratch/project" cocoaskills
    check "npm: npm installs only the programs for this platform" \
        prints linux-x64 ls "$scratch/project/node_modules/@cocoaskills"
    runs "$scratch/project/node_modules/.bin" "npm install"
    package=$scratch/project/node_modules/@cocoaskills/linux-x64
    for file in LICENSE-APACHE LICENSE-MIT THIRD-PARTY.txt sbom.cdx.json README.md; do
        check "npm: the platform package has $file" test -s "$package/$file"
    done
    for file in LICENSE-APACHE LICENSE-MIT sbom.cdx.json README.md; do
        check "npm: the package cocoaskills has $file" test -s "$scratch/project/node_modules/cocoaskills/$file"
    done
    check "npm: npm installs it globally" fresh npm install --silent --global --prefix "$scratch/global" cocoaskills
    runs "$scratch/global/bin" "npm install --global"
    check "npm: npx cocoaskills csk" prints "csk $version" fresh npx --yes cocoaskills csk --version
    check "npm: npx --package cocoaskills openskills" \
        prints "openskills $version" fresh npx --yes --package cocoaskills openskills --version
    check "npm: npx passes the exit code through" \
        exits 1 fresh npx --yes cocoaskills openskills validate "$scratch/skills/broken"
    check "npm: npm installs the files without a registry" fresh npm install --silent --offline --omit=optional --global \
        --prefix "$scratch/files" "$OUT/cocoaskills-$version.tgz" "$OUT/cocoaskills-linux-x64-$version.tgz"
    check "npm: csk runs from the files" prints "csk $version" alone "$scratch/files/bin/csk" --version
    mkdir "$scratch/alpine"
    check "npm: npm installs the static programs where libc is musl" \
        fresh npm install --silent --prefix "$scratch/alpine" --libc musl cocoaskills
    check "npm: only those" prints linux-x64-musl ls "$scratch/alpine/node_modules/@cocoaskills"
    runs "$scratch/alpine/node_modules/.bin" "npm, musl"
    stop_server

    check "npm: the launcher" env PATH="$node:$PATH" \
        python3 "$here/checks/npm-launcher.py" "$scratch/project/node_modules/cocoaskills"
    node=

    mkdir "$scratch/npm-again"
    check "npm: builds again" env OUT="$scratch/npm-again" "$here/npm" "${platforms[@]}"
    for file in "$scratch"/npm-again/*.tgz; do
        check "npm: the second build of $(basename "$file") has the same bytes" cmp "$file" "$OUT/$(basename "$file")"
    done
fi
