// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "kernel-compat/event_format.h"

namespace offcpu::kernel_compat {

// Reads fields of one format; keeps the first error and how far the fields reach.
class FieldReader {
 public:
  explicit FieldReader(const EventFormat& format) : format_(format) {}

  FieldLayout Pid(std::string_view name) { return Number(name, {4}); }
  FieldLayout Number(std::string_view name, std::initializer_list<size_t> sizes) {
    return Keep(format_.Number(name, sizes));
  }
  FieldLayout Text(std::string_view name) { return Keep(format_.Text(name)); }

  const std::optional<Error>& error() const { return error_; }
  size_t record_size() const { return record_size_; }

 private:
  FieldLayout Keep(const Result<FieldLayout>& field) {
    if (!field) {
      if (!error_) error_ = field.error();
      return {};
    }
    record_size_ = std::max(record_size_, field->end());
    return *field;
  }

  const EventFormat& format_;
  std::optional<Error> error_;
  size_t record_size_ = 0;
};

}  // namespace offcpu::kernel_compat
