# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Files given to the commands over a profile: good ones, bad ones, standard streams.

readers='stacks top threads info dump'

"$WRITE_SAMPLE_PROFILE" good || echo "not ok - cannot write the sample profile"
size=$(stat -c %s good)
head -c $((size / 2)) good > short
head -c 5 good > tiny
: > empty
{ cat good && echo tail; } > long
{ head -c 10 good && printf '\377\177' && tail -c +13 good; } > newer
head -c 4096 "$OFFCPU" > other
mkdir folder

# dump prints a document a line, the others one.
json_check='
import json, sys
text = open("../out").read()
for document in text.splitlines() if sys.argv[1] == "dump" else [text]:
    json.loads(document)
'

# bad FILE TEXT: every command names the file and gives the reason on one line.
bad() {
  for command in $readers flamegraph; do
    it "$command refuses a file that is $1"
    if [ "$command" = flamegraph ]; then run flamegraph -o result.svg "$1"; else run "$command" "$1"; fi
    expect_status 1
    expect_one_error
    expect_err_has "$1"
    expect_err_has "$2"
    expect 'left a partial output' [ ! -e result.svg ]
  done
}

bad missing 'No such file or directory'
bad empty ''
bad tiny ''
bad short ''
bad long ''
bad newer 'version'
bad other ''
bad folder 'Is a directory'

it 'names both versions when the file is newer'
run top newer
expect_err_has 32767
expect_err_has 1

for command in $readers; do
  [ "$command" = stacks ] && quiet=-q || quiet=''

  it "$command reads a file"
  # shellcheck disable=SC2086  # no word or one
  run "$command" $quiet good
  expect_status 0
  expect_err
  expect 'printed nothing' [ -s ../out ]
  cp ../out from-file

  it "$command reads standard input as -, and prints the same"
  run_from good "$command" -
  expect_status 0
  expect 'differs from reading the file' cmp from-file ../out

  it "$command prints the same bytes each time"
  run "$command" good
  expect 'differs' cmp from-file ../out

  it "$command ends quietly when its reader has gone"
  run_any bash -c "set -o pipefail; \"\$OFFCPU\" $command $quiet good | head -c 0"
  expect_status 0
  expect_err

  it "$command says when standard output is full"
  run_any sh -c "\"\$OFFCPU\" $command good > /dev/full"
  expect_status 1
  expect_err_has 'No space left on device'

  it "$command prints well-formed JSON"
  if ! command -v python3 > /dev/null; then
    skip 'needs python3'
  else
    run "$command" --format json good
    expect_status 0
    expect 'is no JSON' python3 -c "$json_check" "$command"
  fi
done

it 'does not overwrite an existing file'
echo mine > exists.svg
run flamegraph -o exists.svg good
expect_status 1
expect_one_error
expect_err_has '--force'
expect 'the file was changed' [ "$(cat exists.svg)" = mine ]

it 'overwrites it with --force'
run flamegraph -o exists.svg --force good
expect_status 0
expect 'is no SVG' grep -q '</svg>' exists.svg

it 'does not write into a folder that is not there'
run flamegraph -o nowhere/x.svg good
expect_status 1
expect_one_error
expect_err_has nowhere/x.svg

it 'leaves no temporary file behind'
expect_files empty exists.svg folder from-file good long newer other short tiny
