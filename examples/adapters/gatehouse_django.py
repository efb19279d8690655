"""Middleware for Django 3.2 or newer. Put it and gatehouse.py into your project, and in settings.py:

MIDDLEWARE = [..., "gatehouse_django.GatehouseMiddleware"]  # after SessionMiddleware and AuthenticationMiddleware
GATEHOUSE = {
    "URL": "http://127.0.0.1:8080", "KEY": "sk_live_...",
    "ROUTES": {"/accounts/login/": ("login", "username")},  # path: type of the event, field of the form that names the account
    "PROXIES": 0,      # your own proxies in front of Django
    "ENFORCE": False,  # True: BLOCK is a 403, and your view acts on request.gatehouse["decision"]
}

django.contrib.auth's signals give the outcome. For other actions, and after a challenge, set request.gatehouse_outcome in the view, or use
gatehouse.Challenges.
"""
import secrets

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpResponseForbidden

from gatehouse import Gatehouse, GatehouseError

class GatehouseMiddleware:
    sync_capable, async_capable = True, False

    def __init__(self, get_response):
        self.get_response, self.options = get_response, settings.GATEHOUSE
        self.client = Gatehouse(self.options["URL"], self.options["KEY"])
        user_logged_in.connect(on_login, dispatch_uid="gatehouse")
        user_login_failed.connect(on_failure, dispatch_uid="gatehouse")

    def __call__(self, request):
        route = self.options["ROUTES"].get(request.path)
        if request.method != "POST" or route is None:
            return self.get_response(request)
        is_enforced = self.options.get("ENFORCE", False)
        visit = request.COOKIES.get("gatehouse_visit") or secrets.token_hex(16)
        try:
            decision = self.client.decide(self.describe(request, *route, visit))
        except GatehouseError as error:
            if is_enforced:
                raise
            print(f"gatehouse: {route[0]} is not protected: {error}")
            return self.get_response(request)
        request.gatehouse = decision if is_enforced else {**decision, "decision": "ALLOW"}
        if request.gatehouse["decision"] == "BLOCK":
            return HttpResponseForbidden("You cannot do this here.")
        response = self.get_response(request)
        is_challenged = request.gatehouse["decision"] == "SOFT_CHALLENGE"
        outcome = None if is_challenged else getattr(request, "gatehouse_signal", None)
        outcome = getattr(request, "gatehouse_outcome", outcome)
        if outcome is not None:
            self.client.outcome(decision, outcome)
        response.set_cookie("gatehouse_visit", visit, httponly=True, samesite="Lax", secure=request.is_secure())
        return response

    def describe(self, request, event_type, field, visit):
        headers = request.headers
        return {
            "event_type": event_type,
            "ip": self.address(request),
            "user_agent": headers.get("User-Agent"),
            "url": request.build_absolute_uri(request.path),
            "session_token": request.POST.get("session_token") or visit,
            "entity_keys": {"email": request.POST.get(field, "")},
            "headers": {"accept": headers.get("Accept"), "accept-language": headers.get("Accept-Language")},
        }

    def address(self, request):
        """Each of your proxies appends one entry; what stands before them is the visitor's own text."""
        proxies = self.options.get("PROXIES", 0)
        entries = request.headers.get("X-Forwarded-For", "").split(",")
        return entries[-proxies].strip() if 0 < proxies <= len(entries) else request.META["REMOTE_ADDR"]

def on_login(sender, request, **_):
    request.gatehouse_signal = "succeeded"

def on_failure(sender, credentials, request=None, **_):
    if request is not None:
        request.gatehouse_signal = "failed"
