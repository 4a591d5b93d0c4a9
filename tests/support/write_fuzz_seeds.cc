// SPDX-License-Identifier: MIT
// write-fuzz-seeds FOLDER NAME: small files that the fuzzer of that name starts from. To be run at
// the top of the source tree, where the format fixtures lie.
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/perf_data_builder.h"
#include "tests/support/trace_dat_builder.h"

namespace offcpu::test {
namespace {

using Seeds = std::map<std::string, std::string>;

Seeds PerfSeeds() {
  Seeds seeds;
  const auto add = [&seeds](const char* name, PerfDataBuilder::Options options) {
    PerfDataBuilder file(options);
    file.Comm(0, 7, 7, "server");
    file.Switch(1100, 0, 7, 1, 0,
                {static_cast<uint64_t>(PERF_CONTEXT_KERNEL), 0xffffffff81000010,
                 static_cast<uint64_t>(PERF_CONTEXT_USER), 0x401000});
    file.Wakeup(1150, 0, 7);
    file.EndRound();
    file.Switch(1500, 0, 0, 0, 7);
    file.EndRound();
    seeds[name] = file.File();
  };
  add("file", {});
  add("pipe", {.pipe = true});
  add("swapped", {.swap = true});
  add("old", {.attr_size = 64});
  return seeds;
}

Seeds TraceDatSeeds() {
  const RecordMaker make(TraceFormats());
  PageMaker page(1000);
  page.Missed(3).Add(1000, make.Switch(7, 1, 0, "a")).Add(1001, make.KernelStack(7, {1, 2}));
  page.Add(3000, make.Wakeup(8, 7)).Add(9000, make.Switch(0, 0, 7, "idle"));
  TraceDatBuilder builder;
  builder.Cpu({page}).Cpu({PageMaker(2000)});
  return {{"version6", builder.Version6()}, {"version7", builder.Version7()}};
}

Seeds TextSeeds() {
  return {
      {"trace",
       "a-7 [000] d..2 1.000000: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S "
       "==> next_comm=b next_pid=8 next_prio=120\na-7 [000] d..2 1.000001: <stack trace>\n"
       " => schedule\n\nCPU:0 [LOST 5 EVENTS]\n"
       "b-8 [001] d..2 1.500000: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000\n"},
      {"script",
       "\xef\xbb\xbf"
       "b 8/8 [000] 2.000000001: sched:sched_switch: b:8 [120] R+ ==> a:7 [120]\n"
       "\tffffffff81000010 schedule+0x1 ([kernel.kallsyms])\n\t401000 main (/bin/b)\n\n"},
      {"tasks",
       "sh 5 [000] 0.000000: PERF_RECORD_COMM: my shell:5/5\n"
       "sh 5 [000] 1.000001: PERF_RECORD_FORK(6:6):(5:5)\n"
       "sh 6 [000] 1.000002: PERF_RECORD_COMM exec: ls:6/6\n"
       "ls 6 [000] 1.000003: sched:sched_process_exec: filename=/bin/ls pid=6 old_pid=6\n"
       "sh 5 [000] 1.000005: PERF_RECORD_LOST lost 4\n"
       "ls 6 [000] 1.000008: sched:sched_process_exit: comm=ls pid=6 prio=120\n"
       "ls 6 [000] 1.000009: sched:sched_switch: ls:6 [120] X ==> swapper/0:0 [120]\n"},
      {"without_cpus",
       "a 7 1.000001: sched:sched_switch: a:7 [120] S ==> swapper/0:0 [120]\n"
       "b 8 1.000002: sched:sched_waking: a:7 [120] CPU:001\n"
       "swapper 0 1.000003: sched:sched_switch: swapper/0:0 [120] R ==> a:7 [120]\n"
       "\tadd+0x1 (libx.so (deleted))\n:-1 -1 1.5: sched_switch: a:7 [120] D|K ==> b:8 [120]\n"}};
}

int Write(const std::string& folder, std::string_view name) {
  const Seeds seeds = name == "perf_data"   ? PerfSeeds()
                      : name == "trace_dat" ? TraceDatSeeds()
                      : name == "text"      ? TextSeeds()
                                            : Seeds();
  for (const auto& [file, bytes] : seeds) {
    std::ofstream out(folder + "/" + file, std::ios::binary);
    out << bytes;
    out.close();
    if (out.good()) continue;
    std::fprintf(stderr, "write-fuzz-seeds: cannot write %s/%s\n", folder.c_str(), file.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace offcpu::test

int main(int argc, char** argv) {
  if (argc == 3) return offcpu::test::Write(argv[1], argv[2]);
  std::fprintf(stderr, "usage: write-fuzz-seeds FOLDER NAME\n");
  return 64;
}
