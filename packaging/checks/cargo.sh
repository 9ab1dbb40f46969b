# shellcheck shell=bash disable=SC2154,SC2153 # `check` sources this file and sets the variables.
# `cargo install --path`, from a copy of the last commit without git.

copy=$scratch/copy
mkdir "$copy"
git -C "$root" archive HEAD | tar -x -C "$copy"
profile=$([ "$PROFILE" = dev ] && echo tour || echo "$PROFILE")
for program in csk openskills; do
    check "cargo: installs $program" env CARGO_TARGET_DIR="$target" \
        cargo install --quiet --locked --profile "$profile" --path "$copy/crates/$program" --root "$scratch/cargo"
done
runs "$scratch/cargo/bin" cargo
