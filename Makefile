# make app: install into .venv and start the app.  make test: install test tools, run everything.
# make cluster: start a Dask scheduler and two workers here; then SIMVIZ_SCHEDULER=... make app.
# make docs: build the site into build/site, its tutorials executed; make pages: not executed.
# make dist: build wheel and source archive into dist; check them, and try the wheel installed.
# make format: tidy the code and write the tables of docs/papers.md anew.
PYTHON ?= python3
BIN := .venv/bin
# What one process has compiled to bytecode, tests included, the others read.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app compiled cluster dist docs pages test soak soak-tests soak-numerics soak-readers soak-damage
.PHONY: soak-server mutants check format clean

# A part of what is installed is imported: Python compiles that to bytecode when it is.
INSTALL := $(BIN)/pip install --quiet --no-compile --editable

$(BIN)/activate:
	$(PYTHON) -m venv .venv

.venv/.app: pyproject.toml | $(BIN)/activate
	$(INSTALL) ".[demos,neural]"
	touch $@

.venv/.dev: pyproject.toml | $(BIN)/activate
	$(INSTALL) ".[dev]"
	touch $@ .venv/.app

compiled: .venv/.app
	$(BIN)/python -m simviz.precompile

app: .venv/.app
	$(BIN)/simviz

cluster: .venv/.app
	$(INSTALL) ".[cluster]"
	$(BIN)/dask scheduler --host 127.0.0.1 --port 8786 --no-dashboard & \
	trap "kill $$!" EXIT; \
	OMP_NUM_THREADS=1 $(BIN)/dask worker tcp://127.0.0.1:8786 --nworkers 2 --nthreads 1 \
	  --no-dashboard --preload simviz

docs: compiled .venv/.dev
	$(BIN)/pip install --quiet ranx
	$(BIN)/python -m pytest -q -m "soak or not soak" tests/docs/test_library.py tests/site/test_peers.py
	$(MAKE) pages

pages: .venv/.dev
	rm -rf build/site
	$(BIN)/python -m sphinx -q -W --keep-going docs build/site
	$(BIN)/python -m pytest -q tests/site/test_site.py

# The wheel is made of the source archive, installed where nothing else is, and tried there.
dist: $(BIN)/activate
	$(BIN)/pip install --quiet build twine
	rm -rf dist build/installed
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/installed
	build/installed/bin/pip install --quiet --no-compile dist/*.whl
	cd build && installed/bin/simviz --version && installed/bin/python ../tests/without_torch.py

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# A worker takes whole files, so that fixtures of a module are made once, and the many small ones
# last, so that none waits long for the other.
test: .venv/.dev
	$(BIN)/python tests/kernels.py take
	$(MAKE) --jobs=2 check compiled
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder \
		--ignore=tests/e2e -m "not soak"
	$(BIN)/python tests/kernels.py keep
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "e2e and not soak" tests/e2e

# What takes too long for every change: before a release, and before a change of what it guards.
soak: soak-tests soak-numerics soak-readers soak-damage soak-server mutants

soak-tests: compiled .venv/.dev
	$(BIN)/python -m pytest -q -m soak

# Methods fitted to 42,000 data sets that break numerics; `make test` tries 240 of them.
soak-numerics: compiled .venv/.dev
	SIMVIZ_STRESS_CASES=42000 $(BIN)/python -m pytest -q -n 2 tests/methods/test_stress.py

# Readers against 20,000 broken and hostile files; `make test` tries 500 of them.
soak-readers: .venv/.dev
	SIMVIZ_FUZZ_CASES=20000 $(BIN)/python -m pytest -q -n 2 tests/data/test_fuzz.py

soak-damage: .venv/.dev
	$(BIN)/python tests/soak/damage.py

# A server that is killed 50 times while six visitors work on it, and one that is crowded.
soak-server: compiled .venv/.dev
	$(BIN)/python tests/soak/sudden_end.py
	$(BIN)/python tests/soak/sessions.py

# Faults planted where it matters; fails if no test sees one of them.
mutants: compiled .venv/.dev
	$(BIN)/python tests/mutants.py

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/python tests/docs/test_papers.py
	$(BIN)/python tests/docs/test_commands.py
	$(BIN)/ruff format .

clean:
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache
