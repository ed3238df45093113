"""All benchmarks, one after another: `make bench`."""

import subprocess
import sys

from benchmarks import api, batch, calls, import_records, knowledgebase, mail, reports, telephony, tickets, webhooks
from benchmarks.harness import service


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with service(records) as running:
        api.measure(running, records, turns=2000)
        batch.measure(running, records)
        import_records.measure(running, records)
        webhooks.measure(running)
        knowledgebase.measure(running, articles=50_000)
        mail.measure(running)
    calls.main()
    telephony.measure_many()
    tickets.measure_many()
    # A process of its own: it uses the code of the service, with settings of its own.
    subprocess.run([sys.executable, "-m", "benchmarks.choice", str(records)], check=True)
    # Last, because it leaves indexes out. In full size: python -m benchmarks.reports
    reports.measure_years(month=200_000, months=14)


if __name__ == "__main__":
    main()
