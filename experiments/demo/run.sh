#!/usr/bin/env bash
# Plays the demo: find a shop's load line, see what gives way, lift it, see what gives way next.
# usage: experiments/demo/run.sh [--real] [--check]     (`make demo-find` and `make demo-find REAL=1` build first)
#        --real: Express behind nginx    --check: only start the tiers, ask for a page, and end them
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH="$PWD/.tools/node/node_modules/.bin:$PATH:/usr/sbin"

PLIMSOLL=${PLIMSOLL:-target/release/plimsoll}
OUT=${OUT:-demo-out}
SLO='p99<250ms,errors<1%'
# Together with starting, stopping and the report below six minutes.
FIRST=180
SECOND=155
SLACK=20
# Connection slots of the proxy: far fewer than anybody's default, so that they give way first.
FEW=56
MANY=8192
LIMIT_PATH=/items/7

usage() { sed -n '2,4s/^# //p' "$0"; }

real=
check=
for argument in "$@"; do
  case $argument in
    --real) real=yes ;;
    --check) check=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 104 ;;
  esac
done

begun=$SECONDS
total=$((FIRST + SECOND + SLACK))

# say TEXT...: a line with the time left in front.
say() {
  local left=$((total - SECONDS + begun))
  ((left > 0)) || left=0
  printf '\n== %d:%02d left · %s\n' $((left / 60)) $((left % 60)) "$*"
}

show() { printf '   $ %s\n' "$*"; }

fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

# --- what was started, and its end ---------------------------------------------------------------

pids=()

