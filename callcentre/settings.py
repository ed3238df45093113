"""All settings, read from the environment (callcentre.environment). Unsafe defaults apply only with DEBUG on."""

from datetime import timedelta
from typing import Any

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from callcentre.celery_settings import *  # noqa: F403
from callcentre.environment import VAR, database, env, env_bool, env_choice, env_int, env_list, env_url, env_zone, files
from callcentre.monitoring import metrics  # noqa: F401  (before other modules create metrics)
from callcentre.monitoring.logging import logging_config
from callcentre.web.theme import THEME

# Foundations

DEBUG = env_bool("DEBUG", False)
SECRET_KEY = env("SECRET_KEY", "insecure-key-of-a-debugging-session" if DEBUG else "")
SECRET_KEY_FALLBACKS = env_list("SECRET_KEY_FALLBACKS")
# Fernet keys for credentials in the database, newest first: the first encrypts, all decrypt. This public key serves
# debugging sessions only.
PUBLISHED_FIELD_KEY = "ZGVidWdnaW5nLXNlc3Npb24tZmllbGQta2V5LTAwMDE="
FIELD_ENCRYPTION_KEYS = env_list("FIELD_ENCRYPTION_KEYS", PUBLISHED_FIELD_KEY if DEBUG else "")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]" if DEBUG else "")
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")
# Networks (CIDR) of the proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; RequestMiddleware removes
# these headers from all other requests.
TRUSTED_PROXIES = env_list("TRUSTED_PROXIES")
# Networks (CIDR) that may read /metrics.
METRICS_ALLOWED_NETWORKS = env_list("METRICS_ALLOWED_NETWORKS", "127.0.0.0/8,::1")

DATABASE_URL = env("DATABASE_URL")
REDIS_URL = env("REDIS_URL")
if not DATABASE_URL:
    raise ImproperlyConfigured("There is no database: start `make run` in another terminal, or set DATABASE_URL.")
if not REDIS_URL:
    raise ImproperlyConfigured("There is no Redis: start `make run` in another terminal, or set REDIS_URL.")
DATABASES = {"default": database(DATABASE_URL)}
# PostgreSQL itself, where DATABASE_URL leads to a pooler: locks of leaders need a session of their own.
DIRECT_DATABASE = database(_url, "DATABASE_DIRECT_URL") if (_url := env("DATABASE_DIRECT_URL")) else None
# A streaming replica for what reads long, and how far it may be behind (callcentre.core.replica).
if _url := env("DATABASE_REPLICA_URL"):
    DATABASES["replica"] = database(_url, "DATABASE_REPLICA_URL") | {"TEST": {"MIRROR": "default"}}
DATABASE_REPLICA_LAG_SECONDS = env_int("DATABASE_REPLICA_LAG_SECONDS", 30, minimum=1)

ROOT_URLCONF = "callcentre.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "callcentre.User"
APPEND_SLASH = False

INSTALLED_APPS = [
    "callcentre",
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "callcentre.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "webhooks",
    "telephony",
    "tickets",
    "knowledgebase",
    "campaigns",
    "reports",
    "callcentre.overview",
    "callcentre.lists",
    "callcentre.signin",
]

MIDDLEWARE = [
    "callcentre.web.middleware.RequestMiddleware",
    "callcentre.web.middleware.PolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "callcentre.web.middleware.NulMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "callcentre.web.middleware.SessionMiddleware",
    "callcentre.web.middleware.IdleMiddleware",
    "callcentre.web.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "callcentre.web.middleware.CrossSiteMiddleware",
    "callcentre.web.bodies.BodyMiddleware",
    "callcentre.web.middleware.CsrfViewMiddleware",
    "callcentre.web.middleware.AuthenticationMiddleware",
    "callcentre.web.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "callcentre.web.middleware.BusyMiddleware",
]

FORM_RENDERER = "callcentre.web.form_renderer.FormRenderer"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["callcentre.core.template_filters"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
STORAGES = {
    "default": files(VAR / "files"),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage",
        "OPTIONS": {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755},
    },
}

# The web server (callcentre.web.front): threads per process, and the time limit for the first bytes of a body.
WEB_THREADS = env_int("WEB_THREADS", 8, minimum=1)
BODY_TIMEOUT_SECONDS = env_int("BODY_TIMEOUT_SECONDS", 15, minimum=1)

