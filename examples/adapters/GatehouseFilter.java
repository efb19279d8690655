import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/**
 * Servlet filter for Spring Boot 3 and other servers with jakarta.servlet 5 or newer; needs Gatehouse.java beside it. With Spring Boot:
 *
 * <pre>
 * &#64;Bean FilterRegistrationBean&lt;GatehouseFilter&gt; gatehouse() {
 *     var gatehouse = new Gatehouse(url, key);
 *     var bean = new FilterRegistrationBean&lt;&gt;(new GatehouseFilter(gatehouse, "login", "username", false));
 *     bean.addUrlPatterns("/login");
 *     bean.setOrder(SecurityProperties.DEFAULT_FILTER_ORDER - 1); // before Spring Security
 *     return bean;
 * }
 * </pre>
 *
 * Set {@code server.forward-headers-strategy=native}, so that getRemoteAddr() is the visitor's address behind your proxies. Handlers find
 * the decision in the attribute {@code gatehouse}; BLOCK is a 403 if isEnforced.
 */
public final class GatehouseFilter extends HttpFilter {
    private static final long serialVersionUID = 1L;
    private final transient Gatehouse gatehouse;
    private final String eventType;
    private final String field;
    private final boolean isEnforced;

    public GatehouseFilter(Gatehouse gatehouse, String eventType, String field, boolean isEnforced) {
        this.gatehouse = gatehouse;
        this.eventType = eventType;
        this.field = field;
        this.isEnforced = isEnforced;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        if (!"POST".equals(request.getMethod())) {
            chain.doFilter(request, response);
            return;
        }
        Gatehouse.Decision result;
        try {
            result = gatehouse.decide(describe(request));
        } catch (Gatehouse.GatehouseException error) {
            if (isEnforced) throw error;
            System.err.println("gatehouse: " + eventType + " is not protected: " + error.getMessage());
            chain.doFilter(request, response);
            return;
        }
        String decision = isEnforced ? result.decision() : "ALLOW";
        request.setAttribute("gatehouse", result);
        request.setAttribute("gatehouse.decision", decision);
        if (decision.equals("BLOCK")) {
            response.sendError(403, "You cannot do this here.");
            return;
        }
        chain.doFilter(request, response);
        String ofResponse = decision.equals("SOFT_CHALLENGE") ? null : outcomeOf(response);
        Object outcome = request.getAttribute("gatehouse.outcome");
        if (outcome == null) outcome = ofResponse;
        if (outcome != null) gatehouse.outcome(result, outcome.toString());
    }

    /** Spring Security redirects after right and wrong passwords; after wrong ones to /login?error. */
    private static String outcomeOf(HttpServletResponse response) {
        int status = response.getStatus();
        String location = response.getHeader("Location");
        if (status >= 300 && status < 400) return location != null && location.contains("error") ? "failed" : "succeeded";
        if (status == 402) return "declined";
        if (status >= 500 || status == 429) return null;
        return status >= 400 ? "failed" : "succeeded";
    }

    private Map<String, Object> describe(HttpServletRequest request) {
        Map<String, Object> facts = new HashMap<>();
        facts.put("event_type", eventType);
        facts.put("ip", request.getRemoteAddr());
        facts.put("user_agent", request.getHeader("User-Agent"));
        facts.put("url", request.getRequestURL().toString());
        String token = request.getParameter("session_token");
        facts.put("session_token", token == null || token.isEmpty() ? visitOf(request) : token);
        String account = request.getParameter(field);
        facts.put("entity_keys", Map.of("email", account == null ? "" : account));
        Map<String, String> headers = new HashMap<>();
        headers.put("accept", request.getHeader("Accept"));
        headers.put("accept-language", request.getHeader("Accept-Language"));
        facts.put("headers", headers);
        return facts;
    }

    /** A random id in the session; the id of the session itself must not leave the application. */
    private static String visitOf(HttpServletRequest request) {
        Object visit = request.getSession().getAttribute("gatehouse.visit");
        if (visit == null) {
            visit = UUID.randomUUID().toString();
            request.getSession().setAttribute("gatehouse.visit", visit);
        }
        return visit.toString();
    }
}