# Ends what this script has started, by process id, the last first.
stop_tiers() {
  local index
  for ((index = ${#pids[@]} - 1; index >= 0; index--)); do
    kill -TERM "${pids[index]}" 2>/dev/null || true
    wait "${pids[index]}" 2>/dev/null || true
  done
  pids=()
}
trap stop_tiers EXIT
trap 'exit 105' INT TERM

# fresh FILE...: empties what an earlier start said, before a tier of the same name is started: its own
# redirection may come too late, and wait_for would take the old words for the new ones.
fresh() { local file; for file; do : >"$file"; done; }

# wait_for FILE TEXT: until TEXT stands in FILE, or the tier started last has ended.
wait_for() {
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    grep -q "$2" "$1" 2>/dev/null && return
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.05
  done
  cat "$1" >&2
  fail "a tier did not start; what it said stands above"
}

# --- cores: the first is the generator's, the second the tiers' -----------------------------------

cores() {
  local list part core
  list=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
  for part in ${list//,/ }; do
    for ((core = ${part%-*}; core <= ${part#*-}; core++)); do echo "$core"; done
  done
}
mapfile -t mine < <(cores)
generator=${mine[0]}
tiers=${mine[1]:-}
if [ -z "$tiers" ]; then
  tiers=$generator
  echo "only one core here: generator and tiers share it, and the searches may say that they are invalid"
fi

# --- the tiers -----------------------------------------------------------------------------------

port=0
watch=()

# embedded SLOTS: proxy, shop and stock service of our own.
embedded() {
  local said="$OUT/tiers.log"
  fresh "$said"
  show "$PLIMSOLL serve shop --cores $tiers --set slots=$1"
  "$PLIMSOLL" serve shop --cores "$tiers" --port "$port" --set "slots=$1" >"$said" 2>&1 &
  pids+=($!)
  wait_for "$said" '^--watch '
  port=$(sed -n 's|^listening on http://.*:||p' "$said")
  read -r -a watch < <(sed -n '/^--watch /p' "$said")
}

# free_port: one that nobody listens on.
free_port() {
  local candidate
  while :; do
    candidate=$((20000 + RANDOM % 8000))
    (exec 3<>"/dev/tcp/127.0.0.1/$candidate") 2>/dev/null || { echo "$candidate"; return; }
  done
}

# real SLOTS: Debian's nginx before Express before a stock service in Node.
real_tiers() {
  local here=experiments/demo/real folder app stock
  folder=$(cd "$OUT" && pwd)/nginx
  app=$(free_port)
  stock=$(free_port)
  ((port)) || port=$(free_port)
  mkdir -p "$folder"
  fresh "$OUT/stock.log" "$OUT/shop.log" "$folder/error.log"
  rm -f "$folder/nginx.pid"
  show "taskset -c $tiers node $here/stock.js"
  PORT=$stock taskset -c "$tiers" node "$here/stock.js" >"$OUT/stock.log" 2>&1 &
  pids+=($!)
  wait_for "$OUT/stock.log" '^listening'
  show "taskset -c $tiers node $here/shop.js"
  PORT=$app STOCK=$stock taskset -c "$tiers" node "$here/shop.js" >"$OUT/shop.log" 2>&1 &
  pids+=($!)
  wait_for "$OUT/shop.log" '^listening'
  sed -e "s|@FOLDER@|$folder|; s|@SLOTS@|$1|; s|@PORT@|$port|; s|@APP@|$app|" \
    "$here/nginx.conf" >"$folder/nginx.conf"
  show "taskset -c $tiers nginx -c $OUT/nginx/nginx.conf      (worker_connections $1)"
  taskset -c "$tiers" nginx -p "$folder" -c "$folder/nginx.conf" -e "$folder/error.log" &
  pids+=($!)
  wait_for "$folder/nginx.pid" .
  watch=(--watch "shop=port:$app" --watch "shop=metrics:http://127.0.0.1:$app/metrics"
    --watch "stock=port:$stock" --watch "nginx-log:$folder/access.log")
}

start_tiers() { if [ "$real" ]; then real_tiers "$1"; else embedded "$1"; fi; }

# find SECONDS RECORD ARGUMENT...: one search; what its exit code means is said, not hidden.
find_load() {
  local within=$1 record=$2 code=0
  shift 2
  local command=("$PLIMSOLL" find "http://127.0.0.1:$port$LIMIT_PATH" --slo "$SLO" --within "${within}s"
    --workers 1 --yes --note "$NOTE" -o "$record" --force "${watch[@]}" "$@")
  show "taskset -c $generator ${command[*]}"
  taskset -c "$generator" "${command[@]}" || code=$?
  [ "$code" -ne 105 ] || exit 105
  [ -s "$record" ] || fail "the search wrote no record (exit code $code)"
  [ "$code" -eq 0 ] || echo "   the search ended with exit code $code; its record says why"
}

# ask PATH: the status line of one request, without any client installed.
ask() {
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET %s HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n' "$1" >&3
  head -n 1 <&3 | tr -d '\r'
  exec 3>&-
}

# --- the demo ------------------------------------------------------------------------------------

[ -x "$PLIMSOLL" ] || fail "$PLIMSOLL is missing; build it with: cargo build --release -p plimsoll"
mkdir -p "$OUT"
rm -f "$OUT"/*.plimsoll.jsonl "$OUT"/report.html "$OUT"/*.log
if [ "$real" ]; then
  [ -d experiments/demo/real/node_modules/express ] ||
    fail "Express is missing; install it with: npm ci --prefix experiments/demo/real"
  what="Express behind nginx"
else
  what="an embedded shop behind our one-worker proxy"
fi

if [ "$check" ]; then
  for slots in $FEW $MANY; do
    start_tiers "$slots"
    answer=$(ask "$LIMIT_PATH" || true)
    echo "   $answer"
    [[ $answer == 'HTTP/1.1 200'* ]] || fail "the shop did not answer with a page"
    stop_tiers
  done
  exit 0
fi

NOTE="the proxy's connection slots are scaled down to $FEW (two per request), so that they give way first"
say "1 of 5 · start $what: generator on core $generator, tiers on core $tiers"
echo "   $NOTE"
start_tiers $FEW

say "2 of 5 · find the load line ($FIRST s)"
find_load $FIRST "$OUT/first.plimsoll.jsonl"

say "3 of 5 · lift that limit: the same tiers with $MANY slots"
NOTE="the same tiers with $MANY connection slots in the proxy"
stop_tiers
start_tiers $MANY

say "4 of 5 · find what gives way next ($SECOND s; self-check and anchor are those of the first search)"
find_load $SECOND "$OUT/second.plimsoll.jsonl" --reuse "$OUT/first.plimsoll.jsonl"
stop_tiers

say "5 of 5 · report"
show "$PLIMSOLL report $OUT/first.plimsoll.jsonl $OUT/second.plimsoll.jsonl -o $OUT/report.html --force"
"$PLIMSOLL" report "$OUT/first.plimsoll.jsonl" "$OUT/second.plimsoll.jsonl" -o "$OUT/report.html" --force

printf '\nthe demo took %d s\n' $((SECONDS - begun))
echo "report    $(cd "$OUT" && pwd)/report.html"
echo "records   $OUT/first.plimsoll.jsonl $OUT/second.plimsoll.jsonl"
