"""Errors of the domain: one enum of codes and messages, and the exceptions that carry them.

Models raise these, the API answers them, the admin shows them. A published number keeps its meaning.
"""

import dataclasses
import enum
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from errno import ENOSPC
from typing import TYPE_CHECKING, Any, Self, TypeVar

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import InterfaceError, OperationalError
from django.http import Http404
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Entry = TypeVar("Entry")

# Seconds after which a client may ask again while the database is away.
RETRY_AFTER_SECONDS = 5
# Control characters, and separators of lines and paragraphs.
_BREAKING = ("Cc", "Zl", "Zp")


class ErrorCode(enum.Enum):
    """A fault with its number on the wire, for programs, and its sentence, for people."""

    number: int
    text: "_StrPromise"

    def __new__(cls, number: int, text: "_StrPromise") -> Self:
        member = object.__new__(cls)
        member._value_ = number
        member.number = number
        member.text = text
        return member

    INTERNAL = 100000, _("The service failed to answer; the request id leads to the cause in its log.")
    # Fields
    EMPTY = 100001, _('Field "%(field)s" cannot be empty.')
    NOT_TEXT = 100002, _('Field "%(field)s" must be a text.')
    TOO_LONG = 100003, _('Field "%(field)s" can have at most %(limit)s characters.')
    NOT_INTEGER = 100004, _('Field "%(field)s" must be a whole number.')
    NOT_NUMBER = 100005, _('Field "%(field)s" must be a number.')
    OUT_OF_RANGE = 100006, _('Field "%(field)s" must be between %(low)s and %(high)s.')
    NOT_BOOLEAN = 100007, _('Field "%(field)s" must be true or false.')
    NOT_DATE = 100008, _('Field "%(field)s" must be a date: YYYY-MM-DD.')
    NOT_MINUTE = 100009, _('Field "%(field)s" must be a time: YYYY-MM-DD hh:mm.')
    NOT_INSTANT = 100010, _('Field "%(field)s" must be a date or a time: YYYY-MM-DD, with hh:mm or hh:mm:ss.')
    NOT_CHOICE = 100011, _('Field "%(field)s" must be one of: %(choices)s.')
    NOT_OBJECT = 100012, _('Field "%(field)s" must be an object.')
    NOT_LIST = 100013, _('Field "%(field)s" must be an array.')
    TOO_MANY = 100014, _('Field "%(field)s" can have at most %(limit)s entries.')
    NUL = 100016, _('Field "%(field)s" cannot contain the character NUL or half a surrogate pair.')
    NOT_ONE_LINE = 100017, _('Field "%(field)s" must be one line, without control characters.')
    # Requests
    NOT_JSON = 100101, _("The body is no valid JSON: %(reason)s.")
    BODY_NOT_OBJECT = 100102, _("The body must be a JSON object.")
    UNAUTHENTICATED = 100103, _("Login and password of an API user are required.")
    FORBIDDEN = 100104, _("The API user lacks the right %(right)s.")
    NOT_FOUND = 100105, _("There is nothing at this address.")
    METHOD_NOT_ALLOWED = 100106, _("The method %(method)s is not allowed here.")
    TOO_LARGE = 100107, _("The body is larger than %(limit)s MB.")
    MEDIA_TYPE = 100108, _("The body must be JSON (Content-Type: application/json).")
    TOO_MANY_REQUESTS = 100109, _("Too many requests; try again in %(seconds)s seconds.")
    TOO_MANY_FAILURES = 100110, _("Too many failed log-ins; try again in %(seconds)s seconds.")
    BAD_REQUEST = 100111, _("The request cannot be understood.")
    KEY_REUSED = 100112, _("This Idempotency-Key was used for another request.")
    KEY_BUSY = 100113, _("A request with this Idempotency-Key is still being worked on.")
    KEY_TOO_LONG = 100114, _("An Idempotency-Key has 1 to 255 characters.")
    CONFLICT = 100115, _("Something else changed at the same time; try again.")
    NOT_DELETABLE_NOW = 100116, _("It cannot be deleted now.")
    LEGAL_HOLD = 100117, _("There is a legal hold on it.")
    ERASURE_ASKED_ALREADY = 100118, _("The erasure of this person was asked for already.")
    CONSENT_OF_ANOTHER = 100119, _("Another person than the one who asked must consent.")
    BODY_TOO_SLOW = 100120, _("The body did not come in time.")
    CROSS_SITE = 100121, _("A page of another site may change nothing here.")
    NO_MEDIA_TYPE = 100122, _("A body needs a Content-Type.")
    UNAVAILABLE = 100123, _("The service has no connection to its database; try again in a few seconds.")
    ERASURE_NOT_FOUND = 100124, _("Erasure not found.")
    PERSON_EXPORT_NOT_FOUND = 100125, _("Export not found, or its file is gone.")
    PERSON_REQUIRED = 100126, _("Name the person: a customer, phone numbers or addresses.")
    HAS_CUSTOMER = 100127, _('Field "%(field)s": %(value)s belongs to customer %(ids)s. Name the customer.')
    NO_SPACE = 100130, _("The server has no space left: nothing was changed. Reads work.")
    # Agents
    AGENT_NOT_FOUND = 110001, _("Agent not found.")
    AGENTS_NOT_FOUND = 110002, _("Agents not found: %(logins)s.")
    AGENT_LOGIN_TAKEN = 110003, _("Another agent has this login.")
    AGENT_NUMBER_TAKEN = 110004, _("Another agent has this number.")
    AGENT_INACTIVE = 110005, _("The agent is inactive.")
    AGENT_NOT_LOGGED_IN = 110006, _("The agent is not logged in.")
    AGENT_IN_CALL = 110007, _("The agent is in a call.")
    PAUSE_NOT_FOUND = 110008, _("Pause not found.")
    AGENT_WITHOUT_LINE = 110009, _("The agent has no standing line.")
    AGENT_WITHOUT_BROWSER_PHONE = 110010, _("The agent has no phone in the browser.")
    # Campaigns
    CAMPAIGN_ID_MALFORMED = 120001, _("A campaign id has 5 letters or digits.")
    CAMPAIGN_ID_TAKEN = 120002, _("Another campaign has this id.")
    CAMPAIGN_IDS_EXHAUSTED = 120003, _("There is no free campaign id left.")
    END_BEFORE_START = 120004, _("A campaign cannot end before it starts.")
    PARAMETER_UNKNOWN = 120005, _('There is no parameter "%(name)s".')
    RATIOS_CROSSED = 120006, _("predictive_min_calls cannot be above predictive_max_calls.")
    GROUP_NOT_FOUND = 120007, _("Campaign group not found.")
    HOLIDAYS_UNKNOWN = 120010, _('The holidays of "%(country)s" are not known.')
    ZONE_FIELD_OF_OTHER = 120011, _("The field belongs to another campaign.")
    SCRIPT_FIELD_UNKNOWN = 120014, _('The script names the field "%(name)s", which the campaign does not have.')
    HOURS_BIND = 120013, _("Hours can be ignored on the simulated switch only.")
    NOTHING_TO_RECYCLE = 120012, _("No record of the campaign has these statuses and outcomes.")
    CAMPAIGN_HAS_RECORDS = 120009, _("The campaign has records: it can be made inactive, not deleted.")
    # Records
    PHONE_LETTERS = 121001, _("A phone number has no letters.")
    PHONE_INVALID = 121002, _("This is no phone number.")
    PHONE_TOO_LONG = 121003, _("This is too long for a phone number.")
    NUMBER_DUPLICATED = 121004, _("The campaign already has this number.")
    NUMBER_AMBIGUOUS = 121005, _("More than one record has this number: it cannot be edited through the API.")
    RECORD_NOT_FOUND = 121006, _("Record not found.")
    RECORD_BUSY = 121007, _("The record is in a live call.")
    IDENTIFIER_TAKEN = 121008, _("Another record of the campaign has this identifier.")
    STATUS_NOT_FOUND = 121009, _("Status not found in this campaign.")
    DICTIONARY_STATUS_NOT_FOUND = 121010, _("The campaign has no status for this dictionary status.")
    STATUSES_DISAGREE = 121011, _("status_id and dictionary_status_id name different statuses.")
    AGENT_REQUIRED = 121012, _('A record with the status "%(status)s" needs %(field)s.')
    NEXT_CALL_REQUIRED = 121013, _('A record with the status "%(status)s" needs next_call_date.')
    FIELD_UNKNOWN = 121014, _('The campaign has no field "%(name)s".')
    FIELDS_IN_CRM = 121015, _("Fields cannot be set in a CRM campaign.")
    SAME_RECORD_TWICE = 121016, _("Another item of this batch already means this record.")
    PHONE_NOT_VALID = 121018, _("This number is not valid in its country.")
    FIRST_APPLIED = 121017, _("This number stands twice in the batch: the first item was applied, the later one not.")
    # Calls of the dialler
    CALL_OF_NO_CAMPAIGN = 124001, _("The call belongs to no campaign.")
    RESULT_TOO_LATE = 124002, _("A result can be given until five minutes after the call.")
    RECORD_RESERVED = 124003, _("The record is reserved for its next call.")
    RESULT_IN_PROGRESS = 124004, _("A result ends the call: choose another status than one in progress.")
    NO_OFFER = 124005, _("No record is offered to the agent.")
    NOT_CALLABLE = 124006, _("The record cannot be called now.")
    NO_LINE = 124007, _("The limits allow no more calls now.")

    # Imports
    PHONE_COLUMN_MISSING = 122001, _("One column must be the phone number.")
    COLUMN_TWICE = 122002, _("Two columns are read as %(target)s.")
    COLUMN_UNKNOWN = 122003, _('The file has no column "%(name)s".')
    TARGET_UNKNOWN = 122004, _('There is nothing called "%(name)s" that a column could be.')
    FILE_EMPTY = 122005, _("The file has no rows.")
    FILE_UNREADABLE = 122006, _("The file cannot be read as %(encoding)s.")
    FILE_TOO_LARGE = 122007, _("The file is larger than %(limit)s MB.")
    REGION_UNKNOWN = 122008, _('There is no numbering plan for the region "%(region)s".')
    BYTES_UNREADABLE = 122009, _('Column "%(field)s" has bytes that are not %(encoding)s.')
    TOO_MANY_CELLS = 122010, _("The row has %(count)s columns, the first row has %(limit)s.")
    QUOTE_OPEN = 122011, _("A quotation mark is opened and not closed.")
    FILE_GONE = 122012, _("The file is not there any more.")
    TOO_MANY_COLUMNS = 122013, _("The file has %(count)s columns; at most %(limit)s can be read.")
    LINE_TOO_LONG = 122014, _("Line %(line)s of the file is longer than %(limit)s characters.")
    NUMBER_REPEATED = 122015, _("An earlier row of the file has this number.")
    IDENTIFIER_REPEATED = 122016, _("An earlier row of the file has this identifier.")

    # Do not call
    NUMBER_OR_PREFIX = 123001, _("Either number or prefix is wanted, not both.")
    CAMPAIGN_NOT_FOUND = 123002, _("There is no campaign with this id.")
    UNTIL_BEFORE_SINCE = 123003, _("until must be after since.")
    PREFIX_INVALID = 123004, _("A prefix has 1 to 15 digits and begins with a country code, as +4822.")
    NUMBER_COLUMN_MISSING = 123005, _("The file needs a column named number, phone_number or prefix.")
    DO_NOT_CALL_NOT_FOUND = 123006, _("There is no do-not-call entry with this id.")

    # Webhooks
    ACTION_UNKNOWN = 130001, _('There is no action "%(name)s".')
    TARGET_MALFORMED = 130002, _("This is no address of a web server.")
    TARGET_SCHEME = 130003, _("The address must start with http:// or https://.")
    TARGET_FORBIDDEN = 130004, _("Webhooks are not sent to this network.")
    TARGET_CREDENTIALS = 130006, _("The address cannot hold a login: use http_auth_user and http_auth_password.")
    USER_HAS_COLON = 130005, _("The user of Basic authentication has no colon.")
    PASSWORD_AGAIN = 130008, _("Enter the password again: it would be sent to another server.")
    SECRET_MALFORMED = 130007, _("The secret must be whsec_ and 24 to 64 bytes in Base64.")

    WEBHOOK_NOT_FOUND = 130009, _("Webhook not found.")

    # Topics of calls
    CONNECTION_NOT_FOUND = 140001, _("Connection not found.")
    TOPIC_NOT_SET = 140201, _("The connection has no topic.")
    TOPIC_NOT_FOUND = 140202, _("There is no active topic with this id.")
    TOPIC_OF_OTHER_QUEUE = 140203, _("The topic belongs to a queue that the call was not in.")
    TOPIC_FIELD_NOT_FOUND = 140204, _("The queue of the topic has no active field with this id.")
    TOPIC_FIELD_TWICE = 140205, _("This field already has a value.")
    TOPIC_FIELD_REQUIRED = 140206, _('The field "%(name)s" is required.')
    # Transcriptions
    TRANSCRIPTION_NOT_FOUND = 140401, _("The connection has no recording and no transcription.")
    TRANSCRIPTION_NOT_CONFIGURED = (
        140402,
        _("The connection has a recording, but there is no provider of transcriptions."),
    )

    # Calls
    SIP_UNKNOWN = 140301, _("No active agent has this SIP number.")
    CALL_OVER = 140302, _("The call is over.")
    CALL_NOT_TALKING = 140303, _("No agent talks in this call.")
    CALL_NOT_ON_HOLD = 140304, _("The call is not on hold.")
    CALL_ON_HOLD = 140305, _("The call is on hold already.")
    TRANSFER_TARGET = 140306, _("One of queue_id, number and transfer_shortcut_id is wanted.")
    QUEUE_UNKNOWN = 140307, _("There is no active queue with this id.")
    SHORTCUT_UNKNOWN = 140308, _("There is no transfer shortcut with this id.")
    NO_CONNECTION_TO_PBX = 140309, _("No connection to the PBX.")

    QUEUE_NOT_FOUND = 140310, _("Queue not found.")
    PHONE_OCCUPIED = 140311, _("This phone is in a call, or has a standing line.")
    PHONE_NOT_CONNECTED = 140312, _("This phone in the browser is not connected.")
    NOT_MONITORED = 140313, _("This phone is not in the call as a supervisor's.")
    MESSAGE_TO = 140314, _("One of agent_login, queue_id and all is wanted.")
    CONSULTING = 140315, _("An agent or a number is being consulted in this call.")
    NOT_CONSULTING = 140316, _("No agent and no number is being consulted in this call.")
    CONSULTED_RINGS = 140317, _("The consulted phone still rings.")
    NO_AGENT_READY = 140318, _("No agent of this queue is ready.")

    # Call-backs
    CALLBACK_NOT_FOUND = 140501, _("Call-back not found.")
    CALLBACK_EXISTS = 140502, _("A call-back of this queue waits for the number already.")
    CALLBACK_NOT_WAITING = 140503, _("The call-back does not wait any more.")
    CALLER_WITHOUT_NUMBER = 140504, _("The caller showed no number.")

    # Tickets
    REPLY_UNSUPPORTED = 150001, _('Replies cannot be sent to tickets of the source "%(source)s".')
    DATE_OUTSIDE = 150002, _('Field "%(field)s" cannot be before the ticket was created, nor in the future.')
    RECIPIENT_UNKNOWN = 150003, _("The ticket has no address that a reply could be sent to.")
    TICKET_MERGED = 150004, _("The ticket was merged into ticket %(ticket_id)s.")
    TICKET_STATUS_NOT_FOUND = 150005, _("Ticket status not found.")
    SUBSTATUS_NOT_FOUND = 150006, _("Sub-status not found in this status.")
    TICKET_CATEGORY_NOT_FOUND = 150007, _("Category not found.")
    TICKET_QUEUE_NOT_FOUND = 150008, _("Ticket queue not found.")
    TICKET_QUEUE_MISSING = 150009, _("There is no active ticket queue.")
    STATUS_MERGED_BY_HAND = 150010, _("A ticket gets this status by being merged.")
    MERGE_WITH_ITSELF = 150011, _("A ticket cannot be merged into itself.")
    ADDRESS_MALFORMED = 150012, _("This is no e-mail address.")
    SPLIT_NEEDS_SOME = 150013, _("Some of the messages, and not all of them, can become a ticket of their own.")
    TICKET_NOT_FOUND = 150014, _("Ticket not found.")
    TICKET_TYPE_NOT_FOUND = 150020, _("Type of tickets not found.")
    TICKET_ACTION_VALUE = 150025, _('The action "%(name)s" has no value, or one that does not exist.')
    MACRO_NOT_FOUND = 150027, _("Macro not found.")
    POSTPONED_UNTIL = 150028, _("This time is over.")
    POSTPONED_STATUS = 150030, _("Only a postponed ticket has a time to come back: choose such a status, or no time.")
    TEAM_NOT_FOUND = 150029, _("Team not found.")
    CUSTOM_FIELD_MISSING = 150021, _('Custom field "%(name)s" must have a value before the ticket is closed.')
    MAIL_NOT_QUARANTINED = 150201, _("The mail is not in quarantine any more.")
    MAIL_OUT_OF_REACH = 150202, _("The mailbox has been numbered anew: the mail cannot be found in it any more.")
    SENDER_MALFORMED = 150203, _("This is neither an address nor a domain.")
    NOT_RESENT = 150101, _("The message was sent, or may just be being sent: it cannot be sent again.")
    # Customers
    CUSTOMER_NOT_FOUND = 151001, _("Customer not found.")
    COMPANY_NOT_FOUND = 151002, _("Company not found.")
    CUSTOMER_IDENTIFIER_TAKEN = 151003, _("Another customer has this identifier.")
    CUSTOM_FIELD_UNKNOWN = 151004, _('There is no custom field "%(name)s".')
    CUSTOM_FIELD_OPTION = 151005, _('Custom field "%(name)s" must be one of: %(choices)s.')
    CUSTOMER_MERGED = 151006, _("The customer was merged into another one.")
    CUSTOMER_MERGED_WITH_ITSELF = 151007, _("A customer cannot be merged with the same customer.")
    PLACE_MALFORMED = 151010, _('Field "%(field)s" must be the "next" of a page of the timeline.')
    CUSTOMER_BUSY = 151008, _("The data of the customer are being changed right now: try again in a moment.")
    CUSTOM_FIELD_IN_USE = 151009, _("The field has values: its type stays. Add another field instead.")
    ZONE_UNKNOWN = 151011, _('There is no time zone "%(name)s".')
    # Files
    FILE_NOT_FOUND = 152001, _("There is no unused file with this token.")
    FILE_EMPTY_UPLOAD = 152002, _("The file is empty.")
    FILES_TOO_LARGE = 152003, _("The files together are larger than %(limit)s MB.")
    TOO_MANY_FILES = 152004, _("There are %(limit)s unused files already: use them, or wait until they are forgotten.")
    FILE_CUT_SHORT = 152005, _("Less came than the request announced.")
    FILE_IN_FORM = 152006, _("The body must be the file itself (Content-Type: application/octet-stream), not a form.")
    ATTACHMENT_NOT_FOUND = 152007, _("Attachment not found.")
    # Chats
    CHAT_QUEUE_NOT_FOUND = 153001, _("Queue not found.")
    CHAT_CLOSED = 153002, _("The chat is closed.")
    CHAT_NOT_FOUND = 153003, _("Chat not found.")
    # Marketplaces
    PLAIN_ONLY = 900029, _('Messages to tickets of the source "%(source)s" must be plain text (body_type PLAIN).')
    # Knowledge base
    CATALOG_NAME_TAKEN = 160001, _("Another catalog has this name.")
    CATEGORY_NOT_FOUND = 160002, _("Category not found.")
    CATEGORY_HAS_ARTICLES = 160003, _("The category has articles: move them first.")
    ARTICLE_CHANGED = 160004, _("Another user has changed the article meanwhile.")
    IMAGE_KIND = 160005, _("An image is PNG, JPEG, GIF or WebP.")
    IMAGE_TOO_LARGE = 160006, _("The image is larger than %(limit)s MB.")
    HTML_UNCLEANABLE = 160007, _("The text cannot be made safe: its tags are nested too deeply, or are too many.")
    CATALOG_NOT_FOUND = 160008, _("Catalog not found.")
    ARTICLE_NOT_FOUND = 160009, _("Article not found.")
    # Reports
    AGENTS_REQUIRED = 170001, _("Either agent_logins or agent_group_ids is required.")
    AGENT_GROUPS_NOT_FOUND = 170002, _("Agent groups not found: %(ids)s.")
    REPORT_ENDS_BEFORE_START = 170003, _("date_to cannot be before date_from.")
    TOO_MANY_PERIODS = 170004, _("The span has more than %(limit)s periods: shorten it, or aggregate by longer ones.")
    RECIPIENT_MALFORMED = 170005, _("This is no e-mail address: %(address)s.")
    QUEUES_NOT_FOUND = 170006, _("Queues not found: %(ids)s.")
    OUTBOUNDS_NOT_FOUND = 170007, _("Campaigns not found: %(ids)s.")
    SUMS_ONLY = 170008, _("Before %(day)s only sums are kept: ask for whole hours or longer, and for all queues.")
    ROWS_GONE = 170009, _("What this report counts was deleted by a retention before %(day)s: begin then or later.")

    @property
    def slug(self) -> str:
        return self.name.lower()


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong. `field` is dotted for nested values (`parameters.caller_id`), or ""."""

    code: ErrorCode
    field: str = ""
    params: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def message(self) -> str:
        return self.in_words({})

    def in_words(self, sentences: "Mapping[ErrorCode, _StrPromise]") -> str:
        """Return the message, with the sentence given for this code in place of its own."""
        return str(sentences.get(self.code, self.code.text)) % {"field": self.field, **self.params}

    def under(self, prefix: str) -> "Fault":
        return Fault(self.code, f"{prefix}.{self.field}" if self.field else prefix, self.params)


def is_lock_refusal(error: Exception) -> bool:
    """Return whether PostgreSQL refused to wait longer for a lock, or broke a deadlock. A retry may succeed."""
    return isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", "") in ("55P03", "40P01")


def is_database_away(error: BaseException | None) -> bool:
    """Return whether the database did not answer: no connection, a broken or refused one, or a server that stops."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    # Errors of the network have no code of the server.
    code = getattr(error.__cause__, "sqlstate", None)
    return not code or code.startswith(("08", "57P0", "53300"))


