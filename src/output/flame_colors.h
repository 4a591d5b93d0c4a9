// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "output/flame_tree.h"
#include "output/flamegraph.h"

namespace offcpu::output {

// A colour family of the picture and what it means.
struct FlameColor {
  char letter;  // class names are this and the number of a shade
  uint32_t rgb;
  std::string_view meaning;
};

constexpr size_t kFlameShades = 6;

const FlameColor& ColorOf(const FlameTree::Node& node, FlameColors colors);

// Which shade a name gets: the same in every picture.
size_t ShadeOf(std::string_view name);

// "#rrggbb" of a shade, and style rules for all shades of all families of a way of colouring.
std::string ShadeRgb(const FlameColor& color, size_t shade);
std::string ColorRules(FlameColors colors);

// In the order of the legend.
std::span<const FlameColor> Families(FlameColors colors);

}  // namespace offcpu::output
