# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A test is a sentence and what follows it up to the next one:
#
#   it 'refuses an unknown option'
#   run top --nope
#   expect_status 64
#   expect_err "offcpu top: unknown option '--nope'" "Try 'offcpu top --help'."
#
# `run` leaves status, and the streams in the files ../out and ../err. Variables of a test file are seen
# by no other. TOP is the source tree, OFFCPU the program.

sentence='' failures='' any_failed=0 failed_now='' input=/dev/null status=0

# Ends the test before and begins the next.
it() {
  end_test
  sentence=$1 failures='' failed_now=1
}

end_test() {
  [ -n "$sentence" ] || return 0
  if [ -z "$failed_now" ] && [ -z "$failures" ]; then
    echo "ok - $sentence"
  else
    any_failed=1
    echo "not ok - $sentence"
    printf '%s' "${failures:-nothing was expected
}" | sed 's/^/# /'
  fi
  sentence=''
}

finish() {
  end_test
  return $any_failed
}

skip() {
  echo "ok - $sentence # SKIP $1"
  sentence=''
}

complain() { failures+="$1"$'\n'; }

# run ARGUMENT...: the program, with an empty standard input.
run() { run_any "$OFFCPU" "$@"; }

# run_from FILE ARGUMENT...: the program, with the file as standard input.
run_from() {
  input=$1
  shift
  run_any "$OFFCPU" "$@"
  input=/dev/null
}

# run_any COMMAND...: whatever it is, it has a minute.
run_any() {
  command_line="$*"
  timeout 60 "$@" < "$input" > ../out 2> ../err
  status=$?
}

# expect MESSAGE COMMAND...: the command must succeed.
expect() {
  failed_now=''
  local message=$1
  shift
  "$@" > /dev/null 2>&1 && return
  complain "$message; after: $command_line (status $status)"
  complain "stdout: $(head -c 600 ../out)"
  complain "stderr: $(head -c 600 ../err)"
}

expect_status() { expect "status is not $1" [ "$status" = "$1" ]; }

# The whole stream, line by line.
expect_out() { expect "standard output is not as expected" same_lines ../out "$@"; }
expect_err() { expect "standard error is not as expected" same_lines ../err "$@"; }
same_lines() {
  local file=$1
  shift
  [ $# -eq 0 ] || printf '%s\n' "$@" | cmp -s - "$file" && { [ $# -gt 0 ] || [ ! -s "$file" ]; }
}

# A line that holds the text.
expect_out_has() { expect "no '$1' on standard output" grep -qF -e "$1" ../out; }
expect_err_has() { expect "no '$1' on standard error" grep -qF -e "$1" ../err; }

# One line of complaint, and perhaps a hint: never a stack of messages, never a half result.
expect_one_error() {
  expect "more than one line of error" \
    awk 'NR == 1 && !/^offcpu[ a-z]*: / || NR == 2 && !/^(hint: |Try )/ || NR > 2 { exit 1 }' ../err
  expect "no error" [ -s ../err ]
  expect "something on standard output" [ ! -s ../out ]
}

# No file is left but those named.
expect_files() {
  local found
  found=$(ls -A)
  expect "files are: $found" [ "$found" = "$(printf '%s\n' "$@")" ]
}
