// SPDX-License-Identifier: MIT
#include "output/flame_colors.h"

#include <fmt/format.h>

namespace offcpu::output {
namespace {

// Hues of Okabe and Ito's set for colour-blind readers, light enough for dark text.
constexpr FlameColor kKinds[kFlameKindCount] = {
    {'k', 0xf2ae4e, "kernel"}, {'u', 0x74b9e6, "user"},           {'i', 0xf2e27a, "user, inlined"},
    {'j', 0x5fc3a0, "JIT"},    {'m', 0xb9b9b9, "[missing part]"}, {'l', 0xd9cfe8, "label"},
};
constexpr FlameColor kReasons[model::kReasonCount] = {
    {'n', 0xd9d9d9, "unspecified"},
    {'b', 0x74b9e6, "blocked"},
    {'r', 0xf2ae4e, "runnable"},
    {'p', 0xd98fb9, "preempted"},
};
constexpr FlameColor kReasonFamilies[] = {
    kReasons[1], kReasons[2], kReasons[3], {'x', 0xb9b9b9, "mixed: no reason has 90 %"},
    kReasons[0],
};
constexpr const FlameColor& kMixed = kReasonFamilies[3];

}  // namespace

const FlameColor& ColorOf(const FlameTree::Node& node, FlameColors colors) {
  if (colors == FlameColors::kKind) return kKinds[static_cast<size_t>(node.frame.kind)];
  for (size_t i = 0; i < node.reason_ns.size(); ++i) {
    if (node.reason_ns[i] >= node.total_ns - node.total_ns / 10) return kReasons[i];
  }
  return kMixed;
}

size_t ShadeOf(std::string_view name) {
  uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
  return (hash >> 16) % kFlameShades;
}

std::string ShadeRgb(const FlameColor& color, size_t shade) {
  uint32_t rgb = 0;
  for (int shift = 16; shift >= 0; shift -= 8) {
    const uint32_t part = color.rgb >> shift & 0xff;
    const auto towards_white = static_cast<uint32_t>((0xff - part) * shade / 12);
    rgb |= (part + towards_white) << shift;
  }
  return fmt::format("#{:06x}", rgb);
}

std::span<const FlameColor> Families(FlameColors colors) {
  if (colors == FlameColors::kKind) return kKinds;
  return kReasonFamilies;
}

std::string ColorRules(FlameColors colors) {
  std::string rules;
  for (const FlameColor& color : Families(colors)) {
    for (size_t shade = 0; shade < kFlameShades; ++shade) {
      rules += fmt::format(".{}{}{{fill:{}}}", color.letter, shade, ShadeRgb(color, shade));
    }
    rules += '\n';
  }
  return rules;
}

}  // namespace offcpu::output
