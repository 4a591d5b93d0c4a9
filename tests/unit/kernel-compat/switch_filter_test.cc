// SPDX-License-Identifier: MIT
#include "kernel-compat/switch_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "model/sched_event.h"

namespace offcpu::kernel_compat {
namespace {

// The part of the kernel's filter language that the filters use: comparisons of a field with a
// number, && binding tighter than ||, parentheses. Anything else makes ok() false.
class FilterEvaluator {
 public:
  FilterEvaluator(std::string_view text, int64_t prev_pid, int64_t prev_state)
      : rest_(text), prev_pid_(prev_pid), prev_state_(prev_state) {}

  bool Matches() {
    const bool value = Or();
    ok_ = ok_ && rest_.empty();
    return value;
  }
  bool ok() const { return ok_; }

 private:
  bool Accept(std::string_view token) {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool Or() {
    bool value = And();
    while (Accept("||")) value = And() || value;
    return value;
  }
  bool And() {
    bool value = Term();
    while (Accept("&&")) value = Term() && value;
    return value;
  }
  bool Term() {
    if (Accept("(")) {
      const bool value = Or();
      ok_ = Accept(")") && ok_;
      return value;
    }
    int64_t field = 0;
    if (Accept("prev_pid")) {
      field = prev_pid_;
    } else if (Accept("prev_state")) {
      field = prev_state_;
    } else {
      ok_ = false;
    }
    if (Accept("==")) return field == Number();
    if (Accept("!=")) return field != Number();
    if (Accept(">=")) return field >= Number();
    if (Accept("<")) return field < Number();
    ok_ = false;
    return false;
  }
  int64_t Number() {
    Accept("");
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    ok_ = ok_ && error == std::errc();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  std::string_view rest_;
  int64_t prev_pid_;
  int64_t prev_state_;
  bool ok_ = true;
};

bool Matches(const std::string& filter, int64_t prev_pid, int64_t prev_state) {
  FilterEvaluator evaluator(filter, prev_pid, prev_state);
  const bool matches = evaluator.Matches();
  EXPECT_TRUE(evaluator.ok()) << filter;
  return matches;
}

WantedReasons FromBits(unsigned bits) {
  return {(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
}

bool Wants(WantedReasons wanted, model::Reason reason) {
  switch (reason) {
    case model::Reason::kBlocked: return wanted.blocked;
    case model::Reason::kRunnable: return wanted.runnable;
    case model::Reason::kPreempted: return wanted.preempted;
    default: return false;
  }
}

constexpr KernelRelease kReleases[] = {{3, 0}, {3, 4}, {3, 10}, {4, 4}, {4, 9}, {6, 18}};

// All reasons x all values below twice the mark (every state, with and without the mark) x idle or
// not.
TEST(SwitchFilter, StackMatchesTheWantedReasonsAndRestExactlyWhatIsLeft) {
  for (const KernelRelease release : kReleases) {
    const auto states = StateDecoder::FromPrintText("", release);
    const int64_t end =
        states.has_preempt_mark() ? 2 * static_cast<int64_t>(states.preempt_mark()) : 512;
    for (unsigned bits = 1; bits < 8; ++bits) {
      const auto filters = MakeSwitchFilters(states, FromBits(bits));
      if (filters.stack.empty()) continue;
      size_t wrong = 0;
      for (int64_t state = 0; state < end; ++state) {
        const auto decoded = states.Decode(state);
        const bool wanted =
            Wants(FromBits(bits), model::ReasonOf(decoded.state, decoded.preempted));
        for (const int64_t pid : {int64_t{0}, int64_t{1}, int64_t{4194304}}) {
          wrong += Matches(filters.stack, pid, state) != (wanted && pid != 0) ? 1 : 0;
          wrong += Matches(filters.rest, pid, state) != !(wanted && pid != 0) ? 1 : 0;
        }
      }
      EXPECT_EQ(wrong, 0U) << filters.stack << " | " << filters.rest;
    }
  }
}

TEST(SwitchFilter, NoValueAtAllMatchesBothOrNeither) {
  for (const KernelRelease release : kReleases) {
    const auto states = StateDecoder::FromPrintText("", release);
    for (unsigned bits = 1; bits < 8; ++bits) {
      const auto filters = MakeSwitchFilters(states, FromBits(bits));
      if (filters.stack.empty()) continue;
      for (const int64_t state : {INT64_MIN, int64_t{INT32_MIN}, int64_t{-1}, int64_t{0x8000},
                                  int64_t{0x7fffffff}, INT64_MAX}) {
        for (const int64_t pid : {int64_t{-1}, int64_t{0}, int64_t{7}}) {
          EXPECT_NE(Matches(filters.stack, pid, state), Matches(filters.rest, pid, state))
              << filters.stack << " | " << filters.rest << ": " << pid << " " << state;
        }
      }
    }
  }
}

TEST(SwitchFilter, WithAllReasonsOnlyTheIdleTaskIsLeft) {
  for (const KernelRelease release : kReleases) {
    const auto filters =
        MakeSwitchFilters(StateDecoder::FromPrintText("", release), {true, true, true});
    EXPECT_EQ(filters.stack, "prev_pid != 0");
    EXPECT_EQ(filters.rest, "prev_pid == 0");
  }
}

TEST(SwitchFilter, WithoutReasonsThereIsNoStackEventAndNoFilter) {
  const auto filters = MakeSwitchFilters(StateDecoder(), {});
  EXPECT_EQ(filters.stack, "");
  EXPECT_EQ(filters.rest, "");
}

TEST(SwitchFilter, AKernelThatMarksNothingNeedsNoEventForPreemption) {
  const auto states = StateDecoder::FromPrintText("", KernelRelease{3, 0});
  EXPECT_EQ(MakeSwitchFilters(states, {false, false, true}).stack, "");
  EXPECT_EQ(MakeSwitchFilters(states, {false, false, true}).rest, "");
  EXPECT_EQ(MakeSwitchFilters(states, {true, false, true}).stack,
            MakeSwitchFilters(states, {true, false, false}).stack);
}

TEST(SwitchFilter, TheDefaultReasonsGiveThisText) {
  const auto filters = MakeSwitchFilters(StateDecoder(), {true, false, false});
  EXPECT_EQ(filters.stack, "prev_pid != 0 && (prev_state != 0 && prev_state < 256)");
  EXPECT_EQ(filters.rest, "prev_pid == 0 || (prev_state == 0 || prev_state >= 256)");
}

}  // namespace
}  // namespace offcpu::kernel_compat
