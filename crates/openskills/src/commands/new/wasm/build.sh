#!/bin/sh
# Builds wasm/skill.wasm. Needs Rust with the target: rustup target add wasm32-wasip1
set -eu
cd "$(dirname "$0")"
target=${WASM_TARGET:-wasm32-wasip1}
# Build outside the skill's folder, because every file in it becomes part of the skill.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/NAME-build}"
cargo build --release --target "$target"
mkdir -p ../wasm
cp "$CARGO_TARGET_DIR/$target/release/skill.wasm" ../wasm/skill.wasm
