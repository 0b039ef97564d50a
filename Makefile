# What a newcomer needs: `make run` and `make test`. Both need nothing but Go.

GO       ?= go
FUNCTIONS = $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))
GOARCH_LAMBDA ?= arm64

# A C compiler lets Go's race detector run.
RACE := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)

.DEFAULT_GOAL := help
.PHONY: run test build lint fmt clean help go

run: go ## Show the main job on this machine: real payloads, a remote that misbehaves, killed processes
	@$(GO) build -o build/landfall ./cmd/landfall
	@./build/landfall demo $(ARGS)

test: go ## Run all tests, with the race detector where there is a C compiler
	@$(if $(RACE),,echo "no C compiler (cc) here: the tests run without Go's race detector")
	$(if $(RACE),CGO_ENABLED=1) $(GO) test $(RACE) -timeout 15m ./...

build: go $(FUNCTIONS:%=dist/%/bootstrap) ## Build the functions for Lambda (dist/) and the command line (build/landfall)
	$(GO) build -trimpath -o build/landfall ./cmd/landfall

dist/%/bootstrap: FORCE
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH_LAMBDA) $(GO) build -trimpath -ldflags='-s -w' -tags=lambda.norpc -o $@ ./functions/$*

lint: go ## Check format, vet, staticcheck and go.mod
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run -modfile=tools/go.mod honnef.co/go/tools/cmd/staticcheck ./...
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff

fmt: go ## Format the code
	gofmt -w $$(git ls-files '*.go')

clean: ## Remove what was built
	rm -rf build dist

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

go:
	@command -v $(GO) >/dev/null 2>&1 || { echo "Landfall needs Go 1.25 or newer, and nothing else: https://go.dev/dl/"; exit 1; }

FORCE:
