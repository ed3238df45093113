"""A receiver of webhooks that accepts only signed requests. Python 3.9 or later, standard library only.

    WEBHOOK_SECRETS=whsec_… PORT=9000 python receiver.py

During a rotation WEBHOOK_SECRETS may hold both secrets, separated by a space.
"""

import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

SECRETS = os.environ["WEBHOOK_SECRETS"].split()
TOLERANCE_SECONDS = 5 * 60
LARGEST_BODY = 1_000_000


def is_genuine(headers, body, now=None):
    """Return whether one of our secrets signed exactly these bytes in the last minutes."""
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()):
        return False
    if abs((now or time.time()) - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    given = headers.get("webhook-signature", "").split(" ")
    for secret in SECRETS:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        # compare_digest takes as long for a wrong signature as for a right one.
        if any(hmac.compare_digest(right.encode(), signature.encode()) for signature in given):
            return True
    return False


def handle(event):
    """Put the event where your own work begins. Keep it short: the answer must come within 15 seconds."""
    print(event["sequence"], event["action"], event["event_id"], flush=True)


# In memory for this example. Keep the ids in your database, in the transaction of the work: attempts of one
# event go on for days, and a person can have it sent again later.
seen = set()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        size = int(self.headers.get("Content-Length", 0))
        if size > LARGEST_BODY:
            self.close_connection = True
            return self.answer(413)
        # The signature covers the original bytes: a parsed and rewritten body has another one.
        body = self.rfile.read(size)
        if not is_genuine(self.headers, body):
            return self.answer(401)
        message_id = self.headers["webhook-id"]
        if message_id not in seen:
            if self.headers.get("Content-Type", "").startswith("application/json"):
                event = json.loads(body)
            else:
                event = dict(parse_qsl(body.decode(), keep_blank_values=True))
            handle(event)
            seen.add(message_id)
        # A repeated event gets the same answer, or it would be sent again.
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver).serve_forever()
