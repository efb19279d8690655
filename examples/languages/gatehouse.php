<?php
// Gatehouse in one file: decide, report outcomes, verify webhooks. PHP 8.0 or newer, default extensions only (openssl for https).
// Behaviour: docs/languages.md. Copy the file.

namespace Gatehouse;

/** A fault of your own, such as a wrong key or an invalid field. It never fails open. */
final class GatehouseError extends \RuntimeException
{
    public string $problem;

    public function __construct(public int $status, array $body)
    {
        $this->problem = $body['code'] ?? 'unexpected_answer';
        parent::__construct("$status {$this->problem}: " . ($body['detail'] ?? ''));
    }
}

final class Gatehouse
{
    /** Seconds that the service's clock is ahead of this one. */
    private int $skew = 0;

    /** $timeLimit: seconds of a decide call in all. $onUnavailable: the decision while there is no answer. */
    public function __construct(
        private string $url,
        private string $key,
        private float $timeLimit = 0.8,
        private string $onUnavailable = 'ALLOW',
    ) {
    }

    /** Returns the decision. 'failed_open' is true with 'failure' and 'detail' if the service gave none in time. */
    public function decide(array $request, ?string $idempotencyKey = null): array
    {
        $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION;
        $body = json_encode((object) $request, $flags);
        [$status, , $answer] = $this->askTwice($body, $idempotencyKey ?? self::uuid(), self::now() + $this->timeLimit);
        if ($status === 200 && is_string($answer['decision'] ?? null) && is_string($answer['request_id'] ?? null)) {
            return $answer + ['failed_open' => false];
        }
        $failure = $status === 0 ? $answer['failure'] : self::failureOf($status, $answer);
        if ($failure === null) {
            throw new GatehouseError($status, $answer);
        }
        return ['decision' => $this->onUnavailable, 'request_id' => null, 'score' => null, 'reasons' => [], 'failed_open' => true,
            'failure' => $failure, 'detail' => $answer['detail'] ?? "status $status"];
    }

    /** Reports how a decision's action ended, within 2 s: call it after the response has left (fastcgi_finish_request). */
    public function outcome(array $decision, string $outcome): bool
    {
        if (($decision['request_id'] ?? null) === null) {
            return false;
        }
        $body = json_encode(['request_id' => $decision['request_id'], 'outcome' => $outcome]);
        $end = self::now() + 2;
        [$status, , $answer] = $this->post('/v1/outcomes', $body, ['Authorization' => "Bearer {$this->key}"], $end);
        if ($status === 202) {
            return true;
        }
        error_log("gatehouse: outcome $outcome was not reported: $status " . json_encode($answer));
        return false;
    }

