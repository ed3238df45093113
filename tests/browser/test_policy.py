"""The content security policy in a real Chromium: it stops each script that was stored.

That it stops nothing on the pages themselves is a part of the visit to every page in `test_admin.py`.
"""

import pytest
from django.db.models import Value

from knowledgebase.models import Article, ArticleVersion
from tests.backoffice import page_of
from tests.knowledgebase.factories import ArticleFactory
from tests.tickets.factories import CannedReplyFactory, MessageFactory, TicketFactory, TicketQueueFactory
from tickets.models import CannedReply, Message, TicketQueue

# Stored HTML that was not cleaned: it was stored before there was cleaning, or passed through the cleaning.
STORED = """
<p id="stored">Stored</p>
<script>top.ran = "script"</script>
<img src="/nothing.png" onerror="top.ran = 'onerror'">
<svg onload="top.ran = 'onload'"></svg>
<details open ontoggle="top.ran = 'ontoggle'"><summary>More</summary></details>
<iframe srcdoc="<script>top.ran = 'srcdoc'</script>"></iframe>
<object data="data:text/html,<script>top.ran = 'object'</script>"></object>
<p x-data x-init="top.ran = 'x-init'"></p>
<p x-text="top.ran = 'x-text'"></p>
<p x-bind:title="top.ran = 'x-bind'"></p>
<p hx-get="/admin/" hx-trigger="load[top.ran = 'hx-trigger']"></p>
<p hx-get="/admin/" hx-trigger="load" hx-on::before-request="top.ran = 'hx-on'"></p>
<a id="link" href="javascript:top.ran = 'link'">Click here</a>
<form id="form" action="javascript:top.ran = 'form'"><button>Send</button></form>
<base href="https://elsewhere.example/">
"""

# Follow stored links and send stored forms, also inside frames.
FOLLOW = """() => {
    const inside = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument);
    for (const place of [document, ...inside].filter(Boolean)) {
        for (const link of place.querySelectorAll("#link")) link.click();
        for (const form of place.querySelectorAll("#form")) form.requestSubmit();
    }
}"""


@pytest.fixture
def stored(committed_db):
    """Return name -> address of each page that shows the stored HTML."""
    reply, queue, article = CannedReplyFactory(), TicketQueueFactory(), ArticleFactory()
    message = MessageFactory(ticket=TicketFactory(queue=queue), body_type="HTML")
    raw = Value(STORED)  # an expression: columns of HTML clean each text that is saved
    CannedReply.objects.update(body=raw)
    TicketQueue.objects.filter(pk=queue.pk).update(signature=raw, acknowledgement=raw)
    Message.objects.update(body=raw, quoted=raw)
    Article.objects.update(content=raw)
    ArticleVersion.objects.update(content=raw)
    assert CannedReply.objects.get().body == STORED
    return {
        "canned reply": page_of(reply),
        "ticket queue": page_of(queue),
        "ticket": page_of(message.ticket),
        "article": page_of(article),
        "preview": page_of(article, "preview"),
        "version": page_of(article.versions.get()),
        "comparison": page_of(article.versions.get(), "compare"),
    }


PLACES = ["canned reply", "ticket queue", "ticket", "article", "preview", "version", "comparison"]


@pytest.mark.walk("ticket")
@pytest.mark.parametrize("place", PLACES)
def test_no_script_that_was_stored_runs(place, stored, free_visit):
    page = free_visit.page
    page.goto(f"{free_visit.address}{stored[place]}")
    page.evaluate(FOLLOW)
    # The time that a script has to run.
    page.wait_for_timeout(500)

    assert page.evaluate("top.ran") is None
    assert page.url == f"{free_visit.address}{stored[place]}"
