"""The pages of do-not-call entries, legal hours, attempts, and the rules of a campaign."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, override

from callcentre.core.actor import SYSTEM
from campaigns.models import Attempt, Campaign, CampaignHours, DoNotCall, LegalHours, Record, RetryRule, TrunkFailure
from campaigns.tasks import prune_attempts
from campaigns.verbs.campaigns import clone_campaign
from tests.backoffice import errors_of, page_of, superuser
from tests.campaigns.factories import CampaignFactory, DoNotCallFactory, PastAttemptFactory, RecordFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

ENTRIES = "admin:campaigns_donotcall"


def add_entry(expected: int = 302, **values: Any) -> Any:
    return superuser().submit(reverse(f"{ENTRIES}_add"), expected=expected, **values)


def test_a_number_or_a_prefix_for_a_campaign_is_added_and_a_further_one_extends_it():
    campaign = CampaignFactory()
    DoNotCallFactory(phone_number="+48225550118", until=timezone.now() + timedelta(days=1))

    add_entry(phone_number="22 555 01 17", reason="Asked by phone.")
    add_entry(phone_number="+48 70", is_prefix="on", campaign=campaign.pk)
    add_entry(phone_number="22 555 01 18")

    found = DoNotCall.objects.order_by("id").values_list("number", "is_prefix", "campaign", "reason", "until")
    assert list(found) == [
        ("+48225550118", False, None, "", None),
        ("+48225550117", False, None, "Asked by phone.", None),
        ("+4870", True, campaign.pk, "", None),
    ]


def test_a_wrong_number_is_refused_at_its_field():
    response = add_entry(200, phone_number="nobody")

    assert errors_of(response) == {"phone_number": ["A phone number has no letters."]}
    assert not DoNotCall.objects.exists()


def test_the_search_finds_the_entries_that_forbid_a_number():
    DoNotCallFactory(phone_number="+48 70", number="+4870", is_prefix=True)
    DoNotCallFactory(phone_number="+48 22 555 01 17")
    client = superuser()

    def found(text):
        response = client.get(reverse(f"{ENTRIES}_changelist"), {"q": text})
        return [entry.number for entry in response.context["cl"].result_list]

    assert found("700 123 456") == ["+4870"]
    assert found("0048 225550117") == ["+48225550117"]
    assert found("22 555 01 18") == found("nobody") == []


def test_the_deletion_of_an_entry_frees_its_records():
    entry = DoNotCallFactory()
    RecordFactory(phone_number=entry.phone_number, held_until=timezone.now() + timedelta(days=1))

    superuser().post(reverse(f"{ENTRIES}_delete", args=[entry.pk]), {"post": "yes"})

    assert not DoNotCall.objects.exists()
    assert Record.objects.get().held_until is None


def test_the_rule_of_the_united_states_is_delivered():
    row = LegalHours.objects.get()
    assert (row.prefix, f"{row.begins_at:%H:%M}", f"{row.ends_at:%H:%M}") == ("1", "08:00", "21:00")
    assert row.source == "47 CFR 64.1200(c)(1)"


def test_a_legal_rule_is_added_and_a_wrong_one_refused_at_its_field():
    client, address = superuser(), reverse("admin:campaigns_legalhours_add")
    legal = {"name": "Own", "prefix": "48", "source": "A law", "begins_at": "08:00", "ends_at": "20:00"}

    for name, value, field in (
        *(("weekdays", "08", "weekdays"), ("prefix", "+48", "prefix"), ("holiday_country", "XX", "holiday_country")),
        *(("allows_holidays", None, "holiday_country"), ("ends_at", "07:00", "")),
    ):
        assert list(errors_of(client.submit(address, expected=200, **legal | {name: value}))) == [field]
    client.submit(address, **legal, weekdays="12345")
    assert LegalHours.objects.filter(prefix="48", weekdays="12345", allows_holidays=True).exists()


# The rules of a campaign


def test_hours_and_retry_rules_are_edited_with_the_campaign():
    campaign = CampaignFactory()
    status = campaign.statuses.get(dictionary_status__key="call_later")
    hours = {"hours-TOTAL_FORMS": 1, "hours-0-weekday": 1, "hours-0-begins_at": "09:00", "hours-0-ends_at": "17:00"}
    rules = {
        "retry_rules-TOTAL_FORMS": 2,
        "retry_rules-0-outcome": "busy",
        "retry_rules-0-delay_seconds": 300,
        "retry_rules-0-most_attempts": 4,
        "retry_rules-1-status": status.pk,
        "retry_rules-1-delay_seconds": 600,
        "retry_rules-1-is_multiplied": "on",
        "retry_rules-1-most_attempts": 3,
    }

    superuser().submit(page_of(campaign), **hours, **rules)

    assert CampaignHours.objects.values_list("campaign", "weekday").get() == (campaign.pk, 1)
    found = RetryRule.objects.order_by("id").values_list("outcome", "status", "delay_seconds", "is_multiplied")
    assert list(found) == [("busy", None, 300, False), ("", status.pk, 600, True)]


def test_the_page_of_a_campaign_tells_the_rules_that_hold_without_rows():
    page = superuser().page(page_of(CampaignFactory()))

    assert "Without a row: busy: 60 min × attempts; no answer: 120 min × attempts;" in page
    assert "dropped: 60 min; answering machine: 180 min × attempts." in page
    assert "Without a row only legal hours and holidays bind." in page


@pytest.mark.slow("opens many pages")
@pytest.mark.parametrize(
    ("rows", "prefix"),
    [
        ({"hours-0-weekday": 1, "hours-0-begins_at": "17:00", "hours-0-ends_at": "09:00"}, "hours"),
        ({"retry_rules-0-delay_seconds": 5, "retry_rules-0-most_attempts": 1}, "retry_rules"),
        (
            {
                f"retry_rules-0-{name}": v
                for name, v in (("outcome", "answered"), ("delay_seconds", 5), ("most_attempts", 1))
            },
            "retry_rules",
        ),
    ],
)
def test_wrong_rules_are_refused(rows, prefix):
    campaign = CampaignFactory()

    response = superuser().submit(page_of(campaign), expected=200, **rows, **{f"{prefix}-TOTAL_FORMS": 1})

    assert list(errors_of(response)) == [""]
    assert not CampaignHours.objects.exists()
    assert not RetryRule.objects.exists()


@pytest.mark.slow("opens many pages")
def test_hours_are_ignored_on_the_simulated_switch_only(settings):
    campaign = CampaignFactory()
    superuser().submit(page_of(campaign), ignores_hours="on")
    settings.SWITCH_BACKEND = "asterisk"
    copy = clone_campaign(Campaign.objects.get(), SYSTEM, name="Copy")
    other = CampaignFactory()

    response = superuser().submit(page_of(other), expected=200, ignores_hours="on")
    superuser().submit(page_of(campaign), name="Renamed")

    assert list(errors_of(response)) == ["ignores_hours"]
    kept = dict(Campaign.objects.values_list("pk", "ignores_hours"))
    assert kept == {campaign.pk: True, copy.pk: False, other.pk: False}
    assert Campaign.objects.get(pk=campaign.pk).name == "Renamed"


# Attempts


@pytest.mark.parametrize("language", ["en", "pl"])
def test_outcomes_of_attempts_are_shown_in_words(language):
    for outcome in ("", *Attempt.Outcome.values):
        PastAttemptFactory(outcome=outcome, rule="hours ignored")

    changelist = reverse("admin:campaigns_attempt_changelist")
    page = superuser().get(changelist, headers={"accept-language": language}).content.decode()

    with override(language):
        words = [str(label) for label in Attempt.Outcome.labels]
        shown = [*words, gettext("in a call"), gettext("hours ignored")]
    assert [word for word in shown if word not in page] == []
    assert "not_dialled<" not in page


def test_attempts_and_failures_past_their_retention_are_deleted(settings):
    settings.ATTEMPT_RETENTION = timedelta(days=365)
    now = timezone.now()
    kept = PastAttemptFactory(dialled_at=now - timedelta(days=364))
    for days in (366, 2000):
        PastAttemptFactory(dialled_at=now - timedelta(days=days))
    began = {"began_at": now - timedelta(days=367), "try_at": now}
    TrunkFailure.objects.create(trunk="trunk", ended_at=now - timedelta(days=366), **began)
    recent = TrunkFailure.objects.create(trunk="trunk", ended_at=now - timedelta(days=364), **began)
    still_open = TrunkFailure.objects.create(trunk="trunk", **began)

    prune_attempts()

    assert Attempt.objects.get() == kept
    assert set(TrunkFailure.objects.all()) == {recent, still_open}


def test_attempts_are_found_by_number_and_listed_by_time():
    now = timezone.now()
    old = PastAttemptFactory(dialled_at=now - timedelta(days=1), phone_number="+48225550117")
    new = PastAttemptFactory(dialled_at=now, zone="Europe/Warsaw", rule="campaign 09:00–17:00")
    client = superuser()

    def found(**query):
        response = client.get(reverse("admin:campaigns_attempt_changelist"), query)
        return [attempt.pk for attempt in response.context["cl"].result_list]

    assert found() == [new.pk, old.pk]
    assert found(q="22 555 01 17") == [old.pk]
    assert found(campaign__id__exact=new.campaign_id) == [new.pk]


def test_attempts_are_downloaded_with_the_filters_of_the_list():
    campaign = CampaignFactory()
    at = timezone.now().replace(microsecond=123_000)
    attempt = PastAttemptFactory(
        campaign=campaign, dialled_at=at, phone_number="+48 22 555 01 17", zone="Europe/Warsaw"
    )
    PastAttemptFactory()

    url = reverse("admin:campaigns_attempt_download")
    response: Any = superuser().get(url, {"campaign__id__exact": campaign.pk})

    text = b"".join(response.streaming_content).decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["id"], row["outbound_id"], row["phone_number"]) == (str(attempt.pk), campaign.code, "+48 22 555 01 17")
    assert row["dialled"] == timezone.localtime(at).isoformat(timespec="milliseconds")
    assert (row["answered"], row["zone"], row["outcome"]) == ("", "Europe/Warsaw", "no_answer")
