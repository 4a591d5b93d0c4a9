// SPDX-License-Identifier: MIT
#pragma once

#include <bpf/btf.h>

#include "source/bpf/module_api.h"

namespace offcpu::bpf_module {

// What the program needs to know before it is loaded. Versions do not tell: distributions carry
// changes back (B7).
offcpu_bpf_kernel Inspect(const btf* types);

}  // namespace offcpu::bpf_module
