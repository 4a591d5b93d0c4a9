// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "profile/profile.h"

namespace offcpu::profile {

constexpr uint16_t kProfileVersion = 1;
constexpr size_t kMaxRecordBytes = 1U << 20;

// The bytes of offcpu-profile(5). `profile` must be canonical (canonical.h) and pass
// ValidateProfile (validate.h), which a recorder asks beforehand; equal profiles give equal bytes,
// and SerializeProfile(ParseProfile(bytes)) == bytes for all bytes that parse.
std::string SerializeProfile(const Profile& profile);

// Strict: refuses a wrong magic, another version (naming both), ids that are not yet defined, sums
// that don't agree, anything after the end, anything cut off or not canonical. `name` stands in the
// messages. Never reads outside `bytes` and needs memory in proportion to them.
Result<Profile> ParseProfile(std::span<const std::byte> bytes, const std::string& name);

// Reads a whole file, "-" for standard input, and parses it.
Result<Profile> ReadProfileFile(const std::string& path);

}  // namespace offcpu::profile
