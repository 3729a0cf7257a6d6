#!/usr/bin/env bash
# Processor time per operation: plimsoll's workload engine beside the bare official driver, in turns, on one DocDB.
#   cargo build --release --locked -p plimsoll && cargo build --release --locked -p plimsoll-workload --example bare
#   bench/workload/run.sh [DATABASES] [WORKERS] [SECONDS] [ROUNDS]
set -euo pipefail
databases=${1:-6} workers=${2:-10} seconds=${3:-10} rounds=${4:-3}
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/target/release
data=$(mktemp -d)
"$bin/plimsoll" docdb --data "$data/db" --listen 127.0.0.1:0 --durability interval=50ms >"$data/said" 2>&1 &
server=$!
trap 'kill $server; wait $server 2>/dev/null; rm -rf "$data"' EXIT
for _ in $(seq 100); do
  grep -q mongodb:// "$data/said" && break
  kill -0 $server 2>/dev/null || { cat "$data/said" >&2; exit 1; }
  sleep 0.1
done
store=mongodb://$(grep -o 'mongodb://[^/ ]*' "$data/said" | head -1 | cut -d/ -f3)
for round in $(seq "$rounds"); do
  echo -n "alone     "; BARE_ALONE=1 "$bin/examples/bare" "$store" "$databases" "$workers" "$seconds"
  echo -n "bare      "; "$bin/examples/bare" "$store" "$databases" "$workers" "$seconds"
  "$bin/plimsoll" run "$store" --databases "$databases" -c "$workers" --workers "$workers" -z "${seconds}s" --threads 1 \
    --quiet --format json -o "$data/$round.plimsoll.jsonl" >"$data/$round.json" || true
  python3 - "$data/$round.plimsoll.jsonl" <<'P'
import json, sys
run = count = 0
for line in open(sys.argv[1]):
    line = json.loads(line)
    if line["kind"] == "window" and line["level"] == 0:
        run += sum(line["health"]["worker_run_ns"])
        count += sum(c["count"] for t in line["operations"] for c in t["classes"].values())
print(f"plimsoll  {count} operations, {run / count / 1e3:.2f} us of processor time each")
P
done
