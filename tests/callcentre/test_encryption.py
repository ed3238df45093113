import pytest
from cryptography.fernet import Fernet

from callcentre.core.encryption import decrypt, encrypt


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
