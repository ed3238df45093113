"""The jobs of a supervisor's day in a real Chromium, each from the overview, in no more steps than the goal.

A step is a click, a key, or a text that is typed. Imports are in test_import.py, agents in test_desk.py.
"""

import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone
from playwright.sync_api import expect

from callcentre.models import User
from campaigns.models import Campaign, DoNotCall
from knowledgebase.models import Article, ArticleImage
from reports.models import Export
from telephony.models import Connection, Recording
from telephony.verbs import presence
from tests.backoffice import page_of
from tests.browser.conftest import HOME
from tests.campaigns.factories import CampaignFactory, DiallingDayFactory, RecordFactory
from tests.conftest import ACTOR
from tests.knowledgebase.factories import PNG, CategoryFactory
from tests.reports.exports import built
from tests.telephony.factories import AgentFactory, ConnectionFactory, PauseFactory, QueueFactory, RecordingFactory
from tests.telephony.sound import wav
from tests.tickets.factories import CustomerFactory, MessageFactory, TicketFactory
from tests.webhooks.factories import DeliveryFactory, WebhookFactory
from tickets.models import Dispatch, Message, Ticket
from webhooks.models import Delivery, Resend


@pytest.fixture
def supervisor(committed_db, session_id):
    """The agent of the user who is logged in, as whom the user replies."""
    return AgentFactory(user=User.objects.get(is_superuser=True), number="199")


@pytest.mark.trial
def test_a_waiting_caller_appears_and_is_answered(walk):
    queue, agent = QueueFactory(name="Hotline"), AgentFactory(login="anna")
    waiting = walk.page.locator("[data-key=waiting] .cc-number").first
    call = ConnectionFactory(waiting=True, queue=queue, waiting_since=timezone.now() - timedelta(seconds=70))
    expect(waiting).to_have_text("1")

    Connection.objects.filter(pk=call.pk).update(state="talking", agent=agent, answered_at=timezone.now())

    expect(waiting).to_have_text("0")
    assert walk.steps == 0


@pytest.mark.trial
def test_an_agent_is_paused_in_two_clicks(walk):
    agent = AgentFactory(login="anna")
    presence.log_in(agent, ACTOR)
    PauseFactory(name="Lunch")

    walk.click(walk.page.get_by_role("row", name="anna").get_by_role("link", name="Pause"))
    walk.button("Lunch")
    expect(walk.page.get_by_text("paused for Lunch")).to_be_visible()

    assert walk.steps == 2
    # Back at the overview, where the state and the reason need no click.
    assert urlsplit(walk.page.url).path == HOME
    expect(walk.page.get_by_role("row", name="anna")).to_contain_text("Lunch")


@pytest.mark.trial
@pytest.mark.parametrize("menu", ["Calls", "Recordings"])
def test_a_recording_of_a_customer_is_found_and_heard_in_its_row_in_three_steps(walk, own_storage, menu):
    customer = CustomerFactory(name="Jan", surname="Kowal")
    call = ConnectionFactory(agent=AgentFactory(login="anna"), customer_id=customer.pk)
    recording: Recording = RecordingFactory(ready=True, seconds=20, connection=call)
    recording.file.name = default_storage.save(recording.path, ContentFile(wav(1000, seconds=20)))
    recording.save(update_fields=["file"])
    RecordingFactory(ready=True)

    walk.menu(menu)
    walk.page.locator("#searchbar").focus()
    walk.type("kowal\n")
    row = walk.page.get_by_role("row").filter(has_text="Jan Kowal")
    expect(walk.page.locator("#result_list tbody tr")).to_have_count(1)
    walk.click(row.get_by_role("link", name="Play the recording of 0:20"))

    expect(row.locator("audio")).to_have_js_property("paused", value=False)
    expect(row).to_contain_text("anna")
    assert walk.steps == 3


def test_a_mail_is_answered_in_three_steps_and_seen_to_be_sent(walk, supervisor):
    ticket = TicketFactory(sender="jan@client.example", resolution_due_at=timezone.now() - timedelta(hours=1))
    MessageFactory(ticket=ticket)

    walk.link(f"#{ticket.pk} {ticket.subject}")
    walk.page.locator("#composer [role=textbox]").focus()
    walk.type("We send another one.")
    walk.button("Send")
    expect(walk.page.get_by_text("The reply is on its way.")).to_be_visible()
    assert walk.steps == 3

    Dispatch.objects.update(state=Dispatch.State.SENT, sent_at=timezone.now(), next_attempt_at=None)
    walk.page.reload()
    expect(walk.page.locator(".tk-sending").first).to_contain_text("sent")


