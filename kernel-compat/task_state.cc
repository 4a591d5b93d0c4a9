// SPDX-License-Identifier: MIT
#include "kernel-compat/task_state.h"

#include <bit>
#include <iterator>
#include <string>

#include "base/parse.h"
#include "kernel-compat/print_text.h"
#include "model/sched_event.h"

namespace offcpu::kernel_compat {
namespace {

// The kernels' TASK_STATE_MAX (from 4.14 on TASK_REPORT_MAX) and the letters of the bits from 0x1
// up; '.' is a bit without one. 0x200 at 3.9 is TASK_PARKED, 0x400 at 4.2 TASK_NOLOAD, 0x800 at 4.8
// TASK_NEW; 4.14 began to report its own compact set of bits. Before 3.2 a preempted thread
// is shown as running, without a mark.
struct ReleaseTable {
  KernelRelease since;
  uint64_t preempt_mark;
  std::string_view letters;
};
constexpr ReleaseTable kTables[] = {
    {{4, 14}, 0x100, "SDTtXZPI"},  {{4, 8}, 0x1000, "SDTtZXxKWPN."}, {{4, 2}, 0x800, "SDTtZXxKWPN"},
    {{3, 9}, 0x400, "SDTtZXxKWP"}, {{3, 2}, 0x200, "SDTtZXxKW"},     {{0, 0}, 0, "SDTtZXxKW"},
};

}  // namespace

Result<KernelRelease> ParseKernelRelease(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  KernelRelease release;
  const size_t dot = text.find('.');
  if (dot != std::string_view::npos) {
    std::string_view minor = text.substr(dot + 1);
    minor = minor.substr(0, minor.find_first_not_of(kDigits));
    if (text.find_first_not_of(kDigits) == dot &&
        ParseNumber(text.substr(0, dot), &release.version) &&
        ParseNumber(minor, &release.patchlevel)) {
      return release;
    }
  }
  return Failed("read the kernel release '" + std::string(text) +
                "': it does not begin with two numbers");
}

StateDecoder::StateDecoder() : StateDecoder(FromRelease(std::nullopt)) {}

StateDecoder::StateDecoder(Origin origin, uint64_t preempt_mark)
    : origin_(origin), preempt_mark_(preempt_mark) {
  states_.fill(model::kTaskUnknownState);
}

StateDecoder StateDecoder::FromPrintText(std::string_view print_text,
                                         std::optional<KernelRelease> release) {
  const auto text = ReadStateText(print_text);
  if (!text) return FromRelease(release);
  StateDecoder decoder(Origin::kPrintText, text->preempt_mark);
  for (const auto& each : text->letters) {
    decoder.states_[static_cast<size_t>(std::countr_zero(each.bit))] =
        model::StateOfLetter(each.letter);
  }
  return decoder;
}

StateDecoder StateDecoder::FromRelease(std::optional<KernelRelease> release) {
  const ReleaseTable* table = std::begin(kTables);
  while (release && *release < table->since && table->since != KernelRelease{}) ++table;
  StateDecoder decoder(release ? Origin::kRelease : Origin::kGuess, table->preempt_mark);
  for (size_t bit = 0; bit < table->letters.size(); ++bit) {
    decoder.states_[bit] = model::StateOfLetter(table->letters[bit]);
  }
  return decoder;
}

PrintedState StateOfText(std::string_view text) {
  PrintedState printed;
  if (text.ends_with('+')) {
    printed.preempted = true;
    text.remove_suffix(1);
  }
  for (const char letter : text) {
    if (letter != '|') printed.state |= model::StateOfLetter(letter);
  }
  return printed;
}

}  // namespace offcpu::kernel_compat
