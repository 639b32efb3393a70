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

.PHONY: help build demo test torture lint fuzz bench up down clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1\t\2/' | expand -t 10

build: ## build bin/echosieve
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/echosieve ./cmd/echosieve

demo: build ## the whole service on the shipped sample, with nothing else installed
	bin/echosieve demo

test: ## everything: vet, race detector, real Redis, real Kafka, mutants, fuzz seeds, benchmarks once
	go vet ./...
	go test -race -timeout 40m ./...
	go test -run 'PeakMemory|LinearTime' ./pipeline
	mkdir -p bin
	go test -run NONE -bench . -benchtime 1x ./... > bin/benchmarks.txt || { cat bin/benchmarks.txt; exit 1; }

torture: ## faults on real servers, every record accounted for (make torture ROUNDS=100 SEED=7)
	go run ./test/torture --rounds $(ROUNDS) --seed $(SEED)

lint: $(TOOLS)/golangci-lint ## golangci-lint with .golangci.yml
	$(TOOLS)/golangci-lint run ./...

$(TOOLS)/golangci-lint: Makefile
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	touch $@

fuzz: ## every fuzz target for FUZZTIME (30s; make fuzz FUZZTIME=10m)
	.ci/fuzz $(FUZZTIME)

bench: build ## CPU per article of each stage on the shipped sample (make bench FILE=articles.jsonl.gz)
	bin/echosieve bench $(FILE)

up: ## Kafka, Redis, Echosieve, Prometheus and Grafana in containers
	docker compose up --build --detach --wait

down: ## stop them
	docker compose down

clean: ## remove what was built
	rm -rf bin
