// SPDX-License-Identifier: MIT
#pragma once

#include "record/options.h"
#include "source/request.h"

namespace offcpu::record {

// What a recording with these options asks of a back end.
source::Request RequestOf(const Options& options);

}  // namespace offcpu::record
