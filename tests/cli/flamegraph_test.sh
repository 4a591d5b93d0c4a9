# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The picture as a file. What is in it is told by tests/unit/output/flame*_test.cc.

"$WRITE_SAMPLE_PROFILE" offcpu.pb || echo "not ok - cannot write the sample profile"

it 'writes SVG or a page by the ending of the name, and says so on standard error only'
for ending in svg html; do
  run flamegraph -o "waits.$ending" offcpu.pb
  expect_status 0
  expect_out
  expect_err_has "waits.$ending: "
done
expect 'no XML declaration' grep -q '^<?xml ' waits.svg
expect 'no HTML' grep -q '^<!DOCTYPE html>' waits.html

it 'has the same picture in both'
sed '1d' waits.svg > svg
sed -n '/^<svg/,/^<\/svg>/p' waits.html > html
expect 'they differ' cmp svg html

it 'is well-formed XML for a parser that is not ours'
if command -v xmllint > /dev/null; then
  run_any xmllint --noout waits.svg html
  expect_status 0
  expect_err
else
  skip 'needs xmllint'
fi

it 'writes the same SVG to standard output for -, and when that is no terminal'
run flamegraph -o - offcpu.pb
expect_status 0
expect 'differs from the file' cmp waits.svg ../out
run flamegraph offcpu.pb
expect_status 0
expect 'differs from the file' cmp waits.svg ../out

it 'does not write to a terminal unasked'
if command -v script > /dev/null; then
  run_any script -qec "'$OFFCPU' flamegraph offcpu.pb" /dev/null
  expect_status 64
  expect_out_has 'name a file with -o FILE.svg or -o FILE.html'
else
  skip 'needs script(1)'
fi

for name in waits.png waits.SVG svg.; do
  it "refuses a file named $name and names the endings"
  run flamegraph -o "$name" offcpu.pb
  expect_status 64
  expect_one_error
  expect_err_has '.svg or .html'
  expect 'wrote it all the same' [ ! -e "$name" ]
done

for wrong in '--color=heat' '--min-width=-1' '--min-width=wide' '--time=half' '--include=('; do
  it "refuses $wrong"
  run flamegraph "$wrong" -o wrong.svg offcpu.pb
  expect_status 64
  expect_one_error
  expect_err_has "${wrong%%=*}"
  expect 'wrote a picture all the same' [ ! -e wrong.svg ]
done

it 'draws an empty picture with the reason when nothing is left, and succeeds'
run flamegraph --include 'no such frame' offcpu.pb
expect_status 0
expect_out_has 'Nothing to draw: the filters left out every interval.'
expect_out_has '</svg>'

it 'takes its title from the command line'
run flamegraph --title 'a <b> & "c"' offcpu.pb
expect_status 0
expect_out_has '>a &lt;b&gt; &amp; &quot;c&quot;<'

it 'turns the picture over with --inverted'
run flamegraph --inverted offcpu.pb
expect_status 0
expect 'is the same picture' [ "$(cksum < ../out)" != "$(cksum < waits.svg)" ]

it 'runs the examples of its page'
page=$TOP/man/offcpu-flamegraph.1
expect 'no examples' grep -q '^\.Dl offcpu flamegraph' "$page"
while read -r example; do
  run_any bash -c "${example/#offcpu/\"\$OFFCPU\"} --force"
  expect_status 0
done < <(sed -n 's/^\.Dl \(offcpu flamegraph .*\)/\1/p' "$page")
