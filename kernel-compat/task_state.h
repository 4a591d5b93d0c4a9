// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace offcpu::kernel_compat {

// A kernel's version as far as anything here depends on it.
struct KernelRelease {
  int version = 0;     // the 6 of 6.18.44-cloud
  int patchlevel = 0;  // the 18

  bool operator==(const KernelRelease&) const = default;
  bool operator<(const KernelRelease& other) const {
    return version != other.version ? version < other.version : patchlevel < other.patchlevel;
  }
};

// From uname's or a recording's release text ("3.10.0-1160.el7.x86_64"). kFailed where it has no
// two numbers in front.
Result<KernelRelease> ParseKernelRelease(std::string_view text);

struct PrintedState {
  uint32_t state = 0;  // model::TaskState bits; what is no letter of a state is kTaskUnknownState
  bool preempted = false;
};
// A state as traces print it: "S", "D|K", "R+".
PrintedState StateOfText(std::string_view text);

// Turns sched_switch's prev_state into model::TaskState bits and the preempt mark.
//
// The bits have moved from kernel to kernel, and distributions carry changes back: so letters and
// mark are taken from the event's own print text, and a table by version serves only where there is
// no such text. Every letter becomes the model's bit of that letter. X and x both become kTaskDead:
// before 4.14 a thread's last switch-out shows x (TASK_DEAD), since 4.14 X (the exit state
// EXIT_DEAD) or Z.
class StateDecoder {
 public:
  enum class Origin : uint8_t {
    kPrintText,  // the event says so itself
    kRelease,    // no usable text: the table of the release
    kGuess,      // neither text nor release: the table of 4.14 and later
  };

  struct Decoded {
    uint32_t state = 0;      // model::TaskState bits; 0 is running
    bool preempted = false;  // the preempt mark was set
  };

  // The table of 4.14 and later, a guess.
  StateDecoder();

  // `print_text` is what follows "print fmt:" in sched_switch's format; may be empty or damaged.
  static StateDecoder FromPrintText(std::string_view print_text,
                                    std::optional<KernelRelease> release);

  // Bit by bit: the mark's sets `preempted`, one with a letter its model::TaskState, any other
  // kTaskUnknownState. So it is for negative values too: their upper bits have no letter.
  Decoded Decode(int64_t prev_state) const {
    uint64_t bits = static_cast<uint64_t>(prev_state);
    Decoded decoded;
    decoded.preempted = (bits & preempt_mark_) != 0;
    for (bits &= ~preempt_mark_; bits != 0; bits &= bits - 1) {
      decoded.state |= states_[static_cast<size_t>(std::countr_zero(bits))];
    }
    return decoded;
  }

  Origin origin() const { return origin_; }
  bool guessed() const { return origin_ == Origin::kGuess; }

  // False for kernels before 3.2: nothing is ever preempted there, it shows as runnable.
  bool has_preempt_mark() const { return preempt_mark_ != 0; }
  uint64_t preempt_mark() const { return preempt_mark_; }

 private:
  StateDecoder(Origin origin, uint64_t preempt_mark);
  static StateDecoder FromRelease(std::optional<KernelRelease> release);

  Origin origin_;
  uint64_t preempt_mark_;
  std::array<uint32_t, 64> states_;  // by bit number
};

}  // namespace offcpu::kernel_compat
