import java.util.List;
import java.util.Map;
import org.keycloak.Config;
import org.keycloak.authentication.AuthenticationFlowContext;
import org.keycloak.authentication.AuthenticationFlowError;
import org.keycloak.authentication.Authenticator;
import org.keycloak.authentication.AuthenticatorFactory;
import org.keycloak.models.AuthenticationExecutionModel.Requirement;
import org.keycloak.models.KeycloakSession;
import org.keycloak.models.KeycloakSessionFactory;
import org.keycloak.models.RealmModel;
import org.keycloak.models.UserModel;
import org.keycloak.provider.ProviderConfigProperty;

/**
 * Step of a Keycloak login: asks for a second factor only where Gatehouse wants a challenge. Needs Gatehouse.java beside it, and the name
 * GatehouseAuthenticator$Factory in META-INF/services/org.keycloak.authentication.AuthenticatorFactory; GATEHOUSE_URL and GATEHOUSE_KEY in
 * the environment, and GATEHOUSE_ENFORCE=true when you like what you see. The flow:
 *
 * <pre>
 * Username Password Form   REQUIRED
 * Risk (subflow)           REQUIRED
 *   Gatehouse              ALTERNATIVE   succeeds without a challenge
 *   OTP Form               ALTERNATIVE   runs otherwise
 * Gatehouse                REQUIRED      reports that the challenge was passed
 * </pre>
 *
 * It stands after the password, so wrong passwords are not seen. Set proxy-headers, so that the address is the visitor's.
 */
public final class GatehouseAuthenticator implements Authenticator {
    private static final String NOTE = "gatehouse.request_id";
    private final Gatehouse gatehouse;
    private final boolean isEnforced;

    public GatehouseAuthenticator(Gatehouse gatehouse, boolean isEnforced) {
        this.gatehouse = gatehouse;
        this.isEnforced = isEnforced;
    }

    @Override
    public void authenticate(AuthenticationFlowContext context) {
        String challenged = context.getAuthenticationSession().getAuthNote(NOTE);
        if (context.getExecution().isRequired()) { // the last step: everything before it has succeeded
            if (challenged != null && !challenged.isEmpty())
                gatehouse.outcome(new Gatehouse.Decision("", challenged, null, false, null, null), "challenge_passed");
            context.getAuthenticationSession().removeAuthNote(NOTE);
            context.success();
            return;
        }
        if (challenged != null) { // "Try another way" must not lead past the second factor
            context.attempted();
            return;
        }
        Gatehouse.Decision result;
        try {
            result = gatehouse.decide(describe(context));
        } catch (Gatehouse.GatehouseException error) {
            System.err.println("gatehouse: logins are not protected: " + error.getMessage());
            context.success();
            return;
        }
        boolean isChallenged = isEnforced && result.decision().equals("SOFT_CHALLENGE");
        if (isEnforced && result.decision().equals("BLOCK")) {
            context.failure(AuthenticationFlowError.ACCESS_DENIED);
        } else if (isChallenged) {
            context.getAuthenticationSession().setAuthNote(NOTE, result.requestId() == null ? "" : result.requestId());
            context.attempted();
        } else {
            gatehouse.outcome(result, "succeeded");
            context.success();
        }
    }

    private static Map<String, Object> describe(AuthenticationFlowContext context) {
        String agent = context.getHttpRequest().getHttpHeaders().getHeaderString("User-Agent");
        String email = context.getUser().getEmail();
        return Map.of(
                "event_type", "login",
                "ip", context.getConnection().getRemoteAddr(),
                "user_agent", agent == null ? "" : agent,
                "session_token", context.getAuthenticationSession().getParentSession().getId(),
                "entity_keys", Map.of("email", email == null ? context.getUser().getUsername() : email));
    }

    @Override public void action(AuthenticationFlowContext context) { authenticate(context); }
    @Override public boolean requiresUser() { return true; }
    @Override public boolean configuredFor(KeycloakSession session, RealmModel realm, UserModel user) { return true; }
    @Override public void setRequiredActions(KeycloakSession session, RealmModel realm, UserModel user) {}
    @Override public void close() {}

    public static final class Factory implements AuthenticatorFactory {
        private GatehouseAuthenticator shared;

        @Override public void init(Config.Scope config) {
            Gatehouse gatehouse = new Gatehouse(System.getenv("GATEHOUSE_URL"), System.getenv("GATEHOUSE_KEY"));
            shared = new GatehouseAuthenticator(gatehouse, "true".equals(System.getenv("GATEHOUSE_ENFORCE")));
        }

        @Override public Authenticator create(KeycloakSession session) { return shared; }
        @Override public String getId() { return "gatehouse"; }
        @Override public String getDisplayType() { return "Gatehouse"; }
        @Override public String getHelpText() { return "Asks Gatehouse whether this login needs a second factor."; }
        @Override public String getReferenceCategory() { return null; }
        @Override public boolean isConfigurable() { return false; }
        @Override public boolean isUserSetupAllowed() { return false; }
        @Override public Requirement[] getRequirementChoices() { return new Requirement[] {Requirement.REQUIRED, Requirement.ALTERNATIVE}; }
        @Override public List<ProviderConfigProperty> getConfigProperties() { return List.of(); }
        @Override public void postInit(KeycloakSessionFactory factory) {}
        @Override public void close() {}
    }
}
