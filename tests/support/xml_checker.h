// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace offcpu::testing {

// What is wrong with `text` as an XML 1.0 document, or empty. Checks what a browser would refuse:
// bytes that are no UTF-8, characters outside XML's Char, other entities than the five, unbalanced
// or unquoted markup, attributes given twice, "]]>" in text. Knows declarations and CDATA, no DTD
// and no comments, which the program does not write.
std::string XmlFault(std::string_view text);

}  // namespace offcpu::testing
