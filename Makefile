# Everything a developer or CI does with Canopy. `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build run demo tour test test-full test-tools test-kubernetes test-etcd test-ha test-ha-short soak kubernetes shim-kubernetes test-yunikorn-core test-shim test-deploy test-web test-yunikorn-web e2e e2e-own e2e-autoscaler versus-kubernetes lint-shell race test-ldap test-prometheus check nightly lint golden fuzz twin mutants bench versus versus-test versus-kube-scheduler test-kube-scheduler conformance example example-js example-python example-kubernetes dist test-dist tools testrun proto

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 20s
SEED     ?= 1
N        ?= 200
BENCH    ?= .
GOLDEN   ?= ./pkg/scheduler/... ./pkg/rmproxy
VERSUS   ?=
DIST     ?=
YUNIKORN_WEB ?=
MUTANTS  ?= all

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Where build and kubernetes leave the programs, and further flags of their linker: make dist has others.
BIN     := bin
LDFLAGS :=

build: ## build bin/canopy, and bin/canopy-lab to measure, simulate and replay it
	go build -ldflags "$(LDFLAGS) -X main.version=$(VERSION)" -o $(BIN)/canopy ./cmd/core
	go build -ldflags "$(LDFLAGS) -X main.version=$(VERSION)" -o $(BIN)/canopy-lab ./cmd/lab

run: build ## build and serve
	bin/canopy serve

demo: build ## build and show a cluster at work
	bin/canopy demo

tour: testrun ## do what README.md and docs/TOUR.md say, line by line, in fresh copies of the repository
	bin/tour README.md docs/TOUR.md

# Four packages at the same time: some wait for time-outs while others work.
test: test-tools ## run all tests, random ones with a tenth of the runs: about 50 s
	bin/testrun -p 4 ./...

test-tools: testrun # test the tools, a module of its own
	cd tools && ../bin/testrun ./...

test-full: testrun ## run all tests with all random runs: minutes
	CANOPY_TESTS=full bin/testrun -timeout 40m ./...

# The packages that have goroutines: values and core have none (internal/testing/lint holds it), nor have their twin and
# the other tests of them.
RACE := ./cmd/... ./internal/cli/... ./internal/ha/... ./internal/lab/... ./internal/server/... ./internal/testing/chaos \
	./pkg/canopy/... ./pkg/hints/... ./pkg/metrics/... ./pkg/rmproxy/... ./pkg/webservice/...

race: testrun ## run the tests of packages with goroutines with the race detector, random ones as CANOPY_TESTS says: minutes
	bin/testrun -race -timeout 40m $(RACE)

test-ldap: ## test the ldap resolver against a real slapd, which root gets installed
	@PATH=$$PATH:/usr/sbin; command -v slapd >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
		apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends slapd; }
	go vet -tags slapd ./internal/server/usergroup
	PATH=$$PATH:/usr/sbin go test -tags slapd -count=1 -v -run Slapd ./internal/server/usergroup

CHECKS := lint lint-shell build example example-js example-python conformance test-prometheus versus-test test-kubernetes test-shim example-kubernetes test-deploy test-dist test-web test-ha-short test-tools race test tour

check: ## everything CI checks, with the time that each part took
	@for part in $(CHECKS); do \
		start=$$SECONDS; $(MAKE) --no-print-directory $$part; echo "check: $$part took $$((SECONDS - start)) s"; \
	done

nightly: check ## check, all random runs also with the race detector, three times those of the twin, every fuzz target for a minute, all planted faults, all that users install, groups with a real etcd, the shim 1.8, a soak that is recorded and replayed, pods on a control plane of Kubernetes, the decision of kube-scheduler, all benchmarks: two to three hours, and one for the first build of Kubernetes
	$(MAKE) --no-print-directory test-full
	CANOPY_TESTS=full $(MAKE) --no-print-directory race
	CANOPY_TESTS=nightly bin/testrun -timeout 1h ./internal/testing/twin ./internal/testing/chaos -count=1
	$(MAKE) --no-print-directory fuzz FUZZTIME=1m
	$(MAKE) --no-print-directory mutants
	CANOPY_TESTS=nightly $(MAKE) --no-print-directory test-dist
	$(MAKE) --no-print-directory test-etcd
	$(MAKE) --no-print-directory test-shim SHIM_VERSION=1.8
	CANOPY_TESTS=full $(MAKE) --no-print-directory test-ha
	$(MAKE) --no-print-directory soak
	$(MAKE) --no-print-directory e2e SUITES='basic_scheduling recovery_and_restart'
	$(MAKE) --no-print-directory e2e-own
	$(MAKE) --no-print-directory test-kube-scheduler
	bin/canopy-lab bench run --quick

