import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public final class Driver {
    private static final Map<String, Gatehouse> CLIENTS = new HashMap<>();

    private static String decide(String[] words) {
        Duration limit = Duration.ofMillis(Long.parseLong(words[3]));
        String name = words[1] + " " + words[2] + " " + words[3];
        Gatehouse client = CLIENTS.computeIfAbsent(name, key -> new Gatehouse(words[1], words[2], limit, "SOFT_CHALLENGE"));
        try {
            Gatehouse.Decision decision = client.decide(Map.of("event_type", "login", "session_token", "languages",
                    "ip", "81.2.69.160", "entity_keys", Map.of("email", words[4])));
            if (words.length > 5 && !words[5].isEmpty()) client.outcome(decision, words[5]);
            return decision.failedOpen()
                    ? String.join("\t", "open", decision.decision(), decision.failure())
                    : String.join("\t", "made", decision.decision(), decision.requestId());
        } catch (Gatehouse.GatehouseException error) {
            return String.join("\t", "error", Integer.toString(error.status), error.code);
        }
    }

    private static String verify(String[] words) {
        var headers = Map.of("webhook-id", words[2], "webhook-timestamp", words[3], "webhook-signature", words[4]);
        Instant now = Instant.ofEpochSecond(Long.parseLong(words[6]));
        byte[] body = Base64.getDecoder().decode(words[5]);
        return "" + Gatehouse.verifyWebhook(List.of(words[1].split(",")), headers, body, now, Duration.ofSeconds(300));
    }

    public static void main(String[] args) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            try {
                out.println(words[0].equals("decide") ? decide(words) : verify(words));
            } catch (IllegalArgumentException error) {
                out.println("thrown\t" + error.getMessage());
            }
        }
        System.exit(0);
    }
}
