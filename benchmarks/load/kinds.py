"""The rate of each kind of request alone, with 1, 2 and 4 web workers.

python -m benchmarks.load.kinds [SECONDS] [WORKERS …]

Sixteen clients ask one after another, for SECONDS (10) each. Nothing else goes on, but agents are logged in.
"""

import sys
import threading
import time
from collections.abc import Callable

from benchmarks.load.machine import machine
from benchmarks.load.people import prepare
from benchmarks.load.work import Browser, Work, percentile

CLIENTS = 16
Act = Callable[[Browser], None]


def rate(work: Work, act: Act, browsers: list[Browser], seconds: float) -> tuple[float, float, int]:
    """Return requests a second, their p99 in seconds, and the number of errors."""
    started = time.monotonic()

    def repeat(browser: Browser) -> None:
        while time.monotonic() < started + seconds:
            act(browser)

    threads = [threading.Thread(target=repeat, args=(browser,)) for browser in browsers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = work.ledger.since(started)
    times = [each for _at, _name, each, _error in done]
    return len(done) / (time.monotonic() - started), percentile(times, 0.99), sum(bool(error) for *_, error in done)


def kinds(work: Work) -> dict[str, tuple[Act, dict[str, str]]]:
    """Return what each kind asks, and its headers."""

    def page(path: str) -> Act:
        return lambda browser: work.timed(path, lambda: browser.ask("GET", path), 200)

    desk = {"Cookie": f"sessionid={work.cookies['desks'][0]}", "X-Poll": "1"}
    boss = {"Cookie": f"sessionid={work.cookies['supervisors'][0]}", "X-Poll": "1"}
    return {
        "reads of the API, in turns": (work.read, work.basic),
        "writes of the API, in turns": (work.write, work.basic),
        "polls of a desk": (lambda browser: work.poll(browser, {}), desk),
        "polls of the overview": (page("/admin/overview/now"), boss),
        "live page of the queues": (page("/admin/telephony/queue/"), boss),
        "live page of a campaign's dialling": (page("/admin/campaigns/campaign/1/dialling/"), boss),
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    print("| kind | web workers | a second | p99, ms | errors |\n|---|---|---|---|---|", flush=True)
    for web in map(int, sys.argv[2:] or ["1", "2", "4"]):
        with machine(web=web) as made:
            work = Work(made, prepare(made), 1.0, 0)
            for name, (act, headers) in kinds(work).items():
                browsers = [Browser(made.running.port, headers) for _ in range(CLIENTS)]
                rate(work, act, browsers, 3)
                found, p99, errors = rate(work, act, browsers, seconds)
                print(f"| {name} | {web} | {found:.0f} | {p99 * 1000:.0f} | {errors} |", flush=True)


if __name__ == "__main__":
    main()
