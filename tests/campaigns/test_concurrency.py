"""Simultaneous requests and batches in real processes, threads and transactions."""

from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection

from callcentre.core.errors import ErrorCode
from campaigns.models import AdditionalNumber, Campaign, CampaignGroup, Record, RecordChange
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.campaigns.waiting import waiting_sessions
from tests.processes import wait_until
from tests.serving import Answer, at_once

Send = Callable[..., list[Answer]]
NEW_CAMPAIGN = {"name": "New", "dialer": "preview", "crm": False}


@pytest.fixture
def send(servers, credential):
    """Send all bodies at once to the two servers in turn, each over a connection of its own."""

    def send(method, path, bodies):
        def call(server, body):
            return lambda: server.request(method, f"/api/{path}", body, auth=credential)

        return at_once([call(servers[n % 2], body) for n, body in enumerate(bodies)])

    return send


def error_codes(answer: Answer) -> set[int]:
    return {error["code"] for error in answer.json()["errors"]}


SPELLINGS = ["+48221234567", "22 123 45 67", "0048 22 1234567", "(22) 123-45-67", "tel:+48-22-123-45-67"]
OF_ONE_NUMBER = [{"phone_number": number, "additional_numbers": ["601000001"]} for number in SPELLINGS * 10]
OF_ONE_IDENTIFIER = [{"phone_number": f"22 123 45 {n}", "identifier": "ID-7"} for n in range(10, 30)]


@pytest.mark.parametrize(
    ("path", "bodies", "made", "code"),
    [
        ("outbounds/DEMO1/records", OF_ONE_NUMBER, 1, ErrorCode.NUMBER_DUPLICATED),
        ("outbounds/DEMO1/records", OF_ONE_IDENTIFIER, 1, ErrorCode.IDENTIFIER_TAKEN),
        ("outbounds", [NEW_CAMPAIGN | {"id": "NEW01"}] * 10, 1, ErrorCode.CAMPAIGN_ID_TAKEN),
        # Each gets an id of its own, without gaps.
        ("outbounds", [NEW_CAMPAIGN] * 20, 20, None),
        ("outbound_groups", [{"name": "Sales"}] * 10, 10, None),
    ],
    ids=["number", "identifier", "campaign", "generated", "group"],
)
def test_of_simultaneous_posts_one_wins_unless_all_can_be_stored(send, path, bodies, made, code):
    CampaignFactory(code="DEMO1")

    answers = send("POST", path, bodies)

    assert Counter(answer.status for answer in answers) == Counter({201: made, 400: len(bodies) - made})
    wrong = {number for answer in answers if answer.status == 400 for number in error_codes(answer)}
    assert wrong == ({code.number} if code else set())
    ids = [next(iter(answer.json().values())) for answer in answers if answer.status == 201]
    assert len(set(ids)) == made
    if path == "outbounds" and code is None:
        assert sorted(ids) == [f"{n:05}" for n in range(1, 21)]
    assert Record.objects.count() == RecordChange.objects.count() == path.endswith("records")
    assert AdditionalNumber.objects.count() == (bodies is OF_ONE_NUMBER)
    assert Campaign.objects.count() + CampaignGroup.objects.count() == 1 + made * (not path.endswith("records"))


def test_simultaneous_edits_give_an_identifier_to_one_record(servers, credential):
    campaign = CampaignFactory(code="DEMO1")
    records = RecordFactory.create_batch(10, campaign=campaign)

    def call(record):
        path = f"/api/outbounds/DEMO1/records/{record.number}"
        return lambda: servers[record.pk % 2].request("PUT", path, {"identifier": "ID-7"}, auth=credential)

    answers = at_once([call(record) for record in records])

    assert Counter(answer.status for answer in answers) == {204: 1, 400: 9}
    assert campaign.records.filter(identifier="ID-7").count() == 1


def test_batch_edits_in_opposite_order_do_not_deadlock(send):
    campaign = CampaignFactory(code="DEMO1", fields=["city"])
    Record.objects.bulk_create(
        RecordFactory.build_batch(500, campaign=campaign, status=campaign.statuses.first()), batch_size=500
    )
    numbers = list(campaign.records.order_by("id").values_list("phone_number", flat=True))
    orders = [numbers, numbers[::-1], numbers[250:] + numbers[:250], numbers[::-1]]
    bodies = [
        {"records": [{"phone_number": number, "record_fields": {"city": f"{n}"}} for number in order]}
        for n, order in enumerate(orders * 2)
    ]

    answers = send("PUT", "batch/outbounds/DEMO1/records", bodies)

    assert [answer.status for answer in answers] == [207] * 8
    assert all(entry == {"http_status": 204} for answer in answers for entry in answer.json().values())
    # The later batch is applied completely.
    assert len({tuple(fields.values()) for fields in campaign.records.values_list("fields", flat=True)}) == 1


