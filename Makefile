# Echosieve: everything a developer or an operator starts by hand.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOLANGCI_LINT_VERSION := v2.15.0
TOOLS := $(CURDIR)/bin
FUZZTIME ?= 30s
ROUNDS ?= 3
SEED ?= $(shell date +%s)

# Packages whose goroutines share memory: their tests run under the race detector. Elsewhere it would only make tests slow.
# Tests that read large values in one goroutine, or that measure memory and time, run without it, too.
UNRACED := TestPeakMemory|TestHostileTexts|TestHostileTextsTakeLinearTime|TestLongFieldsTakeLinearTime|TestLargeBatchesAreReadRecordByRecord|TestOversizeRecordsAreCut
RACED := ./consumer/... ./redisindex/... ./pipeline ./pipeline/recipe ./pipeline/page ./pipeline/memindex ./cmd/... ./internal/...

.PHONY: help build release demo check test test-race test-rest setup-build setup-test setup-image image-test torture lint fuzz bench up down clean

# They install the programs that the machine lacks, or print the command that does.
setup-build setup-test setup-image: setup-%:
	@.ci/setup $*

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 12

# GOGC is the compiler's: with a larger heap it takes a fifth less CPU time.
build: ## build bin/echosieve, the service, and bin/echosieve-lab, both static and without a C++ compiler
	GOGC=400 CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X echosieve/internal/app/build.version=$(VERSION)' -o bin/ ./cmd/...

release: ## what is published for VERSION, in bin/release: archives, Debian packages, bills of materials, checksums
	deploy/release/build.sh $(VERSION) bin/release

demo: setup-build build ## the whole service on the shipped sample; needs no Kafka and no Redis
	bin/echosieve-lab demo

check: lint ## in two minutes: build, lint (with vet) and the unit tests, which need no servers
	go build ./...
	go test -short ./...

test: setup-test ## everything: race detector, real Redis, real Kafka, mutants, fuzz seeds, without cgo, other platforms, benchmarks once; installs what it needs
	$(MAKE) --jobs 2 --output-sync=line test-race test-rest
	go test -count=1 -p 1 -timeout 60m -run '^($(UNRACED))$$' ./pipeline ./pipeline/recipe ./consumer/...
	mkdir -p bin
	go test -timeout 60m -run NONE -bench . -benchtime 1x ./... > bin/benchmarks.txt || { cat bin/benchmarks.txt; exit 1; }

# Tests wait for servers more than they compute, so packages run beside each other. Results are never taken from the cache: it does not
# know that a test builds the service.
test-race:
	go test -count=1 -p 2 -parallel 4 -race -skip '^($(UNRACED))$$' -timeout 60m $(RACED)

test-rest:
	go test -count=1 -p 3 -timeout 60m $(filter-out $(shell go list $(RACED)),$(shell go list ./...))
	CGO_ENABLED=0 go test -count=1 -short ./pipeline/... ./cmd/... ./internal/...
	for p in linux/arm64 darwin/arm64; do CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./cmd/...; done

image-test: setup-image ## as root: builds the container image without an engine, runs it, and the commands of docker-compose.yml
	go test -count=1 -timeout 60m -tags image -v ./test/image

torture: ## faults on real servers, every record accounted for (make torture ROUNDS=100 SEED=7)
	go run ./test/torture --rounds $(ROUNDS) --seed $(SEED)

lint: $(TOOLS)/golangci-lint ## golangci-lint with .golangci.yml
	$(TOOLS)/golangci-lint run --allow-serial-runners ./...

$(TOOLS)/golangci-lint: Makefile
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	touch $@

fuzz: ## every fuzz target for FUZZTIME (30s; make fuzz FUZZTIME=10m)
	.ci/fuzz $(FUZZTIME)

bench: ## CPU per article of each stage on the shipped sample (make bench FILE=articles.jsonl.gz)
	go run ./cmd/echosieve-lab bench $(FILE)

up: ## Kafka, Redis, Echosieve, Prometheus and Grafana in containers
	VERSION=$(VERSION) docker compose up --build --detach --wait

down: ## stop the containers of make up; their data stays
	docker compose down

clean: ## remove bin, the folder of built programs and tools
	rm -rf bin
