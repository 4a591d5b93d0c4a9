// SPDX-License-Identifier: MIT
#include "analyze/frame_text.h"

namespace offcpu::analyze {
namespace {

// "futex_wait+0x1a" without its offset; other names as they are.
std::string_view WithoutOffset(std::string_view name) {
  const size_t plus = name.rfind("+0x");
  if (plus == std::string_view::npos || plus + 3 == name.size()) return name;
  const bool digits =
      name.find_first_not_of("0123456789abcdefABCDEF", plus + 3) == std::string::npos;
  return digits ? name.substr(0, plus) : name;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string EscapeFrame(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c == ';') c = ':';
    if (c == '\r' || c == '\n') c = ' ';
  }
  return text;
}

std::string FrameText(const profile::Profile& profile, profile::FrameId id) {
  const profile::Frame& frame = profile.frames[id];
  std::string_view name = WithoutOffset(profile.String(frame.name));
  std::string nameless;
  if (name.empty() || name == "[unknown]") {
    std::string_view module = profile.String(frame.module);
    const bool bracketed = module.starts_with('[') && module.ends_with(']');  // "[kernel]"
    if (module.empty()) module = "unknown";
    nameless = bracketed ? std::string(module) : '[' + std::string(module) + ']';
    name = nameless;
  } else if (name.starts_with("0x") && frame.kind == profile::FrameKind::kUser &&
             frame.module != 0) {
    nameless = std::string(profile.String(frame.module)) + '+' + std::string(name);
    name = nameless;  // code of a file without a symbol for it
  }
  std::string text = EscapeFrame(name);
  if (frame.kind == profile::FrameKind::kKernel) text += "_[k]";
  return text;
}

std::vector<std::string> FrameTexts(const profile::Profile& profile) {
  std::vector<std::string> texts(1);
  texts.reserve(profile.frames.size());
  for (profile::FrameId id = 1; id < profile.frames.size(); ++id) {
    texts.push_back(FrameText(profile, id));
  }
  return texts;
}

std::string ProcessFrame(std::string_view name) {
  return name.empty() ? "[unknown process]" : EscapeFrame(name);
}

std::string ThreadFrame(std::string_view name) {
  return name.empty() ? "[unknown thread]" : EscapeFrame(name);
}

std::string PoolName(std::string_view thread_name) {
  std::string pool;
  for (size_t i = 0; i < thread_name.size(); ++i) {
    if (!IsDigit(thread_name[i])) {
      pool += thread_name[i];
    } else if (i == 0 || !IsDigit(thread_name[i - 1])) {
      pool += '#';
    }
  }
  return pool;
}

}  // namespace offcpu::analyze
