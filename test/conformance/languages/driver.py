import base64, sys
from gatehouse import Gatehouse, GatehouseError, verify_webhook

clients = {}

def decide(url, key, limit_ms, email, outcome=""):
    name = (url, key, limit_ms)
    client = clients.setdefault(name, Gatehouse(url, key, int(limit_ms) / 1000, on_unavailable="SOFT_CHALLENGE"))
    try:
        decision = client.decide({
            "event_type": "login", "session_token": "languages", "ip": "81.2.69.160", "entity_keys": {"email": email},
        })
    except GatehouseError as error:
        return ["error", str(error.status), error.code]
    if outcome:
        client.outcome(decision, outcome)
    if decision["failed_open"]:
        return ["open", decision["decision"], decision["failure"]]
    return ["made", decision["decision"], decision["request_id"]]

def verify(secrets, message_id, sent, signature, body, now):
    headers = {"webhook-id": message_id, "webhook-timestamp": sent, "webhook-signature": signature}
    return [str(verify_webhook(secrets.split(","), headers, base64.b64decode(body), int(now))).lower()]

for line in sys.stdin:
    operation, *rest = line.rstrip("\n").split("\t")
    try:
        answer = {"decide": decide, "verify": verify}[operation](*rest)
    except ValueError as error:
        answer = ["thrown", str(error)]
    print("\t".join(answer), flush=True)
