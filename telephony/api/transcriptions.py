from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.filters import BooleanFilter, FilterSet
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.errors import ErrorCode, Fault, Invalid, NotFound
from callcentre.core.parsing import Reject
from telephony.api.lookup import connection_or_404
from telephony.models import Connection, Recording, Transcription
from telephony.models.transcription import is_configured
from telephony.talk_ratio import ratio

State = Recording.State
# The keys of an answer whose reading is logged: words, and what a model wrote about them.
WORDS = ("parts", "summary", "sentiment", "evaluatedCriteria")


class TranscriptionExtras(FilterSet):
    """The parameters that request extras."""

    includeSummary = BooleanFilter(help_text="Adds `summary`.")  # noqa: N815
    includeSentiment = BooleanFilter(help_text="Adds `sentiment`.")  # noqa: N815
    includeEvaluatedCriteria = BooleanFilter(help_text="Adds `evaluatedCriteria`.")  # noqa: N815
    includeTalkListenSilenceRatio = BooleanFilter(help_text="Adds `talkListenSilenceRatio`.")  # noqa: N815

    class Meta:
        model = Transcription
        fields: tuple[str, ...] = ()

    @classmethod
    def wanted(cls, request: Request) -> set[str]:
        """Return the names of the requested extras in the answer."""
        wanted, faults = set(), []
        for name, filter_ in cls.base_filters.items():
            try:
                if filter_.read(request.query_params, name):
                    extra = name.removeprefix("include")
                    wanted.add(extra[0].lower() + extra[1:])
            except Reject as reject:
                faults.append(Fault(reject.fault.code, name))
        if faults:
            raise Invalid(faults)
        return wanted


class TranscriptionViewSet(ApiViewSet):
    """Transcriptions of calls."""

    area = "connections"

    def retrieve(self, request: Request, connection_id: str) -> Response:
        connection = connection_or_404(connection_id)
        transcription = Transcription.objects.filter(pk=connection.pk).first() or _coming(connection)
        data = transcription_data(transcription, TranscriptionExtras.wanted(request))
        if any(map(data.get, WORDS)):
            record_once(self.actor, AuditAction.READ_TRANSCRIPTION, transcription)
        return Response(data)


def _coming(connection: Connection) -> Transcription:
    """Return an empty transcription for a recording that will be transcribed. Raises NotFound if there is none."""
    states = set(connection.recordings.values_list("state", flat=True))
    if not states & {State.EXPECTED, State.FETCHING, State.READY}:
        raise NotFound(ErrorCode.TRANSCRIPTION_NOT_FOUND)
    if not is_configured():
        raise NotFound(ErrorCode.TRANSCRIPTION_NOT_CONFIGURED)
    return Transcription(connection=connection)


def _in_order(names: tuple[str, ...], entries: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Return the entries with their keys in order, which jsonb does not keep."""
    return None if entries is None else [{name: entry[name] for name in names} for entry in entries]


def transcription_data(transcription: Transcription, wanted: set[str]) -> dict[str, Any]:
    parts = _in_order(("begin", "end", "speaker", "text"), transcription.parts) or []
    data: dict[str, Any] = {"status": transcription.status, "parts": parts}
    if transcription.status != Transcription.Status.SUCCESS:
        return data
    extras = {
        "summary": transcription.summary,
        "sentiment": transcription.sentiment,
        "evaluatedCriteria": _in_order(("criteriaId", "fulfilled"), transcription.evaluated_criteria),
        "talkListenSilenceRatio": ratio(parts, transcription.seconds),
    }
    return data | {name: value for name, value in extras.items() if name in wanted and value is not None}
