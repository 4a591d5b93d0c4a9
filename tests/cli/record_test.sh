# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What `record` refuses before it records anything; the live tests tell how it records.

it 'refuses to record nothing in particular'
run record
expect_status 64
expect_one_error
expect_files

it 'names a process that is not there'
run record -p 4194304 -d 1
expect_status 1
expect_one_error
expect_err_has 4194304
expect_files

it 'names a thread that is not there'
run record -t 4194304 -d 1
expect_status 1
expect_one_error
expect_err_has 4194304
expect_files

it 'names a cgroup that is not there'
run record --cgroup /no/such/group -d 1
expect_status 1
expect_one_error
expect_err_has /no/such/group
expect_files

it 'refuses a duration that is none'
run record -a -d 5parsecs
expect_status 64
expect_one_error
expect_err_has 5parsecs
expect_files

for wrong in '-p 12x' '-p -1' '-p 0' '-t x' '-a --max-off-cpu 5parsecs' '-a --max-off-cpu -1s' '-a --reasons sleepy' '-a --stacks both' \
  '-a --buffer-size 1Q' '-a --max-stack deep' '-a --time-split maybe' '-a --inline perhaps' '-a --state 7' '-a --min-off-cpu 3x'; do
  it "refuses $wrong"
  # shellcheck disable=SC2086  # words
  run record -o "$PWD/out.pb" -d 100ms $wrong
  expect_status 64
  expect_one_error
  expect_err_has "${wrong##* }"
  expect_files
done

it 'does not overwrite an earlier recording'
echo mine > offcpu.pb
run record -d 1 -- true
expect_status 1
expect_one_error
expect_err_has offcpu.pb
expect_err_has --force
expect 'the file was changed' [ "$(cat offcpu.pb)" = mine ]
expect_files offcpu.pb

it 'names the back ends there are'
run record -a -d 100ms --backend hopes
expect_status 64
expect_one_error
expect_err_has hopes
expect_err_has perf
expect_files offcpu.pb

it 'tells what a recording would cost without recording'
run record --dry-run -d 100ms -p $$
# shellcheck disable=SC2154  # set by run
if [ "$status" -eq 0 ]; then
  expect_out_has 'Back end'
  expect_out_has 'target threads'
  expect_out_has 'us a switch'
else # no back end works here
  expect 'it says why' [ "$status" -eq 69 -o "$status" -eq 77 ]
  expect_one_error
fi
expect_files offcpu.pb
