// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.h"
#include "model/interval.h"
#include "profile/profile.h"

namespace offcpu::analyze {

enum class Weights { kObserved, kEstimated };
enum class TimePart { kTotal, kSleeping, kRunqueue, kSplit };

// The time of an entry in parts. Estimates keep the proportions of the observed parts; rounded down
// cumulatively, so that the parts always add up to the estimate.
model::TimeParts PartsOf(const profile::Entry& entry, Weights weights);

// The part asked for; all of it for kTotal and kSplit.
Nanos SelectedTime(const profile::Entry& entry, Weights weights, TimePart part);

}  // namespace offcpu::analyze
