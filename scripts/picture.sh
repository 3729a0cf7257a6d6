#!/usr/bin/env bash
# Takes the picture of the README from the records of a real run: scripts/picture.sh RECORD…|FOLDER
# (after `make demo`: scripts/picture.sh plimsoll-lab-DATE-TIME)
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
  --window-size="${SIZE:-1080,960}" --screenshot="$folder/report.png" "file://$folder/report.html" \
  >/dev/null 2>&1
mkdir -p docs/images
cp "$folder/report.png" docs/images/report.png
bytes=$(stat -c %s docs/images/report.png)
echo "docs/images/report.png: $bytes bytes"
[ "$bytes" -lt 200000 ] || { echo "more than 200 kB; take a smaller window: SIZE=1080,900" >&2; exit 1; }
