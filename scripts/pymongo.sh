#!/usr/bin/env bash
# Installs PyMongo for DocDB's driver tests into .tools/docdb-python, from pinned versions with hashes.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 -m venv .tools/docdb-python
.tools/docdb-python/bin/pip install --quiet --disable-pip-version-check --require-hashes \
  -r crates/plimsoll-docdb/tests/drivers/requirements.txt
touch .tools/docdb-python/installed
