# Everything a developer runs. Each target makes the virtual environment .venv first, from PyPI.
# Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin

# A sourced ROS installation must not leak into the virtual environment.
unexport PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH COLCON_PREFIX_PATH

.PHONY: demo test lint bench clean
.DELETE_ON_ERROR:

demo: .venv/demo.stamp
	$(BIN)/multibody demo

test: .venv/test.stamp
	$(BIN)/python -m pytest --cov --cov-report=term $(ARGS)

lint: .venv/test.stamp
	$(BIN)/python -m pytest test/test_style.py $(ARGS)

# Another one: make bench BENCH=simulation (control, loops, nodes)
BENCH ?= dynamics
bench: .venv/bench.stamp
	$(BIN)/python benchmark/$(BENCH).py $(ARGS)

clean:
	rm -rf .venv build install log out .coverage .coverage.* *.egg-info
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/demo.stamp: EXTRAS = ros,plot
.venv/test.stamp: EXTRAS = ros,plot,test
.venv/bench.stamp: EXTRAS = ros,bench

.venv/%.stamp: setup.py setup.cfg pyproject.toml | .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	touch $@

.venv/bin/pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
# Some dependencies come as sources, which an old pip builds with what is here.
	$(BIN)/python -m pip install --quiet setuptools==79.0.1 wheel
