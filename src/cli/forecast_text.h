// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "record/forecast.h"

namespace offcpu::cli {

// What `record --dry-run` prints.
std::string ForecastText(const record::Forecast& forecast);

}  // namespace offcpu::cli
