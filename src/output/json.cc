// SPDX-License-Identifier: MIT
#include "output/json.h"

namespace offcpu::output {

std::string JsonDocument(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace offcpu::output
