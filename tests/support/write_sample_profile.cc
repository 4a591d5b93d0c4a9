// SPDX-License-Identifier: MIT
//
// write-sample-profile FILE [NAME]: writes one of the profiles that golden and command line tests
// read. Without NAME it is "sample".
#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "profile/profile_file.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/wait_profiles.h"

namespace offcpu::testing {
namespace {

constexpr std::array<std::pair<std::string_view, profile::Profile (*)()>, 6> kProfiles{
    {{"sample", SampleProfile},
     {"waits", WaitsProfile},
     {"filters", FiltersProfile},
     {"names", NamesProfile},
     {"empty", EmptyProfile},
     {"large", LargeProfile}}};

int Write(const std::string& path, std::string_view wanted) {
  for (const auto& [name, make] : kProfiles) {
    if (name != wanted) continue;
    const std::string bytes = profile::SerializeProfile(make());
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    file.close();
    if (file.good()) return 0;
    std::fprintf(stderr, "write-sample-profile: cannot write %s\n", path.c_str());
    return 1;
  }
  std::fprintf(stderr, "write-sample-profile: there is no profile of this name\n");
  return 64;
}

}  // namespace
}  // namespace offcpu::testing

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: write-sample-profile FILE [NAME]\n");
    return 64;
  }
  return offcpu::testing::Write(argv[1], argc == 3 ? argv[2] : "sample");
}
