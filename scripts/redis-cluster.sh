#!/usr/bin/env bash
# Runs a Redis Cluster on loopback, 3 primaries with a replica each, for tests and for trying out several nodes of Gatehouse.
#
#   bash scripts/redis-cluster.sh                   prints its address and runs until Ctrl-C
#   bash scripts/redis-cluster.sh npm start         runs the command with GATEHOUSE_CLUSTER_URL set, and ends with it
#   bash scripts/redis-cluster.sh --single ...      the same with one server
#
# The first line on standard output is the value for GATEHOUSE_CLUSTER_URL. All data is in a temporary folder, nothing is written to disk by
# the servers; processes and folder are removed at the end. PORT=<n> sets the first of six ports (default: the first free ones from 7000
# on). NODE_TIMEOUT_MS=<n> is the time after which a replica replaces a primary that does not answer (default 1000). Needs redis-server and
# redis-cli (Debian: redis-server); REDIS_SERVER and REDIS_CLI name other programs, for example those of Valkey.
set -euo pipefail

readonly SERVER=${REDIS_SERVER:-redis-server} CLI=${REDIS_CLI:-redis-cli}
readonly NODE_TIMEOUT_MS=${NODE_TIMEOUT_MS:-1000}
readonly WAIT_SECONDS=30
# Source: Redis Cluster, the port of its bus is the port + 10000.
readonly BUS=10000
servers=6

case ${1:-} in
-h | --help)
  # Prints the comment at the top of this file.
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
  exit 0
  ;;
--single)
  servers=1
  shift
  ;;
esac

folder=$(mktemp -d)
pids=()

clean_up() {
  local status=$?
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "redis-cluster: $*" >&2
  for log in "$folder"/*/log; do [ ! -s "$log" ] || tail -n 5 "$log" >&2; done
  exit 1
}

is_free() { ! (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
are_free() {
  for ((at = $1; at < $1 + servers; at++)); do is_free "$at" && is_free "$((at + BUS))" || return 1; done
}

first_port() {
  if [ -n "${PORT:-}" ]; then
    are_free "$PORT" || fail "PORT: one of $PORT to $((PORT + servers - 1)), or of the same + $BUS, is taken"
    echo "$PORT"
    return
  fi
  for ((at = 7000; at < 9000; at += 10)); do
    if are_free "$at"; then
      echo "$at"
      return
    fi
  done
  fail 'no free ports between 7000 and 9000'
}

await() {
  local until=$((SECONDS + WAIT_SECONDS))
  until "$@"; do
    [ "$SECONDS" -lt "$until" ] || fail "timed out after $WAIT_SECONDS s: $*"
    sleep 0.05
  done
}
answers() { [ "$("$CLI" -p "$1" ping 2>/dev/null)" = PONG ]; }
# Every server sees all slots served, and every replica has its primary's data.
is_complete() {
  for port in "${ports[@]}"; do
    "$CLI" -p "$port" cluster info | grep -q '^cluster_state:ok' || return 1
    "$CLI" -p "$port" info replication | grep -Eq '^(role:master|master_link_status:up)' || return 1
  done
}

command -v "$SERVER" >/dev/null || fail "$SERVER is not installed (Debian: apt-get install redis-server)"

options=(--bind 127.0.0.1 --save '' --appendonly no --logfile log)
if [ "$servers" -gt 1 ]; then
  options+=(--cluster-enabled yes --cluster-node-timeout "$NODE_TIMEOUT_MS" --repl-diskless-sync-delay 0)
fi
first=$(first_port)
ports=()
for ((n = 0; n < servers; n++)); do
  ports+=("$((first + n))")
  mkdir "$folder/$n"
  (cd "$folder/$n" && exec "$SERVER" --port "$((first + n))" "${options[@]}") &
  pids+=("$!")
done
for port in "${ports[@]}"; do await answers "$port"; done

addresses=("${ports[@]/#/127.0.0.1:}")
if [ "$servers" -gt 1 ]; then
  "$CLI" --cluster create "${addresses[@]}" --cluster-replicas 1 --cluster-yes >"$folder/created" 2>&1 ||
    fail "the cluster was not created: $(tail -n 3 "$folder/created")"
  await is_complete
fi

urls=$(printf ',redis://%s' "${addresses[@]}")
export GATEHOUSE_CLUSTER_URL=${urls:1}
echo "$GATEHOUSE_CLUSTER_URL"

if [ "$#" -eq 0 ]; then
  echo 'redis-cluster: running; Ctrl-C ends it' >&2
  # In the background, so that a signal ends the wait at once.
  wait
else
  "$@"
fi
