"""Enqueueing: a message follows every commit, and a stream of changes causes few messages."""

import threading
from typing import Any

import pytest
from django.db import transaction

from callcentre.core import enqueue
from callcentre.core.enqueue import APART_SECONDS, LONGEST_APART_SECONDS
from tests.processes import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def publisher(monkeypatch):
    publisher = enqueue._Publisher()
    monkeypatch.setattr(enqueue, "_publisher", publisher)
    return publisher


@pytest.mark.usefixtures("publisher")
def test_a_message_follows_the_last_of_many_equal_calls(monkeypatch):
    calls = 500
    made = 0
    messages: list[int] = []
    is_told = threading.Event()

    def send(call):
        messages.append(made)
        if made == calls:
            is_told.set()

    monkeypatch.setattr(enqueue, "_send", send)
    for number in range(calls):
        made = number + 1
        enqueue.enqueue("app.task", 1)

    assert is_told.wait(60)
    assert len(messages) < calls


@pytest.mark.usefixtures("publisher")
def test_calls_for_different_rows_are_different_messages(monkeypatch):
    messages: set[tuple[Any, ...]] = set()
    is_told = threading.Event()

    def send(call):
        messages.add(call)
        if len(messages) == 3:
            is_told.set()

    monkeypatch.setattr(enqueue, "_send", send)
    for pk in (1, 2, 1, 2):
        enqueue.enqueue("app.task", pk)
    enqueue.enqueue("app.other", 1)

    assert is_told.wait(60)
    assert messages == {("app.task", (1,)), ("app.task", (2,)), ("app.other", (1,))}


@pytest.mark.usefixtures("publisher")
def test_calls_beyond_the_bound_are_left_to_their_sweeps(monkeypatch):
    is_back = threading.Event()
    messages: list[Any] = []

    def send(call):
        assert is_back.wait(60)
        messages.append(call.args[0])

    monkeypatch.setattr(enqueue, "_send", send)
    monkeypatch.setattr(enqueue, "MOST_WAITING", 10)
    for pk in range(100):
        enqueue.enqueue("app.task", pk)
    is_back.set()

    wait_for(lambda: len(messages) >= 11, "the messages")
    assert messages[:11] == [*range(11)]
    assert len(messages) <= 12


def test_a_rolled_back_call_sends_no_message(publisher, monkeypatch):
    calls: list[Any] = []
    monkeypatch.setattr(publisher, "put", calls.append)

    with transaction.atomic():
        enqueue.enqueue("app.task", 1)
        transaction.set_rollback(True)
    with transaction.atomic():
        enqueue.enqueue("app.task", 2)

    assert calls == [("app.task", (2,))]


def test_messages_of_a_long_stream_of_calls_become_rarer():
    pause = enqueue._Pause(0.0, APART_SECONDS)
    waits = []
    for _ in range(5):
        following = pause.next(pause.ends_at)
        waits.append(round(following.ends_at - pause.ends_at, 3))
        pause = following

    assert waits == [0.02, 0.04, 0.08, 0.1, 0.1]
    assert waits[-1] == LONGEST_APART_SECONDS
