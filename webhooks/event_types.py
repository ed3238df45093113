"""The actions of events that a webhook can subscribe to, with examples of their payloads."""

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _


class EventType(models.TextChoices):
    """The published actions, each with what has happened. Their names come from the interface and never change."""

    CHAT_CONVERSATION_CREATED = "CHAT_CONVERSATION_CREATED", _("A customer begins a chat.")
    CHAT_AGENT_ASSIGNED = "CHAT_AGENT_ASSIGNED", _("An agent gets a chat.")
    CHAT_MESSAGE_ADDED = "CHAT_MESSAGE_ADDED", _("A message is written in a chat.")
    CHAT_CONVERSATION_CLOSED = "CHAT_CONVERSATION_CLOSED", _("A chat is closed.")
    CHAT_CONVERSATION_DELETED = "CHAT_CONVERSATION_DELETED", _("A chat is deleted.")
    CUSTOMER_CREATED = "CUSTOMER_CREATED", _("A customer is added.")
    CUSTOMER_UPDATED = "CUSTOMER_UPDATED", _("The data of a customer change.")
    CUSTOMER_NOTE_ADDED = "CUSTOMER_NOTE_ADDED", _("A note about a customer is written.")
    CUSTOMER_DELETED = "CUSTOMER_DELETED", _("A customer is deleted.")
    PERSON_ERASED = "PERSON_ERASED", _("The data of a person are erased.")
    TICKET_CREATED = "TICKET_CREATED", _("A ticket is opened.")
    TICKET_UPDATED = "TICKET_UPDATED", _("The data or the status of a ticket change.")
    TICKET_MESSAGE_RECEIVED = "TICKET_MESSAGE_RECEIVED", _("A customer writes in a ticket.")
    TICKET_AGENT_RESPONDED = "TICKET_AGENT_RESPONDED", _("An agent replies in a ticket.")
    TICKET_COMMENTED = "TICKET_COMMENTED", _("An agent comments on a ticket.")
    TICKET_DEADLINE_SOON = "TICKET_DEADLINE_SOON", _("A ticket is due within the hour.")
    TICKET_DEADLINE_MISSED = "TICKET_DEADLINE_MISSED", _("A ticket is overdue.")
    TICKET_DELETED = "TICKET_DELETED", _("A ticket is deleted.")
    AGENT_RINGING = "AGENT_RINGING", _("The phone of an agent rings.")
    SCREEN_POP = "SCREEN_POP", _("Another program is to show its page of a call to the agent.")
    CONNECTION_STARTED = "CONNECTION_STARTED", _("A call begins.")
    CONNECTION_ANSWERED = "CONNECTION_ANSWERED", _("A call is answered.")
    CONNECTION_ENDED = "CONNECTION_ENDED", _("A call ends.")
    CALLBACK_QUEUED = "CALLBACK_QUEUED", _("A caller, or a client, asks to be called back.")
    CALLBACK_ENDED = "CALLBACK_ENDED", _("A call-back was answered, or is given up.")
    RECORDING_READY = "RECORDING_READY", _("A recording can be fetched.")
    TRANSCRIPTION_READY = "TRANSCRIPTION_READY", _("A transcription is ready, or has failed.")
    AGENT_LOGGED_IN = "AGENT_LOGGED_IN", _("An agent logs in.")
    AGENT_LOGGED_OUT = "AGENT_LOGGED_OUT", _("An agent logs out.")
    AGENT_FREE = "AGENT_FREE", _("An agent is ready for calls.")
    AGENT_PAUSED = "AGENT_PAUSED", _("An agent begins a pause.")
    OUTBOUND_CREATED = "OUTBOUND_CREATED", _("A campaign is added.")
    OUTBOUND_RECORD_CREATED = "OUTBOUND_RECORD_CREATED", _("A record is added to a campaign.")
    OUTBOUND_RECORD_STATUS_CHANGED = "OUTBOUND_RECORD_STATUS_CHANGED", _("The status of a record changes.")
    RECORD_OFFERED = "RECORD_OFFERED", _("A record is offered to an agent.")
    RECORD_DROPPED = "RECORD_DROPPED", _("A person answers, and no agent is free: the call is dropped.")
    ALARM_RAISED = "ALARM_RAISED", _("An alarm is raised.")
    ALARM_CLEARED = "ALARM_CLEARED", _("An alarm is over.")

    @property
    def example(self) -> dict[str, Any]:
        """The fields of its payload without the ones that all payloads have."""
        return EXAMPLES[self]

    @property
    def example_message(self) -> dict[str, Any]:
        """A whole message as a receiver gets it."""
        return {
            "action": self.value,
            "date": "2026-11-21 09:30:00",
            **self.example,
            "event_id": "0198c2b1-6a0e-7c55-9a52-0d6b2f6f8a11",
            "sequence": 48210,
        }


def event_choices() -> list[tuple[str, str]]:
    """Return the choices of columns that hold actions: lists of events show the names that receivers see.

    Migrations name this function, so an action needs none.
    """
    return [(value, value) for value in EventType.values]


# The action of test events. A person sends one to one webhook; webhooks cannot subscribe to it.
TEST_ACTION = "TEST"

