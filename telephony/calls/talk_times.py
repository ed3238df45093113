"""Talks of outbound calls that agents transfer: the time for which each agent talked. The connection is locked.

Other calls need no such rows. Of an inbound call the offers say the same.
"""

from datetime import datetime

from telephony.models import Agent, Connection, Talk


def transfer(connection: Connection, at: datetime) -> None:
    """End the talk of the agent who transfers the call. The first transfer stores the talk up to then."""
    if connection.direction != Connection.Direction.OUTBOUND or connection.agent_id is None:
        return
    _store_first(connection, at)
    end(connection, at)


def _store_first(connection: Connection, at: datetime) -> None:
    if connection.has_talks or connection.agent_id is None:
        return
    Talk.objects.create(
        connection=connection,
        agent_id=connection.agent_id,
        queue=connection.queue,
        counted_at=connection.created_at,
        started_at=connection.answered_at or at,
        ended_at=None,
    )
    connection.has_talks = True
    connection.save(update_fields=["has_talks"])


def add(connection: Connection, agent: Agent, started_at: datetime, ended_at: datetime) -> None:
    """Store the talk of an agent who took part in an outbound call beside its agent."""
    _store_first(connection, started_at)
    times = {"counted_at": started_at, "started_at": started_at, "ended_at": max(ended_at, started_at)}
    Talk.objects.create(connection=connection, agent=agent, queue=connection.queue, **times)


def begin(connection: Connection, agent: Agent, at: datetime) -> None:
    """Begin the talk of the agent who picks up a transferred outbound call. Do nothing for any other call."""
    if connection.has_talks:
        Talk.objects.create(
            connection=connection, agent=agent, queue=connection.queue, counted_at=at, started_at=at, ended_at=None
        )


def end(connection: Connection, at: datetime) -> None:
    """End the open talk, if there is one."""
    if talk := Talk.objects.filter(connection=connection, ended_at=None).first():
        talk.ended_at = max(at, talk.started_at)
        talk.save(update_fields=["ended_at"])
