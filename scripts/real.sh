#!/usr/bin/env bash
# Installs what the experiments' real tiers and the Node middleware need besides programs: node modules, the jars of Cassandra, and a
# certificate; what is there already stays.
set -euo pipefail
cd "$(dirname "$0")/.."

for folder in npm/plimsoll experiments/*/real; do
  # npm writes this file when an installation is whole.
  installed=$folder/node_modules/.package-lock.json
  if [ ! -e "$installed" ] || [ "$folder/package-lock.json" -nt "$installed" ]; then
    echo "  node modules of $folder"
    npm ci --loglevel=error --no-audit --no-fund --prefix "$folder"
  fi
done
# The jars come from wherever this machine's Maven is told to look; a folder is complete when all of them were copied.
jars=experiments/concurrency-and-timeouts/real
if [ ! -d "$jars/lib" ] || [ "$jars/pom.xml" -nt "$jars/lib" ]; then
  echo "  jars of Cassandra in $jars/lib"
  rm -rf "$jars/lib" "$jars/lib.new"
  mvn -q -B -f "$jars/pom.xml" dependency:copy-dependencies -DoutputDirectory=lib.new
  mv "$jars/lib.new" "$jars/lib"
  touch "$jars/lib"
fi
# The middleware is TypeScript; experiments and its tests use what is made of it.
npm run --silent build --prefix npm/plimsoll
scripts/certificate.sh experiments/server-limits/real
