# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The Makefile and the tools beside it.

# make's own variables (SAN=..., CXX=...) stay; the job server does not reach down here.
MAKEFLAGS=$(printf '%s' "${MAKEFLAGS:-}" | sed 's/ *--jobserver-auth=[^ ]*//')
export MAKEFLAGS

# --- check-layers on a made-up tree ---

mkdir -p tree/src/base tree/src/model tree/src/source/perf tree/src/cli tree/kernel-compat
printf 'base:\nmodel: base\nkernel-compat: base\nsource: model kernel-compat base\ncli: *\n' > tree/src/LAYERS
printf '#include <vector>\n#include "base/a.h"\n' > tree/src/model/m.h
printf '#include "base/a.h"\n#include "base/b.h"\n' > tree/src/base/a.cc
printf '#include "kernel-compat/k.h"\n  # include "model/m.h"\n' > tree/src/source/perf/p.cc
printf '#include "source/perf/p.h"\n' > tree/src/cli/main.cc

layers() { run_any "$TOP/tools/check-layers" tree; }

it 'check-layers accepts what LAYERS grants'
layers
expect_status 0
expect_out

it 'check-layers names an include that is not granted'
echo '#include "model/m.h"' > tree/src/base/up.h
layers
expect_status 1
expect_out 'src/base/up.h:1: model/m.h: src/LAYERS does not grant model to base'
rm tree/src/base/up.h

it 'check-layers keeps kernel-compat for source, also from cli'
echo '#include "kernel-compat/k.h"' > tree/src/cli/x.cc
layers
expect_status 1
expect_out 'src/cli/x.cc:1: kernel-compat/k.h: kernel-compat is for source only'
rm tree/src/cli/x.cc

it 'check-layers refuses relative and unknown paths'
printf '#include "../model/m.h"\n#include "m.h"\n#include "util/u.h"\n' > tree/src/model/n.cc
layers
expect_status 1
expect 'not three lines' [ "$(wc -l < ../out)" = 3 ]
rm tree/src/model/n.cc

it 'check-layers refuses a folder without a row'
mkdir tree/src/util && echo > tree/src/util/u.h
layers
expect_status 1
expect_out 'src/util/u.h: src/LAYERS has no row for util'
rm -r tree/src/util

it 'check-layers refuses a grant that would allow a cycle'
sed 's/^base:/base: model/' tree/src/LAYERS > layers && mv layers tree/src/LAYERS
layers
expect_status 1
expect_out 'src/LAYERS: base: model does not stand above it'

it 'the tree keeps its layers'
run_any "$TOP/tools/check-layers"
expect_status 0
expect_out

# --- check-man-options, with a stand-in for the program ---

mkdir man
cat > program << 'END'
#!/bin/sh
case $1 in
  --help) printf 'Usage\n\nCommands:\n  top      does it\n\nManual\n' ;;
  top) printf 'Options:\n  -h,--help     help\n  -o,--output FILE  see --force\n  --format TEXT:{a,b}\n' ;;
esac
END
chmod +x program
printf '.It Fl o Ar file , Fl Fl output Ns = Ns Ar file\n.It Fl Fl format Ns = Ns Ar a\n' > man/offcpu-top.1

pages() { run_any "$TOP/tools/check-man-options" "$PWD/program" man; }

it 'check-man-options accepts a page with just the options of --help'
pages
expect_status 0
expect_out

it 'check-man-options names what only one of the two has'
printf '.It Fl Fl output Ns = Ns Ar file\n.It Fl Fl colour\n' > man/offcpu-top.1
pages
expect_status 1
expect_out 'top: --colour is only in man/offcpu-top.1' 'top: --format is only in --help'

it 'check-man-options names a page without a command, and a command without a page'
mv man/offcpu-top.1 man/offcpu-bottom.1
pages
expect_status 1
expect_out 'top: no page man/offcpu-top.1' 'man/offcpu-bottom.1: there is no such command'

# --- deps, with stand-ins for the system's programs ---

