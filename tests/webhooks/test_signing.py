import base64
import time

import pytest

from webhooks.signing import new_secret, sign
from webhooks.transport.sender import encode

# The example of the specification.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
TIMESTAMP = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_signature_is_that_of_the_specification():
    for secret in [SECRET, SECRET.removeprefix("whsec_")]:
        assert sign([secret], ID, TIMESTAMP, BODY) == SIGNATURE


def test_the_reference_verifier_accepts_a_delivery():
    reference = pytest.importorskip("standardwebhooks", reason="the dev group brings it; it is not needed to run")
    now = int(time.time())
    secrets = [new_secret(), new_secret()]
    headers = {"webhook-id": ID, "webhook-timestamp": str(now), "webhook-signature": sign(secrets, ID, now, BODY)}

    for secret in secrets:
        assert reference.Webhook(secret).verify(BODY, headers) == {"test": 2432232314}


def test_during_a_rotation_both_secrets_sign():
    newer = new_secret()

    assert sign([newer, SECRET], ID, TIMESTAMP, BODY) == f"{sign([newer], ID, TIMESTAMP, BODY)} {SIGNATURE}"


def test_a_new_secret_is_of_the_length_of_the_specification():
    secret = new_secret()

    assert 24 <= len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) <= 64
    assert secret.startswith("whsec_")
    assert secret != new_secret()


def test_an_invalid_secret_is_not_repeated_in_the_error():
    with pytest.raises(ValueError, match=r"^The signing secret is not Base64\.$"):
        sign(["whsec_täst"], ID, TIMESTAMP, BODY)


PAYLOAD = {
    "action": "CHAT_CONVERSATION_CREATED",
    "client_name": "Zoë & Łucja=1",
    "client_email": None,
    "queues": [3, None, "a"],
    "is_new": True,
    "is_known": False,
    "nested": [{"a": 1.5}],
    "nothing": [],
}


def test_json_keeps_types():
    content_type, body = encode({"a": None, "b": True, "c": [1, "ł"]}, "json")

    assert (content_type, body.decode()) == ("application/json", '{"a":null,"b":true,"c":[1,"ł"]}')


def test_a_form_writes_unset_as_null_and_lists_by_position():
    content_type, body = encode(PAYLOAD, "form")

    assert content_type == "application/x-www-form-urlencoded"
    assert body == (
        b"action=CHAT_CONVERSATION_CREATED&client_name=Zo%C3%AB+%26+%C5%81ucja%3D1&client_email=null"
        b"&queues%5B0%5D=3&queues%5B1%5D=null&queues%5B2%5D=a&is_new=true&is_known=false&nested%5B0%5D%5Ba%5D=1.5"
    )


def test_there_are_two_formats():
    with pytest.raises(ValueError, match="neither json nor form"):
        encode(PAYLOAD, "xml")
