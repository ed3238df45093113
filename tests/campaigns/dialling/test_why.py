"""The reasons why a record is not called now."""

from datetime import date, datetime, time, timedelta

import pytest
from django.utils import timezone
from django.utils.translation import override

from callcentre.core.actor import SYSTEM
from campaigns.dialling.choice import FOR_GOOD
from campaigns.dialling.why import TEXTS, Explanation, explain_number, explain_record
from campaigns.models import Campaign, DoNotCall, LegalHours
from campaigns.verbs.dialling import switch_dialling
from telephony.verbs import presence
from tests.backoffice import page_of, superuser
from tests.campaigns.dialling.calls import add_agent, dialling_campaign
from tests.campaigns.factories import (
    AdditionalNumberFactory,
    CampaignHoursFactory,
    DoNotCallFactory,
    PastAttemptFactory,
    RecordFactory,
)
from tests.conftest import ACTOR
from tests.statements import few_statements

pytestmark = pytest.mark.django_db

# A Monday, 12:00 in Warsaw.
NOON = datetime.fromisoformat("2026-03-02T12:00+01:00")
NUMBER = "+48225550117"


@pytest.fixture
def campaign():
    return dialling_campaign(records=0, start_date=date(2026, 1, 1))


def why(campaign: Campaign, number: str = NUMBER, now: datetime = NOON) -> Explanation:
    found = explain_number(campaign.code, number, now)
    assert found is not None
    return found


def codes(found: Explanation) -> list[str]:
    return [reason.code for reason in found.reasons]


def test_a_record_without_a_reason_is_callable_and_an_unknown_one_not_explained(campaign):
    assert explain_number(campaign.code, NUMBER, NOON) is explain_record(1, NOON) is None

    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert why(campaign) == Explanation([], NOON)
    assert why(campaign).is_callable


@pytest.mark.parametrize(
    ("values", "code", "next_call"),
    [
        ({"is_active": False}, "campaign_inactive", None),
        ({"start_date": date(2026, 3, 5)}, "outside_dates", "2026-03-05T00:00+01:00"),
        ({"end_date": date(2026, 3, 1)}, "outside_dates", None),
        ({"is_dialling": False}, "dialling_paused", None),
    ],
)
def test_reasons_of_the_campaign(campaign, values, code, next_call):
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    Campaign.objects.update(**values)

    found = why(campaign)

    assert codes(found) == [code]
    assert found.next_call_at == (datetime.fromisoformat(next_call) if next_call else None)


def test_all_dialling_may_be_stopped_and_a_campaign_needs_an_agent(campaign):
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    switch_dialling(SYSTEM, is_running=False)
    assert codes(why(campaign)) == ["all_dialling_stopped"]
    switch_dialling(SYSTEM, is_running=True)
    for ready, values in ((True, {}), (False, {"outbound_mode": False}), (False, {"number": ""})):
        campaign.agents.update(**{"outbound_mode": True, **values})
        assert codes(why(campaign)) == ([] if ready else ["no_agent"])
    campaign.agents.update(outbound_mode=True, number="101", is_active=False)
    assert codes(why(campaign)) == ["no_agent"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        *(({"system_status": status}, ["status_not_called"]) for status in ("NO_CALL", "IN_PROGRESS")),
        ({"system_status": "ABANDONED_AFTER_N_TRIES"}, ["attempts_used"]),
        ({"system_status": "IN_PROGRESS", "leased_by": "call:7"}, ["in_call"]),
        ({"leased_by": "dialler:1", "leased_until": timezone.now() + timedelta(hours=1)}, ["reserved"]),
        ({"leased_by": "dialler:1", "leased_until": timezone.now() - timedelta(hours=1)}, []),
        ({"system_status": "CALL_NO_SOONER_THAN", "next_call_at": NOON - timedelta(minutes=1)}, []),
        ({"system_status": "CALL_NO_SOONER_THAN", "next_call_at": NOON + timedelta(minutes=1)}, ["retry_not_due"]),
        ({"system_status": "CALL_PROGRESSIVE", "next_call_at": NOON}, []),
        ({"system_status": "CALL_PROGRESSIVE", "next_call_at": NOON + timedelta(minutes=1)}, ["retry_not_due"]),
        ({"system_status": "TO_CALL", "next_call_at": NOON + timedelta(minutes=1)}, []),
        ({"is_number_wrong": True}, ["number_wrong"]),
        ({"held_until": NOON + timedelta(hours=1)}, ["held"]),
        ({"held_until": FOR_GOOD, "is_number_wrong": True}, ["number_wrong"]),
    ],
)
def test_reasons_of_the_record(campaign, values, expected):
    RecordFactory(campaign=campaign, phone_number=NUMBER, **values)
    assert codes(why(campaign)) == expected


def test_a_record_of_an_agent_waits_for_the_agent(campaign):
    agent = campaign.agents.get()
    due = {"system_status": "MY_RECORD", "next_call_at": NOON}
    RecordFactory(campaign=campaign, phone_number=NUMBER, agent=agent, **due)
    assert codes(why(campaign)) == []

    add_agent(campaign, "other", "199")
    presence.log_out(agent, ACTOR)
    assert codes(why(campaign)) == ["agent_not_free"]