lint: tools ## gofmt, go vet, staticcheck; the house rules are in internal/testing/lint
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt these:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	bin/staticcheck ./...
	cd tools && go vet ./... && ../bin/staticcheck ./...

proto: ## generate the Go files of hints.proto; root gets protoc installed
	$(call need,command -v protoc && test -f /usr/include/google/protobuf/duration.proto,protobuf-compiler libprotobuf-dev)
	@mkdir -p bin && go build -C tools -o ../bin/ google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
	PATH="$(CURDIR)/bin:$$PATH" protoc --go_out=. --go-grpc_out=. --go_opt=paths=source_relative --go-grpc_opt=paths=source_relative \
		pkg/hints/canopyv1/hints.proto

golden: testrun ## rewrite the transcripts of GOLDEN; read the diff
	bin/testrun $(GOLDEN) -run Transcripts -count=1 -rewrite

fuzz: ## run every fuzz target for FUZZTIME
	@go test -list '^Fuzz' ./... | \
	awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { while (n) print $$2, name[--n] }' | { \
		ran=0; \
		while read -r package name; do \
			echo "$$package $$name"; \
			go test "$$package" -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x </dev/null; \
			ran=$$((ran + 1)); \
		done; \
		echo "$$ran fuzz targets"; [ $$ran -gt 0 ]; }

twin: testrun ## run N random runs from SEED against the naive twin
	CANOPY_TWIN_SEED=$(SEED) CANOPY_TWIN_RUNS=$(N) bin/testrun ./internal/testing/twin -run RandomRuns -count=1 -v

mutants: testrun ## plant every fault of internal/testing/mutants/testdata, one at a time: each must make a test fail; an hour or two
	CANOPY_MUTANTS='$(MUTANTS)' bin/testrun -timeout 4h ./internal/testing/mutants -run Caught -count=1 -v

bench: ## run the benchmarks that match BENCH
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./pkg/...

versus: ## compare with yunikorn-core, both in process; flags in VERSUS
	@mkdir -p bin && go build -C bench/versus -o ../../bin/versus .
	bin/versus $(VERSUS)

versus-kube-scheduler: build ## compare with kube-scheduler's decision, without an API server; flags in VERSUS; the first build takes minutes, many downloads
	@mkdir -p bin && go build -C bench/versus/kubescheduler -o ../../../bin/versus-kube-scheduler .
	bin/versus-kube-scheduler $(VERSUS)

test-kube-scheduler: # vet and test the comparison with kube-scheduler, a module of its own that compiles much of Kubernetes
	cd bench/versus/kubescheduler && go vet ./... && go test ./...

versus-test: # vet and test the comparison, a module of its own with many downloads
	cd bench/versus && go vet ./... && go test ./...

test-kubernetes: # vet and test the comparison with the packages of Kubernetes, a module of its own with many downloads
	cd test/kubernetes && go vet ./... && go test ./...

test-etcd: ## test what is kept in etcd with a real one, which is built from the module proxy: two minutes, many downloads
	cd test/etcd && go vet ./... && go test -count=1 -timeout 10m ./...

test-ha-short: # as CI does: a leader is elected, dies, ends, and hands on what is kept
	cd test/ha && go vet ./... && go test -count=1 -timeout 5m -run 'OneLeads|LeaderIsKilled|LeaderEnds|LeadersShare|Partitions' .

test-ha: ## vet and test groups of processes with a real etcd: kills, stops, outages; OPENB=DIR has an openb trace to replay, ETCD=FILE is another etcd; a module of its own with many downloads
	cd test/ha && go vet ./... && CANOPY_OPENB=$(abspath $(OPENB)) CANOPY_ETCD=$(ETCD) go test -count=1 -timeout 20m ./...

SOAK ?= 10m
soak: build ## record a server that is driven at full speed for SOAK, and replay the recording: every effect is the same
	SOAK=$(SOAK) test/soak/run.sh bin/canopy bin/canopy-lab

# Suites of the shim, by default all of kubernetes/cluster/suites.txt; CORE is canopy, original or both.
SUITES ?=
AUTOSCALER ?=
CORE   ?= canopy
JOBS   ?= 4

e2e: ## run the shim's end-to-end suites SUITES on fake nodes with CORE (canopy, original, both), and without SUITES e2e-own, too: an hour, needs root
	kubernetes/cluster/e2e.sh --core $(CORE) --jobs $(JOBS) $(SUITES)
	$(if $(SUITES),,kubernetes/cluster/own.sh)

e2e-autoscaler: ## run the shim with CORE (or native) beside Karpenter, which adds and removes fake nodes: 15 minutes, needs root; flags in AUTOSCALER, such as --measure
	kubernetes/cluster/autoscaler.sh --core $(CORE) $(AUTOSCALER)

e2e-own: ## run Canopy's own end-to-end tests on fake nodes, of both shims: 20 minutes, needs root
	kubernetes/cluster/own.sh

versus-kubernetes: ## the shim with Canopy beside the shim with YuniKorn's core, measured on fake nodes, needs root; flags in VERSUS
	kubernetes/cluster/versus.sh $(VERSUS)

lint-shell: # check the shell scripts; root gets shellcheck installed
	$(call need,command -v shellcheck,shellcheck)
	shellcheck -x -P SCRIPTDIR kubernetes/cluster/*.sh test/soak/*.sh deploy/debian/p* deploy/debian/shim/p* tools/dist/testdata/*.sh

# The shim of YuniKorn for Kubernetes, as kubernetes/shim/go.mod has it, and its tests that need no certificates.
SHIM       := github.com/apache/yunikorn-k8shim
SHIM_CONF  := -X $(SHIM)/pkg/conf
# SHIM_VERSION is 1.8 for the shim 1.8.0, with the versions in kubernetes/shim/shim-1.8.mod; empty: that of go.mod there.
SHIM_VERSION ?=
SHIM_MODFILE := $(if $(SHIM_VERSION),-modfile shim-$(SHIM_VERSION).mod)
SHIM_TESTS := $(addprefix $(SHIM)/pkg/,shim cache/... client common/... conf dispatcher locking log plugin/...)

kubernetes: ## build bin/canopy-kubernetes: the shim for Kubernetes, 1.9 or SHIM_VERSION=1.8, with Canopy inside; many downloads
	@mkdir -p $(BIN)
	shim=$$(go list -C kubernetes/shim $(SHIM_MODFILE) -m -f '{{.Version}}' $(SHIM)) && \
	go build -C kubernetes/shim $(SHIM_MODFILE) -o "$(abspath $(BIN))/canopy-kubernetes" -ldflags "$(LDFLAGS) \
		$(SHIM_CONF).buildVersion=$$shim-canopy-$(VERSION) $(SHIM_CONF).shimSHA=$$shim $(SHIM_CONF).coreSHA=canopy-$(VERSION) \
		$(SHIM_CONF).isPluginVersion=false $(SHIM_CONF).goVersion=$$(go env GOVERSION) $(SHIM_CONF).arch=$$(go env GOARCH)" \
		$(SHIM)/pkg/cmd/shim

shim-kubernetes: ## build bin/canopy-shim-kubernetes: the native shim for Kubernetes, which speaks gRPC; many downloads
	@mkdir -p $(BIN)
	go build -C kubernetes/shim-grpc -ldflags "$(LDFLAGS) -X main.version=$(VERSION)" -o "$(abspath $(BIN))/canopy-shim-kubernetes" .

test-yunikorn-core: # vet and test what stands in for yunikorn-core in the shim, a module of its own
	cd kubernetes/yunikorn-core && go vet ./... && go test ./...

test-shim: test-yunikorn-core kubernetes ## test the shim for Kubernetes with Canopy as its core: minutes, many downloads
	cd kubernetes/shim && go vet $(SHIM_MODFILE) ./...
	go test -C kubernetes/shim $(SHIM_MODFILE) -vet=off -timeout 5m . $(SHIM_TESTS)

test-deploy: # vet and test the manifests for Kubernetes and the Dockerfile, a module of its own with many downloads
	cd test/deploy && go vet ./... && go test -count=1 ./...

dist: ## build what users install in dist/, for Linux on amd64 and arm64, the same bytes anywhere (docs/INSTALL.md); flags in DIST; an hour at first
	@mkdir -p bin && go build -C tools/dist -o ../../bin/dist .
	bin/dist -version '$(VERSION)' $(DIST)

test-dist: # vet the builder of make dist, a module of its own, and test what it builds of canopy and the native shim, make nightly of all
	$(if $(filter nightly,$(CANOPY_TESTS)),$(call need,command -v lintian && command -v debootstrap && command -v systemd-nspawn && \
		command -v groff && command -v zsh && command -v fish,lintian debootstrap systemd-container groff zsh fish))
	cd tools/dist && go vet ./... && go test -count=1 -timeout 2h ./...

example: # vet and build the example shims, modules of their own
	@for shim in shim-go shim-legacy; do (cd examples/$$shim && go vet ./... && go build -o /dev/null ./...); done

# $(call need,check,packages): runs the check; if it fails, root gets the Debian packages installed.
need = @{ $(1); } >/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(2) && { $(1); }; } || { \
	echo "make $@: could not install what it needs; as root: apt install $(2)" >&2; exit 1; }

test-web: build ## test the page in a browser, and take pictures of it; root gets chromium installed
	$(call need,command -v chromium,chromium)
	cd test/web && go vet ./... && CANOPY_PROGRAM=$(CURDIR)/bin/canopy go test -count=1 -timeout 6m ./...

# The build of yunikorn-web is not ours and not part of CI.
test-yunikorn-web: ## open the dashboard of the yunikorn-web build in YUNIKORN_WEB through --web-root
	@[ -n "$(YUNIKORN_WEB)" ] || { echo "make $@: YUNIKORN_WEB must name the directory of a build of yunikorn-web, with its index.html" >&2; exit 1; }
	$(MAKE) --no-print-directory build
	$(call need,command -v chromium,chromium)
	cd test/web && CANOPY_PROGRAM=$(CURDIR)/bin/canopy YUNIKORN_WEB="$(abspath $(YUNIKORN_WEB))" go test -count=1 -timeout 2m -run YunikornWeb ./...

# Where the published scheduler interface is, with its si.proto.
SI = $$(go mod download -json github.com/apache/yunikorn-scheduler-interface | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')

conformance: build ## run the conformance cases against canopy serve, both as processes
	@rm -f bin/conformance.ready; bin/canopy serve --grpc-address 127.0.0.1:0 --http-address 127.0.0.1:0 >bin/conformance.ready 2>bin/conformance.log & server=$$!; \
	trap "kill $$server; wait $$server" EXIT; \
	until grep -q '^canopy ready' bin/conformance.ready || ! kill -0 $$server; do sleep 0.1; done; \
	bin/canopy-lab conformance --address "$$(sed -n 's/^canopy ready.* grpc=\([^ ]*\).*/\1/p' bin/conformance.ready)" --features canopy --report bin/conformance.xml

