"""The verb that sets the topic of a connection, and its rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import Reject
from telephony.models import Agent, Connection, ConnectionTopic, Topic, TopicField
from telephony.models.topic import FIELDS_KEY
from telephony.verbs import presence, screen_pops


def set_topic(actor: Actor, values: Mapping[str, Any], faults: Sequence[Fault] = ()) -> None:
    """Store the topic of a connection; `values` has the names of the wire. Raises Invalid with every fault."""
    faults = list(faults)
    connection = _connection(values, faults)
    topic = _topic(values, connection, faults)
    agent_id = _agent_id(values, connection, faults)
    fields = _fields(values, topic, faults)
    if faults or connection is None or topic is None:
        raise Invalid(faults)
    with transaction.atomic():
        connections = Connection.objects.select_related("queue", "agent")
        connection = connections.select_for_update(no_key=True, of=("self",)).get(pk=connection.pk)
        stored = {"topic": topic, "comment": values.get("comment", ""), "fields": fields, "agent_id": agent_id}
        ConnectionTopic.objects.update_or_create(connection=connection, defaults={**stored, "set_by": actor.name[:150]})
        presence.topic_given(connection)
        screen_pops.record(
            connection,
            values.get("agent_login") or (connection.agent.login if connection.agent else ""),
            screen_pops.Moment.RESULT,
        )


def _connection(values: Mapping[str, Any], faults: list[Fault]) -> Connection | None:
    if "connection_id" not in values:
        return None  # the input has reported the fault
    connection = Connection.objects.with_uid(values["connection_id"]).first()
    if connection is None:
        faults.append(Fault(ErrorCode.CONNECTION_NOT_FOUND, "connection_id"))
    return connection


def _topic(values: Mapping[str, Any], connection: Connection | None, faults: list[Fault]) -> Topic | None:
    if "topic_id" not in values:
        return None
    topic = Topic.objects.active().select_related("group").filter(pk=values["topic_id"]).first()
    if topic is None:
        faults.append(Fault(ErrorCode.TOPIC_NOT_FOUND, "topic_id"))
    elif connection is not None and not _has_passed(connection, topic.group.queue_id):
        faults.append(Fault(ErrorCode.TOPIC_OF_OTHER_QUEUE, "topic_id"))
    return topic


def _has_passed(connection: Connection, queue_id: int) -> bool:
    if connection.queue_id in (None, queue_id):
        return True
    return connection.transfers.filter(from_queue=queue_id).exists()


def _agent_id(values: Mapping[str, Any], connection: Connection | None, faults: list[Fault]) -> int | None:
    if not (login := values.get("agent_login")):
        return connection.agent_id if connection else None
    agent_id = Agent.objects.ids_by_login([login]).get(login)
    if agent_id is None:
        faults.append(Fault(ErrorCode.AGENT_NOT_FOUND, "agent_login"))
    return agent_id


def _fields(values: Mapping[str, Any], topic: Topic | None, faults: list[Fault]) -> list[dict[str, Any]]:
    """Return the values to store, in the order of the fields. Fields are required only if the topic shows them."""
    if topic is None:
        return []
    known = {field.pk: field for field in TopicField.objects.active().filter(queue=topic.group.queue_id)}
    found: dict[int, str | None] = {}
    for given in values.get(FIELDS_KEY, []):
        field = known.get(given.field_id)
        place = f"{FIELDS_KEY}.{given.position}"
        if field is None or field.pk in found:
            code = ErrorCode.TOPIC_FIELD_TWICE if field else ErrorCode.TOPIC_FIELD_NOT_FOUND
            faults.append(Fault(code, f"{place}.field_id"))
            continue
        found[field.pk] = given.value
        try:
            found[field.pk] = None if given.value is None else field.read(given.value)
        except Reject as reject:
            faults.append(reject.fault.under(f"{place}.value"))
    if topic.show_custom_fields:
        faults += [
            Fault(ErrorCode.TOPIC_FIELD_REQUIRED, FIELDS_KEY, {"name": field.name})
            for field in known.values()
            if field.is_required and found.get(field.pk, "") == ""
        ]
    return [{"field_id": pk, "value": value} for pk in known if (value := found.get(pk))]
