# The few words one needs; meson and ninja do the work.  `make help` lists them.
BUILD ?= build
PROGRAMS = rota rotad rota-shim

.PHONY: help deps build check check-all bench demo demo-stop deb format clean

help:
	@echo 'make deps       install what building and testing needs (Debian, root)'
	@echo 'make build      $(BUILD)/rota, $(BUILD)/rotad, $(BUILD)/rota-shim'
	@echo 'make check      deps, build, style checks and every test; ends with "N passed, N failed"'
	@echo 'make check-all  check, then sanitizers, clang, static analysis, fuzzers, an emulated machine'
	@echo 'make bench      every benchmark, each figure on one line'
	@echo 'make demo       a whole system on this machine; make demo-stop removes it again'
	@echo 'make deb        Debian packages of the committed tree, in build-deb'
	@echo 'make format     clang-format on FILES="..." (default: what git sees as changed)'
	@echo 'make clean      removes what was built'

deps:
	@tools/deps build run test

# Programs come out in the folder of their layer; links put them where people look.
build: $(BUILD)/build.ninja
	@ninja -C $(BUILD)
	@for p in $(PROGRAMS); do \
	    for from in src/programs src/shim; do \
	        if [ -x $(BUILD)/$$from/$$p ]; then ln -sfn $$from/$$p $(BUILD)/$$p; fi; \
	    done; \
	done

$(BUILD)/build.ninja:
	@meson setup $(BUILD)

check:
	@tools/check --build $(BUILD)

check-all:
	@tools/check --build $(BUILD) --all

bench:
	@tools/deps build run bench
	@$(MAKE) --no-print-directory build
	@tools/bench --build $(BUILD)

demo:
	@tools/demo

demo-stop:
	@tools/demo stop

deb:
	@tools/deps build package
	@tools/deb

format:
	@files="$(FILES)"; \
	[ -n "$$files" ] || files=$$(git diff --name-only --diff-filter=d HEAD -- '*.c' '*.h'); \
	[ -z "$$files" ] || clang-format -i $$files

clean:
	rm -rf $(BUILD) build-asan build-clang build-deb build-fuzz
