# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016  # awk programs
# offcpu import of texts: what is read, what is told of it, what is refused.

# Two threads that take turns on one CPU: "a" sleeps 1 ms and waits 250 us, twice.
cat > events.txt << 'END'
sh 6/6 [001] 10.000000: sched:sched_switch: prev_comm=sh prev_pid=6 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120

a  5/7 [001] 10.000500: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
	ffffffff81000010 schedule+0x10 ([kernel.kallsyms])
	        55001234 take_turn+0x4 (/opt/demo)

b  5/8 [001] 10.001500: sched:sched_wakeup: comm=a pid=7 prio=120 target_cpu=001
b  5/8 [001] 10.001750: sched:sched_switch: b:8 [120] R+ ==> a:7 [120]
a  5/7 [001] 10.002000: sched:sched_switch: a:7 [120] S ==> b:8 [120]
	ffffffff81000010 schedule+0x10 ([kernel.kallsyms])
	        55001234 take_turn+0x4 (/opt/demo)

b  5/8 [001] 10.003000: sched:sched_wakeup: comm=a pid=7 prio=120 target_cpu=001
b  5/8 [001] 10.003250: sched:sched_switch: b:8 [120] S ==> a:7 [120]
END

it 'import makes a profile of text, and stacks has its frames by name'
run import -q events.txt -o text.pb
expect_status 0
run stacks text.pb
expect_status 0
expect_out_has 'take_turn'

it 'threads of a text have the times that the lines tell'
run threads --format csv text.pb
expect_status 0
expect 'a did not sleep 2 ms and wait 500 us' \
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i }
           $at["tid"] == 7 && $at["sleeping_ns"] == 2000000 && $at["runqueue_ns"] == 500000 { found = 1 }
           END { exit !found }' ../out

it 'import reads a text from a pipe'
run_from events.txt import -q --force -o piped.pb -
expect_status 0
run threads --format csv piped.pb
cp ../out piped.csv
run threads --format csv text.pb
expect 'not the same as from the file' cmp piped.csv ../out

it 'import --info tells how exact the times of a text are, and what was read'
run import --info events.txt
expect_status 0
expect_out_has 'text of scheduler events'
expect_out_has '6 digits'

it 'import tells of lines that it could not read, by the first one'
{ cat events.txt; echo 'b 5/8 [001] 11.0: sched:sched_switch: from here to there'; } > odd.txt
run import --force -o odd.pb odd.txt
expect_status 2
expect_err_has '1 lines with scheduler events could not be read, the first is line 15'

it 'import refuses a text of which it understands nothing'
printf 'to be\nor not to be\n' > verse.txt
run import -o verse.pb verse.txt
expect_status 1
expect_err_has 'import verse.txt: not a recording that offcpu knows'
expect 'a profile was left' [ ! -e verse.pb ]

it 'import refuses a text that only tells who left'
for second in 1 2 3 4 5; do
  echo "a 7 [000] $second.000000: sched:sched_switch: a:7 [120] S ==> swapper/0:0 [120]"
done > left.txt
run import -o left.pb left.txt
expect_status 1
expect_one_error
expect_err_has 'not when they came back'
