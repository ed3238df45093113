"""A worker that a test may kill: `python -m tests.tickets.sending_process DISPATCH`."""

import sys

import django


def main() -> None:
    django.setup()
    from tickets.mail.dispatcher import dispatch

    dispatch(int(sys.argv[1]))


if __name__ == "__main__":
    main()
