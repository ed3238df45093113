"""The numbers of a record, and the one that the next attempt calls."""

from dataclasses import dataclass

from campaigns.models import AdditionalNumber, Attempt, Campaign, Record

# After these outcomes a campaign that turns by outcome calls the next number.
_TURNING = frozenset((Attempt.Outcome.NO_ANSWER, Attempt.Outcome.MACHINE, Attempt.Outcome.FAILED))


@dataclass(frozen=True, slots=True)
class CallableNumber:
    """A number of a record: as it was sent, and in its normal form."""

    phone_number: str
    number: str


def numbers_of(record: Record) -> list[CallableNumber]:
    """Return the numbers of the record that are not marked wrong: its own first, then the additional ones."""
    own = [] if record.is_number_wrong else [CallableNumber(record.phone_number, record.number)]
    more = AdditionalNumber.objects.filter(record_id=record.pk, is_wrong=False).order_by("id")
    return own + [
        CallableNumber(phone_number, number) for phone_number, number in more.values_list("phone_number", "number")
    ]


def next_number(campaign: Campaign, record: Record) -> CallableNumber | None:
    """Return the number whose turn it is, or None if the record has no number left."""
    found = numbers_of(record)
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    made = Attempt.objects.filter(record_id=record.pk).exclude(outcome=Attempt.Outcome.NOT_DIALLED)
    last = made.order_by("-dialled_at", "-id").values_list("number", "outcome").first()
    if last is None:
        return found[0]
    number, outcome = last
    position = next((place for place, entry in enumerate(found) if entry.number == number), -1)
    if campaign.number_turn == Campaign.NumberTurn.BY_OUTCOME and outcome not in _TURNING and position >= 0:
        return found[position]
    return found[(position + 1) % len(found)]
