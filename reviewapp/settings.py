"""Settings, all from the environment; what is unset suits one laptop. docs/settings.md lists every name."""

from __future__ import annotations

import os
from pathlib import Path

import dj_database_url
from csp.constants import NONE, SELF

BASE_DIR = Path(__file__).resolve().parent.parent


def _flag(name: str, default: bool) -> bool:
    return os.environ.get(name, str(int(default))).strip().lower() in {"1", "true", "yes", "on"}


def _number(name: str) -> int | None:
    value = os.environ.get(name, "").strip()
    return int(value) if value else None


def _list(name: str) -> list[str]:
    return [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()]


VAR_DIR = Path(os.environ.get("COUNTERSIGN_VAR", BASE_DIR / "var"))
DEBUG = _flag("COUNTERSIGN_DEBUG", False)
PRODUCTION = _flag("COUNTERSIGN_PRODUCTION", False)


def _secret_key() -> str:
    """The named secret, or one made on first use and kept beside the local database; production must name it (check W)."""
    if "COUNTERSIGN_SECRET_KEY" in os.environ:
        return os.environ["COUNTERSIGN_SECRET_KEY"]
    path = VAR_DIR / "secret_key"
    if not path.exists():
        import secrets

        VAR_DIR.mkdir(parents=True, exist_ok=True)
        try:
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as out:
                out.write(secrets.token_urlsafe(64))
        except FileExistsError:
            pass
    return path.read_text()


SECRET_KEY = _secret_key()
ALLOWED_HOSTS = _list("COUNTERSIGN_HOSTS") or ["127.0.0.1", "localhost", "[::1]", "testserver"]
CSRF_TRUSTED_ORIGINS = _list("COUNTERSIGN_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "template_partials",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "reviewapp.accounts",
    "reviewapp.audit",
    "reviewapp.envelopes",
    "reviewapp.batches",
    "reviewapp.runs",
    "reviewapp.deadletters",
    "reviewapp.samples",
    "reviewapp.insights",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "reviewapp.urls"
WSGI_APPLICATION = "reviewapp.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    [
                        (
                            "django.template.loaders.cached.Loader",
                            [
                                "django.template.loaders.filesystem.Loader",
                                "django.template.loaders.app_directories.Loader",
                            ],
                        )
                    ],
                )
            ],
            "builtins": ["template_partials.templatetags.partials"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "reviewapp.navigation.navigation",
            ],
        },
    }
]

DATABASES = {
    "default": dj_database_url.parse(
        os.environ.get("DATABASE_URL") or f"sqlite:///{VAR_DIR / 'countersign.sqlite3'}",
        conn_max_age=600,
        conn_health_checks=True,
    )
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # WAL and immediate transactions: a writer waits for its turn instead of failing when it upgrades a read lock.
    # synchronous=NORMAL in WAL survives kill -9 of any process; only a power cut can lose the last moments.
    VAR_DIR.mkdir(parents=True, exist_ok=True)
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        transaction_mode="IMMEDIATE",
        timeout=60,
        init_command=(
            "PRAGMA journal_mode=WAL;"
            f"PRAGMA synchronous={os.environ.get('COUNTERSIGN_SQLITE_SYNCHRONOUS', 'NORMAL')};"
            "PRAGMA cache_size=-32000;PRAGMA mmap_size=268435456;PRAGMA temp_store=MEMORY;"
        ),
    )
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "inbox"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "reviewapp.accounts.adapter.ClosedSignup"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
MFA_SUPPORTED_TYPES = ["webauthn", "totp", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not PRODUCTION

LANGUAGE_CODE = "en-gb"
USE_I18N = False
USE_TZ = True
TIME_ZONE = os.environ.get("COUNTERSIGN_TIME_ZONE", "UTC")

STATIC_URL = "/static/"
STATIC_ROOT = Path(os.environ.get("COUNTERSIGN_STATIC_ROOT", BASE_DIR / "staticfiles"))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION

# Model output and documents are shown as text; nothing is fetched from anywhere else, no inline script or style runs.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "countersign_session"
CSRF_COOKIE_NAME = "countersign_csrf"
if PRODUCTION:
    SECURE_SSL_REDIRECT = _flag("COUNTERSIGN_SSL_REDIRECT", True)
    SECURE_HSTS_SECONDS = int(os.environ.get("COUNTERSIGN_HSTS_SECONDS", "31536000"))
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    if _flag("COUNTERSIGN_BEHIND_PROXY", False):
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

# The model endpoint behind the alias "default"; COUNTERSIGN_ENDPOINT_<ALIAS>, …_MODEL_<ALIAS>, …_API_KEY_<ALIAS> for others.
# COUNTERSIGN_ENDPOINT may be an http(s) base URL or "cassette:<file>" for recorded replies.
COUNTERSIGN_ENDPOINT = os.environ.get("COUNTERSIGN_ENDPOINT", "")
COUNTERSIGN_KEYS = Path(os.environ.get("COUNTERSIGN_KEYS", VAR_DIR / "keys"))
# What drafts are measured by before anyone signs: the endpoint's kind (strict or grammar; see docs/lint.md) and a budget for
# one record. Unset means unknown: then the lints that need it say nothing.
COUNTERSIGN_SCHEMA_PROFILE = os.environ.get("COUNTERSIGN_SCHEMA_PROFILE", "")
COUNTERSIGN_RECORD_CALLS = _number("COUNTERSIGN_RECORD_CALLS")
COUNTERSIGN_RECORD_TOKENS = _number("COUNTERSIGN_RECORD_TOKENS")
COUNTERSIGN_RECORD_MS = _number("COUNTERSIGN_RECORD_MS")
COUNTERSIGN_THREADS = int(os.environ.get("COUNTERSIGN_THREADS", "8"))
COUNTERSIGN_LEASE_SECONDS = int(os.environ.get("COUNTERSIGN_LEASE_SECONDS", "30"))
COUNTERSIGN_UPLOAD_BYTES = int(os.environ.get("COUNTERSIGN_UPLOAD_BYTES", str(200 * 1024 * 1024)))
# Where a pause is told besides the page: a webhook, and mail where a host is named.
COUNTERSIGN_WEBHOOK = os.environ.get("COUNTERSIGN_WEBHOOK", "")
EMAIL_HOST = os.environ.get("COUNTERSIGN_MAIL_HOST", "")
EMAIL_PORT = int(os.environ.get("COUNTERSIGN_MAIL_PORT", "25"))
EMAIL_HOST_USER = os.environ.get("COUNTERSIGN_MAIL_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("COUNTERSIGN_MAIL_PASSWORD", "")
EMAIL_USE_TLS = _flag("COUNTERSIGN_MAIL_TLS", False)
EMAIL_TIMEOUT = 10
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"
DEFAULT_FROM_EMAIL = os.environ.get("COUNTERSIGN_MAIL_FROM", "countersign@localhost")
COUNTERSIGN_DOCUMENT_BYTES = int(os.environ.get("COUNTERSIGN_DOCUMENT_BYTES", str(1024 * 1024)))

CELERY_BROKER_URL = os.environ.get("CELERY_BROKER_URL", "")
CELERY_TASK_IGNORE_RESULT = True
CELERY_DB_REUSE_MAX = 10_000  # Celery otherwise closes the connection around every task: 10 ms each on PostgreSQL
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": os.environ.get("COUNTERSIGN_LOG_LEVEL", "WARNING")},
}
