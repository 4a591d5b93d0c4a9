# SPDX-License-Identifier: MIT
# Shows a suite's failures in full and a line for each skip; the counts go to the file `counts`. Reads
# GoogleTest's output and TAP: a test's text stands before its result in one, after it in the other.
function skip(name, why) { skipped++; print "SKIP: " suite ": " name ": " why; fflush() }
/^\[ RUN      \] / { inside = 1; text = ""; next }
/^\[       OK \] / { inside = 0; passed++; next }
/^\[  FAILED  \] .* \([0-9]+ ms\)$/ { inside = 0; failed++; printf "%s%s\n", text, $0; fflush(); next }
/^\[  SKIPPED \] .* \([0-9]+ ms\)$/ { inside = 0; skip($4, why); next }
/^\[/ || /^(Running main|Note: )/ { next }
inside && /: Skipped$/ { why_follows = 1; why = "no reason given"; next }
why_follows { why_follows = 0; if ($0 != "") why = $0 }
inside { text = text $0 "\n"; next }
/^ok .*# SKIP/ { tap = 0; name = $0; sub(/^ok [0-9]* *-? */, "", name); sub(/ *# SKIP.*/, "", name)
                 sub(/.*# SKIP[: ]*/, ""); skip(name, $0); next }
/^ok / { tap = 0; passed++; next }
/^not ok / { tap = 1; failed++; print; fflush(); next }
/^1\.\./ { planned = substr($0, 4) + 0; next }
tap { print; fflush() }
END {
  if (planned && planned != passed + failed + skipped) { failed++; print "not ok - " planned " tests were planned" }
  if (inside) { failed++; printf "%s", text; print "not ok - the last test did not end" }
  if (passed + failed + skipped == 0) { failed++; print "not ok - no test ran" }
  print passed + 0, failed + 0, skipped + 0 > counts
}