def test_batch_additions_in_opposite_order_add_each_number_once(send):
    campaign = CampaignFactory(code="DEMO1")
    numbers = [f"+48 22 {n:07}" for n in range(2000)]
    orders = [numbers, numbers[::-1], numbers[1000:] + numbers[:1000], numbers[::-1]]
    bodies = [{"records": [{"phone_number": number} for number in order]} for order in orders]

    answers = send("POST", "batch/outbounds/DEMO1/records", bodies)

    assert [answer.status for answer in answers] == [201] * 4
    outcomes = Counter(entry["status"] for answer in answers for entry in answer.json().values())
    assert outcomes == {"ADDED": 2000, "ALREADY_EXISTS": 6000}
    assert campaign.records.count() == 2000


def test_additions_that_wait_for_a_third_transaction_do_not_deadlock(send):
    CampaignFactory(code="DEMO1")
    numbers = ["22 000 00 01", "22 000 00 02", "22 000 00 03"]
    bodies = [{"records": [{"phone_number": number} for number in order]} for order in (numbers, numbers[::-1])]

    # Both insert the numbers before the middle one, then wait for it.
    with ThreadPoolExecutor(1) as pool, _uncommitted_record("+48220000002"):
        sending = pool.submit(send, "POST", "batch/outbounds/DEMO1/records", bodies)
        assert wait_until(lambda: waiting_sessions() == 2)
    answers = sending.result(30)

    assert [answer.status for answer in answers] == [201] * 2
    outcomes = Counter(entry["status"] for answer in answers for entry in answer.json().values())
    assert outcomes == {"ADDED": 3, "ALREADY_EXISTS": 3}


def test_a_repeat_fails_if_the_first_is_refused_for_its_identifier(send):
    campaign = CampaignFactory(code="DEMO1")
    first = {"phone_number": "22 123 45 67", "identifier": "ID-7"}
    other = {"phone_number": "22 765 43 21", "identifier": "ID-9"}
    repeats = [{"phone_number": "+48221234567"}, {"phone_number": "0048221234567", "identifier": "ID-8"}]
    body = {"records": [first, *repeats, other]}

    with ThreadPoolExecutor(1) as pool, _uncommitted_record("+48221111111", identifier="ID-7", end="COMMIT"):
        sending = pool.submit(send, "POST", "batch/outbounds/DEMO1/records", [body])
        assert wait_until(lambda: waiting_sessions() == 1)
    [answer] = sending.result(30)

    taken, changed = str(ErrorCode.IDENTIFIER_TAKEN.text), str(ErrorCode.CONFLICT.text)
    assert answer.json() == {
        "22 123 45 67": {"status": "FAILED", "message": taken},
        "+48221234567": {"status": "FAILED", "message": changed},
        "0048221234567": {"status": "FAILED", "message": changed},
        "22 765 43 21": {"status": "ADDED", "record_id": str(campaign.records.get(identifier="ID-9").pk)},
    }
    assert campaign.records.count() == 2


@contextmanager
def _uncommitted_record(number: str, *, identifier: str = "", end: str = "ROLLBACK") -> Generator[None]:
    """Insert a record of DEMO1 in an open transaction, which is rolled back or committed at the end."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(
            "INSERT INTO campaigns_record (campaign_id, phone_number, number, is_primary, system_status, identifier,"
            " last_note, fields, leased_by) SELECT id, '', %s, true, 'TO_CALL', %s, '', '{}', ''"
            " FROM campaigns_campaign WHERE code = 'DEMO1'",
            [number, identifier],
        )
        try:
            yield
        finally:
            cursor.execute(end)


def test_an_addition_does_not_wait_for_a_table_lock(send):
    CampaignFactory(code="DEMO1")
    CampaignFactory(code="DEMO2")
    with _uncommitted_record("+48221111111"):
        [other_number] = send("POST", "outbounds/DEMO1/records", [{"phone_number": "222222222"}])
        [other_campaign] = send("POST", "outbounds/DEMO2/records", [{"phone_number": "221111111"}])

    assert (other_number.status, other_campaign.status) == (201, 201)
