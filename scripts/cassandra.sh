#!/usr/bin/env bash
# Copies the jars of Apache Cassandra to where `plimsoll lab experiments/concurrency-and-timeouts --real` starts it from. They come from
# wherever this machine's Maven is told to look; a folder is complete when all of them were copied.
set -euo pipefail
cd "$(dirname "$0")/../experiments/concurrency-and-timeouts/real"

if [ ! -d lib ] || [ pom.xml -nt lib ]; then
  echo "  jars of Cassandra in $PWD/lib"
  rm -rf lib lib.new
  mvn -q -B -f pom.xml dependency:copy-dependencies -DoutputDirectory=lib.new
  mv lib.new lib
  touch lib
fi
