from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.filters import BooleanFilter, FilterSet
from callcentre.api.openapi import array, boolean, number, operation, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.errors import ErrorCode, Fault, Invalid, NotFound
from callcentre.core.parsing import Reject
from telephony.api.connections import connection_or_404
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


PART = shape(
    "TranscriptionPart",
    "An utterance.",
    begin=number("Seconds from the start of the recording.", 4.2, minimum=0),
    end=number("When it ends, likewise.", 7.9, minimum=0),
    speaker=text(
        "`USER` is the agent; `UNKNOWN` an unrecognised speaker.",
        "CUSTOMER",
        enum=["USER", "CUSTOMER", "UNKNOWN"],
    ),
    text=text("The words.", "I am calling about my invoice."),
)
SUMMARY = shape(
    "TranscriptionSummaryItem",
    "One point of the summary.",
    content=text("The point, in a sentence.", "The customer asks for a copy of invoice 0815."),
    important=boolean("Whether it matters more than others.", example=True),
)
SENTIMENT = shape(
    "TranscriptionSentiment",
    "The mood of the customer.",
    sentiment=text("In one word.", "POSITIVE", enum=["POSITIVE", "NEUTRAL", "NEGATIVE"]),
    justification=text("The reason for this judgement.", "The customer thanks the agent twice."),
)
CRITERION = shape(
    "EvaluatedCriterion",
    "Whether the call meets a criterion of the back office.",
    criteriaId=text("Id of the criterion.", "3"),
    fulfilled=boolean("Whether it does.", example=True),
)
RATIO = shape(
    "TalkListenSilenceRatio",
    "Per cent of the call's length; they sum to 100. What both say at once is half talking and half listening.",
    talk=number("The agent talks.", 41.5, minimum=0, maximum=100),
    listen=number("The customer talks.", 46.25, minimum=0, maximum=100),
    silence=number("Both are silent.", 12.25, minimum=0, maximum=100),
)
TRANSCRIPTION = shape(
    "Transcription",
    "The words of a call and, if requested and available, their analysis by a model.",
    optional=("summary", "sentiment", "evaluatedCriteria", "talkListenSilenceRatio"),
    status=text(
        "`PENDING` until it is ready or has failed; `LIMIT_EXCEEDED` when the month's minutes were used up.",
        "SUCCESS",
        enum=Transcription.Status.values,
    ),
    parts=array(PART, "In the order in which they begin; empty unless `SUCCESS`, but for an analysis that failed."),
    summary=array(SUMMARY, "Summary; with `includeSummary`."),
    sentiment=SENTIMENT,
    evaluatedCriteria=array(CRITERION, "With `includeEvaluatedCriteria`."),
    talkListenSilenceRatio=RATIO,
)


class TranscriptionViewSet(ApiViewSet):
    """Transcriptions of calls."""

    area = "connections"

    @operation(
        "read_transcription",
        "Read the transcription of a connection",
        "An extra that was not asked for is absent, and so is one that is not available: without an"
        " analysing model, without criteria, or if the speakers were not recognised.",
        is_extension=False,
        filter_set=TranscriptionExtras,
        answer=TRANSCRIPTION,
        missing=[ErrorCode.TRANSCRIPTION_NOT_FOUND, ErrorCode.TRANSCRIPTION_NOT_CONFIGURED],
    )
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
