#!/usr/bin/env bash
# Makes FOLDER/tls.key and tls.crt, a key and a certificate for 127.0.0.1 that it signs itself; what is there already stays.
# usage: scripts/certificate.sh FOLDER
set -euo pipefail
[ $# -eq 1 ] || { sed -n '3s/^# //p' "$0" >&2; exit 104; }
folder=$1
[ ! -s "$folder/tls.key" ] || [ ! -s "$folder/tls.crt" ] || exit 0
made=$(mktemp -d "$folder/tls.XXXXXX")
trap 'rm -rf "$made"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
  -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
  -keyout "$made/tls.key" -out "$made/tls.crt" 2>"$made/said" || { cat "$made/said" >&2; exit 1; }
mv "$made/tls.crt" "$made/tls.key" "$folder/"
