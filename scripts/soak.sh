#!/usr/bin/env bash
# What `make soak` runs after scripts/need.sh: the tests with every seed and fixture, then minutes of fuzzing.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.tools/node/node_modules/.bin:$PATH:/usr/sbin"

scripts/drivers.sh
# Tests that have a short and a long form read PLIMSOLL_SOAK.
PLIMSOLL_SOAK=1 cargo test --locked --workspace --no-fail-fast
scripts/rust-driver.sh
for target in $(cargo run --quiet --locked -p plimsoll-fuzz -- --list); do
  cargo run --quiet --locked -p plimsoll-fuzz -- "$target" \
    --seconds "${FUZZ_SECONDS:-120}" --seed "${SEED:-$RANDOM}"
done
