#!/bin/sh
# Creates the test vectors for signing with openssl only, so that the tests compare our code with an independent implementation.
#
#   sh scripts/make-vectors.sh > test/unit/client/vectors.json
set -eu

case ${1:-} in
-h | --help)
  # Prints the comment at the top of this file.
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
  exit 0
  ;;
esac

# Invented keys, never in use; their checksums are correct.
SECRET_KEY=sk_live_3AHOVcjqx4BIPWdkry5CJQXelsz6DKRYOPpP55
PUBLIC_KEY=pk_live_BIPWdkry5CJQXelsz6DKRYfmt07ELSZgjoE4hH
METHOD=POST
TIMESTAMP=1795996800

sha256_hex() { openssl dgst -sha256 -r | cut -c1-64; }
json_text() { sed -e 's/\\/\\\\/g' -e 's/"/\\"/g'; }

# vector <name> <kind> <request id> <path> <body>
vector() {
  body_hash=$(printf %s "$5" | sha256_hex)
  if [ "$2" = secret ]; then
    key=$SECRET_KEY
    hmac_key=$(printf %s "$key" | od -An -v -tx1 | tr -d ' \n')
  else
    key=$PUBLIC_KEY
    hmac_key=$(printf %s "$key" | sha256_hex)
  fi
  signature=$(printf '%s\n%s\n%s\n%s\n%s' "$METHOD" "$4" "$TIMESTAMP" "$body_hash" "$3" |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hmac_key" -r | cut -c1-64)
  cat <<JSON
$between  {
    "name": "$1, $2 key",
    "key": "$key",
    "hmac_key_hex": "$hmac_key",
    "method": "$METHOD",
    "path": "$4",
    "timestamp": $TIMESTAMP,
    "body": "$(printf %s "$5" | json_text)",
    "body_sha256": "$body_hash",
    "request_id": "$3",
    "signing_string": "$METHOD\\n$4\\n$TIMESTAMP\\n$body_hash\\n$3",
    "signature": "$signature"
JSON
}

# Closes the previous vector, if there is one.
between=
both_kinds() {
  for kind in secret public; do
    vector "$1" "$kind" "vector-$2-$kind" "$3" "$4"
    between='  },
'
  done
}

echo '['
both_kinds 'plain body' 1 /v1/decide '{"event_type":"login","session_token":"s1","ip":"198.51.100.7"}'
both_kinds 'empty body' 2 /v1/decide ''
both_kinds 'UTF-8 body' 3 /v1/decide '{"session_token":"s1","entity_keys":{"name":"Zoë Müller 李 🙂"}}'
both_kinds 'query in the path' 4 '/v1/decide?shop=42&lang=de' '{"session_token":"s1"}'
echo '  }'
echo ']'
