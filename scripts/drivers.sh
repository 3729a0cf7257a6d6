#!/usr/bin/env bash
# Installs the MongoDB drivers that DocDB's tests use, from pinned versions with hashes; what is there already stays.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=docdb/tests/drivers
python=.tools/docdb-python

newer() { [ ! -e "$2" ] || [ "$1" -nt "$2" ]; }

if newer $suite/package-lock.json $suite/node_modules/.installed; then
  npm ci --silent --no-audit --no-fund --prefix $suite
  touch $suite/node_modules/.installed
fi
if newer $suite/requirements.txt $python/.installed; then
  python3 -m venv $python
  $python/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $suite/requirements.txt
  touch $python/.installed
fi