@pytest.mark.trial
@pytest.mark.parametrize("page", ["/admin/tickets/ticket/", "/admin/desk/"])
def test_an_agent_takes_the_next_ticket_with_one_key(walk, visit, supervisor, page):
    TicketFactory(priority=1)
    urgent = TicketFactory(priority=4, subject="Where is my parcel?")
    visit.open(page)

    walk.page.keyboard.press("f")

    expect(walk.page.get_by_text("The ticket is yours.")).to_be_visible()
    expect(walk.page.get_by_role("heading", name="Where is my parcel?", exact=True)).to_be_visible()
    urgent.refresh_from_db()
    assert urgent.agent == supervisor


@pytest.mark.trial
def test_ten_tickets_are_assigned_in_twelve_clicks(walk):
    AgentFactory(login="anna")
    TicketFactory.create_batch(20)

    walk.menu("Tickets")
    boxes = walk.page.locator("#result_list input.action-select")
    for number in range(10):
        walk.click(boxes.nth(2 * number))
    walk.steps += 1
    walk.page.get_by_label("Assign to").select_option("anna")
    expect(walk.page.get_by_text("10 tickets").first).to_be_visible()

    assert walk.steps == 12
    assert Ticket.objects.filter(agent__login="anna").count() == 10


@pytest.mark.trial
def test_the_arrow_keys_pass_agents_and_enter_assigns(walk):
    AgentFactory(login="anna"), AgentFactory(login="maria")
    ticket = TicketFactory()

    walk.menu("Tickets")
    walk.click(walk.page.locator("#result_list input.action-select").first)
    walk.page.get_by_label("Assign to").focus()
    walk.page.keyboard.press("ArrowDown")
    walk.page.keyboard.press("ArrowDown")
    ticket.refresh_from_db()
    assert ticket.agent is None
    walk.page.keyboard.press("Enter")
    expect(walk.page.get_by_text("1 ticket").first).to_be_visible()

    assert Ticket.objects.get(agent__login="maria") == ticket


@pytest.mark.trial
def test_two_tickets_are_merged_and_split_again(walk):
    customer = CustomerFactory()
    first = TicketFactory(customer=customer, subject="The first one")
    second = TicketFactory(customer=customer, resolution_due_at=timezone.now() - timedelta(hours=1))
    MessageFactory(ticket=first)
    moved = MessageFactory(ticket=second, body="Of the second one")

    walk.link(f"#{second.pk} {second.subject}")
    walk.link("Merge", exact=True)
    walk.link(f"#{first.pk} The first one")
    walk.button("Merge")
    walk.page.wait_for_url(f"**{page_of(first)}")
    assert Message.objects.get(pk=moved.pk).ticket_id == first.pk

    walk.link("Split", exact=True)
    walk.click(walk.page.locator(f"input[name=messages][value='{moved.pk}']"))
    walk.click(walk.page.locator("form[method=post] [type=submit], form[method=post] .cc-buttons button").last)
    expect(walk.page.get_by_text("The messages are a ticket of their own now")).to_be_visible()

    assert Message.objects.get(pk=moved.pk).ticket_id not in (first.pk, second.pk)
    assert walk.steps <= 8


@pytest.mark.trial
def test_opening_hours_of_a_week_take_one_row(walk):
    queue = QueueFactory(name="Hotline")

    walk.page.goto(f"{walk.page.url.split('/admin')[0]}{page_of(queue)}")
    walk.link("Opening hours")
    walk.link("Add another Opening hours")
    for name, text in (("opens_at", "08:00"), ("closes_at", "16:00")):
        walk.page.locator(f"input[name=opening_hours-0-{name}]").fill(text)
    walk.page.locator("select[name=opening_hours-0-weekday]").select_option("Monday to Friday")
    walk.button("Save and continue editing")
    expect(walk.page.get_by_text("was changed successfully")).to_be_visible()

    assert [hours.weekday for hours in queue.opening_hours.order_by("weekday")] == [1, 2, 3, 4, 5]


def test_a_campaign_is_started_and_watched_until_another_person_pauses_it(walk):
    campaign = CampaignFactory(code="T7007", is_dialling=False)
    walk.page.reload()

    walk.click(walk.page.get_by_role("row", name="T7007").get_by_role("link", name="paused"))
    walk.click(walk.page.get_by_role("button", name="Start"))
    expect(walk.page.get_by_text("No dialler process is running.")).to_be_visible()
    DiallingDayFactory(campaign=campaign, day=timezone.localdate(), attempts=90, live_answers=40, drops=1)

    expect(walk.page.get_by_text("today: 1 of 40 answers")).to_be_visible()
    campaign.refresh_from_db()
    assert campaign.is_dialling
    assert walk.steps <= 3
    Campaign.objects.update(is_dialling=False)
    expect(walk.page.get_by_text("The dialling of the campaign is paused.")).to_be_visible()


@pytest.mark.trial
def test_a_record_says_why_it_is_not_dialled(walk):
    RecordFactory(phone_number="+48225550107", campaign__is_dialling=True)
    DoNotCall.objects.create(number="+48225550107", reason="Asked not to be called.")

    walk.page.keyboard.press("/")
    walk.type("0107")
    walk.click(walk.page.get_by_role("region", name="Records").get_by_role("link").first)

    expect(walk.page.locator("body")).to_contain_text("do-not-call")
    assert walk.steps == 2


