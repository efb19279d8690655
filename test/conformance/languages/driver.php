<?php
require __DIR__ . '/gatehouse.php';

use Gatehouse\Gatehouse;
use Gatehouse\GatehouseError;

$clients = [];

$decide = function (string $url, string $key, string $limitMs, string $email, string $outcome = '') use (&$clients): array {
    $client = $clients["$url $key $limitMs"] ??= new Gatehouse($url, $key, $limitMs / 1000, 'SOFT_CHALLENGE');
    try {
        $request = ['event_type' => 'login', 'session_token' => 'languages', 'ip' => '81.2.69.160', 'entity_keys' => ['email' => $email]];
        $decision = $client->decide($request);
    } catch (GatehouseError $error) {
        return ['error', $error->status, $error->problem];
    }
    if ($outcome !== '') {
        $client->outcome($decision, $outcome);
    }
    return $decision['failed_open']
        ? ['open', $decision['decision'], $decision['failure']]
        : ['made', $decision['decision'], $decision['request_id']];
};

$verify = function (string $secrets, string $id, string $sent, string $signature, string $body, string $now): array {
    $headers = ['webhook-id' => $id, 'webhook-timestamp' => $sent, 'webhook-signature' => $signature];
    $isVerified = Gatehouse::verifyWebhook(explode(',', $secrets), $headers, base64_decode($body), (int) $now);
    return [$isVerified ? 'true' : 'false'];
};

while (($line = fgets(STDIN)) !== false) {
    $rest = explode("\t", rtrim($line, "\n"));
    $operation = array_shift($rest);
    try {
        $answer = $operation === 'decide' ? $decide(...$rest) : $verify(...$rest);
    } catch (InvalidArgumentException $error) {
        $answer = ['thrown', $error->getMessage()];
    }
    echo implode("\t", $answer), "\n";
}
