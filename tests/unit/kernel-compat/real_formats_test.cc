// SPDX-License-Identifier: MIT
// Formats of real kernels, read where they lie (OFFCPU_TEST_DATA).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kernel-compat/print_text.h"
#include "kernel-compat/sched_formats.h"
#include "tests/support/event_formats.h"

namespace offcpu::kernel_compat {
namespace {

constexpr char kOldest[] = "SDTtZXxW";
constexpr char k3_10[] = "SDTtZXxKWP";
constexpr char k4_4[] = "SDTtZXxKWPN";
constexpr char k4_14[] = "SDTtXZPI";

// As the table of the data's README and, for own/, the files say.
struct RealSwitch {
  const char* folder;
  uint16_t id;
  uint16_t prev_comm;
  uint16_t prev_pid;
  uint16_t prev_state;
  uint16_t state_size;
  uint16_t next_pid;
  uint64_t preempt_mark;
  const char* letters;  // of the bits from 0x1 up
};
constexpr RealSwitch kSwitches[] = {
    {"perfetto/android_seed_N2F62_3.10.49", 68, 8, 24, 32, 4, 52, 0x400, k3_10},
    {"perfetto/android_flounder_lte_LRX16F_3.10.40", 68, 8, 24, 32, 8, 56, 0x400, k3_10},
    {"perfetto/android_walleye_OPM5.171019.017.A1_4.4.88", 47, 8, 24, 32, 8, 56, 0x800, k4_4},
    {"perfetto/android_raven_AOSP.MASTER_5.10.43", 103, 8, 24, 32, 8, 56, 0x100, k4_14},
    {"perfetto/synthetic", 47, 8, 24, 32, 8, 56, 0x800, k4_4},
    {"perfetto/synthetic_alt", 317, 8, 24, 32, 8, 56, 0x100, k4_14},
    {"schedviz/test", 297, 8, 24, 32, 8, 56, 0x1000, k4_4},
    {"cut-from-recordings/trappy-arm32", 68, 8, 24, 32, 4, 52, 0x400, k3_10},
    {"cut-from-recordings/arch-5.18.1", 317, 8, 24, 32, 8, 56, 0x100, k4_14},
    {"quoted/langraph-5.x", 318, 8, 24, 32, 8, 56, 0x100, k4_14},
    {"quoted/kernel-3.0-era-x86_64", 51, 12, 28, 40, 8, 64, 0, kOldest},
    {"own/6.1.0-50-rt-amd64", 319, 12, 28, 40, 8, 64, 0x100, k4_14},
    {"own/6.12.100+deb12-cloud-amd64", 310, 8, 24, 32, 8, 56, 0x100, k4_14},
    {"own/6.12.100+deb12-rt-amd64", 309, 8, 24, 32, 8, 56, 0x100, k4_14},
    {"own/6.18", 372, 8, 24, 32, 8, 56, 0x100, k4_14},
};

std::string ReadEvent(const std::string& folder, const std::string& event) {
  return ReadSmallFile((test::RealFormats() / folder / "events/sched" / event / "format").string())
      .value_or("");
}

class RealFormats : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(test::RealFormats())) {
      GTEST_SKIP() << "no real formats at " << test::RealFormats().string();
    }
  }
};

TEST_F(RealFormats, SwitchesHaveTheOffsetsMarkAndLettersThatWereReadByHand) {
  for (const auto& real : kSwitches) {
    SCOPED_TRACE(real.folder);
    const std::string text = ReadEvent(real.folder, "sched_switch");
    const auto format = ParseSwitchFormat(text, std::nullopt);
    ASSERT_TRUE(format) << format.error().message;
    EXPECT_EQ(format->id, real.id);
    EXPECT_EQ(format->prev_comm.offset, real.prev_comm);
    EXPECT_EQ(format->prev_comm.size, 16);
    EXPECT_EQ(format->prev_pid.offset, real.prev_pid);
    EXPECT_EQ(format->prev_state.offset, real.prev_state);
    EXPECT_EQ(format->prev_state.size, real.state_size);
    EXPECT_EQ(format->next_pid.offset, real.next_pid);
    EXPECT_EQ(format->states.preempt_mark(), real.preempt_mark);
    EXPECT_EQ(format->states.origin(), StateDecoder::Origin::kPrintText);

    const auto states = ReadStateText(text.substr(text.find("print fmt:") + 10));
    ASSERT_TRUE(states) << states.error().message;
    std::vector<StateText::Letter> letters;
    for (size_t bit = 0; real.letters[bit] != '\0'; ++bit) {
      letters.push_back({uint64_t{1} << bit, real.letters[bit]});
    }
    EXPECT_EQ(states->letters, letters);
  }
}

