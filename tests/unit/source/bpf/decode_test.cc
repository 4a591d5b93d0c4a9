// SPDX-License-Identifier: MIT
#include "source/bpf/decode.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "source/bpf/records.h"

namespace offcpu::source::bpf {
namespace {

class Events : public model::EventSink {
 public:
  void OnSwitch(const model::Switch&) override {}
  void OnSwitchIn(const model::SwitchIn&) override {}
  void OnWakeup(const model::Wakeup&) override {}
  void OnFork(const model::Fork&) override {}
  void OnCommChange(const model::CommChange&) override {}
  void OnMap(const model::Map&) override {}
  void OnCgroupMove(const model::CgroupMove&) override {}
  void OnLoss(const model::Loss&) override {}
  void OnExit(const model::Exit& event) override { exits.push_back(event); }
  void OnHandOver(const model::HandOver& event) override { hand_overs.push_back(event); }
  void OnTrackedInterval(const model::TrackedInterval& tracked) override {
    intervals.push_back(tracked.interval);
    kernel.assign(tracked.chain.kernel.begin(), tracked.chain.kernel.end());
    user.assign(tracked.chain.user.begin(), tracked.chain.user.end());
    truncated = tracked.chain.truncated;
    has_chain = tracked.chain.present;
  }
  void OnTrackedAccount(const model::TrackedAccount& account) override {
    accounts.push_back(account);
  }

