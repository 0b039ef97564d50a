# Start with `make run` and `make test`. Both need Go alone.

GO       ?= go
FUNCTIONS = $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))
GOARCH_LAMBDA ?= arm64

# Go's race detector needs a C compiler.
RACE := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)

# Only the CDK needs Node.js.
NODE = node --version 2>/dev/null | grep -qE '^v([2-9][0-9]|[1-9][0-9]{2})\.'

.DEFAULT_GOAL := help
.PHONY: run test build lint synth e2e-localstack localstack fuzz sim sim-mutants conformance foreign bench figures fmt clean help go

run: go ## Run the main job on this machine: real payloads, a remote that misbehaves, killed processes
	@$(GO) build -o build/landfall ./cmd/landfall
	@./build/landfall demo $(ARGS)

test: go ## Run all tests, with the race detector where there is a C compiler
	@$(if $(RACE),,echo "no C compiler (cc) found: the tests run without Go's race detector")
	$(if $(RACE),CGO_ENABLED=1) $(GO) test $(RACE) -timeout 15m ./...
	@if $(NODE) && $(GO) -C infra list . >/dev/null; then $(GO) -C infra test -timeout 15m ./...; else \
		echo "infra/ is not tested: install Node.js 20 or newer (22 is recommended, https://nodejs.org) and Go 1.26."; fi

build: go $(FUNCTIONS:%=dist/%/bootstrap) ## Build the functions for Lambda (dist/) and the command line (build/landfall)
	$(GO) build -trimpath -o build/landfall ./cmd/landfall
	@for f in $(FUNCTIONS); do echo "$$f: $$(gzip -9 <dist/$$f/bootstrap | wc -c | awk '{ printf "%.1f", $$1 / 1e6 }') MB zipped"; done

dist/%/bootstrap: FORCE
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH_LAMBDA) $(GO) build -trimpath -buildvcs=false -ldflags='-s -w' -tags=lambda.norpc -o $@ ./functions/$*

synth: build node_modules/.package-lock.json ## Make the CloudFormation template of a dev stage from landfall.yaml (needs Node.js)
	npx cdk synth --quiet -c stage=dev $(ARGS)

node_modules/.package-lock.json: package-lock.json
	@$(NODE) || { echo "install Node.js 20 or newer for the CDK (22 is recommended): https://nodejs.org"; exit 1; }
	npm ci --no-audit --no-fund

e2e-localstack: go node_modules/.package-lock.json ## Deploy to LocalStack, send rows and route messages, destroy (needs Python 3.13)
	test/localstack/e2e.sh

localstack: go node_modules/.package-lock.json ## Deploy landfall.yaml to LocalStack in Docker and keep it (needs Docker)
	test/localstack/up.sh $(ARGS)

lint: go ## Check format, vet, staticcheck, dead code and go.mod
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run -modfile=tools/go.mod honnef.co/go/tools/cmd/staticcheck ./...
	GO=$(GO) tools/deadcode.sh
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff
	$(GO) -C infra vet ./...
	$(GO) -C infra mod tidy -diff

figures: go ## Print lines by room, embedded fields, long functions and dependencies (ARGS=-all lists them)
	@$(GO) run ./internal/lab/figures/print $(ARGS)

FUZZTIME ?= 5s
fuzz: go ## Fuzz each parser of foreign bytes for FUZZTIME (5s)
	@grep -rl '^func Fuzz' --include='*_test.go' functions internal cmd | sort -u | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$file); do \
			echo "$$(dirname $$file) $$target"; \
			$(GO) test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=10x ./$$(dirname $$file) || exit 1; \
		done; \
	done

SEEDS ?= 10000
SDKSEEDS ?= 300
sim: go ## Simulate outbox and router: SEEDS worlds of each on memory (10000), SDKSEEDS through the SDK (300)
	for worlds in ./internal/lab/sim ./internal/lab/sim/routingsim; do \
		$(GO) test $$worlds -count=1 -timeout=60m -v -run=Worlds -args -seeds=$(SEEDS) && \
		$(GO) test $$worlds -count=1 -timeout=60m -v -run=Worlds -args -seeds=$(SDKSEEDS) -sdk || exit 1; \
	done

sim-mutants: go ## Break the protocols on purpose and check that the simulations notice
	$(GO) run ./internal/lab/sim/mutants $(ARGS)

ENDPOINT ?=
conformance: go ## Run the conformance tests against a local endpoint: ENDPOINT=http://127.0.0.1:8000
	@[ -n "$(ENDPOINT)" ] || { echo "usage: make conformance ENDPOINT=http://127.0.0.1:8000"; exit 2; }
	LANDFALL_ENDPOINT=$(ENDPOINT) $(GO) test -count=1 ./internal/lab/localaws/conformance
	LANDFALL_ENDPOINT=$(ENDPOINT) $(GO) test -count=1 ./internal/outboxdb ./internal/routingdb -run=TestConformance

foreign: go ## Send rows put by Python (boto3) and by the AWS command line (needs both)
	$(GO) test -count=1 -tags foreign ./test/foreign

bench: go ## Measure what an effect costs: build/bench.json, docs/cost.md
	@$(GO) build -o build/landfall ./cmd/landfall
	@./build/landfall bench --html build/bench.html --page docs/cost.md --plots docs/cost $(ARGS)

fmt: go ## Format the code
	gofmt -w $$(git ls-files '*.go')

clean: ## Remove build/, dist/ and node_modules/
	rm -rf build dist node_modules

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

go:
	@command -v $(GO) >/dev/null 2>&1 || { echo "install Go 1.25 or newer: https://go.dev/dl/"; exit 1; }

FORCE:
