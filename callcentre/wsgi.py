"""WSGI entry point: `granian --interface wsgi callcentre.wsgi:application`."""

import gc
import os
from collections.abc import Iterable
from tempfile import SpooledTemporaryFile
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application

from callcentre.checks import refuse_unsafe_settings
from callcentre.phone import warm_up

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
# A request that waits for a row which a long transaction holds, an import's above all, keeps a thread from everybody
# else: after so many seconds it is told to try again (409).
os.environ.setdefault("DATABASE_LOCK_TIMEOUT", "3")


class Utf8Request(WSGIRequest):
    """A request whose text is UTF-8, whatever charset its Content-Type names.

    Django decodes the query with that charset before any middleware runs: with one such as `hex` the request fails, and
    with `utf-7` plain ASCII becomes half a surrogate pair.
    """

    @property
    def encoding(self) -> str:
        return "utf-8"

    @encoding.setter
    def encoding(self, charset: str | None) -> None:
        """Ignore it."""


_django = get_wsgi_application()
_django.request_class = Utf8Request
refuse_unsafe_settings()
warm_up()
# What is loaded by now stays: without it in the collector's sight, and with a collection at every 20,000th instead of
# every 700th new object, a batch of 10,000 records loses no tenth of a second to looking at modules.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 20)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        _measure_body(environ)
    return _django(environ, start_response)


def _measure_body(environ: dict[str, Any]) -> None:
    """Give a chunked body its length, without which Django reads none of it; one byte over the limit is enough."""
    from django.conf import settings  # noqa: PLC0415  (not before get_wsgi_application)

    body = SpooledTemporaryFile(max_size=1024 * 1024)  # noqa: SIM115  (Django reads it after we return)
    left = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1
    while left > 0 and (piece := environ["wsgi.input"].read(min(left, 65536))):
        body.write(piece)
        left -= len(piece)
    environ["CONTENT_LENGTH"] = str(body.tell())
    body.seek(0)
    environ["wsgi.input"] = body
