"""Chats of the demonstration: a few a day for a month, some of today still waiting."""

import random
from datetime import datetime, time, timedelta

from django.db import transaction
from django.utils import timezone

from telephony.models import Agent, Queue
from tickets.models import Chat, ChatMessage

DAYS, A_DAY = 30, 3


@transaction.atomic
def seed(agents: list[Agent], conversations: list[list[str]], customers: list[list[str]]) -> None:
    """Add chats to a database without chats."""
    queue = Queue.objects.filter(name="Hotline").first()
    if queue is None or Chat.objects.exists():
        return
    chance = random.Random("a month of chats")  # noqa: S311  (a demonstration, no secret)
    chats: list[Chat] = []
    messages: list[ChatMessage] = []
    for position in range(DAYS * A_DAY):
        agent, lines = agents[position % len(agents)], conversations[position % len(conversations)]
        number = position % len(customers)
        day = timezone.localdate() - timedelta(days=DAYS - position // A_DAY)
        at = timezone.make_aware(datetime.combine(day, time(8))) + timedelta(seconds=chance.randrange(32_400))
        chat = Chat(
            client_name=" ".join(customers[number]),
            client_email=f"customer{number + 1}@client.example",
            queue=queue,
            created_at=at,
        )
        chats.append(chat)
        if position >= DAYS * A_DAY - 2:  # no agent has taken these two yet
            messages.append(ChatMessage(chat=chat, body=lines[0], created_at=at))
            continue
        chat.agent, chat.assigned_at = agent, at + timedelta(seconds=chance.randrange(5, 60))
        for turn, line in enumerate(lines):
            at += timedelta(seconds=chance.randrange(10, 90) + 60 * (turn == 1))
            speaker = agent if turn % 2 else None
            messages.append(ChatMessage(chat=chat, agent=speaker, body=line, created_at=at))
            if speaker and chat.answered_at is None:
                chat.answered_at = at
        if position < DAYS * A_DAY - 4:  # the last ones are still open
            chat.closed_at = at + timedelta(seconds=chance.randrange(5, 120))
    Chat.objects.bulk_create(chats)
    ChatMessage.objects.bulk_create(messages)
