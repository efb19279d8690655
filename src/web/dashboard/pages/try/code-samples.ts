/** Complete programs that sign and send one request. Each reads the key from `GATEHOUSE_KEY` and prints the response. */

export interface Sample {
  readonly id: string;
  readonly title: string;
  /** How to run it. */
  readonly run: string;
  readonly code: (url: string, body: string) => string;
}

/** In the text of a program: nothing of Node.js is imported here. */
const NODE_CRYPTO = "'node:crypto'";
const GO_PACKAGES = [
  'crypto/hmac',
  'crypto/rand',
  'crypto/sha256',
  'encoding/hex',
  'fmt',
  'io',
  'net/http',
  'os',
  'strconv',
  'strings',
  'time',
]
  .map((name) => `\t"${name}"`)
  .join('\n');

/** `url`: the address of the API, without a path. `body`: the JSON that is sent, as it is. */
export const SAMPLES: readonly [Sample, ...Sample[]] = [
  {
    id: 'curl',
    title: 'curl',
    run: 'GATEHOUSE_KEY=sk_live_… sh decide.sh',
    code: (url, body) => `#!/bin/sh
# Needs openssl and curl. The key is an argument of both: other users of this machine may see it.
set -eu
url=${quoteSh(url)}
body=$(cat <<'JSON'
${body}
JSON
)
timestamp=$(date +%s)
request_id=$(openssl rand -hex 16)
body_hash=$(printf %s "$body" | openssl dgst -sha256 -r | cut -c1-64)
case $GATEHOUSE_KEY in
pk_*) hmac_key=$(printf %s "$GATEHOUSE_KEY" | openssl dgst -sha256 -r | cut -c1-64) ;;
*) hmac_key=$(printf %s "$GATEHOUSE_KEY" | od -An -v -tx1 | tr -d ' \\n') ;;
esac
signature=$(printf 'POST\\n/v1/decide\\n%s\\n%s\\n%s' "$timestamp" "$body_hash" "$request_id" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hmac_key" -r | cut -c1-64)

printf %s "$body" | curl -sS --fail-with-body --max-time 5 --data-binary @- \\
  -H 'Content-Type: application/json' \\
  -H "X-SVC-Key: $GATEHOUSE_KEY" \\
  -H "X-SVC-Ts: $timestamp" \\
  -H "X-SVC-Rid: $request_id" \\
  -H "X-SVC-Sig: $signature" \\
  "$url/v1/decide"
`,
  },
  {
    id: 'node',
    title: 'Node.js',
    run: 'GATEHOUSE_KEY=sk_live_… node decide.mjs',
    code: (url, body) => `// Node.js 20 or newer, no packages.
import { createHash, createHmac, randomUUID } from ${NODE_CRYPTO};

const url = ${JSON.stringify(url)};
const key = process.env.GATEHOUSE_KEY;
const request = ${body.trim()};

const body = JSON.stringify(request); // serialised once: the bytes that are signed are the bytes that are sent
const timestamp = String(Math.floor(Date.now() / 1000));
const requestId = randomUUID();
const bodyHash = createHash('sha256').update(body).digest('hex');
const hmacKey = key.startsWith('pk_') ? createHash('sha256').update(key).digest() : key;
const signed = ['POST', '/v1/decide', timestamp, bodyHash, requestId].join('\\n');

const response = await fetch(\`\${url}/v1/decide\`, {
  method: 'POST',
  body,
  headers: {
    'Content-Type': 'application/json',
    'X-SVC-Key': key,
    'X-SVC-Ts': timestamp,
    'X-SVC-Rid': requestId,
    'X-SVC-Sig': createHmac('sha256', hmacKey).update(signed).digest('hex'),
  },
  signal: AbortSignal.timeout(5_000),
});
console.log(await response.text());
if (!response.ok) process.exitCode = 1;
`,
  },
  {
    id: 'python',
    title: 'Python',
    run: 'GATEHOUSE_KEY=sk_live_… python3 decide.py',
    code: (url, body) => `# Python 3.9 or newer, standard library only.
import hashlib, hmac, os, sys, time, urllib.error, urllib.request, uuid

URL = ${quotePython(url)}
KEY = os.environ["GATEHOUSE_KEY"]
BODY = r"""${body}""".encode()

timestamp, request_id = str(int(time.time())), str(uuid.uuid4())
body_hash = hashlib.sha256(BODY).hexdigest()
hmac_key = hashlib.sha256(KEY.encode()).digest() if KEY.startswith("pk_") else KEY.encode()
signed = "\\n".join(["POST", "/v1/decide", timestamp, body_hash, request_id])

request = urllib.request.Request(URL + "/v1/decide", BODY, {
    "Content-Type": "application/json",
    "X-SVC-Key": KEY,
    "X-SVC-Ts": timestamp,
    "X-SVC-Rid": request_id,
    "X-SVC-Sig": hmac.new(hmac_key, signed.encode(), hashlib.sha256).hexdigest(),
})
try:
    with urllib.request.urlopen(request, timeout=5) as response:
        print(response.read().decode())
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())
`,
  },
  {
    id: 'php',
    title: 'PHP',
    run: 'GATEHOUSE_KEY=sk_live_… php decide.php',
    code: (url, body) => `<?php
// PHP 8, no extensions.
$url = ${quotePhp(url)};
$key = getenv('GATEHOUSE_KEY');
$body = <<<'JSON'
${body}
JSON;

$timestamp = (string) time();
$requestId = bin2hex(random_bytes(16));
$hmacKey = str_starts_with($key, 'pk_') ? hash('sha256', $key, true) : $key;
$signed = implode("\\n", ['POST', '/v1/decide', $timestamp, hash('sha256', $body), $requestId]);

$context = stream_context_create(['http' => [
    'method' => 'POST',
    'content' => $body,
    'timeout' => 5,
    'ignore_errors' => true,
    'header' => [
        'Content-Type: application/json',
        "X-SVC-Key: $key",
        "X-SVC-Ts: $timestamp",
        "X-SVC-Rid: $requestId",
        'X-SVC-Sig: ' . hash_hmac('sha256', $signed, $hmacKey),
    ],
]]);
$answer = file_get_contents("$url/v1/decide", false, $context);
echo $answer, "\\n";
exit($answer !== false && preg_match('/^HTTP\\S* 2/', $http_response_header[0]) === 1 ? 0 : 1);
`,
  },
  {
    id: 'go',
    title: 'Go',
    run: 'GATEHOUSE_KEY=sk_live_… go run decide.go',
    code: (url, body) => `package main

import (
${GO_PACKAGES}
)

const url = ${JSON.stringify(url)}
const body = ${quoteGo(body)}

func main() {
	key := os.Getenv("GATEHOUSE_KEY")
	hmacKey := []byte(key)
	if strings.HasPrefix(key, "pk_") {
		digest := sha256.Sum256(hmacKey)
		hmacKey = digest[:]
	}
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		panic(err)
	}
	timestamp, requestID := strconv.FormatInt(time.Now().Unix(), 10), hex.EncodeToString(id)
	bodyHash := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, hmacKey)
	io.WriteString(mac, strings.Join([]string{"POST", "/v1/decide", timestamp, hex.EncodeToString(bodyHash[:]), requestID}, "\\n"))

	request, err := http.NewRequest("POST", url+"/v1/decide", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-SVC-Key", key)
	request.Header.Set("X-SVC-Ts", timestamp)
	request.Header.Set("X-SVC-Rid", requestID)
	request.Header.Set("X-SVC-Sig", hex.EncodeToString(mac.Sum(nil)))
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	fmt.Println(string(answer))
	if response.StatusCode != 200 {
		os.Exit(1)
	}
}
`,
  },
  {
    id: 'ruby',
    title: 'Ruby',
    run: 'GATEHOUSE_KEY=sk_live_… ruby decide.rb',
    code: (url, body) => `# Ruby 2.7 or newer, standard library only.
require 'net/http'
require 'openssl'
require 'securerandom'

url = URI(${quotePhp(`${url}/v1/decide`)})
key = ENV.fetch('GATEHOUSE_KEY')
body = <<'JSON'.chomp
${body}
JSON

timestamp = Time.now.to_i.to_s
request_id = SecureRandom.uuid
hmac_key = key.start_with?('pk_') ? OpenSSL::Digest::SHA256.digest(key) : key
signed = ['POST', '/v1/decide', timestamp, OpenSSL::Digest::SHA256.hexdigest(body), request_id].join("\\n")

response = Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == 'https', open_timeout: 5, read_timeout: 5) do |http|
  http.post(url.path, body, {
    'Content-Type' => 'application/json',
    'X-SVC-Key' => key,
    'X-SVC-Ts' => timestamp,
    'X-SVC-Rid' => request_id,
    'X-SVC-Sig' => OpenSSL::HMAC.hexdigest('SHA256', hmac_key, signed)
  })
end
puts response.body
exit 1 unless response.is_a?(Net::HTTPSuccess)
`,
  },
];

function quoteSh(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quotePython(text: string): string {
  return JSON.stringify(text);
}

/** A string in single quotes, of PHP and Ruby alike. */
function quotePhp(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}

/** A raw string has no escapes: a back quote stands outside it. */
function quoteGo(text: string): string {
  return `\`${text.replaceAll('`', '` + "`" + `')}\``;
}
