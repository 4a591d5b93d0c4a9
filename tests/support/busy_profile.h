// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/interval.h"
#include "model/stack.h"
#include "profile/builder.h"

namespace offcpu::testing {

// A large recording, always the same: a minute of 200 threads that wait in 6,000 distinct stacks,
// 13,000 combinations of stacks and thread with 1 to 20 intervals each.
class BusyRecording {
 public:
  static constexpr Nanos kWindow = 60 * kNanosPerSecond;
  static constexpr Nanos kStart = 1'000'000'000'000;
  static constexpr size_t kEntries = 13'000;
  static constexpr model::StackId kUserStacks = 6'000;
  static constexpr model::StackId kKernelStacks = 150;
  static constexpr model::ThreadRow kThreads = 200;

  struct Item {
    model::Interval interval;
    model::TimeParts parts;
    std::string process;
  };

  BusyRecording() {
    MakeStacks();
    MakeItems();
  }

  const std::vector<Item>& items() const { return items_; }

  std::vector<model::SymbolFrame> Names(model::StackId id) const { return stacks_[id]; }

  // Accounts that only say that the threads lived.
  static std::vector<profile::ThreadInput> Threads() {
    std::vector<profile::ThreadInput> threads;
    for (model::ThreadRow row = 1; row <= kThreads; ++row) {
      profile::Thread t;
      t.pid = t.inner_pid = 1000 + static_cast<model::Pid>(row % 20);
      t.tid = t.inner_tid = 2000 + static_cast<model::Tid>(row);
      t.last_ns = kWindow;
      t.on_cpu_ns = 1'234'567'890 + row;
      t.sleeping_ns = 40'123'456'789;
      t.runqueue_ns = 123'456'789;
      t.unknown_ns = kWindow - t.on_cpu_ns - t.sleeping_ns - t.runqueue_ns;
      t.voluntary_switches = 12'345;
      t.involuntary_switches = 123;
      t.switch_ins = 12'468;
      threads.push_back({t, Comm(row), Process(row)});
    }
    return threads;
  }

  static profile::Profile Frame() {
    profile::Profile frame;
    frame.window_ns = kWindow;
    frame.origin.producer = "offcpu 0.0.0";
    return frame;
  }

  void AddTo(profile::Builder* builder) const {
    for (const Item& item : items_)
      builder->Add(item.interval, item.parts, model::MakeComm(item.process));
  }

  profile::Profile Build() const {
    profile::Builder builder({.window_start = kStart});
    AddTo(&builder);
    return builder.Build(Frame(), Threads(), [this](model::StackId id) { return Names(id); });
  }

 private:
  static std::string Comm(model::ThreadRow row) { return "worker-" + std::to_string(row % 50); }
  static std::string Process(model::ThreadRow row) { return "server" + std::to_string(row % 20); }

  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  // The first stacks branch off near the root, later ones anywhere, as those of real programs do.
  void MakeStacks() {
    stacks_.resize(kUserStacks + kKernelStacks + 1);
    for (model::StackId id = 1; id <= kUserStacks; ++id) {
      auto& stack = stacks_[id];
      const size_t depth = 10 + Below(31);
      if (id > 20) {
        const auto& other = stacks_[1 + Below(id - 1)];
        const size_t shared = std::min(depth - 1, other.size() * (50 + Below(50)) / 100);
        stack.assign(other.begin(), other.begin() + static_cast<ptrdiff_t>(shared));
      }
      while (stack.size() < depth) stack.push_back(Function(Below(2500)));
    }
    for (model::StackId id = kUserStacks + 1; id < stacks_.size(); ++id) {
      const size_t depth = 5 + Below(8);
      while (stacks_[id].size() < depth) stacks_[id].push_back(KernelFunction(Below(300)));
    }
  }

  static model::SymbolFrame Function(uint32_t number) {
    return {model::FrameKind::kUser, false,
            "company::component" + std::to_string(number % 40) + "::Class::Method" +
                std::to_string(number),
            "library" + std::to_string(number % 20) + ".so"};
  }
  static model::SymbolFrame KernelFunction(uint32_t number) {
    return {model::FrameKind::kKernel, false, "kernel_function_" + std::to_string(number),
            "[kernel]"};
  }

  // A place waits for times of one magnitude, which is anything from 10 us to 300 ms.
  void MakeItems() {
    std::uniform_real_distribution<double> magnitude(std::log(1e4), std::log(3e8));
    std::normal_distribution<double> spread(0, 1);
    for (size_t entry = 0; entry < kEntries; ++entry) {
      Item item;
      item.interval.thread = 1 + Below(kThreads);
      item.interval.reason = model::Reason::kBlocked;
      item.interval.task_state = model::kTaskInterruptible;
      // The first round uses each stack once; a stack waits in one place of the kernel.
      item.interval.user_stack =
          entry < kUserStacks ? static_cast<model::StackId>(entry + 1) : 1 + Below(kUserStacks);
      item.interval.kernel_stack = kUserStacks + 1 + item.interval.user_stack % kKernelStacks;
      item.interval.comm = model::MakeComm(Comm(item.interval.thread));
      item.process = Process(item.interval.thread);
      const uint32_t intervals = 1 + Below(20);
      const double usual = magnitude(random_);
      for (uint32_t i = 0; i < intervals; ++i) {
        const auto length = static_cast<Nanos>(std::exp(usual + spread(random_)));
        item.interval.start = kStart + random_() % (kWindow - length);
        item.interval.end = item.interval.start + length;
        item.parts.runqueue = std::min<Nanos>(length, 2000 + Below(60'000));
        item.parts.sleeping = length - item.parts.runqueue;
        items_.push_back(item);
      }
    }
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return std::tie(a.interval.end, a.interval.start) <
             std::tie(b.interval.end, b.interval.start);
    });
  }

  std::mt19937_64 random_{7};
  std::vector<std::vector<model::SymbolFrame>> stacks_;
  std::vector<Item> items_;
};

}  // namespace offcpu::testing
