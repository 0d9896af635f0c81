# Every developer command. `make` alone lists them.

PYTHON_FILES := src tests bench examples generate setup.py
PY := .venv/bin/python
READY := .venv/.ready
BENCH := .venv/.bench

.PHONY: help setup wheel wheels run docs test test-long test-fast test-pulsar pulsar-admin other-clients cluster-jars test-cluster cluster scenarios crash simulate sink bank spark-places two-brokers functions check format generate proto all clean

help:            ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: $(READY)  ## .venv with Magnetar and everything it needs

$(READY): pyproject.toml setup.py setup.sh $(wildcard src/magnetar/inner/compiled/*.[ch])
	./setup.sh
	@touch $(READY)

wheel: $(READY)  ## a wheel in dist, with the compiled inner loops
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

wheels: $(READY) ## wheels in dist for Linux and macOS, x86-64 and arm64, made on this machine by Zig's C compiler
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[wheels]'
	$(PY) generate/wheels.py $(ARGS)

run: $(READY)    ## the main job: flights through a broker and a Spark pipeline, reconciled
	$(PY) examples/quickstart $(ARGS)

docs: $(READY)   ## the documents as a site in build/site, with a reference; no server, no network
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	@echo build/site/index.html

test: $(READY)   ## the tests, in two processes a core; ARGS="-n 0 tests/..." runs some in one
	$(PY) -m pytest -n auto $(if $(findstring tests/,$(ARGS)),,-m "not long") $(ARGS)

test-long: $(READY)  ## what `make test` leaves out: tests that take long, and go further into the same
	$(PY) -m pytest -n auto -m long $(ARGS)

test-fast: $(READY)  ## under a minute: unit, contract, scenarios, architecture, without the slow ones
	EXAMPLES=20 $(PY) -m pytest -n auto -m "not slow" tests/unit tests/contract tests/scenarios tests/architecture $(ARGS)

test-pulsar: $(BENCH)  ## the tests of our client against Apache Pulsar itself (Maven fetches it)
	@if $(PY) -m bench.pulsar_standalone; then \
		MAGNETAR_WITH_PULSAR=1 $(PY) -m pytest $(if $(findstring tests/,$(ARGS)),,tests/client tests/transactions) $(ARGS); fi

pulsar-admin: $(READY)  ## Apache Pulsar's own command line against our broker (Maven fetches it)
	@if $(PY) -m bench.pulsar_admin; then $(PY) -m pytest tests/compatibility/test_pulsar_admin.py $(ARGS); fi

other-clients: $(READY)  ## transactions by the Java and the Go client (Maven and go fetch them)
	@if $(PY) -m bench.other_clients; then \
		$(PY) -m pytest tests/compatibility/test_transactions_of_other_clients.py $(ARGS); fi

cluster-jars: $(READY)  ## a real ZooKeeper and real bookies for the tests of clusters (Maven fetches them)
	@$(PY) -m bench.bookkeeper_cluster

cluster: $(READY)   ## ZooKeeper, three bookies, two brokers and a proxy on this machine, until Ctrl-C (Maven fetches them)
	@$(PY) -m bench.cluster $(ARGS)

test-cluster: $(READY)  ## clients, recordings, transactions, functions and Spark on a real ZooKeeper and bookies
	@if $(PY) -m bench.bookkeeper_cluster; then \
		ON_CLUSTER=1 $(PY) -m pytest -n auto $(if $(findstring tests/,$(ARGS)),,tests/client tests/compatibility \
			tests/golden tests/transactions tests/functions tests/offload tests/spark tests/contract tests/cluster) $(ARGS); fi

scenarios: $(READY)  ## what dispatch does, told as text; REWRITE=1 writes down what happens today
	$(PY) -m pytest tests/scenarios $(ARGS)

crash: $(READY)  ## sixty kills of a broker under load, and every fault; ten minutes
	KILLS=60 FAULTS=all $(PY) -m pytest -s tests/crash tests/faults $(ARGS)

sink: $(READY)  ## kills of a Spark stream that writes a million messages once, at any time and each step
	SINK_KILLS=10 $(PY) -m pytest -s tests/spark/test_sink_campaign.py $(ARGS)

spark-places: $(READY)  ## Spark behind Connect, on a standalone cluster, and declarative pipelines; some minutes
	SPARK_PLACES=1 $(PY) -m pytest -s tests/spark/test_places.py $(ARGS)

two-brokers: $(READY)  ## two brokers whose bundles move and are lost at random: 200 seeds, and all tests of the client
	SEEDS=200 $(PY) -m pytest -n 2 tests/cluster $(ARGS)
	@seed=$${TWO_BROKERS:-$$(date +%s)}; echo "TWO_BROKERS=$$seed"; \
		TWO_BROKERS=$$seed $(PY) -m pytest -n 2 tests/client $(ARGS)

simulate: $(READY)  ## clusters in simulated time: SEED=n tells the story of one; COUNT (1000) seeds over all cores
	@PYTHONPATH=tests $(PY) -m simulation.run $(or $(SEED),--count $(or $(COUNT),1000)) $(ARGS)

bank: $(READY)   ## transfers in transactions, ours and Java's, with kills for twice BANK_MINUTES (5)
	BANK_MINUTES=$${BANK_MINUTES:-5} $(PY) -m pytest -n 0 -s tests/transactions/test_bank.py $(ARGS)

functions: $(READY)  ## nine kills of a function that counts, five of the worker of others; some minutes
	FUNCTION_KILLS=9 WORKER_KILLS=5 $(PY) -m pytest -s tests/spark/test_function_campaign.py tests/functions $(ARGS)

check: $(READY)  ## format, lint, strict types, import contracts
	.venv/bin/ruff format --check $(PYTHON_FILES)
	.venv/bin/ruff check $(PYTHON_FILES)
	.venv/bin/mypy
	.venv/bin/mypy tests/typing examples
	.venv/bin/lint-imports
	$(PY) generate/blocking.py --check
	$(PY) generate/options.py --check

format: $(READY) ## rewrite the sources in the one format, and mend what can be mended
	.venv/bin/ruff format $(PYTHON_FILES)
	.venv/bin/ruff check --fix $(PYTHON_FILES)

proto: $(READY)  ## regenerate src/magnetar/proto from proto/
	$(PY) generate/protobuf.py

generate: $(READY) ## rewrite client/blocking.py and the page of options from the asyncio client
	$(PY) generate/blocking.py
	$(PY) generate/options.py

SOAK := .venv/.soak
MINUTES := 20
MUTANTS := .venv/.mutants
.PHONY: bench bench-pulsar bench-guard soak soak-semantics fuzz sanitize schemathesis mutants

$(BENCH): $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $(BENCH)

bench: $(BENCH)  ## throughput, latency, CPU per entry, beside the machine's raw limits; minutes
	$(PY) -m bench.run $(ARGS)

bench-pulsar: $(BENCH)  ## the same beside Apache Pulsar (Maven fetches it), interleaved; 20 minutes
	$(PY) -m bench.compare $(ARGS)

bench-guard: $(BENCH)  ## what an entry costs against the committed figures; fails at +10 %
	$(PY) -m bench.guard $(ARGS)

$(SOAK): $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[soak]'
	@touch $(SOAK)

soak: $(SOAK)    ## MINUTES (20) of mixed load with kills: memory, descriptors and backlog stay flat
	$(PY) -m bench.soak --minutes $(MINUTES) $(ARGS)

soak-semantics: $(SOAK) ## every feature at once for 10 minutes, with kills: what became of each message
	$(PY) -m bench.soak.semantics $(ARGS)

schemathesis: $(READY)  ## many requests for every operation of the OpenAPI document; ten minutes
	SCHEMATHESIS_SEED=$${SCHEMATHESIS_SEED:-$$(date +%s)} SCHEMATHESIS_EXAMPLES=40 \
		SCHEMATHESIS_OPERATIONS=1000 $(PY) -m pytest tests/fuzz/test_admin_document.py $(ARGS)

fuzz: $(READY)   ## a million random and mutated frames, and everything else that is read; 20 minutes
	PYTHONPATH=tests $(PY) -m fuzz.run $(ARGS)
	$(if $(ARGS),,EXAMPLES=4000 $(PY) -m pytest tests/properties/test_inner.py)
	$(if $(ARGS),,EXAMPLES=1000 $(PY) -m pytest -n auto tests/unit tests/properties --ignore tests/properties/test_inner.py -m hypothesis)

sanitize: $(READY)  ## the compiled loops built with sanitizers: their tests, and FRAMES (10,000) of the fuzzer
	$(PY) generate/sanitized.py $(FRAMES)

$(MUTANTS): $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[mutants]'
	@touch $(MUTANTS)

mutants: $(MUTANTS)  ## 200 faults in what was changed last, one by one: do the tests notice? an hour and more
	PYTHONPATH=tests $(PY) -m mutants.run $(ARGS)

all: check test  ## what CI runs, no more, no less

clean:           ## remove what setup and the tests made
	rm -rf .venv build dist src/magnetar/inner/_compiled.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache data
