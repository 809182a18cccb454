# Everything here works from a clean checkout; what a target needs is installed by .ci/setup (Debian or Ubuntu, as root) or named by it.

export CGO_ENABLED = 0
export GOFLAGS += -buildvcs=false
export PATH := $(PATH):/usr/local/go/bin

GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   = golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME     ?= 30s
VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PLATFORMS     = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

.PHONY: build demo demo-data test lint bench bench-long faults faults-long fuzz release clean

build:
	go build -trimpath -ldflags "-X main.version=$(VERSION)" -o statebridge ./cmd/statebridge

# Real snapshots, one after the other, mirrored into a SQLite file; also into Postgres and Redis when DATABASE_URL and REDIS_URL are set.
demo:
	.ci/setup go
	go build -trimpath -ldflags "-X main.version=$(VERSION)" -o statebridge ./cmd/statebridge
	./statebridge demo

# All tests, as CI runs them. Two packages at a time: some start Postgres, Redis and a Flink job of their own.
test:
	.ci/setup test
	go vet ./...
	go build ./...
	go test -p 2 -timeout 30m ./...

lint:
	.ci/setup go
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt'ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go run $(GOLANGCI_LINT) run ./...
	go run $(GOVULNCHECK) ./...

# Every fuzz target of every package, FUZZTIME each.
fuzz:
	.ci/setup go
	@set -e; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg; \
		done; \
	done

# Everything that two bridges stand on fails at random while a real job moves money; readers and, again and again, all rows are checked. The last line counts.
# The seed that is printed first repeats the faults: make faults FAULTS='-seed 42'. With -logs DIR the logs of the bridges are kept.
faults:
	.ci/setup test
	go test -c -o e2e/faults/faults.test ./e2e/faults
	cd e2e/faults && ./faults.test -test.v -test.timeout 1h -test.run '^TestBank$$' -seed 0 -faults 40 $(FAULTS)

# An hour, and at least 200 faults.
faults-long:
	.ci/setup test
	go test -c -o e2e/faults/faults.test ./e2e/faults
	cd e2e/faults && ./faults.test -test.v -test.timeout 5h -test.run '^TestBank$$' -seed 0 -faults 200 -for 1h $(FAULTS)

# Ratios to Flink's State Processor API, Benthos, what one writes by hand, and our own limits. It fails when one misses its goal; a busy machine makes it miss. BENCH adds flags.
bench:
	.ci/setup test
	go run ./bench -keys 1000000 $(BENCH)

bench-long:
	.ci/setup test
	go run ./bench -keys 5000000,20000000 -changes 5000 -rounds 3 -rows 2000000 $(BENCH)

# Makes the snapshots of the demo anew, with a real job.
demo-data:
	.ci/setup test
	e2e/flink/make-demo.sh

# Static binaries for every platform in dist/, with their checksums.
release:
	.ci/setup go
	rm -rf dist && mkdir dist
	@set -e; for p in $(PLATFORMS); do \
		os=$${p%/*}; arch=$${p#*/}; ext=; [ $$os = windows ] && ext=.exe; \
		out=dist/statebridge_$(VERSION)_$${os}_$$arch$$ext; echo $$out; \
		GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $$out ./cmd/statebridge; \
	done
	cd dist && sha256sum * > SHA256SUMS

clean:
	rm -rf statebridge dist
