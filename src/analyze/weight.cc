// SPDX-License-Identifier: MIT
#include "analyze/weight.h"

namespace offcpu::analyze {

model::TimeParts PartsOf(const profile::Entry& entry, Weights weights) {
  if (weights == Weights::kObserved || entry.observed_ns == 0) {
    const Nanos rest = weights == Weights::kObserved ? 0 : entry.estimated_ns;
    return {entry.sleeping_ns, entry.runqueue_ns, entry.unsplit_ns + rest};
  }
  const auto scaled = [&entry](Nanos part) {
    return static_cast<Nanos>(static_cast<unsigned __int128>(part) * entry.estimated_ns /
                              entry.observed_ns);
  };
  const Nanos sleeping = scaled(entry.sleeping_ns);
  const Nanos awake = scaled(entry.sleeping_ns + entry.runqueue_ns);
  return {sleeping, awake - sleeping, entry.estimated_ns - awake};
}

Nanos SelectedTime(const profile::Entry& entry, Weights weights, TimePart part) {
  switch (part) {
    case TimePart::kSleeping: return PartsOf(entry, weights).sleeping;
    case TimePart::kRunqueue: return PartsOf(entry, weights).runqueue;
    case TimePart::kTotal:
    case TimePart::kSplit: break;
  }
  return weights == Weights::kObserved ? entry.observed_ns : entry.estimated_ns;
}

}  // namespace offcpu::analyze
