# Two commands matter: `make test` checks everything, `make help` lists the rest.
.DEFAULT_GOAL := help
.PHONY: help test tidy demo demo-find real soak bench

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' \
		| while IFS='|' read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

test: ## format, lints, unit and end-to-end tests, tidy; installs what it needs
	@scripts/need.sh rust lint cc nginx redis node npm openssl python
	@scripts/test.sh

tidy: ## the house rules alone: layers, lengths, words, leftovers
	@cargo run --quiet --locked -p xtask -- tidy

demo: ## one server or two behind a proxy: which carries more, what fails, and why, in under 8 minutes (REAL=1: Express behind nginx)
	@scripts/need.sh rust cc $(if $(REAL),nginx redis node npm)
	@cargo build --release --locked -p plimsoll
	@$(if $(REAL),npm ci --silent --no-audit --no-fund --prefix experiments/doubled-servers/real)
	@target/release/plimsoll lab experiments/doubled-servers --quick $(if $(REAL),--real)

demo-find: ## a shop's load line, what gives way first and what next, in under 6 minutes (REAL=1: Express behind nginx)
	@scripts/need.sh rust cc $(if $(REAL),nginx node npm)
	@cargo build --release --locked -p plimsoll
	@$(if $(REAL),npm ci --silent --no-audit --no-fund --prefix experiments/demo/real)
	@experiments/demo/run.sh $(if $(REAL),--real)

real: ## install what `plimsoll lab EXPERIMENT --real` plays: nginx, Redis, Node, Java, the experiments' node modules, Cassandra's jars, a certificate
	@scripts/need.sh nginx redis node npm openssl java maven
	@scripts/real.sh
	@scripts/cassandra.sh

bench: ## CPU per request beside wrk, ab, h2load and a bare loop; saved in bench/results (SECTION=name for one; docdb: the database; causes: what find names; guard: beside nginx; guard-live: real services behind it; guard-promises: what else it promises; search-worlds: searches of simulated services; search-live: of a real one beside busy loops)
	@scripts/need.sh rust cc $(if $(filter docdb%,$(SECTION)),node npm redis,$(if $(filter causes,$(SECTION)),node python,$(if $(filter search%,$(SECTION)),python,nginx openssl)))
	@cargo build --release --locked $(if $(filter search-worlds,$(SECTION)),-p plimsoll-sim --example worlds,-p plimsoll)
	@python3 bench/$(if $(filter docdb%,$(SECTION)),docdb,$(if $(filter causes,$(SECTION)),causes,$(if $(filter guard%,$(SECTION)),guard,$(if $(filter search%,$(SECTION)),search,generators))))/run.py $(SECTION)

soak: ## every seed, every fixture live, minutes of fuzzing; takes long, run by hand
	@scripts/need.sh rust cc nginx node npm python
	@scripts/soak.sh
