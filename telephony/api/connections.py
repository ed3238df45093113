from typing import Any, cast

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.field_tables import properties, row_writer
from callcentre.api.filters import BooleanFilter, FilterSet, IdFilter, InstantFilter, TextFilter
from callcentre.api.openapi import array, boolean, count, number, operation, page, second, shape, text
from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.errors import ErrorCode, Fault, Invalid, NotFound
from callcentre.core.lookups import found_or_404
from callcentre.core.parsing import Reject
from telephony import connection_rows
from telephony.models import Agent, Connection, Consultation, Recording, Transcription
from telephony.models.connection import ConnectionQuerySet
from telephony.models.connection_fields import CONNECTION_FIELDS, DETAIL_FIELDS, FILTER_SENTENCES
from telephony.models.transcription import is_configured
from telephony.numbers import comparable
from telephony.talk_ratio import ratio


class NumberFilter(TextFilter):
    """A number in any spelling."""

    def parse(self, text: str) -> str:
        return comparable(super().parse(text))


class LoginFilter(TextFilter):
    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        # The key is looked up first: with a join the planner does not use the order of the agent's index, with a
        # subquery it does not know the number of the agent's calls.
        pk = Agent.objects.filter(login=value).order_by().values_list("pk", flat=True).first()
        return qs.filter(agent_id=pk) if pk else qs.none()


class UidFilter(TextFilter):
    def filter(self, qs: ConnectionQuerySet, value: Any) -> QuerySet[Any]:
        return qs.with_uid(value)


class ConnectionFilterSet(FilterSet):
    date_from = InstantFilter(field_name="created_at", lookup_expr="gte", help_text="First start.")
    date_to = InstantFilter(field_name="created_at", lookup_expr="lte", is_upper_bound=True, help_text="Last start.")
    user_login = LoginFilter(help_text=FILTER_SENTENCES["user_login"])
    agent_login = LoginFilter(help_text="The same as `user_login`.")
    queue_id = IdFilter(field_name="queue", help_text=FILTER_SENTENCES["queue_id"])
    src = NumberFilter(field_name="src_number", help_text=FILTER_SENTENCES["src"])
    dst = NumberFilter(field_name="dst_number", help_text=FILTER_SENTENCES["dst"])
    connection_id = UidFilter(help_text=FILTER_SENTENCES["connection_id"])


_listed, _detailed = row_writer(CONNECTION_FIELDS), row_writer(DETAIL_FIELDS)


CONNECTION = shape("Connection", "A call, in or out.", **properties(CONNECTION_FIELDS))
TALK = shape(
    "Talk",
    "The time for which one agent talked with the customer.",
    agent_login=text("The agent's login.", "agent1"),
    started_at=second("Start: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:07"),
    seconds=count("Whole seconds, time on hold included; 0 for an open talk.", 58),
)
CONSULTATION = shape(
    "Consultation",
    "An agent or a number that the agent of the call has called to ask for advice.",
    from_agent_login=text("Login of the agent who asked.", "agent1"),
    agent_login=text("Login of the agent who was called; an empty string for a number outside.", "agent2"),
    number=text("The number that was called.", "102"),
    asked_at=second("When it was called.", "2026-11-21 09:30:07"),
    up_at=second("When it was picked up; an empty string if it was not."),
    joined_at=second("From when on it talked with the customer; an empty string if it did not."),
    ended_at=second("When it left, or got the call; an empty string while it goes on."),
    reason=text("Why it was not picked up; an empty string if it was.", "", of="cause_text"),
)
CONNECTION_DETAILS = shape(
    "ConnectionDetails",
    "A call, in or out, with the cause of its end, the talk of each agent, and who was consulted.",
    **properties(DETAIL_FIELDS),
    talks=array(TALK, "In the order of their starts. A call that comes back to an agent is a further talk."),
    consultations=array(CONSULTATION, "In the order in which the phones were called."),
)


class ConnectionViewSet(ApiViewSet):
    """Calls, in and out, open and ended."""

    area = "connections"

    @operation(
        "list_connections",
        "List the connections",
        "Open and ended ones, newest first. A filter by an unknown agent or queue finds none. Numbers are"
        " compared in their normal form: `+48 22 555 01 07` finds `225550107`.",
        filter_set=ConnectionFilterSet,
        is_paged=True,
        answer=page(CONNECTION),
    )
    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        connections = ConnectionFilterSet.filtered(request, Connection.objects.all(), faults)
        count, rows = connection_rows.page(cast("ConnectionQuerySet", connections), limit, offset)
        return Response({"count": count, "result": [_listed(row) for row in rows]})

    @operation(
        "read_connection",
        "Read a connection",
        "The row of the list, the cause of the end of the call, and how long each agent talked. A call that"
        " was transferred has a talk for each agent.",
        answer=CONNECTION_DETAILS,
    )
    def retrieve(self, request: Request, connection_id: str) -> Response:
        row = connection_rows.details(Connection.objects.with_uid(connection_id))
        if row is None:
            raise NotFound(ErrorCode.CONNECTION_NOT_FOUND)
        talks = [TALK.data(talk) for talk in connection_rows.talks(row["id"])]
        asked = Consultation.objects.filter(connection=row["id"]).select_related("agent", "from_agent")
        consultations = [
            CONSULTATION.data(
                one, from_agent_login=one.from_agent.login, agent_login=one.agent.login if one.agent else ""
            )
            for one in asked
        ]
        return Response({**_detailed(row), "talks": talks, "consultations": consultations})


def connection_or_404(connection_id: str) -> Connection:
    return found_or_404(Connection.objects.with_uid(connection_id).first(), ErrorCode.CONNECTION_NOT_FOUND)


State = Recording.State
# The keys of an answer whose reading is logged: words, and what a model wrote about them.
WORDS = ("parts", "summary", "sentiment", "evaluatedCriteria")


class TranscriptionExtras(FilterSet):
    """The parameters that request extras."""

    includeSummary = BooleanFilter(help_text="Adds `summary`.")  # noqa: N815
    includeSentiment = BooleanFilter(help_text="Adds `sentiment`.")  # noqa: N815
    includeEvaluatedCriteria = BooleanFilter(help_text="Adds `evaluatedCriteria`.")  # noqa: N815
    includeTalkListenSilenceRatio = BooleanFilter(help_text="Adds `talkListenSilenceRatio`.")  # noqa: N815

    @classmethod
    def wanted(cls, request: Request) -> set[str]:
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
        "`USER` is the agent; `UNKNOWN` an unrecognised speaker.", "CUSTOMER", enum=["USER", "CUSTOMER", "UNKNOWN"]
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
