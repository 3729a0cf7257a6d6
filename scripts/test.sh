#!/usr/bin/env bash
# What `make test` runs after scripts/need.sh: format, lints, tests, tidy; prints what each step took.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.tools/node/node_modules/.bin:$PATH:/usr/sbin"
export CARGO_TERM_PROGRESS_WHEN=never CARGO_INCREMENTAL=0 RUST_BACKTRACE="${RUST_BACKTRACE:-0}"

started=$SECONDS
took=()

step() {
  local name=$1 begun=$SECONDS
  shift
  echo
  echo "== $name"
  "$@"
  took+=("$(printf '%5d s  %s' $((SECONDS - begun)) "$name")")
}

step "format" cargo fmt --all --check
step "lints" cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
step "build" cargo test --quiet --locked --workspace --no-run
step "node modules and a certificate, for the experiments' real tiers" scripts/real.sh
step "the MongoDB drivers of Node and Python, for DocDB" scripts/drivers.sh
step "tests, tidy among them" cargo test --locked --workspace --no-fail-fast
step "fuzz, 5 s a target" cargo run --quiet --locked -p plimsoll-fuzz -- all --seconds 5

echo
echo "all passed in $((SECONDS - started)) s:"
printf '  %s\n' "${took[@]}"
