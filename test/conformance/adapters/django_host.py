"""Logs in at Django's own LoginView behind the middleware. One case an argument: url|key|mode|password. Prints the statuses."""
import sys, time
import django
from django.conf import settings

settings.configure(
    SECRET_KEY="x", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, USE_TZ=True, LOGIN_REDIRECT_URL="/",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"], DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": {
        "loaders": [("django.template.loaders.locmem.Loader", {"registration/login.html": "{{ form }}"})]}}],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
                "gatehouse_django.GatehouseMiddleware"],
)
django.setup()
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.core.management import call_command
from django.test import Client
from django.urls import path

urlpatterns = [path("accounts/login/", LoginView.as_view())]
call_command("migrate", verbosity=0)
User.objects.create_user("anna@example.com", password="right")
for case in sys.argv[1:]:
    url, key, mode, password = case.split("|")
    settings.GATEHOUSE = {"URL": url, "KEY": key, "ENFORCE": mode == "enforce", "PROXIES": 1,
                          "ROUTES": {"/accounts/login/": ("login", "username")}}
    form = {"username": "anna@example.com", "password": password}
    response = Client().post("/accounts/login/", form, HTTP_X_FORWARDED_FOR="9.9.9.9, 81.2.69.160", HTTP_USER_AGENT="Mozilla/5.0")
    print(response.status_code, flush=True)
time.sleep(2)
