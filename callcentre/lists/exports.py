"""Exports of lists: asked for by a person, built by a worker."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import IO, Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import Claim
from callcentre.core.exporting.builds import Builder, Progress, Refused, written_once
from callcentre.core.exporting.formats import writer_of
from callcentre.core.scope import DIMENSIONS
from callcentre.lists.cells import columns_of
from callcentre.lists.listed import admin_of, list_of, person, query_of_log
from callcentre.lists.models import ListExport
from callcentre.models import User

RIGHT = "lists.add_listexport"
# Rows that are read together.
PORTION = 2_000


def ask_export(user: User, list_name: str, title: str, query: str, format_: str) -> ListExport:
    """Ask a worker for an export of a list with the filters, search, order and columns of its address."""
    with transaction.atomic():
        ListExport.objects.check_may_ask(user.actor)
        export: ListExport = ListExport.objects.ask(
            user.actor,
            name=title,
            changes={"list": [None, list_name], "query": [None, query_of_log(query)], "format": [None, format_]},
            list_name=list_name,
            list_title=title,
            query=query,
            format=format_,
            language=translation.get_language(),
            **user.scope.by_column,
        )
    return export


def build_next() -> bool:
    """Build the next export. Return False if there is none, or other workers build."""
    too_long = _("It would have taken longer than an hour. Filter the list further.")
    return Builder(ListExport, _write, Claim.finish, too_long).build_next()


def _write(export: ListExport, output: IO[bytes]) -> int:
    """Write all rows of the list, as of one instant. Return their number."""
    user = person(export.actor_id or 0)
    listed = _list_of(export, user)
    # Outside the transaction: another connection writes the progress to the same row.
    export.scope, export.search_limit = user.scope, listed.search_limit
    export.save(update_fields=[*DIMENSIONS, "search_limit"])
    done = written_once(export, output, lambda file, as_of: _write_rows(export, listed, file, as_of))
    # The right may have been taken away meanwhile.
    _list_of(export, person(user.pk))
    return done


def _write_rows(export: ListExport, listed: Any, output: IO[bytes], as_of: datetime) -> int:
    done, progress = 0, Progress(export, as_of)
    # A cursor reads its rows as of its opening.
    with transaction.atomic():
        columns = columns_of(listed.model_admin, listed.list_display)
        total = listed.queryset.order_by().count()
        writer = writer_of(export.format, output, columns, sheet=_now("List"))
        for rows in portions(listed.queryset):
            listed.model_admin.complete_rows(rows)
            writer.write(rows)
            done += len(rows)
            progress.tell(done / max(total, 1), done)
        writer.close()
    return done


def _list_of(export: ListExport, user: User) -> Any:
    if not user.has_perm(RIGHT):
        raise Refused(_("You may not export lists any more."))
    return list_of(admin_of(export.list_name), user, export.query)


def portions(rows: "QuerySet[Any]") -> Iterator[list[Any]]:
    """Yield the rows in lists, of which one at a time is in memory."""
    each = rows.iterator(chunk_size=PORTION)
    while portion := list(islice(each, PORTION)):
        yield portion
