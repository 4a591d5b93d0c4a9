// SPDX-License-Identifier: MIT
#include "source/replay/trace_dat.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::source::replay {
namespace {

constexpr std::string_view kMagic("\x17\x08\x44tracing", 10);
constexpr size_t kTag = 10;  // "flyrecord\0"
// The head of a file of version 6 lies in its first bytes, without its size; kallsyms is most of
// it.
constexpr uint64_t kLargestHead = 64U << 20;
constexpr uint32_t kMaxCpus = 1U << 12;
constexpr int kMaxSections = 64;

// Ids of options, and of sections of version 7.
enum OptionId : uint16_t {
  kDone = 0,
  kBuffer = 3,
  kTraceClock = 4,
  kUname = 5,
  kVersion = 9,
  kHeaderInfo = 16,
  kFtraceEvents = 17,
  kEventFormats = 18,
  kKallsyms = 19,
};

std::string_view AsText(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

// "local [mono] global" to "mono"; version 7 has the name alone.
std::string ClockIn(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos)
    return std::string(Trim(text));
  return std::string(text.substr(open + 1, close - open - 1));
}

class TraceDat {
 public:
  explicit TraceDat(std::shared_ptr<const RandomFile> file) : file_(std::move(file)) {}

  Result<RingRecording> Read() {
    std::vector<std::byte> head(std::min(file_->size(), kLargestHead));
    if (!file_->ReadAt(0, head)) return Failed("it can't be read");
    FileBytes bytes(head, /*swap=*/false);
    bytes.Skip(kMagic.size());
    const std::string_view version = bytes.TakeString();
    const bool big_endian = bytes.Read<uint8_t>() != 0;
    bytes.Skip(1);  // size of a long in user space
    page_size_ = bytes.Read<uint32_t>();
    if (!bytes.ok()) return Short();
    if (big_endian != (std::endian::native == std::endian::big)) {
      return MakeError(ErrorCode::kUnsupported, "it is of a machine of the other byte order",
                       "import it on such a machine, or as text: trace-cmd report");
    }
    if (version != "6" && version != "7") {
      return MakeError(
          ErrorCode::kUnsupported,
          "it is of version " + std::string(version.substr(0, 20)) + "; versions 6 and 7 are read",
          "convert it: trace-cmd convert --file-version 7");
    }
    recording_.format = "trace.dat of version " + std::string(version);
    auto read = version == "6" ? ReadVersion6(bytes) : ReadVersion7(bytes);
    if (!read) return read.error();
    return Finish();
  }

 private:
  static Error Short() { return Failed("it is cut short"); }

  Result<void> ReadVersion6(FileBytes& bytes) {
    header_page_ = ReadHeaderPage(bytes);
    ReadFtraceFormats(bytes, &formats_);
    ReadEventFormats(bytes, &formats_);
    kallsyms_ = AsText(bytes.Take(bytes.Read<uint32_t>()));
    bytes.Skip(bytes.Read<uint32_t>());                       // formats of trace_printk
    bytes.Skip(static_cast<size_t>(bytes.Read<uint64_t>()));  // names of threads
    const auto cpus = bytes.Read<uint32_t>();
    std::string_view tag = AsText(bytes.Take(kTag));
    if (tag.starts_with("options")) {
      ReadOptions(bytes, nullptr);
      tag = AsText(bytes.Take(kTag));
    }
    if (!bytes.ok()) return Short();
    if (tag != "flyrecord") {
      return Failed("it holds the text of a latency tracer, no events", "import the text instead");
    }
    if (cpus > kMaxCpus) return Failed("it names a number of CPUs that no machine has");
    for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
      const auto offset = bytes.Read<uint64_t>();
      const auto size = bytes.Read<uint64_t>();
      if (!bytes.ok()) return Short();
      AddCpu(cpu, offset, size);
    }
    return {};
  }

  Result<void> ReadVersion7(FileBytes& bytes) {
    compression_ = bytes.TakeString();
    bytes.TakeString();  // its version
    auto next = bytes.Read<uint64_t>();
    if (!bytes.ok()) return Short();
    if (compression_ != "none" && compression_ != "zstd" && compression_ != "zlib") {
      return MakeError(
          ErrorCode::kUnsupported,
          "it is compressed by '" + compression_.substr(0, 20) + "'; zstd and zlib are read",
          "unpack it: trace-cmd convert --compression none");
    }
    std::set<uint64_t> seen;
    while (next != 0) {
      if (!seen.insert(next).second || seen.size() > kMaxSections) {
        return Failed("its options lead in a circle");
      }
      auto section = ReadSection(next);
      if (!section) return section.error();
      FileBytes options(*section, /*swap=*/false);
      next = 0;
      ReadOptions(options, &next);
      if (!options.ok()) return Short();
    }
    for (const auto& [id, offset] : sections_) {
      auto section = ReadSection(offset);
      if (!section) return section.error();
      FileBytes content(*section, /*swap=*/false);
      switch (id) {
        case kHeaderInfo: header_page_ = ReadHeaderPage(content); break;
        case kFtraceEvents: ReadFtraceFormats(content, &formats_); break;
        case kEventFormats: ReadEventFormats(content, &formats_); break;
        case kKallsyms: kallsyms_ = AsText(content.Take(content.Read<uint32_t>())); break;
        default: break;
      }
      if (!content.ok()) return Failed("a section of it is cut short");
    }
    return {};
  }

