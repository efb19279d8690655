import jakarta.servlet.FilterChain;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpSession;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;

/** Logs in as Spring Security answers: a redirect in both cases. One case an argument: url|key|mode|password. Prints the statuses. */
public final class FilterHost {
    @SuppressWarnings("unchecked")
    private static <T> T stub(Class<T> type, InvocationHandler handler) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> inSession = new HashMap<>();
        HttpSession session = stub(HttpSession.class, (self, method, words) ->
                method.getName().equals("getAttribute") ? inSession.get(words[0]) : inSession.put((String) words[0], words[1]));
        for (String arg : args) {
            String[] words = arg.split("\\|");
            Map<String, Object> attributes = new HashMap<>();
            Map<String, String> form = Map.of("username", "anna@example.com", "password", words[3]);
            HttpServletRequest request = stub(HttpServletRequest.class, (self, method, given) -> switch (method.getName()) {
                case "getMethod" -> "POST";
                case "getRemoteAddr" -> "81.2.69.160";
                case "getHeader" -> given[0].equals("User-Agent") ? "Mozilla/5.0" : null;
                case "getRequestURL" -> new StringBuffer("https://shop.example/login");
                case "getParameter" -> form.get(given[0]);
                case "getSession" -> session;
                case "getAttribute" -> attributes.get(given[0]);
                case "setAttribute" -> attributes.put((String) given[0], given[1]);
                default -> throw new UnsupportedOperationException(method.getName());
            });
            int[] status = {200};
            String[] location = {null};
            HttpServletResponse response = stub(HttpServletResponse.class, (self, method, given) -> {
                switch (method.getName()) {
                    case "getStatus": return status[0];
                    case "getHeader": return location[0];
                    case "sendError": status[0] = (int) given[0]; return null;
                    default: throw new UnsupportedOperationException(method.getName());
                }
            });
            FilterChain chain = (ignored, alsoIgnored) -> {
                status[0] = 302;
                location[0] = words[3].equals("right") ? "/" : "/login?error";
            };
            var gatehouse = new Gatehouse(words[0], words[1], java.time.Duration.ofSeconds(20), "ALLOW");
            new GatehouseFilter(gatehouse, "login", "username", words[2].equals("enforce")).run(request, response, chain);
            System.out.println(status[0]);
        }
        Thread.sleep(2_000);
        System.exit(0);
    }
}
