#!/usr/bin/env bash
# What `make test` runs after scripts/need.sh: format, lints with the build, tests, tidy, fuzz; prints what each step took.
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

# Downloads wait for others most of the time: beside the build they cost little.
(scripts/real.sh && scripts/drivers.sh) &
prepared=$!
trap 'kill "$prepared" 2>/dev/null || true' EXIT

step "format" cargo fmt --all --check
# Lints come with the build: clippy's driver compiles our crates as rustc does, and checks them on the way, so that
# nothing is compiled a second time for them. The separator between its arguments is clippy's own.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
step "build, with lints" cargo test --quiet --locked --workspace --no-run
step "node modules, a certificate and MongoDB drivers, begun beside the build" wait "$prepared"
step "tests, tidy and fuzz among them" cargo run --quiet --locked -p xtask -- test

echo
echo "all passed in $((SECONDS - started)) s:"
printf '  %s\n' "${took[@]}"
