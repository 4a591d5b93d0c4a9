// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/trace_pages.h"

namespace offcpu::test {

// Files as trace-cmd writes them (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)), with the formats of
// kernel-compat/data/6.18-x86_64 and the pages of some CPUs.
class TraceDatBuilder {
 public:
  TraceDatBuilder& Cpu(std::vector<PageMaker> pages) {
    std::string bytes;
    for (const PageMaker& page : pages) {
      const auto of_page = page.bytes();
      bytes.append(reinterpret_cast<const char*>(of_page.data()), of_page.size());
    }
    cpus_.push_back(std::move(bytes));
    return *this;
  }
  TraceDatBuilder& Clock(std::string text) {
    clock_ = std::move(text);
    return *this;
  }

  std::string Version6() const {
    std::string file = Head("6") + HeaderInfo() + FtraceFormats() + EventFormats();
    file += Number<uint32_t>(kKallsyms.size()) + std::string(kKallsyms);
    file += Number<uint32_t>(0);  // formats of trace_printk
    file += Number<uint64_t>(5) + "7 a\n\n";
    file += Number<uint32_t>(cpus_.size());
    file += Text("options  ") + Option(4, Text(clock_)) +
            Option(5, Text("Linux box 6.18.44 x86_64")) + Number<uint16_t>(0);
    file += Text("flyrecord");
    uint64_t at = Aligned(file.size() + 16 * cpus_.size());
    const uint64_t begin = at;
    for (const std::string& cpu : cpus_) {
      file += Number<uint64_t>(at) + Number<uint64_t>(cpu.size());
      at += cpu.size();
    }
    file.resize(begin);
    for (const std::string& cpu : cpus_) file += cpu;
    return file;
  }

  std::string Version7() const {
    std::string file = Head("7") + Text("none") + Text("");
    const size_t link = file.size();
    file += Number<uint64_t>(0);
    std::string options;
    const auto section = [&](uint16_t id, const std::string& content) {
      options += Option(id, Number<uint64_t>(file.size()));
      file += Section(id, content);
    };
    section(16, HeaderInfo());
    section(17, FtraceFormats());
    section(18, EventFormats());
    section(19, Number<uint32_t>(kKallsyms.size()) + std::string(kKallsyms));
    options += Option(5, Text("Linux box 6.18.44 x86_64"));
    std::string buffer = Number<uint64_t>(0) + Text("") + Text(clock_) + Number<uint32_t>(4096) +
                         Number<uint32_t>(cpus_.size());
    file.resize(Aligned(file.size()));
    for (size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
      buffer += Number<uint32_t>(cpu) + Number<uint64_t>(file.size()) +
                Number<uint64_t>(cpus_[cpu].size());
      file += cpus_[cpu];
    }
    options += Option(3, buffer) + Option(0, Number<uint64_t>(0));
    const std::string begin = Number<uint64_t>(file.size());
    std::memcpy(file.data() + link, begin.data(), begin.size());
    return file + Section(0, options);
  }

  static constexpr std::string_view kKallsyms =
      "ffffffff81000000 T _text\nffffffff81001000 T futex_wait\nffffffff81002000 T next\n";

 private:
  template <class T>
  static std::string Number(uint64_t value) {
    const T number = static_cast<T>(value);
    return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  static std::string Text(std::string_view text) { return std::string(text) + '\0'; }
  static uint64_t Aligned(uint64_t size) { return (size + 4095) / 4096 * 4096; }
  static std::string Head(std::string_view version) {
    return "\x17\x08\x44tracing" + Text(version) + '\0' + '\x08' + Number<uint32_t>(4096);
  }
  static std::string Option(uint16_t id, const std::string& content) {
    return Number<uint16_t>(id) + Number<uint32_t>(content.size()) + content;
  }
  static std::string Section(uint16_t id, const std::string& content) {
    return Number<uint16_t>(id) + Number<uint16_t>(0) + Number<uint32_t>(0) +
           Number<uint64_t>(content.size()) + content;
  }
  static std::string Sized(const std::string& text) { return Number<uint64_t>(text.size()) + text; }
  static std::string HeaderInfo() {
    const std::string page =
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
    return Text("header_page") + Sized(page) + Text("header_event") + Sized("x");
  }
  static std::string Format(const char* event) {
    return Sized(FixtureFormat("6.18-x86_64", event));
  }
  static std::string FtraceFormats() {
    return Number<uint32_t>(2) + Format("ftrace/kernel_stack") + Format("ftrace/user_stack");
  }
  static std::string EventFormats() {
    return Number<uint32_t>(2) + Text("sched") + Number<uint32_t>(2) +
           Format("sched/sched_switch") + Format("sched/sched_wakeup") + Text("task") +
           Number<uint32_t>(1) + Format("task/task_newtask");
  }

  std::vector<std::string> cpus_;
  std::string clock_ = "local [mono] global";
};

}  // namespace offcpu::test