  std::vector<model::Exit> exits;
  std::vector<model::HandOver> hand_overs;
  std::vector<model::Interval> intervals;
  std::vector<model::TrackedAccount> accounts;
  std::vector<uint64_t> kernel;
  std::vector<uint64_t> user;
  bool truncated = false;
  bool has_chain = false;
};

template <class T>
std::span<const std::byte> BytesOf(const T& record, size_t size = sizeof(T)) {
  return std::as_bytes(std::span(&record, 1)).first(size);
}

// Two kernel frames (1, 2) and one of the user's (3).
offcpu_bpf_interval SomeInterval() {
  offcpu_bpf_interval record{};
  record.head = {.type = OFFCPU_BPF_INTERVAL, .pid = 7, .tid = 8, .padding = 0, .time = 500};
  record.start = 200;
  record.wakeup = 400;
  record.reason = OFFCPU_BPF_BLOCKED;
  record.task_state = model::kTaskInterruptible;
  std::strcpy(record.comm, "worker");
  record.kernel_frames = 2;
  record.user_frames = 1;
  record.addresses[0] = 1;
  record.addresses[1] = 2;
  record.addresses[2] = 3;
  return record;
}
constexpr size_t kSomeBytes = offsetof(offcpu_bpf_interval, addresses) + 3 * 8;

TEST(BpfDecodeTest, AnIntervalKeepsItsTimesReasonNameAndBothStacks) {
  Events events;
  Decoder decoder(127);
  decoder.Decode(BytesOf(SomeInterval(), kSomeBytes), events);
  ASSERT_EQ(events.intervals.size(), 1U);
  const model::Interval& interval = events.intervals[0];
  EXPECT_EQ(interval.start, 200U);
  EXPECT_EQ(interval.end, 500U);
  EXPECT_EQ(interval.wakeup, 400U);
  EXPECT_EQ(interval.reason, model::Reason::kBlocked);
  EXPECT_EQ(interval.task_state, model::kTaskInterruptible);
  EXPECT_EQ(model::CommView(interval.comm), "worker");
  EXPECT_EQ(events.kernel, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(events.user, (std::vector<uint64_t>{3}));
  EXPECT_FALSE(events.truncated);
  EXPECT_EQ(decoder.malformed(), 0U);
}

TEST(BpfDecodeTest, TheLimitOfFramesHoldsForBothStacksTogetherKernelFirst) {
  Events events;
  Decoder decoder(2);
  decoder.Decode(BytesOf(SomeInterval(), kSomeBytes), events);
  EXPECT_EQ(events.kernel, (std::vector<uint64_t>{1, 2}));
  EXPECT_TRUE(events.user.empty());
  EXPECT_TRUE(events.truncated);
}

TEST(BpfDecodeTest, AnIntervalWithoutFramesHasNoChain) {
  offcpu_bpf_interval record = SomeInterval();
  record.kernel_frames = record.user_frames = 0;
  Events events;
  Decoder decoder(127);
  decoder.Decode(BytesOf(record, offsetof(offcpu_bpf_interval, addresses)), events);
  ASSERT_EQ(events.intervals.size(), 1U);
  EXPECT_FALSE(events.has_chain);
}

TEST(BpfDecodeTest, ARecordThatPromisesMoreThanItHoldsIsCountedAndDropped) {
  Events events;
  Decoder decoder(127);
  const offcpu_bpf_interval good = SomeInterval();
  for (size_t size = 0; size < kSomeBytes; ++size) decoder.Decode(BytesOf(good, size), events);
  EXPECT_EQ(decoder.malformed(), kSomeBytes);
  offcpu_bpf_interval bad = good;
  bad.kernel_frames = ~0U;
  decoder.Decode(BytesOf(bad), events);
  bad = good;
  bad.reason = OFFCPU_BPF_REASONS;
  decoder.Decode(BytesOf(bad), events);
  bad = good;
  bad.head.time = bad.start - 1;
  decoder.Decode(BytesOf(bad), events);
  bad = good;
  bad.head.type = 99;
  decoder.Decode(BytesOf(bad), events);
  EXPECT_EQ(decoder.malformed(), kSomeBytes + 4);
  EXPECT_TRUE(events.intervals.empty());
}

TEST(BpfDecodeTest, AnEndBringsTheAccountAndWhatWasRejectedByReasonAndCause) {
  offcpu_bpf_end record{};
  record.head = {.type = OFFCPU_BPF_END, .pid = 7, .tid = 8, .padding = 0, .time = 900};
  record.first = 100;
  record.account.on_cpu = 300;
  record.account.sleeping = 400;
  record.account.runnable = 100;
  record.account.voluntary_switches = 5;
  record.account.rejected[OFFCPU_BPF_BLOCKED][OFFCPU_BPF_MINIMUM] = {4, 400};
  record.account.rejected[OFFCPU_BPF_RUNNABLE][OFFCPU_BPF_REASON] = {1, 100};
  Events events;
  Decoder decoder(127);
  decoder.Decode(BytesOf(record), events);
  ASSERT_EQ(events.accounts.size(), 1U);
  const model::TrackedAccount& account = events.accounts[0];
  EXPECT_TRUE(account.ended);
  EXPECT_EQ(account.from, 100U);
  EXPECT_EQ(account.to, 900U);
  EXPECT_EQ(account.account.on_cpu, 300U);
  EXPECT_EQ(account.account.blocked.sleeping, 400U);
  ASSERT_EQ(account.rejected.size(), 2U);
  EXPECT_EQ(account.rejected[0].reason, model::Reason::kBlocked);
  EXPECT_EQ(account.rejected[0].cause, model::Rejection::kMinimum);
  EXPECT_EQ(account.rejected[0].count, 4U);
  EXPECT_EQ(account.rejected[1].reason, model::Reason::kRunnable);
  EXPECT_EQ(account.rejected[1].ns, 100U);
  EXPECT_TRUE(events.exits.empty());
}

TEST(BpfDecodeTest, AnIdThatItsThreadGaveUpByExecveHasEndedToo) {
  offcpu_bpf_end record{};
  record.head = {.type = OFFCPU_BPF_TAKEOVER, .pid = 7, .tid = 8, .padding = 0, .time = 900};
  Events events;
  Decoder decoder(127);
  decoder.Decode(BytesOf(record), events);
  EXPECT_EQ(events.accounts.size(), 1U);
  ASSERT_EQ(events.exits.size(), 1U);
  EXPECT_EQ(events.exits[0].tid, 8);
}

TEST(BpfSettingsTest, StatesHaveAPlaceEach) {
  std::vector<uint32_t> places;
  places.push_back(offcpu_bpf_state_index(0, 0));
  for (uint32_t state = 1; state <= 0x80; state <<= 1) {
    places.push_back(offcpu_bpf_state_index(state, 0));
  }
  places.push_back(offcpu_bpf_state_index(0, 1));
  for (uint32_t i = 0; i < OFFCPU_BPF_STATES; ++i) EXPECT_EQ(places.at(i), i);
}

TEST(BpfSettingsTest, OnlyWantedStatesAreTold) {
  Request request;
  request.state_wanted = [](uint32_t state, bool preempted) {
    return !preempted && state == model::kTaskUninterruptible;
  };
  EXPECT_EQ(SettingsOf(request).states, 1U << 2);
  request.state_wanted = nullptr;
  EXPECT_EQ(SettingsOf(request).states, (1U << OFFCPU_BPF_STATES) - 1);
}

TEST(BpfSettingsTest, TheFirstRuleThatAnIntervalBreaksIsTheCause) {
  Request request;
  request.chain_reasons = {true, false, false};
  request.min_off_cpu = 100;
  request.max_off_cpu = 200;
  request.state_wanted = [](uint32_t state, bool) { return state == model::kTaskInterruptible; };
  const offcpu_bpf_settings settings = SettingsOf(request);
  const uint32_t sleep = offcpu_bpf_state_index(model::kTaskInterruptible, 0);
  const uint32_t disk = offcpu_bpf_state_index(model::kTaskUninterruptible, 0);
  const auto judge = [&](uint32_t reason, uint32_t state, uint64_t duration) {
    return offcpu_bpf_judge(&settings, reason, state, duration);
  };
  EXPECT_EQ(judge(OFFCPU_BPF_BLOCKED, sleep, 101), uint32_t{OFFCPU_BPF_KEPT});
  EXPECT_EQ(judge(OFFCPU_BPF_BLOCKED, sleep, 199), uint32_t{OFFCPU_BPF_KEPT});
  EXPECT_EQ(judge(OFFCPU_BPF_BLOCKED, sleep, 100), uint32_t{OFFCPU_BPF_MINIMUM});
  EXPECT_EQ(judge(OFFCPU_BPF_BLOCKED, sleep, 200), uint32_t{OFFCPU_BPF_MAXIMUM});
  EXPECT_EQ(judge(OFFCPU_BPF_BLOCKED, disk, 150), uint32_t{OFFCPU_BPF_STATE});
  EXPECT_EQ(judge(OFFCPU_BPF_RUNNABLE, 0, 1), uint32_t{OFFCPU_BPF_REASON});
  EXPECT_EQ(judge(OFFCPU_BPF_PREEMPTED, disk, 1), uint32_t{OFFCPU_BPF_REASON});
}

TEST(BpfSettingsTest, WithoutLimitsEveryDurationIsKept) {
  const offcpu_bpf_settings settings = SettingsOf(Request{});
  for (const uint64_t duration : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    EXPECT_EQ(offcpu_bpf_judge(&settings, OFFCPU_BPF_BLOCKED, 1, duration),
              uint32_t{OFFCPU_BPF_KEPT});
  }
}

}  // namespace
}  // namespace offcpu::source::bpf