  // The content of the section of version 7 that begins there.
  Result<std::vector<std::byte>> ReadSection(uint64_t offset) {
    constexpr uint16_t kCompressed = 1;
    std::vector<std::byte> head(16);
    if (!file_->ReadAt(offset, head)) return Short();
    FileBytes bytes(head, /*swap=*/false);
    bytes.Skip(2);  // its id, which the option told
    const auto flags = bytes.Read<uint16_t>();
    bytes.Skip(4);  // its description
    const auto size = bytes.Read<uint64_t>();
    if (size > file_->size()) return Short();
    std::vector<std::byte> content(static_cast<size_t>(size));
    if (!file_->ReadAt(offset + head.size(), content)) return Short();
    if ((flags & kCompressed) == 0) return content;
    FileBytes packed(content, /*swap=*/false);
    const auto packed_size = packed.Read<uint32_t>();
    const auto plain_size = packed.Read<uint32_t>();
    const auto data = packed.Take(packed_size);
    // Texts are packed to a tenth at best.
    if (!packed.ok() || plain_size > kLargestHead || plain_size / 100 > packed_size) return Short();
    auto plain = Decompress(compression_, data, plain_size);
    if (!plain) return Failed("a compressed section of it is damaged");
    return *std::move(plain);
  }

  // `next`: of version 7, where the next section of options is.
  void ReadOptions(FileBytes& bytes, uint64_t* next) {
    while (bytes.ok()) {
      const auto id = bytes.Read<uint16_t>();
      if (id == kDone && next == nullptr) return;
      const auto content = bytes.Take(bytes.Read<uint32_t>());
      if (!bytes.ok()) return;
      FileBytes option(content, /*swap=*/false);
      if (id == kDone) {
        *next = option.Read<uint64_t>();
        return;
      }
      TakeOption(id, content, option, /*version_7=*/next != nullptr);
    }
  }

  void TakeOption(uint16_t id, std::span<const std::byte> content, FileBytes& option,
                  bool version_7) {
    switch (id) {
      case kTraceClock:
        if (recording_.clock.empty()) recording_.clock = ClockIn(AsText(content));
        break;
      case kUname: TakeUname(AsText(content)); break;
      case kVersion: recording_.written_by = "trace-cmd " + std::string(AsText(content)); break;
      case kBuffer:
        if (version_7) {
          TakeBuffer(option);
        } else {
          ++other_buffers_;
        }
        break;
      case kHeaderInfo:
      case kFtraceEvents:
      case kEventFormats:
      case kKallsyms:
        if (version_7) sections_.try_emplace(id, option.Read<uint64_t>());
        break;
      default: break;
    }
  }

  // Of the top instance, which has no name.
  void TakeBuffer(FileBytes& option) {
    option.Skip(8);  // where its section is
    if (!option.TakeString().empty() || !recording_.cpus.empty()) {
      ++other_buffers_;
      return;
    }
    recording_.clock = ClockIn(option.TakeString());
    page_size_ = option.Read<uint32_t>();
    const auto cpus = option.Read<uint32_t>();
    for (uint32_t i = 0; i < std::min(cpus, kMaxCpus) && option.ok(); ++i) {
      const auto cpu = option.Read<uint32_t>();
      const auto offset = option.Read<uint64_t>();
      const auto size = option.Read<uint64_t>();
      if (option.ok() && cpu < kMaxCpus) AddCpu(cpu, offset, size);
    }
  }

  void AddCpu(uint32_t cpu, uint64_t offset, uint64_t size) {
    recording_.cpus.push_back(
        {static_cast<model::Cpu>(cpu), [file = file_, offset, size, compression = compression_] {
           return compression == "none" ? PlainPages(file, offset, size)
                                        : CompressedPages(file, offset, size, compression);
         }});
  }

  // "Linux host 6.1.0 x86_64"
  void TakeUname(std::string_view text) {
    const std::vector<std::string_view> words = Split(Trim(text), ' ');
    if (words.size() < 4) return;
    recording_.facts.host = words[1];
    recording_.facts.kernel_release = words[2];
    recording_.facts.machine = words.back();
  }

  Result<RingRecording> Finish() {
    auto layout = kernel_compat::ParsePageLayout(header_page_);
    if (!layout) return layout.error();
    recording_.layout = *layout;
    if (layout->page_size() != page_size_) {
      return Failed("its pages have another size than their header tells");
    }
    const auto release = kernel_compat::ParseKernelRelease(recording_.facts.kernel_release);
    auto formats = MakeFormats(formats_, release ? std::optional(*release) : std::nullopt);
    if (!formats) return formats.error();
    recording_.formats = std::move(*formats);
    if (recording_.clock == "x86-tsc" || recording_.clock == "counter") {
      return MakeError(ErrorCode::kUnsupported,
                       "its trace clock '" + recording_.clock + "' does not count nanoseconds",
                       "record with: trace-cmd record -C mono");
    }
    RecordingFacts& facts = recording_.facts;
    facts.recorder = "recording by trace-cmd";
    if (!kallsyms_.empty())
      facts.kallsyms = std::make_shared<const std::string>(std::move(kallsyms_));
    if (other_buffers_ > 0) {
      recording_.warnings.push_back(std::to_string(other_buffers_) +
                                    " buffers of other trace instances are not read");
    }
    return std::move(recording_);
  }

  std::shared_ptr<const RandomFile> file_;
  RingRecording recording_;
  uint32_t page_size_ = 0;
  std::string compression_ = "none";
  std::string header_page_;
  FormatTexts formats_;
  std::string kallsyms_;
  std::map<uint16_t, uint64_t> sections_;  // where each is; a second one of a kind is not read
  size_t other_buffers_ = 0;
};

}  // namespace

Result<RingRecording> OpenTraceDat(const std::string& path) {
  auto file = RandomFile::Open(path);
  if (!file) return file.error();
  return TraceDat(std::move(*file)).Read();
}

}  // namespace offcpu::source::replay
