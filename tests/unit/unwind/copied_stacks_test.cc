// SPDX-License-Identifier: MIT
// Walks over a copy of this process's own stack.
#include "unwind/copied_stacks.h"

#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "base/clock.h"
#include "process/proc_reader.h"
#include "unwind/registers.h"

namespace offcpu::unwind {
namespace {

using ::testing::SizeIs;

// Takes what is handed on.
class Taker : public model::StackInterner {
 public:
  model::StackIds Intern(model::Pid, const model::CallChain& chain) override {
    user.assign(chain.user.begin(), chain.user.end());
    truncated = chain.truncated;
    return {0, 1};
  }
  std::vector<uint64_t> user;
  bool truncated = false;
};

// A thread's registers and stack at one moment, and the return addresses that a walk must find.
struct Moment {
  std::vector<uint64_t> registers;
  std::vector<std::byte> stack;
  std::vector<uint64_t> returns;

  model::UserCopy Copy(size_t stack_bytes) const {
    return {kMask, registers, std::span(stack).first(std::min(stack_bytes, stack.size()))};
  }
  // rbx, rbp, rsp, rip, r12 to r15: what a caller's frame is found by.
  static constexpr uint64_t kMask = 1U << 1 | 1U << 6 | 1U << 7 | 1U << 8 | 0xfU << 20;
};

#if defined(__x86_64__)

[[gnu::noinline]] void Capture(const std::byte* stack_top, Moment* moment) {
  ucontext_t context{};
  ::getcontext(&context);
  const auto& words = context.uc_mcontext.gregs;
  for (const int at : {REG_RBX, REG_RBP, REG_RSP, REG_RIP, REG_R12, REG_R13, REG_R14, REG_R15}) {
    moment->registers.push_back(static_cast<uint64_t>(words[at]));
  }
  const auto* sp = reinterpret_cast<const std::byte*>(words[REG_RSP]);
  moment->stack.resize(static_cast<size_t>(stack_top - sp));
  std::memcpy(moment->stack.data(), sp, moment->stack.size());
  moment->returns.push_back(reinterpret_cast<uint64_t>(__builtin_return_address(0)));
}

[[gnu::noinline]] void Middle(const std::byte* stack_top, Moment* moment) {
  Capture(stack_top, moment);
  moment->returns.push_back(reinterpret_cast<uint64_t>(__builtin_return_address(0)));
}

[[gnu::noinline]] void Outer(const std::byte* stack_top, Moment* moment) {
  Middle(stack_top, moment);
  moment->returns.push_back(reinterpret_cast<uint64_t>(__builtin_return_address(0)));
}

// The top of the calling thread's stack.
const std::byte* StackTop() {
  pthread_attr_t attributes;
  void* bottom = nullptr;
  size_t size = 0;
  ::pthread_getattr_np(::pthread_self(), &attributes);
  ::pthread_attr_getstack(&attributes, &bottom, &size);
  ::pthread_attr_destroy(&attributes);
  return static_cast<const std::byte*>(bottom) + size;
}

Moment MomentOfAThread() {
  Moment moment;
  std::thread([&] { Outer(StackTop(), &moment); }).join();
  return moment;
}

class CopiedStacksTest : public ::testing::Test {
 protected:
  CopiedStacksTest() {
    processes_.AddProcess(pid_, model::Comm{}, false);
    const process::Mappings mappings = process::ReadMappings(pid_);
    for (const model::Map& map : mappings.maps) processes_.ApplyMap(map);
    options_.live = false;
    options_.same_host = true;
  }

  // What a walk over the copy gives.
  Taker WalkOver(const model::UserCopy& copy) {
    Taker taker;
    CopiedStacks stacks(processes_, taker, options_);
    model::CallChain chain;
    chain.present = true;
    chain.copy = copy;
    stacks.Intern(pid_, chain);
    EXPECT_EQ(stacks.counters().walked, 1U);
    EXPECT_EQ(stacks.counters().ended_early, taker.truncated ? 1U : 0U);
    return taker;
  }

