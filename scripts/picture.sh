#!/usr/bin/env bash
# Takes the picture of the README from records of a real search: scripts/picture.sh RECORD…
# (after `make demo-find`: scripts/picture.sh demo-out/first.plimsoll.jsonl demo-out/second.plimsoll.jsonl)
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 104; }
records=()
for record in "$@"; do records+=("$(realpath "$record")"); done
cd "$(dirname "$0")/.."
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "no Chromium found; install it with: apt-get install chromium" >&2; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PLIMSOLL:-target/release/plimsoll}" report "${records[@]}" -o "$folder/report.html"
"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" \
  --window-size="${SIZE:-1080,1250}" --screenshot="$folder/report.png" "file://$folder/report.html" \
  >/dev/null 2>&1
mkdir -p docs/images
cp "$folder/report.png" docs/images/report.png
bytes=$(stat -c %s docs/images/report.png)
echo "docs/images/report.png: $bytes bytes"
[ "$bytes" -lt 200000 ] || { echo "more than 200 kB; take a smaller window: SIZE=1080,1000" >&2; exit 1; }