TEST_F(RealFormats, OneValueHasTheMeaningOfItsKernel) {
  const auto old_arm = ParseSwitchFormat(
      ReadEvent("perfetto/android_seed_N2F62_3.10.49", "sched_switch"), std::nullopt);
  const auto newer = ParseSwitchFormat(
      ReadEvent("perfetto/android_raven_AOSP.MASTER_5.10.43", "sched_switch"), std::nullopt);
  const auto middle = ParseSwitchFormat(
      ReadEvent("perfetto/android_walleye_OPM5.171019.017.A1_4.4.88", "sched_switch"),
      std::nullopt);
  ASSERT_TRUE(old_arm && newer && middle);
  EXPECT_EQ(old_arm->states.Decode(0x10).state, model::kTaskZombie);
  EXPECT_EQ(newer->states.Decode(0x10).state, model::kTaskDead);
  EXPECT_EQ(newer->states.Decode(0x80).state, model::kTaskIdle);
  EXPECT_EQ(middle->states.Decode(130).state, model::kTaskUninterruptible | model::kTaskKillable);
}

TEST_F(RealFormats, AllWakeupsAreRead) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::RealFormats())) {
    const std::string event = entry.path().parent_path().filename().string();
    if (entry.path().filename() != "format" || event.rfind("sched_wak", 0) != 0) continue;
    SCOPED_TRACE(entry.path().string());
    const std::string text = ReadSmallFile(entry.path().string()).value_or("");
    const auto format = ParseWakeupFormat(text, event);
    ASSERT_TRUE(format) << format.error().message;
    const bool shifted = text.find("common_preempt_lazy_count") != std::string::npos;
    EXPECT_EQ(format->pid.offset, shifted ? 28 : 24);
    EXPECT_EQ(format->success.present(), text.find(" success;") != std::string::npos);
    if (format->success.present()) {
      EXPECT_EQ(format->success.offset, format->pid.offset + 8);
    }
    ++count;
  }
  EXPECT_GE(count, 20U);
}

TEST_F(RealFormats, EveryOtherEventIsRefusedByName) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::RealFormats())) {
    const std::string event = entry.path().parent_path().filename().string();
    if (entry.path().filename() != "format" || event == "sched_switch") continue;
    const auto format = ParseSwitchFormat(ReadSmallFile(entry.path().string()).value_or(""), {});
    ASSERT_FALSE(format) << entry.path();
    EXPECT_NE(format.error().message.find("event sched_switch: line 1"), std::string::npos);
    // As events of their own they are in good form.
    const auto own = EventFormat::Parse(ReadSmallFile(entry.path().string()).value_or(""), event);
    EXPECT_TRUE(own) << entry.path() << own.error().message;
    ++count;
  }
  EXPECT_GE(count, 40U);
}

TEST_F(RealFormats, NamesThatBecameDynamicStringsAreFoundIn6_18) {
  const auto fork =
      EventFormat::Parse(ReadEvent("own/6.18", "sched_process_fork"), "sched_process_fork");
  ASSERT_TRUE(fork) << fork.error().message;
  const auto name = fork->Text("parent_comm");
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(*name, (FieldLayout{8, 4, false, FieldKind::kDataLoc}));
}

}  // namespace
}  // namespace offcpu::kernel_compat
