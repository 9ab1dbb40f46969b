# shellcheck shell=bash disable=SC2154,SC2329 # `check` sources this file, sets the variables and calls the functions.
# The SBOM, by itself and against the schema.

names() {
    python3 - "$scratch/sbom.json" << 'END'
import json, sys
bom = json.load(open(sys.argv[1]))
by_name = {component["name"]: component for component in bom["components"]}
for name in ["csk", "openskills", "clap", "gix", "rustls", "serde_json", "wasmtime"]:
    assert by_name[name]["scope"] == "required", name
for name in ["expect-test", "proptest", "testkit"]:
    assert name not in by_name, f"{name} is only for tests"
for component in bom["components"]:
    assert component["licenses"], component["name"]
    assert ("purl" in component) == ("hashes" in component), component["name"]
known = {component["bom-ref"] for component in bom["components"]}
assert all(ref in known for entry in bom["dependencies"] for ref in entry["dependsOn"])
END
}
valid() {
    "$scratch/schema/bin/python" - "$1" << 'END'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1], encoding="utf-8").read())
sys.exit(error and str(error))
END
}
for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-musl x86_64-pc-windows-gnu; do
    "$here/sbom" $target > "$scratch/sbom.json"
    "$here/sbom" $target > "$scratch/sbom-again.json"
    check "sbom: the second one has the same bytes ($target)" cmp "$scratch/sbom.json" "$scratch/sbom-again.json"
    check "sbom: lists what is in the programs, and no crate for tests ($target)" names
done
python3 -m venv "$scratch/schema"
if "$scratch/schema/bin/python" -m pip install --quiet --disable-pip-version-check 'cyclonedx-python-lib[json-validation]==11.12.0' > /dev/null 2>&1; then
    check "sbom: follows the schema of CycloneDX 1.6" valid "$scratch/sbom.json"
    if [ -e "$OUT/cocoaskills-$version.tgz" ]; then
        tar -xzOf "$OUT/cocoaskills-$version.tgz" package/sbom.cdx.json > "$scratch/npm-sbom.json"
        check "sbom: that of the npm launcher, too" valid "$scratch/npm-sbom.json"
    fi
else
    not_run "sbom: the schema (cannot install its validator)"
fi