def is_out_of_space(error: Exception) -> bool:
    """Return whether a disk was full: one of ours, or PostgreSQL's."""
    return getattr(error, "errno", None) == ENOSPC or getattr(error.__cause__, "sqlstate", "") == "53100"


def check_lines(**texts: str) -> Iterable[Fault]:
    """Yield a fault for each text with a line break or control character: these texts stand in headers of mails."""
    for field, text in texts.items():
        # Most texts are printable, and printable texts contain no such character.
        if not text.isprintable() and any(unicodedata.category(character) in _BREAKING for character in text):
            yield Fault(ErrorCode.NOT_ONE_LINE, field)


def besides(said: Sequence[Fault], faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults of fields that `said` does not name: an unreadable value is not reported as missing too."""
    fields = {fault.field for fault in said}
    return [fault for fault in faults if fault.field not in fields]


class Readable(list[Entry]):
    """The readable entries of an array, with the position of each in that array."""

    def __init__(self, entries: Iterable[Entry] = (), positions: Sequence[int] = ()) -> None:
        super().__init__(entries)
        self.positions = positions


def numbered(entries: Iterable[Entry]) -> Iterable[tuple[int, Entry]]:
    """Pair each entry with its position in the array that was sent, for the names of faults."""
    if isinstance(entries, Readable):
        return zip(entries.positions, entries, strict=True)
    return enumerate(entries)


class Invalid(ValidationError):
    """Input that breaks rules, with all its faults. Nothing was changed."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: Sequence[Fault] = tuple(faults)
        by_field: dict[str, list[ValidationError]] = {}
        for fault in self.faults:
            error = ValidationError(fault.message, code=fault.code.slug)
            by_field.setdefault(fault.field or NON_FIELD_ERRORS, []).append(error)
        super().__init__(by_field)


class Conflict(Exception):
    """The object is busy or was changed meanwhile: the same request may succeed later."""

    def __init__(self, code: ErrorCode) -> None:
        self.code = code
        super().__init__(code.slug)


class NotFound(Http404):
    """An address names no row, or a row without the requested part; the code names what is missing."""

    def __init__(self, code: ErrorCode) -> None:
        self.code = code
        super().__init__(str(code.text))


class Outdated(Conflict):
    """The object was changed since it was read: the same request cannot succeed later."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.CONFLICT)
