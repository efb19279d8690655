#!/bin/sh
# Signs one decide request with openssl and sends it with curl: everything that a client in any language has to do.
#
#   KEY=sk_live_... URL=http://127.0.0.1:8080 sh scripts/decide.sh [body.json | -]
#
# Prints the response. Exits with 0 on a 2xx, 1 on any other status, 2 on a usage error. Without a file it sends an example. The key is an
# argument of openssl and curl here, so other users of this machine may see it in the process list: use this script to try things out, and
# sign inside your own program in production.
set -eu

case ${1:-} in
-h | --help)
  # Prints the comment at the top of this file.
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
  exit 0
  ;;
esac

KEY=${KEY:-}
URL=${URL:-http://127.0.0.1:8080}
case $KEY in
sk_live_* | pk_live_* | sk_test_* | pk_test_*) ;;
*)
  echo 'decide.sh: set KEY to a secret key (sk_live_...) or a public key (pk_live_...)' >&2
  exit 2
  ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The body goes through a file, because the hashed bytes must be exactly the bytes that are sent.
case ${1:-} in
'')
  cat >"$work/body" <<'JSON'
{
  "event_type": "login",
  "session_token": "my-first-session",
  "ip": "81.2.69.160",
  "user_agent": "curl/8.14.1",
  "entity_keys": { "email": "anna@example.com" }
}
JSON
  ;;
-) cat >"$work/body" ;;
*) cat -- "$1" >"$work/body" || exit 2 ;;
esac

sha256_hex() { openssl dgst -sha256 -r | cut -c1-64; }

# The signed text: five lines, joined by newlines, without a newline at the end.
method=POST                               # 1. the method, in upper case
path=/v1/decide                           # 2. the path as it is sent, with its query if it has one
timestamp=$(date +%s)                     # 3. now, in Unix seconds; at most 5 minutes off the server's clock
body_hash=$(sha256_hex <"$work/body")     # 4. the SHA-256 of the body, in lower-case hex
request_id=$(openssl rand -hex 16)        # 5. an id that this key never used before, or it is refused as a replay
printf '%s\n%s\n%s\n%s\n%s' "$method" "$path" "$timestamp" "$body_hash" "$request_id" >"$work/text"

# The HMAC key: for a secret key its own text, for a public key the 32 bytes of the SHA-256 of its text. Here both in hex.
case $KEY in
sk_*) hmac_key=$(printf %s "$KEY" | od -An -v -tx1 | tr -d ' \n') ;;
pk_*) hmac_key=$(printf %s "$KEY" | sha256_hex) ;;
esac
signature=$(openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hmac_key" -r <"$work/text" | cut -c1-64)

status=$(curl -sS -o "$work/answer" -w '%{http_code}' \
  -H 'Content-Type: application/json' \
  -H "X-SVC-Key: $KEY" \
  -H "X-SVC-Ts: $timestamp" \
  -H "X-SVC-Rid: $request_id" \
  -H "X-SVC-Sig: $signature" \
  --data-binary "@$work/body" \
  "${URL%/}$path") || exit 1

cat "$work/answer"
echo
case $status in
2??) ;;
*)
  echo "decide.sh: status $status" >&2
  exit 1
  ;;
esac
