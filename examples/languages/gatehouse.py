"""Gatehouse in one file: decide, report outcomes, challenge with a code, verify webhooks. Python 3.9 or newer, standard library only.

Behaviour: docs/languages.md. Copy the file, and share one Gatehouse among your threads.
"""
import base64, hashlib, hmac, http.client, json, secrets, sys, threading, time, urllib.parse, uuid

class GatehouseError(Exception):
    """A fault of your own, such as a wrong key or an invalid field. It never fails open."""

    def __init__(self, status, body):
        self.status, self.code = status, body.get("code", "unexpected_answer")
        super().__init__(f"{status} {self.code}: {body.get('detail', '')}")

class Gatehouse:
    def __init__(self, url, key, time_limit=0.8, on_unavailable="ALLOW"):
        """time_limit: seconds of a decide call in all. on_unavailable: the decision while there is no answer."""
        self.url, self.key = urllib.parse.urlsplit(url.rstrip("/")), key
        self.time_limit, self.on_unavailable = time_limit, on_unavailable
        self.skew = 0  # seconds that the service's clock is ahead of this one

    def decide(self, request, idempotency_key=None):
        """Returns the decision. "failed_open" is true with "failure" and "detail" if the service gave none in time."""
        body, end = json.dumps(request).encode(), time.monotonic() + self.time_limit
        answers = [(0, {}, {"failure": "timeout", "detail": "no whole answer in time"})]
        def run():
            answers.append(self._ask_twice(body, idempotency_key or str(uuid.uuid4()), end))
        thread = threading.Thread(target=run, daemon=True)  # the look-up of a name has no time limit of its own
        thread.start()
        thread.join(self.time_limit)
        status, _, answer = answers[-1]
        if status == 200 and isinstance(answer.get("decision"), str) and isinstance(answer.get("request_id"), str):
            return {**answer, "failed_open": False}
        failure = answer["failure"] if status == 0 else failure_of(status, answer)
        if failure is None:
            raise GatehouseError(status, answer)
        detail = str(answer.get("detail") or f"status {status}")
        return {"decision": self.on_unavailable, "request_id": None, "score": None, "reasons": [],
                "failed_open": True, "failure": failure, "detail": detail}

    def outcome(self, decision, outcome):
        """Reports in the background how a decision's action ended, and again after 1, 10 and 60 s while there is no answer."""
        if decision.get("request_id") is None:
            return
        body = json.dumps({"request_id": decision["request_id"], "outcome": outcome}).encode()
        headers = {"Authorization": "Bearer " + self.key}
        def run():
            for seconds in (0, 1, 10, 60):
                time.sleep(seconds)
                status, _, answer = self._post("/v1/outcomes", body, headers, time.monotonic() + 5)
                if status == 202:
                    return
                if 400 <= status < 500 and status != 429:
                    break
            print(f"gatehouse: outcome {outcome} was not reported: {status} {answer}", file=sys.stderr, flush=True)
        threading.Thread(target=run, daemon=True).start()

    def _ask_twice(self, body, idempotency_key, end):
        """One re-send at most, with the same Idempotency-Key, so that both are one decision."""
        first = self._ask(body, idempotency_key, end)
        wait = self._wait_before_resend(*first)
        if wait is None or time.monotonic() + wait + 0.005 > end:
            return first
        time.sleep(wait)
        return self._ask(body, idempotency_key, end)

    def _ask(self, body, idempotency_key, end):
        timestamp, request_id = str(int(time.time()) + self.skew), str(uuid.uuid4())
        text = "\n".join(["POST", "/v1/decide", timestamp, hashlib.sha256(body).hexdigest(), request_id])
        hmac_key = hashlib.sha256(self.key.encode()).digest() if self.key.startswith("pk_") else self.key.encode()
        headers = {"X-SVC-Key": self.key, "X-SVC-Ts": timestamp, "X-SVC-Rid": request_id, "Idempotency-Key": idempotency_key,
                   "X-SVC-Sig": hmac.new(hmac_key, text.encode(), hashlib.sha256).hexdigest()}
        return self._post("/v1/decide", body, headers, end)

    def _wait_before_resend(self, status, headers, answer):
        if status == 401 and answer.get("code") == "timestamp_out_of_window" and "server_time" in answer:
            self.skew = answer["server_time"] - int(time.time())
            return 0
        if status in (502, 504) or (status == 401 and answer.get("code") == "replayed_request"):
            return 0
        if status in (429, 503):
            seconds = headers.get("retry-after", "")
            return int(seconds) if seconds.isdigit() and len(seconds) <= 4 else None
        return 0 if answer.get("failure") == "unreachable" else None

    def _post(self, path, body, headers, end):
        """Returns status, headers in lower case and the parsed body. Status 0: no answer, and the body has the failure."""
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.url.netloc, timeout=max(end - time.monotonic(), 0.001))
        try:
            connection.request("POST", self.url.path + path, body, {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            text, length = b"", int(response.headers.get("Content-Length", -1))
            while len(text) < 1 << 20 and (part := response.read1(65_536)):
                text += part
                if time.monotonic() >= end:
                    raise TimeoutError("no whole answer in time")
            if len(text) < length:
                raise http.client.IncompleteRead(text)
        except (OSError, http.client.HTTPException) as error:
            late = time.monotonic() >= end or isinstance(error, TimeoutError)
            return 0, {}, {"failure": "timeout" if late else "unreachable", "detail": repr(error)}
        finally:
            connection.close()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        return response.status, {n.lower(): v for n, v in response.getheaders()}, answer if isinstance(answer, dict) else {}

def failure_of(status, answer):
    """None: the request was refused, which is the caller's fault. A 200 that is not a decision comes from something in between."""
    overloaded = answer.get("code") == "overloaded"
    if status == 429:
        return "overloaded" if overloaded else "rate_limited"
    if status == 503 and overloaded:
        return "overloaded"
    return "server_error" if status >= 500 or status in (200, 408) else None

def verify_webhook(secrets_, headers, body, now=None, tolerance=300):
    """Whether a delivery is from Gatehouse. body: the raw bytes. secrets_: one or several, during a rotation."""
    headers = {name.lower(): value for name, value in headers.items()}
    message_id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not message_id or not (sent.isascii() and sent.isdigit() and len(sent) <= 12):
        return False
    if abs(int(time.time() if now is None else now) - int(sent)) > tolerance:
        return False
    found = False
    for secret in secrets_:
        key = base64.b64decode(secret[len("whsec_"):])
        if not secret.startswith("whsec_") or len(key) < 24:
            raise ValueError("this is no webhook secret")
        signed = hmac.new(key, f"{message_id}.{sent}.".encode() + body, hashlib.sha256).digest()
        for given in headers.get("webhook-signature", "").split(" "):
            found |= hmac.compare_digest(b"v1," + base64.b64encode(signed), given.encode())
    return found

class Challenges:
    """Logins that wait for a code, in the memory of one process, and their outcomes: exactly one for each decision."""

    def __init__(self, gatehouse, attempts=3, seconds=600, open_max=10_000):
        self.gatehouse, self.attempts, self.seconds, self.open_max = gatehouse, attempts, seconds, open_max
        self.open, self.lock = {}, threading.Lock()

    def begin(self, decision, account, is_right):
        """Call it after SOFT_CHALLENGE and the check of the password. Returns a ticket for the page's form, and the code to send:
        None after a wrong password. Ask for a code in both cases."""
        ticket, now = secrets.token_hex(16), time.monotonic()
        code = f"{secrets.randbelow(1_000_000):06}" if is_right else None
        with self.lock:
            for old in [name for name, entry in self.open.items() if entry["until"] <= now]:
                del self.open[old]
            if len(self.open) >= self.open_max:
                del self.open[next(iter(self.open))]
            self.open[ticket] = {"decision": decision, "account": account, "code": code,
                                 "attempts": self.attempts, "until": now + self.seconds}
        if not is_right:
            self.gatehouse.outcome(decision, "failed")
        return ticket, code

    def answer(self, ticket, code):
        """Returns ("passed", account), ("wrong", None) while attempts are left, or ("over", None): the visitor must log in again."""
        with self.lock:
            entry = self.open.get(ticket)
            if entry is None or entry["until"] <= time.monotonic():
                return "over", None
            entry["attempts"] -= 1
            passed = entry["code"] is not None and hmac.compare_digest(entry["code"].encode(), code.strip().encode())
            if not passed and entry["attempts"] > 0:
                return "wrong", None
            del self.open[ticket]
        if entry["code"] is not None:
            self.gatehouse.outcome(entry["decision"], "challenge_passed" if passed else "challenge_failed")
        return ("passed", entry["account"]) if passed else ("over", None)
