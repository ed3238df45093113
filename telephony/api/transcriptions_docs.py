"""Documents of the API: transcriptions."""

from callcentre.api.openapi import Operation, array, boolean, document, number, path, shape, text
from callcentre.core.errors import ErrorCode
from telephony.api.transcriptions import TranscriptionExtras, TranscriptionViewSet
from telephony.models import Transcription

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

document(
    TranscriptionViewSet,
    {"connection_id": path("id", "Id of the connection.", "1416225570.341", ErrorCode.CONNECTION_NOT_FOUND)},
    retrieve=Operation(
        id="read_transcription",
        summary="Read the transcription of a connection",
        description=(
            "An extra that was not asked for is absent, and so is one that is not available: without an analysing"
            " model, without criteria, or if the speakers were not recognised."
        ),
        filter_set=TranscriptionExtras,
        answer=TRANSCRIPTION,
        missing=(ErrorCode.TRANSCRIPTION_NOT_FOUND, ErrorCode.TRANSCRIPTION_NOT_CONFIGURED),
    ),
)