_CHAT = {"conversation_id": "6c2f6dba-5a36-4dd2-9d3f-1a2ddc2a4a5b", "chat_queue_id": 3}
_TICKET = {"ticket_id": "5012", "customer_id": 77, "agent_login": "agent1"}
_CALL = {
    "connection_id": "1416225570.341",
    "queue_id": 3,
    "agent_login": "agent1",
    "source_number": "+48225550107",
    "destination_number": "+48225550100",
}
_CONNECTION = {**_CALL, "outbound_id": None, "record_id": None}
_RECORD = {
    "record_id": 1204,
    "outbound_id": "DEMO1",
    "phone_number": "+48 22 555 0007",
    "system_status": "TO_CALL",
    "status_id": 9,
    "next_call_date": None,
    "agent_login": None,
}
_CALLBACK = {
    "callback_id": 17,
    "queue_id": 3,
    "phone_number": "+48225550107",
    "customer_id": 77,
    "connection_id": "1416225570.341",
}
_ALARM = {"alarm_id": 4, "name": "Hotline waits", "subject": "QUEUE_WAIT"}
EXAMPLES: dict[EventType, dict[str, Any]] = {
    EventType.CHAT_CONVERSATION_CREATED: {
        **_CHAT,
        "client_name": "Jan Kowal",
        "client_email": "jan.kowal@client.example",
    },
    EventType.CHAT_AGENT_ASSIGNED: {**_CHAT, "agent_login": "agent1"},
    EventType.CHAT_MESSAGE_ADDED: {
        "conversation_id": _CHAT["conversation_id"],
        "message_id": 7120,
        "agent_login": "agent1",
    },
    EventType.CHAT_CONVERSATION_CLOSED: _CHAT,
    EventType.CHAT_CONVERSATION_DELETED: _CHAT,
    EventType.CUSTOMER_CREATED: {"customer_id": 77, "company_id": None},
    EventType.CUSTOMER_UPDATED: {"customer_id": 77, "company_id": 4},
    EventType.CUSTOMER_NOTE_ADDED: {"customer_id": 77, "note_id": 310, "agent_login": "agent1"},
    EventType.CUSTOMER_DELETED: {"customer_id": 77, "company_id": 4},
    EventType.PERSON_ERASED: {"erasure_id": 31, "customer_id": 77},
    EventType.TICKET_CREATED: {**_TICKET, "direction": "in"},
    EventType.TICKET_UPDATED: {**_TICKET, "status_id": "2", "substatus_id": None},
    EventType.TICKET_MESSAGE_RECEIVED: {**_TICKET, "message_id": 9001},
    EventType.TICKET_AGENT_RESPONDED: {**_TICKET, "message_id": 9002},
    EventType.TICKET_COMMENTED: {**_TICKET, "message_id": 9003},
    EventType.TICKET_DEADLINE_SOON: {**_TICKET, "deadline": "response", "due_at": "2026-11-20 10:15"},
    EventType.TICKET_DEADLINE_MISSED: {**_TICKET, "deadline": "resolution", "due_at": "2026-11-20 10:15"},
    EventType.TICKET_DELETED: _TICKET,
    EventType.AGENT_RINGING: _CALL,
    EventType.SCREEN_POP: {
        **_CALL,
        "moment": "ring",
        "name": "CRM",
        "url": "https://crm.example/find?number=%2B48225550107",
    },
    EventType.CONNECTION_STARTED: _CONNECTION,
    EventType.CONNECTION_ANSWERED: _CONNECTION,
    EventType.CONNECTION_ENDED: {
        **_CONNECTION,
        "duration": 65,
        "billsec": 58,
        "disposition": "ANSWERED",
        "cause": 16,
        "cause_text": "Normal clearing",
    },
    EventType.CALLBACK_QUEUED: _CALLBACK,
    EventType.CALLBACK_ENDED: {
        **_CALLBACK,
        "disposition": "ANSWERED",
        "attempts": 1,
        "waiting_seconds": 240,
        "agent_login": "agent1",
        "answer_connection_id": "1416225810.352",
    },
    EventType.RECORDING_READY: {"connection_id": "1416225570.341", "filename": "1416225570.341.wav"},
    EventType.TRANSCRIPTION_READY: {"connection_id": "1416225570.341", "status": "SUCCESS"},
    EventType.AGENT_LOGGED_IN: {"agent_login": "agent1"},
    EventType.AGENT_LOGGED_OUT: {"agent_login": "agent1"},
    EventType.AGENT_FREE: {"agent_login": "agent1"},
    EventType.AGENT_PAUSED: {"agent_login": "agent1", "pause_id": 2, "previous_pause_id": None},
    EventType.OUTBOUND_CREATED: {"outbound_id": "DEMO1", "name": "Demonstration: file"},
    EventType.OUTBOUND_RECORD_CREATED: _RECORD,
    EventType.OUTBOUND_RECORD_STATUS_CHANGED: {**_RECORD, "system_status": "NO_CALL", "status_id": 13},
    EventType.RECORD_OFFERED: {
        "outbound_id": "DEMO2",
        "record_id": 1204,
        "agent_login": "agent1",
        "expires_at": "2026-11-21 09:31:00",
    },
    EventType.RECORD_DROPPED: {"outbound_id": "DEMO1", "record_id": 1204, "connection_id": "1416225570.341"},
    EventType.ALARM_RAISED: {**_ALARM, "value": 74.0, "limit": 60.0},
    EventType.ALARM_CLEARED: {**_ALARM, "value": 12.0, "limit": 60.0},
}