# Language, time, numbers

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("pl", _("Polish"))]
FORMAT_MODULE_PATH = ["callcentre.formats"]
TIME_ZONE = env_zone("TIME_ZONE", "Europe/Warsaw")
# The region of phone numbers without a country code.
DEFAULT_REGION = env("DEFAULT_REGION", "PL")

# Security

CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "callcentre.web.error_pages.refuse_form"
SECURE_COOKIES = env_bool("SECURE_COOKIES", not DEBUG)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = SECURE_COOKIES
# Browsers accept cookies with this prefix only by HTTPS and from this host.
_prefix = "__Host-" if SECURE_COOKIES else ""
SESSION_COOKIE_NAME = f"{_prefix}sessionid"
CSRF_COOKIE_NAME = f"{_prefix}csrftoken"
LANGUAGE_COOKIE_NAME = f"{_prefix}django_language"
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
# A session of the back office ends after this time without a request (callcentre.web.sessions).
SESSION_ENGINE = "callcentre.signin.models.session"
SESSION_COOKIE_AGE = 60 * env_int("SESSION_IDLE_MINUTES", 12 * 60, minimum=5)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = env_bool("SECURE_SSL_REDIRECT", False)
# Probes and Prometheus on this machine use no TLS, nor does Asterisk, perhaps.
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$", r"^sounds/"]
SECURE_HSTS_SECONDS = env_int("SECURE_HSTS_SECONDS", 0 if DEBUG or not SECURE_COOKIES else 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = env_bool("SECURE_HSTS_INCLUDE_SUBDOMAINS", True)
SECURE_HSTS_PRELOAD = env_bool("SECURE_HSTS_PRELOAD", True)
# Log-ins by a provider of OpenID Connect (docs/operations.md#single-sign-on): its address, where its documents of
# discovery lie, and what it knows us by; empty: none. OIDC_ONLY: only superusers log in with a password.
OIDC_ISSUER = env_url("OIDC_ISSUER")
OIDC_CLIENT_ID = env("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = env("OIDC_CLIENT_SECRET")
OIDC_SCOPES = env("OIDC_SCOPES", "openid profile email")
OIDC_NAME = env("OIDC_NAME", "single sign-on")
# The claims with the login and with the groups; a dot leads into a claim (realm_access.roles).
OIDC_LOGIN_CLAIM = env("OIDC_LOGIN_CLAIM", "preferred_username")
OIDC_GROUPS_CLAIM = env("OIDC_GROUPS_CLAIM", "groups")
OIDC_ONLY = env_bool("OIDC_ONLY", False)
if (OIDC_ISSUER or OIDC_ONLY) and not (OIDC_ISSUER and OIDC_CLIENT_ID):
    raise ImproperlyConfigured("OIDC_ISSUER and OIDC_CLIENT_ID: set both, also for OIDC_ONLY.")
# No page has an inline script, so none needs a nonce. The admin's theme evaluates expressions in attributes (Alpine),
# and pages have inline styles.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, UNSAFE_EVAL],
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "media-src": [SELF],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        # The form of the log-out leads on to the provider's.
        "form-action": [SELF, *(["/".join(OIDC_ISSUER.split("/")[:3])] if OIDC_ISSUER else [])],
        "frame-ancestors": [NONE],
    }
}
# W003: the check looks for Django's own name of the protection of forms; ours is a subclass (page_middleware.py).
# W008: TLS ends at the proxy, which also redirects to HTTPS (docs/operations.md).
SILENCED_SYSTEM_CHECKS = ["security.W003", "security.W008"]
AUTHENTICATION_BACKENDS = ["callcentre.web.login.ThrottledBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator"}
    for name in ("UserAttributeSimilarity", "MinimumLength", "CommonPassword", "NumericPassword")
]
LOGIN_URL = "admin:login"
# Used also if `next` names another site.
LOGIN_REDIRECT_URL = "admin:index"
LOGOUT_REDIRECT_URL = "admin:login"
# The people who need a second factor at the log-in (callcentre.signin.enforcement). All others may set one up.
TWO_FACTOR = env_choice("TWO_FACTOR", "off", "supervisors")
# The time for which the link to a new password works, in seconds.
PASSWORD_RESET_TIMEOUT = 3600
MAX_UPLOAD_MB = env_int("MAX_UPLOAD_MB", 25, minimum=1)
# Uploaded files of one API user that no message uses yet, and how long they are kept.
MAX_TEMPORARY_FILES = env_int("MAX_TEMPORARY_FILES", 1000, minimum=1)
TEMPORARY_FILE_RETENTION = timedelta(hours=24)
# A file of records is streamed to disk; a million rows are 40 to 100 MB.
MAX_IMPORT_MB = env_int("MAX_IMPORT_MB", 512, minimum=1)
# Only the account of the service may read recordings, attachments, imports and exports.
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700
# Only the pages that callcentre.web.bodies names accept files.
FILE_UPLOAD_HANDLERS = ["callcentre.web.bodies.NoFiles"]
# A batch of 10,000 records with all their fields is about 4 MB.
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_UPLOAD_MB * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000

