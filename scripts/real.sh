#!/usr/bin/env bash
# Installs what the experiments' real tiers and the Node middleware need besides programs: node modules, and a certificate;
# what is there already stays.
set -euo pipefail
cd "$(dirname "$0")/.."

for folder in npm/plimsoll $(dirname experiments/*/real/package-lock.json); do
  # npm writes this file when an installation is whole.
  installed=$folder/node_modules/.package-lock.json
  if [ ! -e "$installed" ] || [ "$folder/package-lock.json" -nt "$installed" ]; then
    echo "  node modules of $folder"
    npm ci --loglevel=error --no-audit --no-fund --prefix "$folder"
  fi
done
# The middleware is TypeScript; experiments and its tests use what is made of it.
npm run --silent build --prefix npm/plimsoll
scripts/certificate.sh experiments/server-limits/real
