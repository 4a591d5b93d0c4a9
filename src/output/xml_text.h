// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace offcpu::output {

// Any bytes as UTF-8 that XML 1.0 and HTML allow: control characters (line breaks too), bytes that
// are no UTF-8 and characters outside XML's Char become \xNN, a byte each; the rest stays.
std::string VisibleText(std::string_view bytes);

// Appends what VisibleText returned, with the five characters that mean something in markup
// escaped; fit for text and for attributes in either quotes.
void AppendXml(std::string* out, std::string_view visible);

// `visible` as it is if it fits into `cells` columns of a monospaced font, else its beginning and
// ".."; empty when less than three columns are there. Characters from U+1100 on count two.
std::string ClipToCells(std::string_view visible, size_t cells);

}  // namespace offcpu::output
