"""Data for load tests: the requested numbers of rows, as from real work."""

import pytest
from django.core.management import call_command
from django.db.models import Count, F, Q
from django.db.models.functions import Now

from callcentre.demonstration import load
from campaigns.models import Record, RecordChange
from knowledgebase.models import ArticleVersion, Catalog
from telephony.models import Connection, Offer
from tests.telephony.factories import ConnectionFactory
from tickets.models import Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """As many as there are among millions."""
    monkeypatch.setattr(load, "BATCH", 7)


def test_the_requested_number_of_ended_connections_in_order_of_time():
    call_command("generate_data", connections=3000)

    calls = Connection.objects.all()
    assert calls.count() == 3000
    assert list(calls.order_by("id").values_list("created_at", flat=True)) == list(
        calls.order_by("created_at").values_list("created_at", flat=True)
    )
    assert set(calls.values_list("state", flat=True)) == {"ended"}
    assert set(calls.values_list("disposition", flat=True)) == set(Connection.Disposition.values)
    assert not calls.filter(Q(ended_at__lt=F("created_at")) | Q(answered_at__lt=F("created_at"))).exists()
    inbound = calls.filter(direction="INBOUND")
    assert not inbound.annotate(offered=Count("offers")).exclude(offered=1).exists()
    assert Offer.objects.filter(outcome="answered").count() == inbound.filter(disposition="ANSWERED").count()


def test_calls_work_after_the_data_is_generated(api):
    call_command("generate_data", connections=10)
    call_command("generate_data", connections=10)
    call = ConnectionFactory(dst="now")

    assert call.pk > max(Connection.objects.exclude(pk=call.pk).values_list("pk", flat=True))
    assert api.get("/api/connections").json()["count"] == 21


def test_the_requested_number_of_records_with_distinct_numbers(api):
    call_command("generate_data", records=500)
    call_command("generate_data", records=500)

    assert Record.objects.values("number").distinct().count() == Record.objects.count() == 1000
    assert RecordChange.objects.count() == 1000
    answer = api.get("/api/outbounds/LOAD1/records_by_identifier/LOAD-999?include_record_fields=true").json()
    assert answer["phone_number"].startswith("+485")
    assert set(answer["record_fields"]) == {"first_name", "city"}


def test_the_requested_number_of_tickets_with_three_messages_each(api):
    call_command("generate_data", tickets=20)
    call_command("generate_data", tickets=20)

    assert Ticket.objects.annotate(said=Count("messages")).filter(said=3).count() == 40
    second_run = Ticket.objects.order_by("-id")[:20].values_list("created_at", flat=True)
    assert list(second_run) == sorted(second_run, reverse=True)
    assert not Ticket.objects.filter(Q(closed_at__lt=F("created_at")) | Q(updated_at__gt=Now())).exists()
    answer = api.get("/api/tickets?include_custom_fields=true&custom_fields[order_number]=A-7").json()
    assert answer["count"] == 2
    assert set(answer["result"][0]["custom_fields"]) == {"order_number", "priority"}
    assert api.get("/api/tickets?limit=1").json()["count"] == 40


def test_the_requested_number_of_articles_can_be_found(api):
    call_command("generate_data", articles=20)
    call_command("generate_data", articles=20)

    catalog = Catalog.objects.get(name="Load test")
    assert catalog.articles.values("title").distinct().count() == ArticleVersion.objects.count() == 40
    title = catalog.articles.order_by("id")[0].title
    hits = api.get(f"/api/knowledge_base/catalogs/{catalog.pk}/search", {"query": title}).json()["articles"]
    assert hits[0]["title"] == title