def test_reasons_of_the_number(campaign):
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    PastAttemptFactory(phone_number=NUMBER, dialled_at=NOON - timedelta(minutes=20))
    assert [(reason.code, reason.until) for reason in why(campaign).reasons] == [
        ("number_paused", NOON + timedelta(minutes=40))
    ]

    DoNotCallFactory(phone_number=NUMBER, since=NOON - timedelta(days=1), until=NOON + timedelta(days=2))
    found = why(campaign)
    assert codes(found) == ["do_not_call", "number_paused"]
    assert found.next_call_at == NOON + timedelta(days=2)

    DoNotCallFactory(phone_number="+4822", number="+4822", is_prefix=True, since=NOON - timedelta(days=1))
    found = why(campaign)
    assert (found.reasons[0].until, found.next_call_at) == (None, None)


def test_a_record_has_no_reasons_of_its_numbers_while_one_may_be_called(campaign):
    record = RecordFactory(campaign=campaign, phone_number=NUMBER, is_number_wrong=True)
    other = AdditionalNumberFactory(record=record)
    assert codes(why(campaign)) == []

    DoNotCallFactory(phone_number=other.phone_number, since=NOON - timedelta(days=1))
    assert codes(why(campaign)) == ["number_wrong", "do_not_call"]


def test_hours_and_holidays(campaign):
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    CampaignHoursFactory(campaign=campaign, weekday=2, begins_at=time(9), ends_at=time(17))
    found = why(campaign)
    tuesday = datetime.fromisoformat("2026-03-03T09:00+01:00")
    assert [(reason.code, reason.until) for reason in found.reasons] == [("outside_hours", tuesday)]
    assert found.next_call_at == tuesday

    Campaign.objects.update(holiday_country="PL")
    christmas = datetime.fromisoformat("2026-12-25T12:00+01:00")
    assert codes(why(campaign, now=christmas)) == ["holiday"]


def test_legal_hours_name_the_rule(campaign):
    RecordFactory(campaign=campaign, phone_number="+12125550117")

    (reason,) = why(campaign, "+12125550117").reasons

    assert (reason.code, reason.rule, reason.until) == (
        "legal_hours",
        "United States",
        datetime.fromisoformat("2026-03-02T08:00-05:00"),
    )
    with override("en"):
        assert reason.text == "The law does not allow the call at this hour: United States."


def test_the_next_call_is_within_the_hours_after_the_retry(campaign):
    evening = NOON.replace(hour=22)
    late = {"system_status": "CALL_NO_SOONER_THAN", "next_call_at": evening}
    RecordFactory(campaign=campaign, phone_number=NUMBER, **late)
    for weekday in (1, 2):
        CampaignHoursFactory(campaign=campaign, weekday=weekday, begins_at=time(9), ends_at=time(17))

    assert why(campaign).next_call_at == datetime.fromisoformat("2026-03-03T09:00+01:00")


def test_an_unreadable_zone_is_a_reason(campaign):
    RecordFactory(campaign=campaign, phone_number="+80012345678")
    assert codes(why(campaign, "+80012345678")) == ["zone_unreadable"]


def test_an_explanation_costs_three_statements(campaign):
    record = RecordFactory(campaign=campaign, phone_number=NUMBER)
    AdditionalNumberFactory.create_batch(5, record=record)
    LegalHours.objects.create(name="Own", prefix="48", begins_at=time(8), ends_at=time(20), source="A law")

    with few_statements(3):
        explain_record(record.pk, NOON)


def test_the_api_explains_a_record(api, campaign):
    at = timezone.now() + timedelta(days=1)
    RecordFactory(campaign=campaign, phone_number=NUMBER, system_status="CALL_NO_SOONER_THAN", next_call_at=at)
    shown = timezone.localtime(at).strftime("%Y-%m-%d %H:%M")

    for spelling in ("22 555 01 17", "+48225550117", "22%2F555%2F01%2F17"):
        answer = api.get(f"/api/outbounds/{campaign.code}/records/{spelling}/why")
        assert answer.json() == {
            "callable": False,
            "reasons": [{"code": "retry_not_due", "text": "The time of the next call has not come.", "until": shown}],
            "next_call_at": shown,
        }
    for path in (f"{campaign.code}/records/+48229999999", f"{campaign.code}/records/nobody", f"XXXXX/records/{NUMBER}"):
        assert api.get(f"/api/outbounds/{path}/why").status_code == 404


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "The number is on the do-not-call list."), ("pl", "Numer jest na liście „nie dzwonić”.")],
)
@pytest.mark.usefixtures("plain_static")
def test_the_page_of_a_record_shows_the_reasons_and_their_ends(campaign, language, sentence):
    until = timezone.now() + timedelta(days=2)
    record = RecordFactory(campaign=campaign, phone_number=NUMBER)
    DoNotCallFactory(phone_number=NUMBER, until=until)

    page = superuser().get(page_of(record), headers={"accept-language": language}).content.decode()
    DoNotCall.objects.all().delete()
    callable_page = superuser().page(page_of(record))

    assert sentence in page
    assert timezone.localtime(until).strftime("%Y-%m-%d %H:%M") in page
    assert "The dialler may call this record now." in callable_page


def test_the_published_codes_have_sentences():
    """The codes that programs rely on."""
    assert {
        *("campaign_inactive", "outside_dates", "dialling_paused", "all_dialling_stopped", "outside_hours"),
        *("legal_hours", "holiday", "do_not_call", "number_wrong", "retry_not_due", "attempts_used", "reserved"),
        *("in_call", "status_not_called", "agent_not_free", "no_agent"),
    } <= TEXTS.keys()
