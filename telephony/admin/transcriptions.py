"""Recordings and transcriptions: their lists, the player, and the conversation of a call.

The page of a call shows it with `telephony/_recordings.html` and `telephony/_transcription.html`, and the context of
`conversation_of`.
"""

import re
from collections.abc import Sequence
from typing import IO, Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin import DeletableMixin, UncountedChangeList, actor_of, column, display, needs
from callcentre.admin.scope import scope_of
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.times import spell_length
from telephony.admin.call_columns import CallPartsAdmin, player_of
from telephony.admin.state_labels import minutes
from telephony.models import Connection, EvaluationCriterion, Recording, Transcription, TranscriptionUsage
from telephony.talk_ratio import CUSTOMER, USER, ratio
from telephony.verbs import recordings as recording_verbs
from telephony.verbs import transcriptions as transcription_verbs

STATUSES: dict[str, str] = {
    Transcription.Status.PENDING: "info",
    Transcription.Status.SUCCESS: "success",
    Transcription.Status.ERROR: "danger",
    Transcription.Status.LIMIT_EXCEEDED: "warning",
}
STATES: dict[str, str] = {
    Recording.State.EXPECTED: "info",
    Recording.State.FETCHING: "info",
    Recording.State.READY: "success",
    Recording.State.FAILED: "danger",
    Recording.State.REMOVED: "warning",
}
SENTIMENTS = {
    "POSITIVE": ("success", _("positive")),
    "NEUTRAL": ("info", _("neutral")),
    "NEGATIVE": ("danger", _("negative")),
}
SPEAKERS = {USER: _("Agent"), CUSTOMER: _("Customer")}


def conversation_of(request: HttpRequest, connection: Connection) -> dict[str, Any]:
    """Return the recordings and the words of a call, as far as the user may see them, in four queries at most and
    two that log the reading of words or of their analysis.
    """
    recordings: Sequence[Recording] = ()
    if request.user.has_perm("telephony.view_recording"):
        recordings = list(connection.recordings.order_by("id"))
    context: dict[str, Any] = {"recordings": recordings, "transcription": None}
    if not request.user.has_perm("telephony.view_transcription"):
        return context
    transcription = Transcription.objects.filter(pk=connection.pk).first()
    if transcription is None:
        return context
    parts = transcription.parts or []
    if transcription.has_content:
        record_once(actor_of(request), AuditAction.READ_TRANSCRIPTION, transcription)
    sentiment = transcription.sentiment or {}
    colour, label = SENTIMENTS.get(sentiment.get("sentiment", ""), ("info", ""))
    return context | {
        "transcription": transcription,
        "status": {"colour": STATUSES[transcription.status], "label": transcription.get_status_display()},
        "lines": _lines(parts, connection, recordings),
        "ratio": ratio(parts, transcription.seconds) if transcription.status == "SUCCESS" else None,
        "sentiment": {"colour": colour, "label": label, "justification": sentiment.get("justification", "")},
        "criteria": _criteria(transcription.evaluated_criteria or []),
    }


def _lines(parts: Sequence[Any], connection: Connection, recordings: Sequence[Recording]) -> list[dict[str, Any]]:
    """Return the utterances. `player` and `at` are the recording of each and its second there."""
    agent = connection.agent.full_name or connection.agent.login if connection.agent else ""
    lines = []
    for part in parts:
        speaker = part["speaker"]
        who = agent if speaker == USER and agent else str(SPEAKERS.get(speaker, _("Unknown speaker")))
        player, at = _heard_in(part["begin"], recordings)
        said = {"speaker": speaker, "who": who, "clock": spell_length(part["begin"]), "text": part["text"]}
        lines.append({**said, "player": player, "at": at})
    return lines


def _heard_in(begin: float, recordings: Sequence[Recording]) -> tuple[int | None, float]:
    """Return the recording of a second of the conversation, and the second within that recording."""
    for recording in recordings:
        if recording.state == Recording.State.READY:
            if begin < recording.seconds:
                return recording.pk, round(begin, 2)
            begin -= recording.seconds
    return None, 0


def _criteria(evaluated: Sequence[Any]) -> list[dict[str, Any]]:
    names = {str(pk): name for pk, name in EvaluationCriterion.objects.values_list("pk", "name")} if evaluated else {}
    return [
        {"name": names.get(one["criteriaId"], one["criteriaId"]), "fulfilled": one["fulfilled"]} for one in evaluated
    ]


