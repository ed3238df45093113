import pytest
from django.urls import reverse

from telephony.models import Agent, AgentGroup
from tests.backoffice import errors_of, page_of, superuser
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, AgentGroupFactory, ConnectionFactory, QueueFactory

LIST = reverse("admin:telephony_agent_changelist")
ADD = reverse("admin:telephony_agent_add")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def test_the_list_of_agents_shows_names_and_numbers():
    AgentFactory(login="anna", with_phone=True, number="101", grouped=True, group__name="Sales")

    page = superuser().page(LIST)

    assert all(text in page for text in ("anna", "Anna Nowak", "101", "Sales"))


def test_the_list_of_queues_takes_few_queries_however_many_callers_wait():
    for queue in QueueFactory.create_batch(10, members=AgentFactory.create_batch(2)):
        ConnectionFactory.create_batch(2, waiting=True, queue=queue)
    client = superuser()

    with few_statements(6):
        client.page(reverse("admin:telephony_queue_changelist"))


def test_a_call_cannot_be_edited():
    assert superuser().post(page_of(ConnectionFactory()), {"src": "1"}).status_code == 403


def test_the_page_of_an_agent_takes_few_queries():
    agent = AgentFactory(grouped=True)
    client = superuser()

    with few_statements(5):
        client.get(page_of(agent))


def test_an_agent_is_found_by_name():
    AgentFactory(login="one", surname="Kowalska")
    AgentFactory(login="two", surname="Zielińska")

    page = superuser().page(LIST, q="kowal")

    assert "one" in page
    assert ">two<" not in page


def test_an_agent_can_be_added():
    superuser().submit(ADD, login="new", name="Ewa", number="105")

    assert Agent.objects.get(login="new").number == "105"


def test_a_number_that_another_agent_has_is_refused():
    AgentFactory(with_phone=True, number="101")

    response = superuser().submit(ADD, expected=200, login="new", name="Ewa", number="101")

    assert "Another agent has this number." in str(errors_of(response))
    assert not Agent.objects.filter(login="new").exists()


def test_saving_a_page_writes_changed_columns_only():
    agent = AgentFactory(name="Anna", surname="Nowak")
    client = superuser()
    client.page(page_of(agent))
    Agent.objects.filter(pk=agent.pk).update(email="new@callcentre.example")

    client.submit(page_of(agent), surname="Kowalska", email="new@callcentre.example")

    agent.refresh_from_db()
    assert (agent.surname, agent.email) == ("Kowalska", "new@callcentre.example")


def test_the_list_of_groups_counts_active_agents_in_one_query():
    for group in AgentGroupFactory.create_batch(30):
        AgentFactory(group=group)
        AgentFactory(group=group, left=True)
    client = superuser()

    with few_statements(5):
        page = client.page(reverse("admin:telephony_agentgroup_changelist"))

    assert ">1<" in page
    assert ">2<" not in page


def test_a_group_can_be_added_and_renamed():
    client = superuser()

    client.submit(reverse("admin:telephony_agentgroup_add"), name="Sales")
    group = AgentGroup.objects.get()
    client.submit(reverse("admin:telephony_agentgroup_change", args=[group.pk]), name="Support")

    assert AgentGroup.objects.get().name == "Support"


def test_a_group_with_agents_is_not_deleted_and_the_page_says_why():
    agent = AgentFactory(grouped=True)
    path = reverse("admin:telephony_agentgroup_delete", args=[agent.group_id])

    response = superuser().post(path, {"post": "yes"})

    page = response.content.decode()
    assert "protected related objects" in page
    assert str(agent) in page
    assert AgentGroup.objects.filter(pk=agent.group_id).exists()
