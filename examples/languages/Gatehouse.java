import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Gatehouse in one file: decide, report outcomes, verify webhooks. Java 17 or newer, standard library only. Behaviour: docs/languages.md.
 * Copy the file, and share one instance among your threads.
 */
public final class Gatehouse {
    /** A fault of your own, such as a wrong key or an invalid field. It never fails open. */
    public static final class GatehouseException extends RuntimeException {
        public final int status;
        public final String code;

        GatehouseException(int status, String body) {
            super(status + " " + body);
            this.status = status;
            String code = text(body, "code");
            this.code = code == null ? "unexpected_answer" : code;
        }
    }

    /**
     * The answer; {@code body} is its JSON. {@code failedOpen} is true with failure and detail if the service gave no decision in time;
     * requestId and body are null then.
     */
    public record Decision(String decision, String requestId, String body, boolean failedOpen, String failure, String detail) {}

    /** Status 0: no answer, but a failure. */
    private record Answer(int status, HttpResponse<String> response, String body, String failure) {}

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String url;
    private final String key;
    private final Duration timeLimit;
    private final String onUnavailable;
    /** Seconds that the service's clock is ahead of this one. */
    private volatile long skew = 0;

    public Gatehouse(String url, String key) {
        this(url, key, Duration.ofMillis(800), "ALLOW");
    }

    /** timeLimit: of a decide call in all. onUnavailable: the decision while there is no answer. */
    public Gatehouse(String url, String key, Duration timeLimit, String onUnavailable) {
        this.url = url.replaceAll("/+$", "");
        this.key = key;
        this.timeLimit = timeLimit;
        this.onUnavailable = onUnavailable;
    }

    /** Asks for a decision. request: maps, collections, texts, numbers, booleans and null. */
    public Decision decide(Map<String, ?> request) {
        return decide(json(request), UUID.randomUUID().toString());
    }

    /** body: JSON. Calls with the same key and body within 30 s are one decision. */
    public Decision decide(String body, String idempotencyKey) {
        Answer answer = askTwice(body, idempotencyKey, System.nanoTime() + timeLimit.toNanos());
        String decision = text(answer.body, "decision");
        String requestId = text(answer.body, "request_id");
        if (answer.status == 200 && decision != null && requestId != null)
            return new Decision(decision, requestId, answer.body, false, null, null);
        String failure = answer.status == 0 ? answer.failure : failureOf(answer);
        if (failure == null) throw new GatehouseException(answer.status, answer.body);
        String detail = answer.status == 0 ? answer.body : "status " + answer.status;
        return new Decision(onUnavailable, null, null, true, failure, detail);
    }

    /** Reports in the background how a decision's action ended, and again after 1, 10 and 60 s while there is no answer. */
    public void outcome(Decision decision, String outcome) {
        if (decision.requestId() == null) return;
        report(json(Map.of("request_id", decision.requestId(), "outcome", outcome)), List.of(0, 1, 10, 60));
    }

    private void report(String body, List<Integer> waits) {
        CompletableFuture.runAsync(() -> {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
            int status = post("/v1/outcomes", body, Map.of("Authorization", "Bearer " + key), end).status;
            boolean isOver = waits.size() == 1 || status >= 400 && status < 500 && status != 429;
            if (status != 202 && !isOver) report(body, waits.subList(1, waits.size()));
            else if (status != 202) System.err.println("gatehouse: an outcome was not reported: " + status);
        }, CompletableFuture.delayedExecutor(waits.get(0), TimeUnit.SECONDS));
    }

    /** One re-send at most, with the same Idempotency-Key, so that both are one decision. */
    private Answer askTwice(String body, String idempotencyKey, long end) {
        Answer first = ask(body, idempotencyKey, end);
        long waitNanos = waitBeforeResend(first);
        if (waitNanos < 0 || end - System.nanoTime() < waitNanos + 5_000_000) return first;
        try {
            TimeUnit.NANOSECONDS.sleep(waitNanos);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            return first;
        }
        return ask(body, idempotencyKey, end);
    }

    private Answer ask(String body, String idempotencyKey, long end) {
        String timestamp = Long.toString(Instant.now().getEpochSecond() + skew);
        String id = UUID.randomUUID().toString();
        byte[] keyBytes = key.getBytes(StandardCharsets.UTF_8);
        byte[] hmacKey = key.startsWith("pk_") ? sha256(keyBytes) : keyBytes;
        String hash = HexFormat.of().formatHex(sha256(body.getBytes(StandardCharsets.UTF_8)));
        byte[] signed = hmac(hmacKey, String.join("\n", "POST", "/v1/decide", timestamp, hash, id).getBytes(StandardCharsets.UTF_8));
        return post("/v1/decide", body, Map.of("X-SVC-Key", key, "X-SVC-Ts", timestamp, "X-SVC-Rid", id,
                "X-SVC-Sig", HexFormat.of().formatHex(signed), "Idempotency-Key", idempotencyKey), end);
    }

