from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from telephony.models import Agent, EvaluationCriterion, Pause, Queue, Topic, TopicField, TopicGroup
from telephony.verbs import presence
from tests.backoffice import errors_of, page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, ConnectionFactory, OpeningHoursFactory, QueueFactory

LIST = reverse("admin:telephony_queue_changelist")
ADD = reverse("admin:telephony_queue_add")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def test_the_list_of_queues_shows_waiting_callers_and_agents():
    agents = AgentFactory.create_batch(3)
    for agent in agents[:2]:
        presence.log_in(agent, ACTOR)
    queue = QueueFactory(name="Hotline", members=agents)
    ConnectionFactory.create_batch(7, waiting=True, queue=queue)

    page = superuser().page(LIST)

    assert all(text in page for text in ("Hotline", ">7<", "2 / 2", "9:00"))


def test_a_caller_who_came_before_the_clock_was_set_back_has_not_waited_yet():
    queue = QueueFactory()
    ConnectionFactory(waiting=True, queue=queue, created_at=timezone.now() + timedelta(minutes=5))

    for page in (LIST, page_of(queue)):
        assert ">0:00<" in superuser().page(page).replace(" ", "").replace("\n", "")


def test_the_page_of_a_queue_shows_the_waiting_callers():
    queue = QueueFactory()
    ConnectionFactory(waiting=True, queue=queue, src="+48225550107")

    page = superuser().page(page_of(queue))

    assert "+48225550107" in page
    assert "takes no calls now" not in page


def test_the_page_says_that_a_queue_is_closed():
    page = superuser().page(page_of(QueueFactory(is_active=False)))

    assert "takes no calls now" in page
    assert "No caller waits." in page


def test_a_queue_is_added_with_its_agents_and_hours():
    agent = AgentFactory()

    superuser().submit(
        ADD,
        name="Hotline",
        number="+48225550100",
        **{
            "members-TOTAL_FORMS": "1",
            "members-0-agent": str(agent.pk),
            "members-0-priority": "10",
            "opening_hours-TOTAL_FORMS": "1",
            "opening_hours-0-weekday": "1",
            "opening_hours-0-opens_at": "08:00",
            "opening_hours-0-closes_at": "16:00",
        },
    )

    queue = Queue.objects.get()
    assert (queue.number, list(queue.agents.all()), queue.opening_hours.count()) == ("+48225550100", [agent], 1)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"number": "+48225550100"}, "Another queue has this number."),
        ({"number": "22 555"}, "A number has digits, and may begin with +."),
        ({"overflow_number": "112", "overflow_queue": "other"}, "A queue overflows to a queue or to a number, not to"),
    ],
)
def test_a_broken_rule_is_refused_with_its_sentence(values, sentence):
    other = QueueFactory(number="+48225550100")
    values = {name: str(other.pk) if value == "other" else value for name, value in values.items()}

    response = superuser().submit(ADD, expected=200, name="New", **values)

    assert sentence in str(errors_of(response))
    assert Queue.objects.count() == 1


def test_hours_that_end_before_they_begin_are_refused():
    queue = QueueFactory()
    OpeningHoursFactory(queue=queue)

    response = superuser().submit(page_of(queue), expected=200, **{"opening_hours-0-closes_at": "07:00"})

    assert "It opens before it closes." in str(errors_of(response))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Agent, "aktywny"),
        (Queue, "aktywna"),
        (Pause, "aktywna"),
        (TopicGroup, "aktywna"),
        (Topic, "aktywny"),
        (TopicField, "aktywne"),
        (EvaluationCriterion, "aktywne"),
    ],
)
def test_active_agrees_in_gender_in_polish(model, expected):
    with translation.override("pl"):
        assert str(model._meta.get_field("is_active").verbose_name) == expected