# API

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["callcentre.api.authentication.ApiUserAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["callcentre.api.permissions.HasRight"],
    "DEFAULT_RENDERER_CLASSES": ["callcentre.api.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["callcentre.api.renderers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "callcentre.api.renderers.AlwaysJSON",
    "DEFAULT_SCHEMA_CLASS": "callcentre.api.schema.OperationSchema",
    "EXCEPTION_HANDLER": "callcentre.api.exceptions.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}
# Requests per minute of an API user without a limit of its own; 0 is no limit.
API_RATE_LIMIT = env_int("API_RATE_LIMIT", 300_000)
# Failed log-ins within five minutes that lock out a login from one address, and an address.
LOGIN_FAILURES_PER_LOGIN = env_int("LOGIN_FAILURES_PER_LOGIN", 20, minimum=1)
LOGIN_FAILURES_PER_ADDRESS = env_int("LOGIN_FAILURES_PER_ADDRESS", 200, minimum=1)
IDEMPOTENCY_RETENTION = timedelta(hours=24)
IDEMPOTENCY_WAIT_SECONDS = 10

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Call centre API",
    "VERSION": "1.0.0",
    "SCHEMA_PATH_PREFIX": "/api",
    "SERVERS": [{"url": "/"}],
    "PREPROCESSING_HOOKS": ["callcentre.api.schema.prepare_endpoints"],
    "POSTPROCESSING_HOOKS": ["callcentre.api.schema.complete_document"],
}

# Admin

UNFOLD = THEME

# Webhooks

WEBHOOK_DEFAULT_FORMAT = env_choice("WEBHOOK_DEFAULT_FORMAT", "json", "form")
# Networks (CIDR) that are not public and may still hold receivers.
WEBHOOK_ALLOWED_NETWORKS = env_list("WEBHOOK_ALLOWED_NETWORKS")
# The time limit for connection, request and answer together.
WEBHOOK_TIMEOUT_SECONDS = env_int("WEBHOOK_TIMEOUT_SECONDS", 15, minimum=1)
EVENT_RETENTION = timedelta(days=env_int("EVENT_RETENTION_DAYS", 90, minimum=1))

# Calls

# `simulated`, `asterisk`, or the dotted path of a subclass of telephony.switch.base.Switch.
SWITCH_BACKEND = env("SWITCH_BACKEND", "simulated")
# The speed of the simulated people, as a multiple of real time.
SIMULATED_SPEED = env_int("SIMULATED_SPEED", 1, minimum=1)
# Asterisk's REST interface (http://pbx:8088/ari), our user in ari.conf, and the name of our Stasis application. Ids of
# our channels begin with it, so installations that share an Asterisk need different names.
ARI_URL = env("ARI_URL")
ARI_USER = env("ARI_USER")
ARI_PASSWORD = env("ARI_PASSWORD")
ARI_APP = env("ARI_APP", "callcentre")
# The endpoint in pjsip.conf for outside numbers.
TRUNK = env("TRUNK", "trunk")
# Where Asterisk finds the messages of dropped calls (docs/telephony-switch.md): a folder inside its sounds that this
# service may write to, or the address under which it reaches this service.
SOUNDS_FOLDER = env("SOUNDS_FOLDER")
SOUNDS_URL = env("SOUNDS_URL")
# The caller id of outbound calls; empty: the trunk's.
CALLER_ID = env("CALLER_ID")
# Phones in browsers (docs/telephony-switch.md): the address of SIP over WebSocket as the browser reaches it by the
# proxy, the transport of pjsip.conf, the context of calls that such a phone would place, and the servers by which a
# browser learns its address (STUN) or sends its packets (TURN, with the secret that the TURN server shares).
PHONE_URL = env("PHONE_URL", "/ws")
PHONE_TRANSPORT = env("PHONE_TRANSPORT", "ws")
PHONE_CONTEXT = env("PHONE_CONTEXT", "phones")
STUN_URLS = env_list("STUN_URLS")
TURN_URLS = env_list("TURN_URLS")
TURN_SECRET = env("TURN_SECRET")
# How long a phone rings: the agent's phone after a click to call, and the customer's phone.
AGENT_RING_SECONDS = env_int("AGENT_RING_SECONDS", 30, minimum=1)
RING_SECONDS = env_int("RING_SECONDS", 45, minimum=1)
# The `rtp_timeout` of the phones at the switch, which ends a phone that sends nothing for so long.
RTP_TIMEOUT = timedelta(seconds=env_int("RTP_TIMEOUT_SECONDS", 5, minimum=1))
# Calls placed per second, and calls in and out at one time; 0 is no limit. A call waits for its turn at most
# PLACE_LIMIT_SECONDS, then it fails.
CALLS_PER_SECOND = env_int("CALLS_PER_SECOND", 0)
TRUNK_LIMIT = env_int("TRUNK_LIMIT", 0)
PLACE_LIMIT_SECONDS = env_int("PLACE_LIMIT_SECONDS", 60, minimum=1)
# Calls of the dialler to one record: all together, and on one day.
DIAL_ATTEMPTS_PER_RECORD = env_int("DIAL_ATTEMPTS_PER_RECORD", 6, minimum=1)
DIAL_ATTEMPTS_PER_DAY = env_int("DIAL_ATTEMPTS_PER_DAY", 2, minimum=1)
# Between two calls of one number for different records, in all campaigns.
DIAL_PAUSE = timedelta(minutes=env_int("DIAL_PAUSE_MINUTES", 60))
# Attempts, and entries of the audit log, are deleted after these times.
ATTEMPT_RETENTION = timedelta(days=env_int("ATTEMPT_RETENTION_DAYS", 5 * 366, minimum=1))
AUDIT_RETENTION = timedelta(days=env_int("AUDIT_RETENTION_DAYS", 5 * 366, minimum=1))
# The erasure of a person begins when a second person has consented.
ERASURE_NEEDS_CONSENT = env_bool("ERASURE_NEEDS_CONSENT", False)
# The hours of the night, in TIME_ZONE, in which retentions delete: from the first until the second.
RETENTION_FROM_HOUR = env_int("RETENTION_FROM_HOUR", 1)
RETENTION_UNTIL_HOUR = env_int("RETENTION_UNTIL_HOUR", 5)
# An agent's session ends after this time, in case the agent forgot to log out.
AGENT_SESSION_LIMIT = timedelta(hours=env_int("AGENT_SESSION_LIMIT_HOURS", 16, minimum=1))
# An agent whose heartbeats stop is paused after the first time, and logged out after the second; 0 is never.
AGENT_SILENT = timedelta(seconds=env_int("AGENT_SILENT_SECONDS", 150))
if timedelta() < AGENT_SILENT < timedelta(seconds=75):
    raise ImproperlyConfigured("AGENT_SILENT_SECONDS: 0, or at least 75, because hidden pages may ask once a minute.")
AGENT_GONE = timedelta(seconds=env_int("AGENT_GONE_SECONDS", 1800))
RECORD_CALLS = env_bool("RECORD_CALLS", True)
SHOW_SUPERVISION_TO_AGENTS = env_bool("SHOW_SUPERVISION_TO_AGENTS", False)
# The folder where the switch stores recordings as NAME.wav; empty: they are fetched over its interface.
RECORDINGS_FOLDER = env("RECORDINGS_FOLDER")
RECORDING_RETENTION = timedelta(days=env_int("RECORDING_RETENTION_DAYS", 90, minimum=1))

# Transcriptions (docs/transcription.md) by an OpenAI-compatible provider (https://api.openai.com/v1); empty: none.
# ANALYSIS_MODEL summarises and evaluates calls, at the same or another provider; empty: no analysis.

TRANSCRIPTION_URL = env_url("TRANSCRIPTION_URL")
TRANSCRIPTION_API_KEY = env("TRANSCRIPTION_API_KEY")
TRANSCRIPTION_MODEL = env("TRANSCRIPTION_MODEL", "whisper-1")
# diarized_json is for models that tell speakers apart.
TRANSCRIPTION_FORMAT = env_choice("TRANSCRIPTION_FORMAT", "verbose_json", "diarized_json")
# ISO 639-1; empty: the model detects it.
TRANSCRIPTION_LANGUAGE = env("TRANSCRIPTION_LANGUAGE")
ANALYSIS_URL = env_url("ANALYSIS_URL", TRANSCRIPTION_URL)
ANALYSIS_API_KEY = env("ANALYSIS_API_KEY", TRANSCRIPTION_API_KEY)
ANALYSIS_MODEL = env("ANALYSIS_MODEL")
# The time limit of one request with its answer; a long call takes several requests.
TRANSCRIPTION_TIMEOUT_SECONDS = env_int("TRANSCRIPTION_TIMEOUT_SECONDS", 300, minimum=1)
# Minutes of calls transcribed per month; 0 is no limit.
TRANSCRIPTION_MONTHLY_MINUTES = env_int("TRANSCRIPTION_MONTHLY_MINUTES", 0)

# Mail goes to the server EMAIL_HOST, or without one into files.

EMAIL_HOST = env("EMAIL_HOST")
EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend" if EMAIL_HOST else "callcentre.core.mail_backend.EmailBackend"
)
EMAIL_FILE_PATH = VAR / "mail"
EMAIL_USE_SSL = env_bool("EMAIL_USE_SSL", False)
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", False)
EMAIL_PORT = env_int("EMAIL_PORT", 465 if EMAIL_USE_SSL else 587 if EMAIL_USE_TLS else 25, minimum=1)
EMAIL_HOST_USER = env("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env("EMAIL_HOST_PASSWORD")
# The time limit for each answer of the server.
EMAIL_TIMEOUT = env_int("EMAIL_TIMEOUT", 15, minimum=1)
DEFAULT_FROM_EMAIL = env("DEFAULT_FROM_EMAIL", "callcentre@localhost")
# The public address of this service (https://callcentre.example), for links in mails; empty: mails have no links.
PUBLIC_URL = env("PUBLIC_URL").rstrip("/")
MAX_MAIL_MB = env_int("MAX_MAIL_MB", 50, minimum=1)
# Networks (CIDR) that are not public and may still hold mail servers. Only these may be used without encryption.
MAILBOX_ALLOWED_NETWORKS = env_list("MAILBOX_ALLOWED_NETWORKS")
# Our applications at Google and Microsoft 365, for mailboxes (docs/tickets.md). The service account is its JSON key.
GOOGLE_CLIENT_ID = env("GOOGLE_CLIENT_ID")
GOOGLE_CLIENT_SECRET = env("GOOGLE_CLIENT_SECRET")
GOOGLE_SERVICE_ACCOUNT = env("GOOGLE_SERVICE_ACCOUNT")
MICROSOFT_TENANT = env("MICROSOFT_TENANT")
MICROSOFT_CLIENT_ID = env("MICROSOFT_CLIENT_ID")
MICROSOFT_CLIENT_SECRET = env("MICROSOFT_CLIENT_SECRET")
# The names of our receiving servers in Authentication-Results; "-" is a header without a name, as of Microsoft 365.
AUTHENTICATION_SERVERS = env_list("AUTHENTICATION_SERVERS")
# Headers by which our receiving server calls a mail spam: NAME (a value such as Yes), or NAME=VALUE.
SPAM_HEADERS = env_list("SPAM_HEADERS", "X-Spam-Flag,X-Spam-Status,X-Spam")
# Addresses of supervisors, who get a mail when a person must act: for example when a webhook is disabled.
SUPERVISOR_EMAILS = env_list("SUPERVISOR_EMAILS")

CELERY_BROKER_URL = REDIS_URL

LOGGING = logging_config(level=env("LOG_LEVEL", "INFO").upper(), as_json=env_bool("LOG_JSON", True))