def test_last_weeks_report_is_drawn_by_light_and_in_the_dark_and_is_a_file_in_three_clicks(walk, own_storage):
    presence.log_in(AgentFactory(login="anna"), ACTOR, timezone.now() - timedelta(days=14))
    page = walk.page

    walk.menu("Agents work report")
    walk.link("Last week")
    expect(page.locator(".report-table tbody tr")).to_have_count(7)
    expect(page.locator("#report-calls")).to_be_visible()
    drawn_in = """([colour]) => {
        const charts = Object.values(Chart.instances || {});
        const texts = charts.flatMap(({ legend, scales }) => [legend.options.labels, scales.y.options.ticks]);
        return texts.length && texts.every((text) => text.color === colour);
    }"""
    page.wait_for_function(drawn_in, arg=["#6b7280"])
    page.evaluate("document.documentElement.classList.add('dark')")
    page.wait_for_function(drawn_in, arg=["#9ca3af"])
    walk.click(page.get_by_role("button", name="CSV"))

    expect(page.locator("#export-progress")).to_be_visible()
    with page.expect_download() as download:
        built(Export.objects.get())
    assert "anna" in Path(download.value.path()).read_text()
    assert download.value.suggested_filename == Export.objects.get().file_name
    assert walk.steps == 3


@pytest.mark.trial
def test_an_article_is_written_with_a_picture_published_and_previewed(walk, visit, tmp_path):
    category, page = CategoryFactory(), walk.page
    picture = tmp_path / "picture.png"
    picture.write_bytes(PNG)

    walk.menu("Articles")
    walk.click(page.locator("a[href$='/article/add/']").first)
    page.locator("input[name=title]").focus()
    walk.type("Returns")
    page.evaluate(f"document.querySelector('select[name=category]').value = '{category.pk}'")
    editor = page.locator(".jodit-wysiwyg")
    walk.click(editor)
    walk.type("Send it back. ")
    page.locator(".jodit-toolbar-button_image button").first.click()
    page.locator(".jodit-popup input[type=file]").set_input_files(picture)
    expect(editor.locator("img")).to_have_attribute("src", re.compile("/knowledge-base/images/"))
    walk.button("Save and continue editing")
    walk.link("Publish")
    walk.button("Publish")
    expect(page.get_by_text("The article is published.")).to_be_visible()

    article = Article.objects.get()
    assert (article.is_published, article.text) == (True, "Send it back.")
    assert ArticleImage.objects.get().article == article
    assert walk.steps <= 9
    visit.open(page_of(article, "preview"))
    frame = page.frame_locator("iframe.reader")
    expect(frame.locator("h1")).to_have_text("Returns")
    expect(frame.locator("img")).to_be_visible()


@pytest.mark.trial
def test_what_failed_for_a_webhook_is_sent_again_and_the_page_shows_the_end_by_itself(walk):
    webhook = WebhookFactory(failing=True)
    DeliveryFactory(webhook=webhook, state=Delivery.State.FAILED, finished_at=timezone.now(), next_attempt_at=None)
    walk.page.reload()

    walk.click(walk.page.locator(f"#overview a[href*='{page_of(webhook)}']").first)
    walk.link("Send again what failed")
    walk.click(walk.page.locator("#action-form [type=submit]").first)

    walk.page.wait_for_url("**/webhooks/resend/*/change/")
    assert Resend.objects.get().webhook == webhook
    assert walk.steps == 3
    expect(walk.page.get_by_text("It begins in a moment.")).to_be_visible()
    ended = {"done_count": 3, "total_count": 3, "finished_at": timezone.now()}
    Resend.objects.update(state=Resend.State.FINISHED, **ended)
    expect(walk.page.get_by_text("3 deliveries were made due.")).to_be_visible()
    expect(walk.page.get_by_role("link", name="What still waits")).to_be_visible()


@pytest.mark.trial
def test_a_new_agent_with_role_and_scope_takes_five_clicks(walk):
    QueueFactory(name="Hotline")
    page = walk.page

    walk.menu("Agents")
    walk.link("New agent")
    for name, text in (("login", "maria"), ("name", "Maria"), ("password", "long-and-unusual-1")):
        page.locator(f"input[name={name}]").focus()
        page.keyboard.type(text)
    walk.click(page.locator("select[name=scope_call_queues] + .select2-container"))
    walk.click(page.get_by_role("option", name="Hotline"))
    walk.click(page.get_by_role("button", name="Add the agent"))

    expect(page.get_by_text("maria (Maria) is added.")).to_be_visible()
    assert walk.steps <= 5
    user = User.objects.get(username="maria")
    assert [role.name for role in user.groups.all()] == ["Agent"]
    assert user.agent.login == "maria"
    assert user.scope_call_queues is not None
