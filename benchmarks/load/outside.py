"""The world outside in a process of its own: a mailbox, a mail server, a good and a slow receiver of webhooks.

`python -m benchmarks.load.outside` prints the ports as a line of JSON. Each line that it reads is a mail, as JSON,
which it hands over and says "done" to, or `null`: it answers the ids of the events that the good receiver has got, and
the recipients of the mails that the mail server has taken.
"""

import asyncio
import json
import logging
import os
import sys
import threading
from functools import partial
from typing import Any

import django

from benchmarks.receiver import Receiver

SLOW_SECONDS = 2.0


def _serve(*makers: Any) -> list[int]:
    """Serve protocols in a thread, and return their ports."""
    loop = asyncio.new_event_loop()
    servers = [loop.run_until_complete(loop.create_server(maker, "127.0.0.1", 0)) for maker in makers]
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return [server.sockets[0].getsockname()[1] for server in servers]


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "callcentre.settings"
    django.setup()
    logging.disable(logging.INFO)  # aiosmtpd tells each line
    # The servers of the tests need settings.
    from tests.tickets.imap_server import Mailbox, serving  # noqa: PLC0415
    from tests.tickets.mail_servers import mail_server  # noqa: PLC0415

    events: set[str] = set()
    good, slow = _serve(partial(Receiver, 0.0, events), partial(Receiver, SLOW_SECONDS))
    with serving(Mailbox(has_idle=True)) as box, mail_server() as mails:
        print(json.dumps({"good": good, "slow": slow, "imap": box.port, "smtp": mails.port}), flush=True)
        for line in sys.stdin:
            if (mail := json.loads(line)) is not None:
                box.add(mail.encode())
                print("done", flush=True)
            else:
                sent = [each for envelope in mails.received for each in envelope.rcpt_tos]
                print(json.dumps({"events": list(events), "sent": sent}), flush=True)


if __name__ == "__main__":
    main()
