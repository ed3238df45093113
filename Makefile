# Each target needs only make, and Python 3.11 to 3.14 with its venv module.
PYTHON = .venv/bin/python
# A launcher gets SIGTERM when this make, its parent, ends.
LAUNCH = @exec setpriv --pdeathsig TERM $(PYTHON)
STORES = $(LAUNCH) -m callcentre.embedded exec
COMPILE = $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header

# The service and the tests run dozens of processes. Compiled modules are kept, so that only the first one compiles them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test slow trials check release bench load faults messages screenshots lock unusable

run: .venv/installed
	$(LAUNCH) -m callcentre.supervisor

# The quick tests. CI runs more at once: one collection, one database.
TIER = not slow
test: .venv/developing
	$(LAUNCH) -m pytest -n 3 --dist worksteal -m '$(TIER)'

# The slow tests of CI: with processes, Chromium, or all pages.
slow:
	$(MAKE) test TIER='slow and not trial'

# All tests. A release needs them green, and each in its tier.
trials: .venv/developing
	$(LAUNCH) -m pytest -n 3 --dist worksteal --strict-tiers

check: .venv/developing
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) .ci/plain_english.py
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command as lint; lint()'
	$(STORES) -- sh .ci/check-service

# What a release adds to its tag: see docs/contributing.md.
release: .venv/developing
	sh .ci/release

bench: .venv/installed
	$(STORES) --durable -- $(PYTHON) -m benchmarks

# Everything at once for ten minutes (docs/sizing.md); MORE='--minutes 3' and the like go on to it.
load: .venv/developing
	$(LAUNCH) -m benchmarks.load $(MORE)

# The same for an hour, while one fault after another happens; MORE='PostgreSQL*' chooses some.
faults: .venv/developing
	$(LAUNCH) -m benchmarks.load.faults $(MORE)

# The pictures of the documents, from the demonstration.
screenshots: .venv/developing
	$(PYTHON) .ci/screenshots.py

messages: .venv/developing
	$(PYTHON) .ci/messages.py

# One lock for the service, one for what it needs with S3, and one for the developers' tools. Packages have the same
# version in all.
lock: .venv/developing
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) pyproject.toml --extra s3 --constraint requirements.lock -o requirements-s3.lock
	$(COMPILE) --group dev --constraint requirements.lock -o requirements-dev.lock

# Made again when the lock changes, and when its Python is missing or belongs to another machine.
.venv/installed: requirements.lock $(shell $(PYTHON) -c '' 2>/dev/null || echo unusable)
	@sh .ci/install requirements.lock
	@touch $@

.venv/developing: requirements-dev.lock .venv/installed
	@sh .ci/install requirements-dev.lock
	@touch $@

unusable: ;
