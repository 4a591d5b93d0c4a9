# SPDX-License-Identifier: MIT
# offcpu: `make help` lists the targets, README.md the two commands to begin with.

VERSION := 0.1.0

O ?= build
prefix ?= $(if $(PREFIX),$(PREFIX),/usr/local)
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
mandir ?= $(prefix)/share/man
docdir ?= $(prefix)/share/doc/offcpu
INSTALL ?= install
PKG_CONFIG ?= pkg-config
PROTOC ?= protoc
FUZZ_SECONDS ?= 60
Q := $(if $(V),,@)

# The builder's flags are never appended to; ours survive CXXFLAGS=... on the command line.
CXXFLAGS ?= -O2 -g
own_cppflags := -Isrc -I. -I$(O)/gen -DOFFCPU_VERSION='"$(VERSION)"'
own_cxxflags := -std=c++20 -Wall -Wextra -Wshadow -pthread $(if $(WERROR),-Werror)
own_cxxflags += $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
own_ldflags := -pthread

.DEFAULT_GOAL := all

# `make deps demo`: the other goals begin anew once the packages are there.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
after_deps := $(filter-out deps,$(MAKECMDGOALS))
deps:
	@tools/deps
	$(if $(after_deps),+@$(MAKE) --no-print-directory $(after_deps))
$(after_deps): deps ; @:
.PHONY: deps $(after_deps)
else

needs_libs := $(filter-out clean help dist uninstall,$(or $(MAKECMDGOALS),all))

