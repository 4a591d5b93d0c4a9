# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the program itself says, and what it says about a wrong command line.

commands='record stacks flamegraph top threads info dump doctor'

it 'prints its help on standard output'
run --help
expect_status 0
expect_err
for command in $commands; do expect_out_has "  $command "; done

it 'prints its version alone'
run --version
expect_status 0
expect_out "offcpu $(sed -n 's/^VERSION := //p' "$TOP/Makefile")"
expect_err

for command in $commands; do
  it "prints the help of $command on standard output"
  run "$command" --help
  expect_status 0
  expect_err
  expect_out_has "Usage: offcpu $command "

  it "refuses an unknown option of $command"
  run "$command" --no-such-option
  expect_status 64
  expect_out
  expect_err "offcpu $command: unknown option '--no-such-option'" "Try 'offcpu $command --help'."

  it "prints the version with $command, too"
  run "$command" --version
  expect_status 0
  expect_out_has 'offcpu '
done

it 'refuses to be called without a command'
run
expect_status 64
expect_err "offcpu: no command given" "Try 'offcpu --help'."

it 'names an unknown command'
run recrod -a
expect_status 64
expect_out
expect_err "offcpu: 'recrod' is not a command" "Try 'offcpu --help'."

it 'keeps a message on one line whatever the argument is'
run $'two\nlines'
expect_status 64
expect_err "offcpu: 'two?lines' is not a command" "Try 'offcpu --help'."

for command in stacks flamegraph top threads info dump; do
  it "$command reads offcpu.pb when no file is named"
  run "$command"
  expect_status 1
  expect_one_error
  expect_err_has 'open offcpu.pb: No such file or directory'

  it "lists the values of a wrong --format of $command"
  if [ "$command" = flamegraph ]; then
    skip 'the file name decides'
  else
    run "$command" --format nonsense x
    expect_status 64
    expect_one_error
    expect_err_has "--format: 'nonsense' is not one of "
  fi
done

it 'fails when nothing can be written to standard output'
if [ -w /dev/full ]; then
  run_any sh -c "\"\$OFFCPU\" --help > /dev/full"
  expect_status 1
  expect_err_has 'No space left on device'
else
  skip 'no /dev/full'
fi

it 'ends quietly when the reader of its help has gone'
run_any bash -c "set -o pipefail; \"\$OFFCPU\" --help | head -c 0"
expect_status 0
expect_err

it 'survives closed standard streams'
run_any sh -c "\"\$OFFCPU\" top missing <&- >&- 2>&-"
expect_status 1

it 'tells what works here, with the machine it was told of, as text and as JSON'
run doctor --format json
# shellcheck disable=SC2154  # set by run
if [ "$status" -eq 0 ] || [ "$status" -eq 69 ] || [ "$status" -eq 77 ]; then
  expect 'the document has its parts' python3 -c '
import json, sys
doctor = json.load(open("../out"))
names = [each["name"] for each in doctor["backends"]]
assert doctor["best"] is None or doctor["best"] in names
for each in doctor["backends"]:
    missing = [c for c in each["checks"] if c["needed"] and c["status"] == "missing"]
    assert each["works"] == (not missing), each["name"]
    assert all(c["remedy"] for c in missing), each["name"]
assert "kernel" in doctor["facts"]'
else
  complain "exit status $status"
fi
