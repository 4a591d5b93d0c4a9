// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "model/sinks.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"

namespace offcpu::unwind {

// Makes user call chains of copied stacks, with the call frame information of the files that the
// process had mapped at that moment (libdwfl), and hands all chains on to `next`. A walk that can't
// go on - the copy ended, a file is not there, it has no such information - leaves a chain that is
// marked as truncated; a frame outside of all mapped code is never made. x86-64 and aarch64, each
// on a machine of its own kind.
class CopiedStacks : public model::StackInterner {
 public:
  // `options` say where files of a recording are found.
  CopiedStacks(const process::ProcessTable& processes, model::StackInterner& next,
               symbolize::Options options);
  ~CopiedStacks() override;

  model::StackIds Intern(model::Pid pid, const model::CallChain& chain) override;

  struct Counters {
    uint64_t walked = 0;
    uint64_t ended_early = 0;  // before the thread's first frame
  };
  const Counters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offcpu::unwind