    /** Whether a delivery is from Gatehouse. $headers: names in lower case. $body: the raw bytes. */
    public static function verifyWebhook(array $secrets, array $headers, string $body, ?int $now = null, int $tolerance = 300): bool
    {
        $id = $headers['webhook-id'] ?? '';
        $sent = $headers['webhook-timestamp'] ?? '';
        if ($id === '' || preg_match('/\A[0-9]{1,12}\z/', $sent) !== 1 || abs(($now ?? time()) - (int) $sent) > $tolerance) {
            return false;
        }
        $found = false;
        foreach ($secrets as $secret) {
            $key = str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6), true) : false;
            if ($key === false || strlen($key) < 24) {
                throw new \InvalidArgumentException('this is no webhook secret');
            }
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$sent.$body", $key, true));
            foreach (explode(' ', $headers['webhook-signature'] ?? '') as $given) {
                $found = hash_equals($expected, $given) || $found;
            }
        }
        return $found;
    }

    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    private static function uuid(): string
    {
        return bin2hex(random_bytes(16));
    }

    /** One re-send at most, with the same Idempotency-Key, so that both are one decision. */
    private function askTwice(string $body, string $idempotencyKey, float $end): array
    {
        $first = $this->ask($body, $idempotencyKey, $end);
        $wait = $this->waitBeforeResend(...$first);
        if ($wait === null || self::now() + $wait + 0.005 > $end) {
            return $first;
        }
        usleep($wait * 1_000_000);
        return $this->ask($body, $idempotencyKey, $end);
    }

    private function ask(string $body, string $idempotencyKey, float $end): array
    {
        $timestamp = (string) (time() + $this->skew);
        $id = self::uuid();
        $text = implode("\n", ['POST', '/v1/decide', $timestamp, hash('sha256', $body), $id]);
        $hmacKey = str_starts_with($this->key, 'pk_') ? hash('sha256', $this->key, true) : $this->key;
        return $this->post('/v1/decide', $body, [
            'X-SVC-Key' => $this->key,
            'X-SVC-Ts' => $timestamp,
            'X-SVC-Rid' => $id,
            'X-SVC-Sig' => hash_hmac('sha256', $text, $hmacKey),
            'Idempotency-Key' => $idempotencyKey,
        ], $end);
    }

    private function waitBeforeResend(int $status, array $headers, array $answer): ?int
    {
        $code = $answer['code'] ?? null;
        if ($status === 401 && $code === 'timestamp_out_of_window' && isset($answer['server_time'])) {
            $this->skew = $answer['server_time'] - time();
            return 0;
        }
        if ($status === 502 || $status === 504 || ($status === 401 && $code === 'replayed_request')) {
            return 0;
        }
        if ($status === 429 || $status === 503) {
            $seconds = $headers['retry-after'] ?? '';
            return preg_match('/\A\d{1,4}\z/', $seconds) === 1 ? (int) $seconds : null;
        }
        return ($answer['failure'] ?? null) === 'unreachable' ? 0 : null;
    }

    /** Returns status, headers in lower case and the parsed body. Status 0: no answer, and the body has the failure. */
    private function post(string $path, string $body, array $headers, float $end): array
    {
        $url = parse_url(rtrim($this->url, '/') . $path);
        $isTls = $url['scheme'] === 'https';
        $port = $url['port'] ?? ($isTls ? 443 : 80);
        $lines = "POST {$url['path']} HTTP/1.1\r\nHost: {$url['host']}:$port\r\nContent-Type: application/json\r\n";
        foreach ($headers + ['Content-Length' => strlen($body), 'Connection' => 'close'] as $name => $value) {
            $lines .= "$name: $value\r\n";
        }
        $target = ($isTls ? 'tls://' : 'tcp://') . "{$url['host']}:$port";
        $socket = @stream_socket_client($target, $errno, $error, max($end - self::now(), 0.001));
        if ($socket === false) {
            return self::noAnswer(self::now() >= $end ? 'timeout' : 'unreachable', $error ?: 'no connection');
        }
        stream_set_blocking($socket, false);
        $unsent = "$lines\r\n$body";
        $text = '';
        while (true) {
            $left = $end - self::now();
            if ($left <= 0) {
                fclose($socket);
                return self::noAnswer('timeout', "no whole answer within {$this->timeLimit} s");
            }
            $read = [$socket];
            $write = $unsent === '' ? null : [$socket];
            $except = null;
            @stream_select($read, $write, $except, (int) $left, (int) (fmod($left, 1) * 1e6));
            if ($write) {
                $unsent = substr($unsent, (int) @fwrite($socket, $unsent));
            }
            $text .= (string) @fread($socket, 65_536);
            if (feof($socket) || strlen($text) > 1_048_576 || self::isWhole($text)) {
                fclose($socket);
                return self::parse($text);
            }
        }
    }

    private static function isWhole(string $text): bool
    {
        [$head, $body] = explode("\r\n\r\n", $text, 2) + ['', null];
        if ($body === null || preg_match('/^content-length:\s*(\d+)/im', $head, $length) === 1) {
            return $body !== null && strlen($body) >= (int) $length[1];
        }
        return self::isChunked($head) && str_ends_with($body, "0\r\n\r\n");
    }

    private static function isChunked(string $head): bool
    {
        return preg_match('/^transfer-encoding:\s*chunked/im', $head) === 1;
    }

    private static function parse(string $text): array
    {
        [$head, $body] = explode("\r\n\r\n", $text, 2) + ['', ''];
        $isEndless = !self::isChunked($head) && stripos($head, "\ncontent-length:") === false;
        if (preg_match('#\AHTTP/1\.\d (\d{3})#', $head, $status) !== 1 || !($isEndless || self::isWhole($text))) {
            return self::noAnswer('unreachable', 'the connection was closed');
        }
        $headers = [];
        foreach (array_slice(explode("\r\n", $head), 1) as $line) {
            [$name, $value] = explode(':', $line, 2) + ['', ''];
            $headers[strtolower($name)] = trim($value);
        }
        $whole = '';
        while (self::isChunked($head) && preg_match('/\A([0-9a-f]+)[^\r]*\r\n/i', $body, $size) === 1 && hexdec($size[1]) > 0) {
            $whole .= substr($body, strlen($size[0]), hexdec($size[1]));
            $body = substr($body, strlen($size[0]) + hexdec($size[1]) + 2);
        }
        $answer = json_decode($whole === '' ? $body : $whole, true);
        return [(int) $status[1], $headers, is_array($answer) ? $answer : []];
    }

    private static function noAnswer(string $failure, string $detail): array
    {
        return [0, [], ['failure' => $failure, 'detail' => $detail]];
    }

    /** Null: the request was refused, which is the caller's fault. A 200 that is not a decision comes from something in between. */
    private static function failureOf(int $status, array $answer): ?string
    {
        $isOverloaded = ($answer['code'] ?? null) === 'overloaded';
        if ($status === 429) {
            return $isOverloaded ? 'overloaded' : 'rate_limited';
        }
        if ($status === 503 && $isOverloaded) {
            return 'overloaded';
        }
        return $status >= 500 || $status === 200 || $status === 408 ? 'server_error' : null;
    }
}
