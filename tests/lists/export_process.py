"""A worker that builds the exports of lists: `python -m tests.lists.export_process`."""

import django


def main() -> None:
    django.setup()
    from callcentre.lists import exports

    while exports.build_next():
        pass


if __name__ == "__main__":
    main()