@admin.register(Transcription)
class TranscriptionAdmin(CallPartsAdmin):
    """Transcriptions, with the errors of failed ones."""

    list_display = ("start", "customer", "number", "login", "place", "state", "length", "sentiment_shown", "error")
    list_display_links = ("start",)
    list_further = ("call", "created_at")
    list_filter = (("status", ChoicesDropdownFilter),)
    list_before_template = "admin/telephony/minutes.html"
    actions = ("transcribe_again",)
    has_transcribe_permission = needs("telephony.change_transcription")
    fields = ("call_link", "created_at", "finished_at", "attempt_count", "requested_by")
    readonly_fields = fields
    change_form_outer_before_template = "telephony/_recordings.html"
    change_form_outer_after_template = "telephony/_transcription.html"
    state = column(lambda words: (words.status, words.get_status_display()), description=_("status"), label=STATUSES)
    length = column(lambda words: minutes(words.seconds), description=_("length"))

    def for_list(self, rows: QuerySet[Transcription]) -> QuerySet[Transcription]:
        return rows.defer("parts", "summary", "evaluated_criteria")

    @display(description=_("customer felt"))
    def sentiment_shown(self, transcription: Transcription) -> str:
        sentiment = (transcription.sentiment or {}).get("sentiment", "")
        return str(SENTIMENTS[sentiment][1]) if sentiment in SENTIMENTS else "–"

    @admin.action(description=_("Transcribe again"), permissions=["transcribe"])
    def transcribe_again(self, request: HttpRequest, queryset: QuerySet[Transcription]) -> None:
        outcomes = [transcription_verbs.request_again(transcription, actor_of(request)) for transcription in queryset]
        if done := sum(outcomes):
            sentence = ngettext("%(count)s call is transcribed again.", "%(count)s calls are transcribed again.", done)
            self.say_done(request, sentence, done)
        if left := len(outcomes) - done:
            sentence = ngettext(
                "%(count)s call was left as it is: its recording is gone, or there is no provider.",
                "%(count)s calls were left as they are: their recordings are gone, or there is no provider.",
                left,
            )
            self.message_user(request, sentence % {"count": left}, messages.WARNING)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        month = f"{timezone.localtime():%Y-%m}"
        used = TranscriptionUsage.objects.filter(month=month).values_list("seconds", flat=True).first() or 0
        minutes = {"used": used // 60, "limit": settings.TRANSCRIPTION_MONTHLY_MINUTES}
        configured = {"is_configured": bool(settings.TRANSCRIPTION_URL)}
        context = {**(extra_context or {}), "minutes": minutes, **configured}
        return super().changelist_view(request, context)

    def page_context(self, request: HttpRequest, obj: Transcription | None) -> dict[str, Any]:
        return conversation_of(request, obj.connection) if obj else {}


class RecordingChangeList(UncountedChangeList):
    """A list in the order of the start. The index of a state has the order of the ids."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        is_of_state = any(name.startswith("state__") for name in request.GET)
        return super().get_ordering(request, queryset) if is_of_state else ["-started_at", "-pk"]


@admin.register(Recording)
class RecordingAdmin(DeletableMixin, CallPartsAdmin):
    """Recordings, with the errors of failed ones."""

    deletion_kind = "recording"
    list_display = ("start", "heard", "customer", "number", "login", "place")
    list_display_links = ("start",)
    list_further = (
        *("name", "call", "started_at", "shown_state", "length", "error"),
        *("ready_at", "seconds", "size", "attempts", "id"),
    )
    list_filter = (("state", ChoicesDropdownFilter),)
    date_column = "started_at"
    actions = ("fetch_again",)
    has_fetch_permission = needs("telephony.change_recording")
    fields = ("call_link", "player", "started_at", "state", "length", "size", "ready_at", "attempt_count", "error")
    readonly_fields = fields

    attempts = column(lambda row: row.attempt_count, description=_("attempts"), ordering="attempt_count")
    heard = column(player_of, description=_("recording"))
    shown_state = column(lambda row: (row.state, row.get_state_display()), description=_("state"), label=STATES)
    length = column(lambda row: minutes(row.seconds), description=_("length"))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UncountedChangeList]:
        return RecordingChangeList

    @admin.action(description=_("Fetch again"), permissions=["fetch"])
    def fetch_again(self, request: HttpRequest, queryset: QuerySet[Recording]) -> None:
        count = sum(recording_verbs.fetch_again(recording, actor_of(request)) for recording in queryset)
        sentence = ngettext("%(count)s recording is fetched again.", "%(count)s recordings are fetched again.", count)
        self.say_done(request, sentence, count)

    @display(description=_("recording"))
    def player(self, recording: Recording) -> str:
        if recording.state != Recording.State.READY:
            return "–"
        address = reverse("admin:telephony_recording_audio", args=[recording.pk])
        return format_html('<audio controls preload="none" src="{}"></audio>', address)

    def get_urls(self) -> Any:
        return [self.url_to("<int:pk>/audio", self.audio, "audio"), *super().get_urls()]

    def audio(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        recording = scope_of(request).within(Recording.objects.ready()).filter(pk=pk).first()
        if recording is None:
            raise Http404(_now("There is no such recording any more."))
        try:
            file = default_storage.open(recording.file.name or "")
        except FileNotFoundError as error:
            raise Http404(_now("There is no such recording any more.")) from error
        record_once(actor_of(request), AuditAction.HEAR, recording)
        return sound(request, file.file or file, file.size, recording.filename)


_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})\Z")


class Unsatisfiable(Exception):
    """The requested range is beyond the end of the file."""


def sound(request: HttpRequest, file: IO[bytes], size: int, filename: str) -> HttpResponseBase:
    """Answer with the requested range of the file. Several ranges, or a malformed one, give the whole file."""
    try:
        span = _span(request.headers.get("Range", ""), size)
    except Unsatisfiable:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    first, last = span or (0, size - 1)
    response = FileResponse(Part(file, first, last - first + 1), status=206 if span else 200)
    if span:
        response["Content-Range"] = f"bytes {first}-{last}/{size}"
    response["Content-Length"] = str(last - first + 1)
    response["Content-Type"] = "audio/wav"
    response["Content-Disposition"] = f'inline; filename="{filename}"'
    response["Accept-Ranges"] = "bytes"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


def _span(header: str, size: int) -> tuple[int, int] | None:
    """Return the first and the last byte of the requested range; None for the whole file."""
    match = _RANGE.match(header.strip())
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":  # the last bytes
        if int(match[2]) == 0 or size == 0:
            raise Unsatisfiable
        return max(size - int(match[2]), 0), size - 1
    first, last = int(match[1]), min(int(match[2] or size - 1), size - 1)
    if match[2] and int(match[2]) < first:
        return None
    if first >= size:
        raise Unsatisfiable
    return first, last


class Part:
    """Some bytes of a file. A file, unlike a generator, occupies no thread while a paused player reads nothing."""

    def __init__(self, file: IO[bytes], first: int, count: int) -> None:
        file.seek(first)
        self._file, self._left = file, count

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        self._file.close()
