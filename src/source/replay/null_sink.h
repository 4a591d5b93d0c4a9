// SPDX-License-Identifier: MIT
#pragma once

#include "model/sinks.h"

namespace offcpu::source::replay {

// Takes nothing: a recording is only counted.
class NullSink : public model::EventSink {
 public:
  void OnSwitch(const model::Switch&) override {}
  void OnSwitchIn(const model::SwitchIn&) override {}
  void OnWakeup(const model::Wakeup&) override {}
  void OnFork(const model::Fork&) override {}
  void OnCommChange(const model::CommChange&) override {}
  void OnExit(const model::Exit&) override {}
  void OnMap(const model::Map&) override {}
  void OnCgroupMove(const model::CgroupMove&) override {}
  void OnLoss(const model::Loss&) override {}
};

}  // namespace offcpu::source::replay