sources := $(sort $(wildcard src/*/*.cc src/*/*/*.cc kernel-compat/*.cc))
protos := $(sort $(wildcard proto/*.proto))
proto_sources := $(protos:%.proto=$(O)/gen/%.pb.cc)
protos_h := $(proto_sources:.cc=.h)
objs := $(sources:%.cc=$(O)/%.o) $(proto_sources:.cc=.o)
lib_objs := $(filter-out $(O)/src/cli/main.o,$(objs))
to_objs = $(patsubst %.cc,$(O)/%.o,$(sort $(wildcard $(1))))
writer_obj := $(O)/tests/support/write_sample_profile.o
seeder_obj := $(O)/tests/support/write_fuzz_seeds.o
support_objs := $(filter-out $(writer_obj) $(seeder_obj),$(call to_objs,tests/support/*.cc))
unit_objs := $(call to_objs,tests/unit/*/*.cc tests/unit/*/*/*.cc) $(support_objs)
live_objs := $(call to_objs,tests/live/*.cc) $(support_objs)
programs := $(patsubst tests/programs/%.cc,$(O)/programs/%,$(sort $(wildcard tests/programs/*.cc)))
pages := $(sort $(wildcard man/*.[1-8]))

# Found once per build folder; what is missing is looked for again at each start.
ifneq ($(needs_libs),)
include $(O)/libs.mk
ifneq ($(libs_missing),)
$(if $(MAKE_RESTARTS),$(error offcpu: missing: $(libs_missing); 'sudo make deps' installs it))
$(O)/libs.mk: FORCE
endif
endif
$(O)/libs.mk: tools/find-libs
	@mkdir -p $(@D) && \
	  CXX='$(CXX)' PKG_CONFIG='$(PKG_CONFIG)' PROTOC='$(PROTOC)' CLANG='$(CLANG)' BPFTOOL='$(BPFTOOL)' tools/find-libs > $@.new && mv $@.new $@

compile = $(CXX) $(own_cppflags) $(lib_cflags) $(CPPFLAGS) $(own_cxxflags) $(CXXFLAGS) -MMD -MP
link = $(CXX) $(own_cxxflags) $(CXXFLAGS) $(own_ldflags) $(LDFLAGS)
gtest_libs := -lgtest_main -lgmock -lgtest
say = @$(if $(V),:,echo "  $(1) $@")

# The BPF module: built where its tools are, unless NO_BPF=1; NO_BPF=0 asks for it.
bpf_module := $(if $(filter-out 0,$(NO_BPF)),,$(if $(bpf_tool),$(O)/bpf.so))
ifeq ($(NO_BPF)$(bpf_module)$(if $(needs_libs),,clean),0)
$(error offcpu: missing for the BPF module: $(bpf_missing) (Debian: clang, bpftool, libbpf-dev))
endif

all: $(O)/offcpu $(bpf_module)

$(O)/offcpu: $(objs)
$(O)/unit-tests: $(unit_objs) $(lib_objs)
$(O)/live-tests: $(live_objs) $(lib_objs)
$(O)/write-sample-profile: $(writer_obj) $(lib_objs)
$(O)/write-fuzz-seeds: $(seeder_obj) $(lib_objs)
$(O)/unit-tests $(O)/live-tests: private extra_libs := $(gtest_libs)
$(O)/offcpu $(O)/unit-tests $(O)/live-tests $(O)/write-sample-profile $(O)/write-fuzz-seeds:
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(lib_libs) $(extra_libs) $(LDLIBS)

# bpf.so is looked for beside the program in the build folder, and where it is installed.
module_dir = -DOFFCPU_MODULE_DIR='"$(libdir)/offcpu"'
$(O)/src/source/bpf/load_module.o: private own_cppflags += $(module_dir)
$(O)/src/source/bpf/load_module.o: $(O)/module_dir
$(O)/module_dir: FORCE
	@mkdir -p $(@D); echo '$(libdir)' | cmp -s - $@ || echo '$(libdir)' > $@

bpf_objs := $(call to_objs,src/source/bpf/module/*.cc)
bpf_target := $(if $(filter s390%,$(shell uname -m)),bpfeb,bpfel)
$(O)/gen/bpf/offcpu.bpf.o: src/source/bpf/offcpu.bpf.c src/source/bpf/records.h kernel-compat/bpf_types.h $(O)/libs.mk
	$(call say,BPF)
	$(Q)mkdir -p $(@D) && $(bpf_clang) -target $(bpf_target) -O2 -g -Wall -Wextra -Wno-unused-parameter \
	  $(if $(WERROR),-Werror) -Isrc -I. $(bpf_cflags) -c -o $@ $<
$(O)/gen/bpf/offcpu.skel.h: $(O)/gen/bpf/offcpu.bpf.o
	$(Q)$(bpf_tool) gen skeleton $< name offcpu_bpf_skeleton > $@.new && mv $@.new $@
$(bpf_objs): private own_cxxflags += -fPIC -fvisibility=hidden -Wno-pedantic
$(bpf_objs): $(if $(bpf_module),$(O)/gen/bpf/offcpu.skel.h)
$(O)/bpf.so: $(bpf_objs)
	$(call say,LINK)
	$(Q)$(link) -shared -o $@ $^ $(bpf_libs)

# Test programs have known frames, so they are built one way, whatever the builder's flags are.
$(O)/programs/%: tests/programs/%.cc $(O)/flags
	$(call say,PROGRAM)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++20 -O1 -g -fno-omit-frame-pointer \
	  -fno-optimize-sibling-calls -Wall -Wextra -pthread -MMD -MP -o $@ $< -ldl

$(O)/%.o: %.cc $(O)/flags | $(protos_h)
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(compile) -c -o $@ $<

# The names of this machine's system calls, as the C library's headers have them.
$(O)/src/process/syscall_names.o: $(O)/gen/process/syscall_names.inc
$(O)/gen/process/syscall_names.inc: $(O)/flags
	$(call say,GEN)
	$(Q)mkdir -p $(@D) && echo '#include <sys/syscall.h>' | $(CXX) $(CPPFLAGS) -E -dM -x c++ - | \
	  LC_ALL=C sort | sed -n 's/^#define __NR_\([a-z][a-z0-9_]*\) .*/{__NR_\1, "\1"},/p' | \
	  grep -v -e __NR_syscalls -e __NR_arch_specific_syscall > $@.new && mv $@.new $@

$(O)/gen/%.o: $(O)/gen/%.cc $(O)/flags
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(compile) -Wno-shadow -c -o $@ $<

$(O)/gen/%.pb.cc $(O)/gen/%.pb.h &: %.proto
	$(call say,PROTOC)
	$(Q)mkdir -p $(O)/gen && $(PROTOC) -I. --cpp_out=$(O)/gen $<

# New flags, new objects.
flags = '$(subst ','\'',$(compile) $(link))'
$(O)/flags: FORCE
	@mkdir -p $(@D); echo $(flags) | cmp -s - $@ || echo $(flags) > $@

-include $(wildcard $(objs:.o=.d) $(bpf_objs:.o=.d) $(unit_objs:.o=.d) $(live_objs:.o=.d) $(writer_obj:.o=.d) $(seeder_obj:.o=.d) $(programs:%=%.d) $(O)/tests/fuzz/*.d)

demo: $(O)/offcpu $(O)/programs/demo
	@tools/demo $(O)

# --- Tests: each suite by itself, or all with one line of sums at the end ---

suites := unit golden cli live
$(O)/ready-unit: $(O)/unit-tests $(bpf_module)
$(O)/ready-golden: $(O)/offcpu $(O)/write-sample-profile
$(O)/ready-cli: $(O)/offcpu $(O)/write-sample-profile
$(O)/ready-live: $(O)/offcpu $(O)/live-tests $(programs) $(bpf_module)
ready := $(suites:%=$(O)/ready-%)
$(ready):

check: $(ready)
	@tests/run $(O) $(suites)
$(suites:%=check-%): check-%: $(O)/ready-%
	@tests/run $(O) $*

# The live tests of law 2 on kernels of other versions, in qemu.
check-kernels: $(O)/ready-live $(bpf_module)
	@tools/check-kernels $(O)

golden: $(O)/ready-golden
	tests/golden/run --update $(abspath $(O))/offcpu

bench: $(O)/offcpu $(programs)
	@tools/bench/run $(O)

# The parsers are built anew with clang, instrumented, in a folder of their own.
fuzzers := $(patsubst tests/fuzz/%_fuzz.cc,%,$(sort $(wildcard tests/fuzz/*_fuzz.cc)))
fuzz: $(O)/write-sample-profile $(O)/write-fuzz-seeds
	@command -v clang++ > /dev/null || { echo "offcpu: fuzzing needs clang++" >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory O=$(O)/fuzz CXX=clang++ SAN=address,undefined,fuzzer-no-link build-fuzzers
	$(Q)for name in $(fuzzers); do tests/fuzz/run $(O) $$name $(FUZZ_SECONDS) || exit 1; done
build-fuzzers: $(fuzzers:%=$(O)/%_fuzz)
$(O)/%_fuzz: $(O)/tests/fuzz/%_fuzz.o $(lib_objs)
	$(call say,LINK)
	$(Q)$(link) -fsanitize=fuzzer -o $@ $^ $(lib_libs) $(LDLIBS)

# --- Lint: what a tool can check ---

tidied := $(sources:%.cc=$(O)/%.tidy)
lint: lint-scripts lint-pages $(tidied)
lint-scripts:
	@tools/check-format
	@tools/check-layers
	@tools/check-shell
lint-pages: $(O)/offcpu
	@mandoc -T lint -W warning $(pages)
	@tools/check-man-options $(O)/offcpu

# Behind the object: a header that changes makes both anew.
$(O)/%.tidy: %.cc $(O)/%.o .clang-tidy
	$(call say,TIDY)
	$(Q)clang-tidy --quiet $< -- $(own_cppflags) $(lib_cflags) -std=c++20 2> $@.log || { cat $@.log; exit 1; }
	@touch $@

# --- Install ---

install: $(O)/offcpu $(bpf_module)
	$(INSTALL) -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(docdir)' $(foreach n,$(sections),'$(DESTDIR)$(mandir)/man$(n)')
	$(INSTALL) -m 755 $(O)/offcpu '$(DESTDIR)$(bindir)/offcpu'
	$(if $(bpf_module),$(INSTALL) -d '$(DESTDIR)$(libdir)/offcpu')
	$(if $(bpf_module),$(INSTALL) -m 644 $(O)/bpf.so '$(DESTDIR)$(libdir)/offcpu/bpf.so')
	$(foreach page,$(pages),$(INSTALL) -m 644 $(page) '$(DESTDIR)$(mandir)/man$(call section,$(page))/' &&) :
	$(INSTALL) -m 644 README.md NEWS LICENSE '$(DESTDIR)$(docdir)/'
section = $(patsubst .%,%,$(suffix $(1)))
sections := $(sort $(foreach page,$(pages),$(call section,$(page))))

uninstall:
	rm -f '$(DESTDIR)$(bindir)/offcpu' '$(DESTDIR)$(libdir)/offcpu/bpf.so'
	[ ! -d '$(DESTDIR)$(libdir)/offcpu' ] || rmdir '$(DESTDIR)$(libdir)/offcpu'
	rm -f $(foreach page,$(pages),'$(DESTDIR)$(mandir)/man$(call section,$(page))/$(notdir $(page))')
	rm -f $(foreach file,README.md NEWS LICENSE,'$(DESTDIR)$(docdir)/$(file)')
	[ ! -d '$(DESTDIR)$(docdir)' ] || rmdir '$(DESTDIR)$(docdir)'

dist:
	@tools/dist $(VERSION) $(O)

clean:
	rm -rf $(O)

help:
	@sed -n 's/^#: //p' Makefile

#: all         build $(O)/offcpu (the default)
#: demo        record the bundled workload for 3 s, print the digest, draw a flame graph
#: deps        install what building and checking need (as root); can stand before others
#: check       all tests; check-unit, check-golden, check-cli, check-live: one suite
#: check-kernels  law 2 on Debian's kernels in qemu (needs tools/deps --kernels)
#: lint        format, clang-tidy, layers, man pages, scripts
#: golden      rewrite the expected outputs in tests/golden; review the difference
#: fuzz        run each fuzzer for FUZZ_SECONDS=60 (needs clang)
#: bench       measure the recorder's cost
#: install     to prefix=/usr/local (bindir, libdir, mandir, docdir) below DESTDIR; uninstall
#: dist        $(O)/offcpu-VERSION.tar.gz
#: clean       remove the build folder
#:
#: Variables: O=folder V=1 WERROR=1 NO_BPF=1 SAN=address,undefined CXX CXXFLAGS CPPFLAGS LDFLAGS

FORCE:
.PHONY: all demo check $(suites:%=check-%) check-kernels $(ready) golden bench fuzz build-fuzzers lint lint-scripts \
  lint-pages install uninstall dist clean help FORCE
.SECONDARY: $(proto_sources) $(protos_h)
.DELETE_ON_ERROR:

endif  # not deps