    /** Returns nanoseconds; -1: nothing is sent again. */
    private long waitBeforeResend(Answer answer) {
        String code = text(answer.body, "code");
        if (answer.status == 401 && "timestamp_out_of_window".equals(code)) {
            var time = Pattern.compile("\"server_time\"\\s*:\\s*(\\d{1,12})").matcher(answer.body);
            if (!time.find()) return -1;
            skew = Long.parseLong(time.group(1)) - Instant.now().getEpochSecond();
            return 0;
        }
        if (answer.status == 502 || answer.status == 504 || "unreachable".equals(answer.failure)) return 0;
        if (answer.status == 401 && "replayed_request".equals(code)) return 0;
        if (answer.status != 429 && answer.status != 503) return -1;
        String seconds = answer.response.headers().firstValue("Retry-After").orElse("");
        return seconds.matches("\\d{1,4}") ? TimeUnit.SECONDS.toNanos(Long.parseLong(seconds)) : -1;
    }

    private Answer post(String path, String body, Map<String, String> headers, long end) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body));
        headers.forEach(request::header);
        CompletableFuture<HttpResponse<String>> call = http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
        try {
            HttpResponse<String> response = call.get(Math.max(end - System.nanoTime(), 1_000_000), TimeUnit.NANOSECONDS);
            return new Answer(response.statusCode(), response, response.body(), null);
        } catch (TimeoutException error) {
            call.cancel(true);
            return new Answer(0, null, "no whole answer in time", "timeout");
        } catch (ExecutionException error) {
            return new Answer(0, null, String.valueOf(error.getCause()), "unreachable");
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            return new Answer(0, null, "interrupted", "timeout");
        }
    }

    /** Null: the request was refused, which is the caller's fault. A 200 that is not a decision comes from something in between. */
    private static String failureOf(Answer answer) {
        boolean isOverloaded = "overloaded".equals(text(answer.body, "code"));
        if (answer.status == 429) return isOverloaded ? "overloaded" : "rate_limited";
        if (answer.status == 503 && isOverloaded) return "overloaded";
        return answer.status >= 500 || answer.status == 200 || answer.status == 408 ? "server_error" : null;
    }

    /** Whether a delivery is from Gatehouse. headers: names in lower case. body: the raw bytes. secrets: one or several. */
    public static boolean verifyWebhook(Collection<String> secrets, Map<String, String> headers, byte[] body, Instant now, Duration tolerance) {
        String id = headers.getOrDefault("webhook-id", "");
        String sent = headers.getOrDefault("webhook-timestamp", "");
        if (id.isEmpty() || !sent.matches("[0-9]{1,12}")) return false;
        if (Math.abs(now.getEpochSecond() - Long.parseLong(sent)) > tolerance.toSeconds()) return false;
        boolean found = false;
        for (String secret : secrets) {
            byte[] key = secret.startsWith("whsec_") ? Base64.getDecoder().decode(secret.substring(6)) : new byte[0];
            if (key.length < 24) throw new IllegalArgumentException("this is no webhook secret");
            byte[] start = (id + "." + sent + ".").getBytes(StandardCharsets.UTF_8);
            byte[] text = java.util.Arrays.copyOf(start, start.length + body.length);
            System.arraycopy(body, 0, text, start.length, body.length);
            byte[] expected = ("v1," + Base64.getEncoder().encodeToString(hmac(key, text))).getBytes(StandardCharsets.UTF_8);
            for (String given : headers.getOrDefault("webhook-signature", "").split(" "))
                found |= MessageDigest.isEqual(expected, given.getBytes(StandardCharsets.UTF_8));
        }
        return found;
    }

    /** The text of a member without escapes; null without one. A member's name inside a text has its quotes escaped. */
    private static String text(String body, String name) {
        var found = Pattern.compile("(?<!\\\\)\"" + name + "\"\\s*:\\s*\"([^\"\\\\]*)\"").matcher(body == null ? "" : body);
        return found.find() ? found.group(1) : null;
    }

    /** Writes JSON. */
    static String json(Object value) {
        if (value instanceof Map<?, ?> map) return map.entrySet().stream()
                .map(entry -> json(String.valueOf(entry.getKey())) + ":" + json(entry.getValue())).collect(Collectors.joining(",", "{", "}"));
        if (value instanceof Collection<?> list) return list.stream().map(Gatehouse::json).collect(Collectors.joining(",", "[", "]"));
        if (value == null || value instanceof Number || value instanceof Boolean) return String.valueOf(value);
        StringBuilder out = new StringBuilder("\"");
        for (char sign : String.valueOf(value).toCharArray()) {
            if (sign == '"' || sign == '\\') out.append('\\').append(sign);
            else if (sign < ' ' || Character.isSurrogate(sign)) out.append(String.format("\\u%04x", (int) sign));
            else out.append(sign);
        }
        return out.append('"').toString();
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    private static byte[] hmac(byte[] key, byte[] text) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(text);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }
}
