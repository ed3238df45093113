"""Bodies of requests: the bytes that may be read, by sender and address, and the pages that accept files.

Nothing is read before the sender is known: the API needs a right credential, the admin needs a session.
"""

import logging
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler, TemporaryFileUploadHandler
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, parse_cookie
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve, reverse

from callcentre.api.authentication import KNOWN, look_up
from callcentre.core.errors import is_database_away
from callcentre.core.free_space import is_full
from callcentre.models import User
from callcentre.monitoring import metrics
from callcentre.signin.enforcement import admitted
from callcentre.web import error_pages
from callcentre.web.front import BODY_FAULT

logger = logging.getLogger(__name__)

MB = 1024 * 1024
# Pages for strangers: the log-in, the choice of a language, a rating.
OPEN_FORM_BYTES = 64 * 1024
# Pages of the admin that receive forms before a log-in: all below the log-in, and the choice of a language.
LOG_IN, LOG_OUT, LANGUAGE = "/admin/login/", "/admin/logout/", "/admin/language"
# The addresses of control of calls and dialling, whose rows are small, and of deletions, which make space.
CONTROLS = re.compile(
    r"/api/(?:outbounds/[^/]+/dialer/\w+|system/dialing|agents/[^/]+/(?:login|logout|pause|free|line|preview/\w+)"
    r"|connections/[^/]+/(?:hangup|hold|resume|transfer|result))/?"
    r"|/admin/(?:desk/.*|campaigns/(?:campaign/\d+/dialling|diallingswitch)/.*|.*/delete/)"
)
# The size of a form without its files.
FIELDS_BYTES = MB


def file_forms() -> dict[str, int]:
    """Return the pages of the admin whose forms accept files, each with the most bytes of files."""
    upload = settings.MAX_UPLOAD_MB * MB
    return {
        "admin:campaigns_campaign_drop_message": upload,
        "admin:campaigns_recordimport_add": settings.MAX_IMPORT_MB * MB,
        "admin:knowledgebase_article_images": upload,
        # Prompts.
        **dict.fromkeys(
            (f"admin:telephony_{model}_{page}" for model in ("menu", "queue") for page in ("add", "change")), 4 * upload
        ),
        "admin:telephony_transfershortcut_add": upload,
        "admin:telephony_transfershortcut_change": upload,
        # Larger attachments get an error on the page, which keeps the written text.
        "admin:tickets_ticket_add": 2 * upload,
        "admin:tickets_ticket_change": 2 * upload,
    }


def allowance(environ: dict[str, Any]) -> int:
    """Return how many bytes of the body may be read; 0 for an unknown sender.

    The API user's row is handed on to authentication, which then does not query again.
    """
    if is_refused_for_space(environ["REQUEST_METHOD"], environ["PATH_INFO"]):
        environ[BODY_FAULT] = 507
        return 0
    try:
        limit, length = _limit_of_sender(environ), int(environ.get("CONTENT_LENGTH") or 0)
    except (OperationalError, InterfaceError) as error:
        if not is_database_away(error):
            raise
        # It may answer again before the request is looked at, which would then miss its body.
        logger.exception("the database does not answer")
        environ[BODY_FAULT] = 503
        return 0
    if length <= limit and is_refused_for_space(environ["REQUEST_METHOD"], environ["PATH_INFO"], length):
        environ[BODY_FAULT] = 507
        return 0
    return limit


def _limit_of_sender(environ: dict[str, Any]) -> int:
    metrics.count_queries(environ.setdefault(metrics.QUERIES, metrics.QueryCount()))
    path = environ["PATH_INFO"].encode("latin-1").decode(errors="replace")
    if is_of_api(path):
        known = environ[KNOWN] = look_up(environ)
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE) if known is not None and known.is_welcome else 0
    if not _wants_session(path):
        return OPEN_FORM_BYTES
    user = _session_user(environ)
    return limit_of(path, _view_name(path), user) if user is not None else 0


def limit_of(path: str, view_name: str, user: User | AnonymousUser) -> int:
    """Return how many bytes a body may have at this page; files count only for users who may send them."""
    if not _wants_session(path):
        return OPEN_FORM_BYTES
    files = file_forms().get(view_name)
    if files is None or not _may_write(view_name, user):
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return files + FIELDS_BYTES


def _may_write(view_name: str, user: User | AnonymousUser) -> bool:
    """Return whether the user may add or change rows of the page's model."""
    app, model = view_name.removeprefix("admin:").split("_")[:2]
    model_admin = admin.site._registry[apps.get_model(app, model)]
    request = HttpRequest()
    request.user = user
    return model_admin.has_add_permission(request) or model_admin.has_change_permission(request)


def is_refused_for_space(method: str, path: str, length: int = 0) -> bool:
    """Return whether the request writes, and a volume is full or would be.

    Even then people log in and out, calls and dialling are controlled, and rows are deleted.
    """
    is_write = method not in ("GET", "HEAD", "OPTIONS", "DELETE")
    is_kept_out = (is_of_api(path) or (_wants_session(path) and path != LOG_OUT)) and not CONTROLS.fullmatch(path)
    return is_write and is_kept_out and is_full(length)


def is_of_api(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")


def _wants_session(path: str) -> bool:
    return path.startswith("/admin/") and path != LANGUAGE and not path.startswith(LOG_IN)


def _view_name(path: str) -> str:
    try:
        return resolve(path).view_name
    except Resolver404:
        return ""


def _session_user(environ: dict[str, Any]) -> User | None:
    """Return the back-office user of the request's session. Unlike `get_user`, never change the session."""
    key = parse_cookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)
    if not key or not key.isalnum():
        return None
    try:
        return _user_of(key)
    except (OperationalError, InterfaceError):  # the connection died while it was idle
        connection.close()
        return _user_of(key)


def _user_of(key: str) -> User | None:
    session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user_id = session.get(SESSION_KEY)
    return None if user_id is None else admitted(User.objects.filter(pk=user_id, is_active=True, is_staff=True)).first()


class NoFiles(FileUploadHandler):
    """The upload handler of every page that accepts no file."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise TooManyFilesSent("This page takes no file.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        raise TooManyFilesSent("This page takes no file.")

    def file_complete(self, file_size: int) -> None:
        return None


class BodyMiddleware:
    """The middleware that refuses a body by its length before it is read, and lets some pages store files.

    It runs before Django's protection of forms, which reads them.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if status := request.META.get(BODY_FAULT):
            return error_pages.refuse_body(request, status)
        if is_refused_for_space(request.method or "", request.path_info):
            return error_pages.refuse_body(request, 507)
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        if not length or is_of_api(request.path_info):
            return None
        match = request.resolver_match
        name = match.view_name if match else ""
        if _wants_session(request.path_info) and not (request.user.is_active and request.user.is_staff):
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        limit = limit_of(request.path_info, name, request.user)
        if length > limit:
            return error_pages.refuse_body(request, 413, file_forms().get(name, limit) // MB)
        if name in file_forms():
            request.upload_handlers = [TemporaryFileUploadHandler(request)]
        return None
