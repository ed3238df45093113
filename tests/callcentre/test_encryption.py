from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import override_settings

from callcentre.core.encryption import decrypt, encrypt
from tests.backoffice import superuser
from tests.tickets.factories import MessageFactory, TicketQueueFactory
from tests.webhooks.factories import WebhookFactory
from tickets.mail_ids import new_header_id, ticket_of
from tickets.models import TicketQueue
from tickets.rating_links import message_of, token_of
from webhooks.models import Webhook


def test_encrypted_text_is_unreadable_never_alike_and_can_be_decrypted():
    token = encrypt("zażółć".encode())

    assert "zażółć".encode() not in token
    assert token != encrypt("zażółć".encode())
    assert decrypt(token) == "zażółć".encode()


def test_a_new_key_encrypts_and_the_old_one_still_decrypts(settings):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.FIELD_ENCRYPTION_KEYS = [old]
    before = encrypt(b"text")

    settings.FIELD_ENCRYPTION_KEYS = [new, old]

    assert decrypt(before) == b"text"
    assert Fernet(new).decrypt(encrypt(b"text")) == b"text"


def test_without_its_key_nothing_is_read_and_a_changed_token_is_refused(settings):
    token = encrypt(b"text")
    for changed in (token[:-1], b"A" + token, b""):
        with pytest.raises(ValueError, match="FIELD_ENCRYPTION_KEYS"):
            decrypt(changed)
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(ValueError, match="FIELD_ENCRYPTION_KEYS"):
        decrypt(token)


# The settings of a process in each step of the documented order (docs/operations.md, "Of keys").
OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
FORMER, LATER = "f" * 60, "l" * 60
STEPS: list[dict[str, Any]] = [
    {"FIELD_ENCRYPTION_KEYS": [OLD], "SECRET_KEY": FORMER, "SECRET_KEY_FALLBACKS": []},
    {"FIELD_ENCRYPTION_KEYS": [OLD, NEW], "SECRET_KEY": FORMER, "SECRET_KEY_FALLBACKS": [LATER]},
    {"FIELD_ENCRYPTION_KEYS": [NEW, OLD], "SECRET_KEY": LATER, "SECRET_KEY_FALLBACKS": [FORMER]},
]


@pytest.mark.usefixtures("plain_static", "unrendered", "db")
@pytest.mark.parametrize(("writer", "reader"), [(0, 1), (1, 0), (1, 2), (2, 1)])
def test_processes_before_and_after_a_step_of_a_rotation_read_what_the_other_wrote(writer, reader):
    with override_settings(**STEPS[writer]):
        webhook, queue = WebhookFactory(), TicketQueueFactory(with_mailbox=True)
        message = MessageFactory(reply=True)
        mail, link, client = new_header_id(message), token_of(message), superuser()

    with override_settings(**STEPS[reader]):
        assert Webhook.objects.get().signing_secrets == webhook.signing_secrets
        assert TicketQueue.objects.get(pk=queue.pk).imap_password == "of the mailbox"
        assert ticket_of(mail) == message.ticket_id
        assert message_of(link) == message
        assert client.get("/admin/password_change/").status_code == 200
