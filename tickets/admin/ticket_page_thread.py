"""The conversation of a ticket, newest first. A page takes a constant number of queries."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from django.db.models import Q
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _now

from tickets.mail.server_verdicts import is_failing
from tickets.models import Dispatch, Message, StoredFile, Ticket, as_read

SHOWN = 30

_CID = re.compile(r"""(<img\b[^<>]*?\bsrc\s*=\s*["']?)cid:([^"'\s>]+)""", re.IGNORECASE)
_ELSEWHERE = re.compile(r"""<img\b[^<>]*?\bsrc\s*=\s*["']?(?:https?:)?//""", re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,;:!?)\]]")


@dataclass(frozen=True, slots=True)
class Sending:
    """The state of a message on its way out, in words."""

    pk: int
    colour: str
    label: str
    # The reason of a failure, or the server's answer about single recipients.
    detail: str = ""
    at: datetime | None = None
    recipients: str = ""
    copies: str = ""
    may_send_again: bool = False


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """A message as the page shows it."""

    pk: int
    kind: str  # customer, agent, comment, system
    author: str
    address: str
    # The address for answers, if it is another one.
    reply_to: str
    at: datetime
    is_automatic: bool
    is_answer: bool
    # What our server found out about the sender, in words, and whether that speaks against the sender.
    verdicts: str
    is_doubtful: bool
    # Either the text with links, or the document of a frame.
    text: SafeString
    document: str
    quoted: str
    files: Sequence[StoredFile]
    # The statuses before and after a change, or another comment of the service.
    moved: tuple[str, str] | None
    remark: str
    ratings: Sequence[int]
    has_images_elsewhere: bool
    sending: Sending | None


@dataclass(frozen=True, slots=True)
class Thread:
    entries: list[ThreadEntry] = field(default_factory=list)
    # The id of the oldest message shown, if there are older ones.
    earlier: int | None = None


def thread_of(ticket: Ticket, *, before: int | None = None, pictures: str, images_of: int | None = None) -> Thread:
    """Return the newest messages, or those before the message `before`.

    `pictures` is the address of files, for the frames. `images_of` is the message whose images of other sites the
    reader wants to see.
    """
    messages = Message.objects.filter(ticket=ticket).select_related("agent", "dispatch").prefetch_related("files")
    if before is not None and (shown := Message.objects.filter(ticket=ticket, pk=before).only("created_at").first()):
        messages = messages.filter(Q(created_at__lt=shown.created_at) | Q(created_at=shown.created_at, pk__lt=shown.pk))
    found = list(messages.order_by("-created_at", "-id")[: SHOWN + 1])
    shown_ones = found[:SHOWN]
    return Thread(
        [entry_of(message, pictures=pictures, with_images=message.pk == images_of) for message in shown_ones],
        shown_ones[-1].pk if len(found) > SHOWN else None,
    )


def entry_of(message: Message, *, pictures: str, with_images: bool = False) -> ThreadEntry:
    is_comment = message.type == Message.Type.COMMENT
    body = message.comment if is_comment else message.body
    is_html = message.body_type == Message.BodyType.HTML
    files = [file for file in message.files.all() if not (file.content_id and is_html and file.content_id in body)]
    moved = _moved(message.system_comment)
    return ThreadEntry(
        pk=message.pk,
        kind=_kind(message),
        author=author_of(message),
        address=message.author_address,
        reply_to=message.reply_to,
        at=message.created_at,
        is_automatic=message.is_automatic,
        is_answer=message.is_answer,
        verdicts=_in_words(message.verdicts),
        is_doubtful=is_failing(message.verdicts),
        text=mark_safe("") if is_html else with_links(body),
        document=document_of(message, body, pictures, with_images=with_images) if is_html and body else "",
        quoted="" if is_html else message.quoted,
        files=files,
        moved=moved,
        remark="" if moved else message.system_comment,
        ratings=message.ratings,
        has_images_elsewhere=is_html and not with_images and bool(_ELSEWHERE.search(body + message.quoted)),
        sending=sending_of(message),
    )


def _in_words(verdicts: str) -> str:
    """Return "SPF pass, DKIM none" for "spf=pass dkim=none": the words of mail servers, in every language."""
    pairs = (each.split("=", 1) for each in verdicts.split())
    return ", ".join(f"{method.upper()} {result}" for method, result in pairs)


def _moved(comment: str) -> tuple[str, str] | None:
    """Return the statuses before and after, if the comment of the service reports a change of the status."""
    beginning, end = "Changed status from [", "]"
    if not comment.startswith(beginning) or not comment.endswith(end):
        return None
    before, between, after = comment[len(beginning) : -len(end)].rpartition("] to [")
    return (as_read(before), as_read(after)) if between else None


