"""Chats of the demonstration: a few a day for a month, some of today still waiting."""

import random
from datetime import datetime, time, timedelta
from itertools import cycle

from django.db import transaction
from django.utils import timezone

from telephony.models import Agent, Queue
from tickets.demo_texts import CHATS, CUSTOMERS
from tickets.models import Chat, ChatMessage

DAYS, A_DAY = 30, 3


@transaction.atomic
def seed(agents: list[Agent]) -> None:
    """Once: a database that knows chats is left alone."""
    queue = Queue.objects.filter(name="Hotline").first()
    if queue is None or Chat.objects.exists():
        return
    chance = random.Random("a month of chats")  # noqa: S311  (a demonstration, no secret)
    chats: list[Chat] = []
    messages: list[ChatMessage] = []
    turns = zip(cycle(agents), cycle(CHATS), cycle(enumerate(CUSTOMERS, start=1)), range(DAYS * A_DAY), strict=False)
    for agent, lines, (number, (name, surname)), position in turns:
        day = timezone.localdate() - timedelta(days=DAYS - position // A_DAY)
        at = timezone.make_aware(datetime.combine(day, time(8))) + timedelta(seconds=chance.randrange(32_400))
        chat = Chat(
            client_name=f"{name} {surname}",
            client_email=f"customer{number}@client.example",
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
