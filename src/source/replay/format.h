// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace offcpu::source::replay {

// What a file's first bytes say that it is.
enum class Format {
  kPerfData,  // of perf, both layouts, either byte order
  kTraceDat,  // of trace-cmd
  kGzip,      // a compressed file: to be unpacked first
  kProfile,   // offcpu's own result
  kFolder,    // of raw trace pages
  kText,      // scheduler events as text; told by its lines, not by DetectFormat()
  kUnknown,
};

// How many bytes DetectFormat() needs; fewer are enough where the file has no more.
constexpr size_t kMagicBytes = 16;

Format DetectFormat(std::span<const std::byte> head);

// Why a file of that format is not read, and what to do. Only for those that are not read.
Error RefuseFormat(Format format, const std::string& path);

}  // namespace offcpu::source::replay
