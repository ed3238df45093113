"""The sentences of refusals for the agent at the desk, without the names of the wire."""

from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, is_lock_refusal
from campaigns.admin import record_form

SENTENCES = {
    **record_form.SENTENCES,
    ErrorCode.EMPTY: _("Fill this in first."),
    ErrorCode.NOT_INSTANT: _("This is no time for a next call."),
    ErrorCode.NOT_NUMBER: _("This is no number."),
    ErrorCode.NOT_DATE: _("This is no date."),
    ErrorCode.NEXT_CALL_REQUIRED: _("Enter the time of the next call first."),
    ErrorCode.AGENT_NOT_LOGGED_IN: _("Log in first."),
    ErrorCode.AGENT_IN_CALL: _("You are in a call."),
    ErrorCode.AGENT_WITHOUT_LINE: _("You have no standing line. A supervisor can give you one."),
    ErrorCode.SIP_UNKNOWN: _("You have no phone. A supervisor can enter your SIP number."),
    ErrorCode.TRANSFER_TARGET: _("Choose where the call goes."),
    ErrorCode.NO_OFFER: _("This record is not offered to you any more."),
    ErrorCode.RECORD_NOT_FOUND: _("The record is no longer there."),
    ErrorCode.TOPIC_OF_OTHER_QUEUE: _("This topic belongs to another queue."),
}


def sentences_of(error: Exception) -> list[str]:
    """Return the sentences of a refusal, each once. Raise other errors again."""
    match error:
        case Invalid():
            said = [_sentence(fault) for fault in error.faults]
        case Conflict():
            said = [_sentence(Fault(error.code))]
        case ValidationError():
            said = [str(sentence) for sentence in error.messages]
        case OperationalError() if is_lock_refusal(error):
            said = [_now("Another user is changing this. Try again.")]
        case _:
            raise error
    return list(dict.fromkeys(said))


def _sentence(fault: Fault) -> str:
    return fault.in_words(SENTENCES)
