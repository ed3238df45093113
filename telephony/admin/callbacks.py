"""Call-backs and missed callers: who waits for a call of us, and whom no agent has answered."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, ngettext_lazy
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin import ReadOnlyAdmin, UncountedMixin, actor_of, column, confirm_first, display, link_to, needs
from callcentre.admin.lists import ConditionFilter
from callcentre.admin.scope import AutocompleteSelectMultipleFilter
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.statements import rows_of
from callcentre.core.times import second, spell_length
from telephony.admin.call_columns import CallPartsAdmin, CustomerColumn
from telephony.admin.report_filter import CountedCallBacks, CountedMissed
from telephony.calls import callbacks
from telephony.models import CallBack, Connection, MissedCaller
from telephony.numbers import comparable, is_number

State = CallBack.State
STATES: dict[str, str] = {State.WAITING: "info", State.CALLING: "warning", State.ENDED: "default"}
RESULTS: dict[str, str] = {
    CallBack.Disposition.ANSWERED: "success",
    CallBack.Disposition.BUSY: "warning",
    CallBack.Disposition.NO_ANSWER: "warning",
    CallBack.Disposition.FAILED: "danger",
    CallBack.Disposition.CANCELLED: "default",
    "": "default",
}
OUTCOMES = {colour: colour for colour in ("success", "info", "warning", "danger")}
# The last call to each number since the caller was missed, and whether a call-back of the number is open.
_TRIES = """
SELECT m.id, c.id, c.created_at, c.disposition, a.login,
  EXISTS (SELECT FROM telephony_callback b WHERE b.number = k.src_number AND b.state <> 'ended')
