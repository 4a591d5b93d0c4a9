// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/sinks.h"
#include "source/bpf/decode.h"
#include "source/bpf/module_api.h"
#include "source/check.h"
#include "source/perf/perf_source.h"
#include "source/source.h"

namespace offcpu::source::bpf {

// The `bpf` back end: the tracker runs in the kernel (offcpu.bpf.c), so that an interval which is
// not kept costs two look-ups, and stacks are taken only of those that may be kept. Processes and
// mappings come from perf's side-band records, merged with the program's by time. On
// kernels that hide some threads' switches (KF 0), this program misses some of them as well.
class BpfSource : public Source {
 public:
  static Result<std::unique_ptr<Source>> Open(const Request& request);

  Result<void> StartSideband() override;
  Result<Nanos> Start() override;
  void Drain(model::EventSink& sink) override;
  Nanos Stop(model::EventSink& sink) override;

  std::vector<int> poll_fds() const override;
  size_t cpu_count() const override { return sideband_->cpu_count(); }
  std::vector<Note> notes() const override;
  std::optional<int64_t> ExecStartOffset(model::Cpu cpu) const override;

 private:
  struct Closer {
    const offcpu_bpf_functions* functions;
    void operator()(offcpu_bpf* bpf) const { functions->close(bpf); }
  };
  class Interleaver;

  explicit BpfSource(const Request& request) : request_(request) {}

  Result<void> OpenProgram();
  void TakeRecords();
  void DeliverUpTo(Nanos time, model::EventSink& sink);
  void DeliverLosses(Nanos now, model::EventSink& sink);
  Nanos CloseWindow();
  void ReadSleepers();
  void DeliverThreads(Nanos window_end, model::EventSink& sink);
  void DeliverOpen(model::Tid tid, const offcpu_bpf_thread& thread, Nanos window_end,
                   model::EventSink& sink);
  offcpu_bpf_cpu CountersOf(model::Cpu cpu) const;

  const Request request_;
  const offcpu_bpf_functions* functions_ = nullptr;
  std::unique_ptr<offcpu_bpf, Closer> bpf_{nullptr, Closer{nullptr}};
  std::unique_ptr<perf::PerfSource> sideband_;
  std::unique_ptr<Decoder> decoder_;
  size_t ring_bytes_ = 0;
  std::vector<model::Cpu> cpus_;

  // Records taken from the ring and not yet delivered, one behind the other.
  struct Record {
    Nanos time;
    size_t begin;
    size_t size;
  };
  std::vector<std::byte> bytes_;
  std::vector<Record> records_;
  size_t next_ = 0;  // in records_

  Nanos last_drain_ = 0;  // the clock before the drain before
  Nanos last_losses_ = 0;
  std::map<model::Cpu, uint64_t> lost_;  // reported so far
  std::map<model::Cpu, uint64_t> untracked_;
  std::map<model::Tid, std::vector<uint64_t>> sleeper_stacks_;
  bool command_seen_ = false;  // its exec was delivered
};

// Tries what a recording needs.
std::vector<Check> CheckBpf();

}  // namespace offcpu::source::bpf
