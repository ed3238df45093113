"""Lists of calls and of rows that belong to calls: their columns, player and search."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, ReadOnlyAdmin, UncountedMixin, column, display, link, link_to, unbroken
from callcentre.admin.scope import scope_of
from callcentre.core.times import second
from telephony.admin import connection_search
from telephony.admin.state_labels import minutes
from telephony.call_lookups import names_of_campaigns
from telephony.customers import customers_of, name_beside, pages_of_customers
from telephony.models import Connection, Recording
from telephony.numbers import comparable

CONVERSATION_STYLES = {"all": ("telephony/transcription.css",)}


def player_of(recording: Recording) -> str:
    """Return the link that plays a recording in its row, or the state of one that cannot be played."""
    if recording.state != Recording.State.READY:
        return f"{recording.get_state_display()}: {recording.error}".removesuffix(": ")
    address, length = reverse("admin:telephony_recording_audio", args=[recording.pk]), minutes(recording.seconds)
    label = _("Play the recording of %s") % length
    return format_html('<a class="cc-play" href="{}" aria-label="{}">{}</a>', address, label, length)


def _customer_link(row: Any, number: str) -> str:
    if row.known_customer is None:
        return str(row.customer_id or "–")
    customer, address = row.known_customer
    return link(address, name_beside(number, customer.label) or _("unknown"))


class CustomerColumn(Admin):
    """A column with the customer, for rows that have a number and the id of its customer."""

    def complete_rows(self, rows: Sequence[Any]) -> None:
        customers = pages_of_customers({row.customer_id for row in rows if row.customer_id})
        for row in rows:
            row.known_customer = customers.get(row.customer_id)

    @display(description=_("customer"))
    def customer(self, row: Any) -> str:
        if not hasattr(row, "known_customer"):  # on the page of a row
            self.complete_rows([row])
        return _customer_link(row, row.number)


def call_of(row: Any) -> Any:
    return row if isinstance(row, Connection) else row.connection


class CallsAdmin(UncountedMixin, ReadOnlyAdmin):
    """The base of lists whose rows are calls, or belong to one by `connection`."""

    has_own_history = True  # never edited: Django's history would be empty
    search_fields = ("id",)
    search_help_text = _("Agent, customer, number, queue, campaign, or id of the call")

    class Media:
        css = CONVERSATION_STYLES
        js = ("telephony/player.js",)

    start = column(lambda row: unbroken(second(call_of(row).created_at)), description=_("start"))
    login = column(lambda row: agent.login if (agent := call_of(row).agent) else "–", description=_("agent"))
    number = column(lambda row: unbroken(call_of(row).customer_number), description=_("number"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if search_term.strip():
            ids, is_cut = connection_search.ids_found(search_term, scope_of(request), self.model)
            queryset = self.rows_found(request, queryset, ids, connection_search.MAX_FOUND, is_cut=is_cut)
        return queryset, False

    def complete_rows(self, rows: Sequence[Any]) -> None:
        calls = [call_of(row) for row in rows]
        by_number = customers_of({comparable(call.customer_number) for call in calls if not call.customer_id})
        ids = {}
        for call in calls:
            known = by_number.get(comparable(call.customer_number))
            ids[id(call)] = call.customer_id or (known.id if known else 0)
        customers = pages_of_customers({pk for pk in ids.values() if pk})
        campaigns = names_of_campaigns({call.campaign_id for call in calls if call.campaign_id})
        for call in calls:
            call.known_customer = customers.get(ids[id(call)])
            call.campaign_name = campaigns.get(call.campaign_id, "")

    @display(description=_("customer"))
    def customer(self, row: Any) -> str:
        call = call_of(row)
        if not hasattr(call, "known_customer"):  # on the page of a row
            CallsAdmin.complete_rows(self, [row])
        return _customer_link(call, call.customer_number)

    @display(description=_("queue or campaign"))
    def place(self, row: Any) -> str:
        call = call_of(row)
        campaign = f"{call.campaign_code} {call.campaign_name}".strip()
        return str(call.queue or campaign or "–")


class CallPartsAdmin(CallsAdmin):
    """The base of lists whose rows belong to calls."""

    list_select_related: ClassVar[tuple[str, ...]] = ("connection__agent", "connection__queue")

    call = column(lambda row: row.connection.uid, description=_("Id of the call"))
    call_link = column(lambda row: link_to(row.connection, row.connection.uid), description=_("call"))


def recordings_of(calls: Iterable[Any]) -> dict[int, list[Recording]]:
    found: dict[int, list[Recording]] = defaultdict(list)
    for recording in Recording.objects.filter(connection__in=[call.pk for call in calls]).order_by("id"):
        found[recording.connection_id].append(recording)
    return found


def players_of(recordings: Iterable[Recording]) -> str:
    return format_html_join(" ", "{}", ((player_of(recording),) for recording in recordings)) or "–"
