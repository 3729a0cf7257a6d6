#!/usr/bin/env bash
# Checks that what a target of the Makefile needs is here; installs what Debian has, names the rest.
# usage: scripts/need.sh rust cc nginx node
set -euo pipefail
cd "$(dirname "$0")/.."

RUST_MIN=1.90
NODE_MIN=20.19
missing=()
packages=()

say() { printf '  %s\n' "$*"; }

# at_least FOUND WANTED: whether version FOUND is WANTED or newer.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

need_rust() {
  local found
  found=$(rustc --version 2>/dev/null | cut -d' ' -f2) || true
  if [ -z "$found" ] || ! command -v cargo >/dev/null; then
    missing+=("Rust $RUST_MIN or newer (none found). Install it from https://rustup.rs")
  elif ! at_least "$found" "$RUST_MIN"; then
    missing+=("Rust $RUST_MIN or newer (found $found). Install it with: rustup update stable")
  else
    say "Rust $found"
  fi
}

need_lint() {
  local part
  for part in fmt clippy; do
    cargo "$part" --version >/dev/null 2>&1 ||
      missing+=("cargo $part. Install it with: rustup component add rustfmt clippy")
  done
}

# need_program NAME PACKAGE: NAME is on the path, or PACKAGE is installed.
need_program() {
  if PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null; then
    say "$1"
  else
    packages+=("$2")
  fi
}

# The options that Cassandra 5 is started with are those for Java 17.
need_java() {
  local found
  found=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || true
  case $found in
    17) say "Java $found" ;;
    '') packages+=(openjdk-17-jre-headless) ;;
    *) missing+=("Java 17 (found $found, and Cassandra 5 needs 17). Install it with: sudo apt-get install openjdk-17-jre-headless, and have it first on the path") ;;
  esac
}

# Debian splits venv off Python.
need_python() {
  if python3 -c 'import ensurepip, venv' 2>/dev/null; then
    say "$(python3 --version)"
  else
    packages+=(python3 python3-venv)
  fi
}

node_version() { "$1" --version 2>/dev/null | tr -d v; }

need_node() {
  local found
  found=$(node_version node || true)
  if [ -n "$found" ] && at_least "$found" "$NODE_MIN"; then
    say "Node $found"
    return
  fi
  found=$(node_version .tools/node/node_modules/.bin/node || true)
  if [ -n "$found" ] && at_least "$found" "$NODE_MIN"; then
    say "Node $found (in .tools/node)"
    return
  fi
  command -v npm >/dev/null || packages+=(npm)
  install_node=1
}

install_packages() {
  [ "${#packages[@]}" -gt 0 ] || return 0
  local command="apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    say "installing with apt: ${packages[*]}"
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      "${packages[@]}" >/dev/null
  else
    missing+=("${packages[*]}. Install with: sudo sh -c '$command'")
  fi
}

# Debian 12's Node is 18; npm's package `node` carries the binary of a newer one.
install_node_here() {
  [ "${install_node:-}" ] && command -v npm >/dev/null || return 0
  say "installing Node into .tools/node (npm's package node, because the system's is older than $NODE_MIN)"
  mkdir -p .tools/node
  npm install --silent --no-audit --no-fund --prefix .tools/node node@22 >/dev/null
  local found
  found=$(node_version .tools/node/node_modules/.bin/node || true)
  [ -n "$found" ] || missing+=("Node $NODE_MIN or newer. Install it from https://nodejs.org")
}

echo "what this needs:"
for wanted in "$@"; do
  case $wanted in
    rust) need_rust ;;
    lint) need_lint ;;
    cc) need_program cc build-essential ;;
    nginx) need_program nginx nginx-light ;;
    openssl) need_program openssl openssl ;;
    node) need_node ;;
    redis) need_program redis-server redis-server ;;
    npm) need_program npm npm ;;
    java) need_java ;;
    maven) need_program mvn maven ;;
    python) need_python ;;
    *) echo "scripts/need.sh: unknown part $wanted" >&2; exit 2 ;;
  esac
done
install_packages
install_node_here
if [ "${#missing[@]}" -gt 0 ]; then
  echo "missing:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  exit 1
fi