example-js: ## run the shim in JavaScript against a server that is killed; root gets nodejs and npm installed
	$(call need,command -v node && command -v npm,nodejs npm)
	cd examples/shim-js && npm ci --ignore-scripts --no-audit --no-fund
	mkdir -p examples/shim-js/build && install -m 644 "$(SI)/si.proto" examples/shim-js/build/
	go vet -tags shims ./cmd/core
	go test -tags shims -count=1 -run 'ExampleShims.*/js' ./cmd/core

example-python: ## run the shim in Python against a server that is killed; root gets Debian's gRPC installed
	$(call need,/usr/bin/python3 -c "import grpc; import google.protobuf" && command -v protoc && command -v grpc_python_plugin && \
		test -f /usr/include/google/protobuf/descriptor.proto,python3-grpcio python3-protobuf protobuf-compiler protobuf-compiler-grpc libprotobuf-dev)
	mkdir -p examples/shim-python/build
	protoc -I "$(SI)" --python_out=examples/shim-python/build --grpc_python_out=examples/shim-python/build \
		--plugin=protoc-gen-grpc_python="$$(command -v grpc_python_plugin)" si.proto
	go vet -tags shims ./cmd/core
	go test -tags shims -count=1 -run 'ExampleShims.*/python' ./cmd/core

example-kubernetes: build ## run the shim for Kubernetes between a fake cluster and a server that is killed: many downloads
	cd kubernetes/shim-grpc && go vet ./... && CANOPY_PROGRAM=$(CURDIR)/bin/canopy go test -race -count=1 -timeout 5m ./...

test-prometheus: ## run the alert rules and the queries of the dashboard against a real Prometheus, which root gets installed
	$(call need,command -v promtool && command -v prometheus,prometheus)
	promtool check rules deploy/prometheus/canopy-rules.yml
	cd deploy/prometheus && promtool test rules canopy-rules-test.yml
	go vet -tags prometheus ./cmd/core
	go test -tags prometheus -count=1 -timeout 3m -run Prometheus ./cmd/core

tools: # build the tools that tools/go.mod names
	@mkdir -p bin && go build -C tools -o ../bin/ tool

testrun: # build our own tools alone: that which runs tests, and that which follows the README
	@mkdir -p bin && go build -C tools -o ../bin/ ./testrun ./tour
