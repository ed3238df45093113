"""The entry point of the web server: `granian --interface asginl callcentre.asgi:application`."""

import gc

from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application

from callcentre.environment import env_int, read_settings
from callcentre.launch.children import end_with_parent

end_with_parent()
read_settings()


class Utf8Request(WSGIRequest):
    """A request whose text is UTF-8, also if its Content-Type names another charset.

    Django decodes the query with that charset before any middleware runs. With `hex` the request would fail, and with
    `utf-7` plain ASCII would become half a surrogate pair.
    """

    @property
    def encoding(self) -> str:
        return "utf-8"

    @encoding.setter
    def encoding(self, charset: str | None) -> None:
        """Ignore it."""


_django = get_wsgi_application()
_django.request_class = Utf8Request

# Imported only once Django is set up.
from django.conf import settings  # noqa: E402

from callcentre.checks import refuse_unsafe_settings  # noqa: E402
from callcentre.core.data_stack import with_room  # noqa: E402
from callcentre.core.file_store import mark_folder  # noqa: E402
from callcentre.core.phone import warm_up  # noqa: E402
from callcentre.core.transactions import limit_lock_waits  # noqa: E402
from callcentre.web.bodies import allowance  # noqa: E402
from callcentre.web.front import Front  # noqa: E402

refuse_unsafe_settings()
warm_up()
# A request that waits for a row of a long transaction, such as an import, blocks a thread. After so many seconds it is
# answered 409.
limit_lock_waits(env_int("DATABASE_LOCK_TIMEOUT", 3))
mark_folder()
# Objects loaded so far stay for ever, so the garbage collector need not scan them, and it runs at every 20,000th
# instead of every 700th new object. A batch of 10,000 records is a tenth of a second faster.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 20)

application = Front(
    with_room(_django),
    allowance,
    threads=settings.WEB_THREADS,
    body_seconds=settings.BODY_TIMEOUT_SECONDS,
)
