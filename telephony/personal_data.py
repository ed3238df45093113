"""The table of what the models of telephony have of a person (callcentre/core/personal_data.py).

A call is a person's by its customer, or by the number of the other side. Calls stay without the person: they are the
ledger of agents' work.
"""

from typing import Any

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from callcentre.core.deletions import Deletion
from callcentre.core.personal_data import SETTINGS, STAFF, WORK, Data, Fate, Nothing, Person
from telephony import models
from telephony.deletions import forget_calls, priorities_of

_CALLS_STAY = _("Calls keep time, agent, queue and result; number, customer, recording and notes of the topic go.")


def is_call_of(person: Person) -> Q:
    """Return the condition of their calls. A number that a customer of its own has is not named."""
    inbound = models.Connection.Direction.INBOUND
    caller, called = Q(src_number__in=person.numbers), Q(dst_number__in=person.numbers)
    theirs = caller & Q(direction=inbound) | called & ~Q(direction=inbound)
    return Q(customer_id__in=person.customers) | theirs & Q(customer_id=None)


def calls_of(person: Person) -> "QuerySet[models.Connection]":
    return models.Connection.objects.filter(is_call_of(person))


def callbacks_of(person: Person) -> "QuerySet[models.CallBack]":
    return models.CallBack.objects.filter(Q(customer_id__in=person.customers) | Q(number__in=person.numbers))


def _priorities_of(person: Person) -> "QuerySet[models.CallerPriority]":
    ids = priorities_of(person.customers)
    return models.CallerPriority.objects.filter(Q(pk__in=ids) | Q(number__in=person.numbers))


def _of_calls(model: Any, **more: Any) -> Any:
    return lambda person: model.objects.filter(connection__in=calls_of(person).order_by().values("pk"), **more)


def remove_person(deletion: Deletion, person: Person) -> None:
    """Delete call-backs and priorities, and empty the calls. Raises Busy while one of the calls is open."""
    with deletion.step() as deleted:
        deleted["telephony.callerpriority"] += _priorities_of(person).delete()[0]
    forget_calls(deletion, is_call_of(person), callbacks_of(person))


TABLE: dict[type[Model], Data | Nothing] = {
    models.Connection: Data("src dst src_number dst_number caller_id", calls_of, Fate.EMPTIED, _CALLS_STAY),
    models.Leg: Data("number", _of_calls(models.Leg, role=models.Leg.Role.CUSTOMER), Fate.EMPTIED, _CALLS_STAY),
    models.ConnectionTopic: Data("comment fields", _of_calls(models.ConnectionTopic), Fate.EMPTIED, _CALLS_STAY),
    models.Recording: Data(
        "name",
        lambda person: _of_calls(models.Recording)(person).exclude(state=models.Recording.State.REMOVED),
        file="file",
    ),
    models.Transcription: Data("parts summary sentiment evaluated_criteria", _of_calls(models.Transcription)),
    models.CallBack: Data("number", callbacks_of),
    models.CallerPriority: Data(
        "number remark",
        _priorities_of,
    ),
    models.Transfer: Data("number note", _of_calls(models.Transfer), Fate.EMPTIED, _CALLS_STAY),
    models.Consultation: Data("number note", _of_calls(models.Consultation), Fate.EMPTIED, _CALLS_STAY),
    models.CallCommand: Data("arguments"),
    models.AgentMessage: Data("text"),
    models.SwitchCommand: Data("arguments answer"),
    models.CallerMessage: Nothing("a recording, which is at its call"),
    **SETTINGS.of(
        models,
        "AgentGroup Pause Queue QueueMember OpeningHours Menu MenuEntry Prompt ScreenPop TransferShortcut Skill "
        "RequiredSkill TopicGroup Topic TopicField EvaluationCriterion",
    ),
    **STAFF.of(models, "Agent BrowserPhone AgentSession AgentState AgentSkill Supervision"),
    **WORK.of(
        models,
        "LedgerChange AgentLine Offer Talk CallQuality MissedCaller CallerStep SwitchContact TranscriptionUsage",
    ),
}
