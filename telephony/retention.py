"""The kinds of a retention: calls, agents' time and transcriptions (callcentre/core/retention.py)."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import CASCADE, SET_NULL, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from callcentre.core.file_removals import FileRemoval
from callcentre.core.retention import Kind, register
from telephony.models import AgentSession, AgentState, CallBack, CallerMessage, Connection, Recording, Transcription


def _calls(before: datetime) -> "QuerySet[Connection]":
    """Return old calls without a recording that the switch still has."""
    at_switch = Recording.objects.filter(connection=OuterRef("pk"), leaves_switch_at__isnull=False)
    ended = Connection.objects.filter(created_at__lt=before, ended_at__lt=before, state=Connection.State.ENDED)
    of_call = Q(caller=OuterRef("pk")) | Q(connection=OuterRef("pk"))
    waiting = CallBack.objects.filter(of_call).exclude(state=CallBack.State.ENDED)
    return ended.exclude(Exists(at_switch)).exclude(Exists(waiting))


def _delete_calls(ids: Sequence[int]) -> None:
    """Delete calls with all that belongs to them, table by table. None of the rows is read."""
    recordings = Recording.objects.filter(connection__in=ids)
    FileRemoval.add(sorted({path for row in recordings for path in (row.path, row.file.name or "")}))
    messages = CallerMessage.objects.filter(recording__in=recordings.values("pk"))
    messages._raw_delete(messages.db)
    callbacks = CallBack.objects.filter(Q(caller__in=ids) | Q(connection__in=ids), state=CallBack.State.ENDED)
    callbacks._raw_delete(callbacks.db)
    for relation in Connection._meta.related_objects:
        rows = relation.related_model._base_manager.filter(**{f"{relation.field.name}__in": ids})
        if relation.on_delete is CASCADE:
            rows._raw_delete(rows.db)
        elif relation.on_delete is SET_NULL:
            rows.update(**{relation.field.name: None})
    calls = Connection.objects.filter(pk__in=ids)
    calls._raw_delete(calls.db)


def register_kinds() -> None:
    register(
        connections=Kind(
            _("Calls"),
            _("Calls with legs, offers, talks, topics, recordings and transcriptions. The sums of the report stay."),
            _calls,
            _delete_calls,
            is_ledger=True,
        ),
        agent_states=Kind(
            _("States of agents"),
            _("When agents were free, in a call, in wrap-up or paused. The sums of the report stay."),
            lambda before: AgentState.objects.filter(started_at__lt=before, ended_at__lt=before),
            is_ledger=True,
        ),
        agent_sessions=Kind(
            _("Sessions of agents"),
            _("When agents logged in and out. The sums of the report stay."),
            lambda before: AgentSession.objects.filter(started_at__lt=before, ended_at__lt=before),
            is_ledger=True,
        ),
        transcriptions=Kind(
            _("Transcriptions"),
            _("The words of calls and their analysis. The calls stay."),
            lambda before: Transcription.objects.filter(finished_at__lt=before),
        ),
    )