FROM telephony_missedcaller m JOIN telephony_connection k ON k.id = m.connection_id
LEFT JOIN LATERAL (
  SELECT id, created_at, disposition, agent_id FROM telephony_connection
  WHERE dst_number = k.src_number AND created_at >= m.missed_at AND direction = 'OUTBOUND' AND k.src_number <> ''
  ORDER BY created_at DESC, id DESC LIMIT 1
) c ON true
LEFT JOIN telephony_agent a ON a.id = c.agent_id
WHERE m.id = ANY(%s)
"""


def _call(call: Connection | None, read: Callable[[Connection], str] = attrgetter("uid")) -> str:
    """Return a link to the call, if there is one, with its id or another of its facts."""
    return link_to(call, read(call)) if call else "–"


@admin.register(CallBack)
class CallBackAdmin(CustomerColumn, UncountedMixin, ReadOnlyAdmin):
    """Call-backs, in the order in which they were asked for: which wait, and how the others ended."""

    has_own_history = True  # never edited: Django's history would be empty
    list_display = ("asked", "number", "customer", "queue", "shown_state", "result", "attempts", "login", "place")
    list_display_links = ("asked",)
    list_further = ("origin", "not_before", "wait", "caller_call", "last_call", "id")
    list_filter = (*(("state", ChoicesDropdownFilter), ("queue", AutocompleteSelectMultipleFilter)), CountedCallBacks)
    date_column = "created_at"
    joined = ("queue", "agent", "caller", "connection")
    search_fields = ("number",)
    search_help_text = _("Number in any spelling")
    actions = ("cancel_selected",)
    has_cancel_permission = needs("telephony.change_callback")
    fields = (
        *("number", "customer", "queue", "origin", "state", "disposition", "attempts", "asked", "place", "not_before"),
        *("wait", "login", "last_call", "caller_call"),
    )
    readonly_fields = fields

    asked = column(lambda row: second(row.created_at), description=_("asked for at"))
    place = column(lambda row: second(row.waiting_since), description=_("place in the queue"))
    not_before = column(lambda row: second(row.next_attempt_at), description=_("not before"))
    shown_state = column(lambda row: (row.state, row.get_state_display()), description=_("state"), label=STATES)
    result = column(
        lambda row: (row.disposition, row.get_disposition_display() or "–"), description=_("result"), label=RESULTS
    )
    wait = column(lambda row: spell_length(row.wait_seconds) if row.ended_at else "–", description=_("waiting"))
    login = column(lambda row: row.agent.login if row.agent else "–", description=_("agent"))
    caller_call = column(lambda row: _call(row.caller), description=_("call of the caller"))
    last_call = column(lambda row: _call(row.connection), description=_("last call"))

    def found(self, request: HttpRequest, rows: QuerySet[CallBack], text: str) -> QuerySet[CallBack]:
        return rows.filter(number=comparable(text))

    @admin.action(description=_("Cancel"), permissions=["cancel"])
    @confirm_first(_("The numbers are not called any more."), state=State.WAITING)
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[CallBack]) -> None:
        said = ngettext_lazy("%(count)s call-back cancelled.", "%(count)s call-backs cancelled.", "count")
        self.apply_and_say(request, queryset, callbacks.cancel, said)


class AnswerFilter(ConditionFilter):
    """A filter that shows the callers without an answer unless others are asked for."""

    title = _("answer")
    parameter_name = "answer"
    conditions = {
        "none": (_("without an answer"), Q(answered_by=None)),
        "answered": (_("answered later"), Q(answered_by__isnull=False)),
        "all": (_("all"), Q()),
    }

    def value(self) -> str:
        return super().value() or "none"


@admin.register(MissedCaller)
class MissedCallerAdmin(CallPartsAdmin):
    """Callers whom no agent answered, and why: first those who still wait for an answer."""

    list_display = ("missed", "customer", "number", "queue", "why", "outcome", "who", "when")
    list_display_links = ("missed",)
    list_further = ("call", "id")
    list_filter = (
        *(AnswerFilter, ("reason", ChoicesDropdownFilter), ("queue", AutocompleteSelectMultipleFilter)),
        CountedMissed,
    )
    newest_by = date_column = "missed_at"
    joined = ("connection", "queue", "answered_by__agent")
    actions = ("call_back",)
    has_call_back_permission = needs("telephony.add_callback")
    sentences = {ErrorCode.QUEUE_UNKNOWN: _("The caller was in no active queue. Call the number from the desk.")}
    fields = ("missed", "customer", "number", "queue", "why", "call_link", "outcome_said", "who", "when")
    readonly_fields = fields

    missed = column(lambda row: second(row.missed_at), description=_("missed at"))
    outcome = column(lambda row: row.outcome_shown, description=_("called back"), label=OUTCOMES)
    outcome_said = column(lambda row: row.outcome_shown[1], description=_("called back"))
    who = column(lambda row: row.tried_by or "–", description=_("by"))
    when = column(lambda row: _call(row.tried, lambda call: second(call.created_at)), description=_("last call"))

    def complete_rows(self, rows: Sequence[Any]) -> None:
        super().complete_rows(rows)
        tries = {pk: rest for pk, *rest in rows_of(_TRIES, [[row.pk for row in rows]])}
        for row in rows:
            call_id, at, disposition, login, has_callback = tries[row.pk]
            answer = row.answered_by
            if answer:
                call_id, at, login = answer.pk, answer.created_at, answer.agent.login if answer.agent else ""
            row.tried = Connection(pk=call_id, created_at=at) if call_id else None
            row.tried_by = login or ""
            if answer:
                row.outcome_shown = "success", _("answered")
            elif has_callback:
                row.outcome_shown = "info", _("a call-back waits")
            elif call_id:
                label = Connection.Disposition(disposition).label if disposition else _("is called")
                row.outcome_shown = "warning", label
            else:
                row.outcome_shown = "danger", _("not called back")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        if row := super().get_object(request, object_id, from_field):
            self.complete_rows([row])
        return row

    @display(description=_("reason"))
    def why(self, row: MissedCaller) -> str:
        wait = row.connection.wait_seconds
        is_of_wait = wait and row.reason in (MissedCaller.Reason.GAVE_UP, MissedCaller.Reason.OVERFLOWED)
        reason = row.get_reason_display()
        return format_html("{} ({})", reason, spell_length(wait)) if is_of_wait else str(reason)

    @admin.action(description=_("Call back"), permissions=["call_back"])
    @confirm_first(_("Agents of the last queue call the numbers in their turn."))
    def call_back(self, request: HttpRequest, queryset: QuerySet[MissedCaller]) -> None:
        def ask(row: MissedCaller) -> bool:
            """Ask for a call-back of the last queue. Return false if one waits already."""
            if not is_number(row.connection.src_number):
                raise Invalid([Fault(ErrorCode.CALLER_WITHOUT_NUMBER)])
            values: dict[str, Any] = {"queue_id": row.queue_id, "phone_number": row.connection.src_number}
            try:
                callbacks.ask(actor_of(request), **values, origin=CallBack.Origin.PERSON, caller=row.connection)
            except Conflict:
                return False
            return True

        count = self.apply_to_each(request, queryset, ask, subject=lambda row: row.connection.src)
        sentence = ngettext("%(count)s caller is called back.", "%(count)s callers are called back.", count)
        self.say_done(request, sentence, count)