def _kind(message: Message) -> str:
    match message.type:
        case Message.Type.MAIL:
            return "customer"
        case Message.Type.REPLY:
            return "agent"
    return "comment" if message.comment else "system"


def author_of(message: Message) -> str:
    if message.type == Message.Type.MAIL:
        return message.author_name or message.author_address or _now("Customer")
    login = message.agent.login if message.agent else ""
    return message.author_name or login or _now("The service")


def with_links(text: str) -> SafeString:
    """Return plain text as safe HTML with links."""
    parts, end = [], 0
    for found in _LINK.finditer(text):
        parts.append(conditional_escape(text[end : found.start()]))
        link = '<a class="cc-link" href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>'
        parts.append(format_html(link, found[0], found[0]))
        end = found.end()
    return mark_safe("".join([*parts, conditional_escape(text[end:])]))  # noqa: S308  (each part is escaped)


# The document inside the frame: without scripts, forms or content of other sites.
_DOCUMENT = """<!DOCTYPE html><html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src {images}; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer"><base target="_blank">
<style>
html {{ background: transparent; color: #1f2937; overflow: hidden; }}
body {{ font: 14px/1.55 Inter, system-ui, sans-serif; margin: 0; overflow-wrap: anywhere; }}
p {{ margin: 0 0 .75em; }} img {{ height: auto; max-width: 100%; }} table {{ max-width: 100%; }} a {{ color: #2563eb; }}
blockquote {{ border-left: 3px solid #d1d5db; margin: .5em 0; padding-left: .75em; }}
pre {{ white-space: pre-wrap; }} .scroll {{ overflow-x: auto; }}
.scroll > :first-child {{ margin-top: 0; }} .scroll > :last-child {{ margin-bottom: 0; }}
summary {{ color: #6b7280; cursor: pointer; margin-top: .75em; }}
.dark {{ color: #d1d5db; }} .dark a {{ color: #60a5fa; }}
.dark font {{ color: inherit; }} .dark summary {{ color: #9ca3af; }} .dark blockquote {{ border-color: #4b5563; }}
{hidden}</style></head><body><div class="scroll" dir="auto">{body}{quoted}</div></body></html>"""


def document_of(message: Message, body: str, pictures: str, *, with_images: bool) -> str:
    """Return the document of a frame. The body was sanitised on arrival; the policy guards once more."""
    folder = urlsplit(pictures).path
    by_id = {file.content_id: file.token for file in message.files.all() if file.content_id}

    def picture(found: re.Match[str]) -> str:
        token = by_id.get(found[2])
        return f"{found[1]}{folder}{token}?inline=1" if token else f"{found[1]}about:blank"

    quoted = ""
    if message.quoted:
        label = conditional_escape(_now("Show quoted text"))
        quoted = f"<details><summary>{label}</summary>{_CID.sub(picture, message.quoted)}</details>"
    images = f"{pictures} https: http:" if with_images else pictures
    hidden = "" if with_images else "img[src^='http'], img[src^='//'] { display: none; }"
    return _DOCUMENT.format(images=images, hidden=hidden, body=_CID.sub(picture, body), quoted=quoted)


def preview_of(body: str) -> str:
    """Return the document of a frame that shows a text of our own."""
    return _DOCUMENT.format(images="https: http:", hidden="", body=body, quoted="")


def sending_of(message: Message) -> Sending | None:
    dispatch: Dispatch | None = getattr(message, "dispatch", None)
    if dispatch is None:
        return None
    colour, at = _colour_and_time(dispatch)
    detail = dispatch.error
    if dispatch.is_unknown:
        detail = _now("It is not known whether it arrived: the connection broke while it was being sent.")
    return Sending(
        pk=dispatch.pk,
        colour=colour,
        label=dispatch.condition,
        detail=detail,
        at=at,
        recipients=", ".join(dispatch.recipients),
        copies=", ".join(dispatch.copies),
        # A message that waits for its first attempt is sent anyway.
        may_send_again=dispatch.may_be_resent and (dispatch.state != Dispatch.State.QUEUED or bool(dispatch.error)),
    )


def _colour_and_time(dispatch: Dispatch) -> tuple[str, datetime | None]:
    match dispatch.state:
        case _ if dispatch.bounced_at:
            return "danger", dispatch.bounced_at
        case Dispatch.State.FAILED:
            return "warning" if dispatch.is_unknown else "danger", None
        case Dispatch.State.QUEUED:
            return ("warning", dispatch.next_attempt_at) if dispatch.error else ("info", None)
        case Dispatch.State.SENT:
            return "warning" if dispatch.error else "success", dispatch.sent_at
    return "info", dispatch.sent_at
