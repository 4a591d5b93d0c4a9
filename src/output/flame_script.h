// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace offcpu::output {

// Geometry that the picture and its script share, in px.
constexpr int kFlameWidth = 1200;  // without script; with it the picture takes the window's width
constexpr int kFlameMargin = 10;
constexpr double kFlameCell = 7.22;  // a character of the 12 px monospaced font

// Style rules of the picture but for its colours. Holds none of the characters & < ].
std::string_view FlameStyle();

// Zoom, search, details. A function body that expects `D`, an array with three numbers a drawn
// frame: level, start in ns from its parent's start, time in ns or 0 when that is its parent's.
// Holds neither "]]>" nor "</".
std::string_view FlameScript();

}  // namespace offcpu::output