mkdir bin
printf '#!/bin/sh\necho installed\n' > bin/dpkg-query
printf '#!/bin/sh\necho 1000\n' > bin/id
printf '#!/bin/sh\necho "apt-get $*" >> apt-log\n' > bin/apt-get
chmod +x bin/*
printf 'ID=ubuntu\nID_LIKE=debian\n' > os-release

deps() { run_any env "PATH=$PWD/bin:$PATH" OS_RELEASE="${release:-$PWD/os-release}" "$TOP/tools/deps" "$@"; }

it 'deps is silent and stays off the network when nothing is missing'
deps
expect_status 0
expect_out
expect_err
expect 'apt-get was called' [ ! -e apt-log ]

it 'deps names what is missing and the command, when not root'
printf '#!/bin/sh\ncase $* in *libfmt-dev) exit 1;; esac; echo installed\n' > bin/dpkg-query
deps
expect_status 77
expect_err 'offcpu: missing packages: libfmt-dev; install them with: sudo tools/deps'
expect 'apt-get was called' [ ! -e apt-log ]

it 'deps installs just what is missing, as root'
printf '#!/bin/sh\necho 0\n' > bin/id
deps
expect_status 0
expect 'installed something else' grep -q '^apt-get install .* libfmt-dev$' apt-log

it 'deps says what is needed on an unknown distribution'
echo 'ID=plan9' > unknown
release=$PWD/unknown deps
expect_status 1
expect_out
expect_err_has plan9
expect_err_has libtraceevent-dev

for distribution in debian ubuntu fedora arch; do
  it "deps lists the packages of $distribution"
  deps --list $distribution
  expect_status 0
  expect_err
  expect_out_has libtraceevent
done

it 'deps lists what only lint and the kernels need when asked for it'
deps --lint --kernels --list debian
expect_status 0
expect_out_has shellcheck
expect_out_has qemu-system-x86
deps --list debian
expect 'qemu is listed for building' [ -z "$(grep qemu ../out)" ]

it 'deps refuses what it does not know'
deps --list plan9
expect_status 64
deps --nonsense
expect_status 64

# --- the Makefile ---

build=$(dirname "$OFFCPU")
built_make() { run_any make -C "$TOP" -o "$build/offcpu" -o "$build/bpf.so" "O=$build" "$@"; }

it 'make says in one line which library is missing, and what to do'
run_any env PKG_CONFIG_LIBDIR="$PWD/none" PKG_CONFIG_PATH= make -C "$TOP" --no-print-directory "O=$PWD/no-libs"
expect_status 2
expect_out
expect 'more than one line' [ "$(wc -l < ../err)" = 1 ]
expect_err_has 'the library libtraceevent >= '
expect_err_has 'sudo make deps'

it 'make clean and help need no library'
run_any env PKG_CONFIG_LIBDIR="$PWD/none" PKG_CONFIG_PATH= make -C "$TOP" "O=$PWD/no-libs" clean help
expect_status 0
expect 'a build folder was left' [ ! -e no-libs ]

it 'make install puts programs and pages below DESTDIR, with their modes'
built_make install "DESTDIR=$PWD/image" prefix=/usr
expect_status 0
expect 'the program is not there, or not 755' [ "$(stat -c %a image/usr/bin/offcpu)" = 755 ]
expect 'a page is missing' [ -e image/usr/share/man/man1/offcpu-record.1 ]
expect 'a document is missing' [ -e image/usr/share/doc/offcpu/LICENSE ]
expect 'a page or document is not 644' \
  [ -z "$(find image/usr/share -type f ! -perm 644)" ]

it 'make uninstall takes them all away'
built_make uninstall "DESTDIR=$PWD/image" prefix=/usr
expect_status 0
expect 'something was left' [ -z "$(find image -type f)" ]

it 'a read-only source tree builds, and a second make does nothing'
readonly_make() {
  # shellcheck disable=SC2016  # the inner shell's
  run_any unshare --mount sh -c \
    'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd "$1" && make --no-print-directory "O=$2" "$2/src/base/parse.o"' \
    sh "$TOP" "$PWD/own-build"
}
# A folder below the tree itself can't be written once that is read-only.
if ! unshare --mount true 2> /dev/null; then
  skip 'needs a mount namespace'
else
  readonly_make
  expect_status 0
  expect 'not built' [ -e own-build/src/base/parse.o ]
  readonly_make
  expect_status 0
  expect 'built again' [ -z "$(grep -v 'is up to date' ../out)" ]

  it 'new flags make new objects'
  run_any make -C "$TOP" "O=$PWD/own-build" CPPFLAGS=-DSOMETHING "$PWD/own-build/src/base/parse.o"
  expect_status 0
  expect 'not built again' grep -q 'CXX' ../out
fi
