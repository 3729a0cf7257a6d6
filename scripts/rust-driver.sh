#!/usr/bin/env bash
# Runs the official Rust driver's cases against DocDB; only in `make soak`, because the driver takes minutes to compile.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --locked -p plimsoll
folder=$(mktemp -d)
target/debug/plimsoll docdb --listen 127.0.0.1:0 --data "$folder/data" >"$folder/line" &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
  address=$(sed -n 's#.*mongodb://\([0-9.:]*\).*#\1#p' "$folder/line")
  [ -z "$address" ] || break
  sleep 0.1
done
cargo run --quiet --locked --manifest-path docdb/tests/drivers/rust/Cargo.toml \
  --target-dir target/rust-driver -- "mongodb://$address/"
