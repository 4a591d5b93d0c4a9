// SPDX-License-Identifier: MIT
#include "source/tracefs/threads.h"

#include <filesystem>
#include <system_error>

#include "base/parse.h"

namespace offcpu::source::tracefs {
namespace {

namespace fs = std::filesystem;

// The numbers among a directory's entries; none where it can't be read (the process has ended).
template <class Function>
void ForEachNumber(const fs::path& directory, Function&& function) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    model::Tid number = 0;
    const std::string name = it->path().filename().string();
    if (ParseNumber(name, &number) && number > 0) function(number, it->path());
  }
}

}  // namespace

void ThreadTable::ReadProc(const std::string& proc) {
  ForEachNumber(proc, [&](model::Pid pid, const fs::path& directory) {
    ForEachNumber(directory / "task", [&](model::Tid tid, const fs::path&) { Set(tid, pid); });
  });
}

}  // namespace offcpu::source::tracefs