  const model::Pid pid_ = ::getpid();
  process::ProcessTable processes_;
  symbolize::Options options_;
};

TEST_F(CopiedStacksTest, AWalkFindsEachCallerAndTheThreadsStart) {
  const Moment moment = MomentOfAThread();
  const Taker taken = WalkOver(moment.Copy(moment.stack.size()));
  EXPECT_FALSE(taken.truncated);
  ASSERT_GT(taken.user.size(), moment.returns.size());
  EXPECT_EQ(taken.user.front(), moment.registers[3]) << "the first frame is where the thread is";
  EXPECT_TRUE(std::equal(moment.returns.begin(), moment.returns.end(), taken.user.begin() + 1));
}

TEST_F(CopiedStacksTest, OfACopyThatEndsTooEarlyThereIsTheBeginning) {
  const Moment moment = MomentOfAThread();
  const Taker whole = WalkOver(moment.Copy(moment.stack.size()));
  ASSERT_FALSE(whole.truncated);
  size_t longest = 0;
  for (size_t size = 0; longest < whole.user.size(); size += 8) {
    ASSERT_LE(size, moment.stack.size());
    const Taker cut = WalkOver(moment.Copy(size));
    ASSERT_LE(cut.user.size(), whole.user.size()) << size;
    EXPECT_EQ(cut.truncated, cut.user.size() < whole.user.size()) << size;
    EXPECT_TRUE(std::equal(cut.user.begin(), cut.user.end(), whole.user.begin())) << size;
    EXPECT_GE(cut.user.size(), longest) << "more of the stack never gives less";
    longest = cut.user.size();
  }
}

TEST_F(CopiedStacksTest, WithoutTheFileThereIsOneFrame) {
  options_.same_host = false;  // and the mappings have no build-id
  const Moment moment = MomentOfAThread();
  const Taker taken = WalkOver(moment.Copy(moment.stack.size()));
  EXPECT_TRUE(taken.truncated);
  EXPECT_THAT(taken.user, SizeIs(1));
}

TEST_F(CopiedStacksTest, RandomRegistersMakeNoFrameOutsideOfMappedCode) {
  Moment moment = MomentOfAThread();
  uint64_t state = 1;
  for (int round = 0; round < 200; ++round) {
    for (uint64_t& value : moment.registers) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      if (round % 2 == 0 || (state >> 60) == 0) value = state >> (state >> 58);
    }
    const Taker taken = WalkOver(moment.Copy(moment.stack.size()));
    for (size_t i = 1; i < taken.user.size(); ++i) {
      EXPECT_NE(processes_.FindRange(pid_, taken.user[i] - 1), nullptr);
    }
  }
}

TEST(RegistersTest, PerfsNumbersBecomeThoseOfDwarf) {
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < 24; ++i) words.push_back(100 + i);
  // All but the segment registers, as perf asks for them: 0 to 11 and 16 to 23.
  const uint64_t mask = 0xff0fff;
  const auto registers = RegistersOf({mask, std::span(words).first(20), {}});
  ASSERT_TRUE(registers);
  EXPECT_EQ(registers->pc, 108U);
  EXPECT_EQ(registers->stack_pointer(), 107U);
  EXPECT_EQ(registers->values[1], 103U) << "rdx";
  EXPECT_EQ(registers->values[3], 101U) << "rbx";
  EXPECT_EQ(registers->values[8], 112U) << "r8 is perf's number 16, the 13th of the mask";
  EXPECT_FALSE(RegistersOf({1U << 8, std::span(words).first(1), {}})) << "no stack pointer";
  EXPECT_FALSE(RegistersOf({mask, std::span(words).first(3), {}})) << "fewer than the mask says";
}

#endif

}  // namespace
}  // namespace offcpu::unwind
