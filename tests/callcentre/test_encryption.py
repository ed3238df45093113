from typing import Any

import pytest
from cryptography.fernet import Fernet

from callcentre.core.encryption import decrypt, encrypt


def test_encrypted_text_is_unreadable_and_can_be_decrypted() -> None:
    token = encrypt("zażółć".encode())

    assert "zażółć".encode() not in token
    assert decrypt(token) == "zażółć".encode()


def test_the_same_text_is_never_encrypted_alike() -> None:
    assert encrypt(b"text") != encrypt(b"text")


def test_a_new_key_encrypts_and_the_old_one_still_decrypts(settings: Any) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.FIELD_ENCRYPTION_KEYS = [old]
    before = encrypt(b"text")

    settings.FIELD_ENCRYPTION_KEYS = [new, old]

    assert decrypt(before) == b"text"
    assert Fernet(new).decrypt(encrypt(b"text")) == b"text"


def test_without_its_key_nothing_is_read(settings: Any) -> None:
    token = encrypt(b"text")
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]

    with pytest.raises(ValueError, match="FIELD_ENCRYPTION_KEYS"):
        decrypt(token)


@pytest.mark.parametrize("change", [lambda token: token[:-1], lambda token: b"A" + token, lambda token: b""])
def test_a_changed_token_is_refused(change: Any) -> None:
    with pytest.raises(ValueError, match="FIELD_ENCRYPTION_KEYS"):
        decrypt(change(encrypt(b"text")))
