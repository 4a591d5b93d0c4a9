// SPDX-License-Identifier: MIT
// What the module reads from a kernel's type information, made up here (B7, H8).
#include <linux/btf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "source/bpf/load_module.h"

namespace offcpu::source::bpf {
namespace {

// Writes BTF (Documentation/bpf/btf.rst of the kernel), as little of it as is needed.
class BtfWriter {
 public:
  uint32_t Int(const std::string& name) {
    const uint32_t id = Type(name, BTF_KIND_INT, 0, 4);
    Add(32);  // bits
    return id;
  }
  uint32_t Pointer(uint32_t to) { return Type("", BTF_KIND_PTR, 0, to); }
  uint32_t Typedef(const std::string& name, uint32_t to) {
    return Type(name, BTF_KIND_TYPEDEF, 0, to);
  }
  uint32_t Function(const std::vector<uint32_t>& parameters) {
    const uint32_t id = Type("", BTF_KIND_FUNC_PROTO, parameters.size(), 0);
    for (uint32_t parameter : parameters) {
      Add(0);
      Add(parameter);
    }
    return id;
  }
  struct Member {
    std::string name;
    uint32_t type;
  };
  uint32_t Struct(const std::string& name, const std::vector<Member>& members) {
    const uint32_t id = Type(name, BTF_KIND_STRUCT, members.size(), 64);
    for (size_t i = 0; i < members.size(); ++i) {
      Add(Name(members[i].name));
      Add(members[i].type);
      Add(static_cast<uint32_t>(i) * 64);  // bits
    }
    return id;
  }

  std::string Bytes() const {
    btf_header header{};
    header.magic = BTF_MAGIC;
    header.version = BTF_VERSION;
    header.hdr_len = sizeof(header);
    header.type_len = static_cast<uint32_t>(types_.size() * 4);
    header.str_off = header.type_len;
    header.str_len = static_cast<uint32_t>(names_.size());
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes.append(reinterpret_cast<const char*>(types_.data()), types_.size() * 4);
    return bytes + names_;
  }

 private:
  void Add(uint32_t word) { types_.push_back(word); }
  uint32_t Name(const std::string& name) {
    if (name.empty()) return 0;
    const auto at = static_cast<uint32_t>(names_.size());
    names_ += name;
    names_.push_back('\0');
    return at;
  }
  uint32_t Type(const std::string& name, uint32_t kind, size_t count, uint32_t size_or_type) {
    Add(Name(name));
    Add(kind << 24 | static_cast<uint32_t>(count));
    Add(size_or_type);
    return ++last_;
  }

  std::vector<uint32_t> types_;
  std::string names_ = std::string(1, '\0');
  uint32_t last_ = 0;
};

struct Kernel {
  size_t switch_arguments = 4;
  std::string state = "__state";
  bool realtime = false;
  std::string ring_lock = "spinlock_t";

  std::string Bytes() const {
    BtfWriter btf;
    const uint32_t number = btf.Int("int");
    const uint32_t lock = btf.Struct("spinlock", {{realtime ? "lock" : "rlock", number}});
    btf.Struct("bpf_ringbuf", {{"mask", number}, {"spinlock", btf.Typedef(ring_lock, lock)}});
    btf.Struct("task_struct", {{"flags", number}, {state, number}});
    const std::vector<uint32_t> parameters(switch_arguments + 1, number);
    btf.Typedef("btf_trace_sched_switch", btf.Pointer(btf.Function(parameters)));
    return btf.Bytes();
  }
};

class BpfModuleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto module = LoadModule();
    if (!module) GTEST_SKIP() << module.error().message;
    functions_ = *module;
  }

  offcpu_bpf_kernel Inspect(const Kernel& kernel) const {
    const std::string bytes = kernel.Bytes();
    offcpu_bpf_kernel found{};
    offcpu_bpf_error error{};
    EXPECT_EQ(functions_->inspect(bytes.data(), bytes.size(), &found, &error), 0) << error.text;
    return found;
  }

  const offcpu_bpf_functions* functions_ = nullptr;
};

TEST_F(BpfModuleTest, SwitchArgumentsAreCountedInTheTypeOfTheTracepoint) {
  EXPECT_EQ(Inspect({.switch_arguments = 3}).switch_arguments, 3);
  EXPECT_EQ(Inspect({.switch_arguments = 4}).switch_arguments, 4);
}

TEST_F(BpfModuleTest, TheStatesFieldTellsItsNameWhateverTheVersion) {
  EXPECT_EQ(Inspect({.state = "state"}).has_renamed_state, 0);
  EXPECT_EQ(Inspect({.state = "__state"}).has_renamed_state, 1);
}

TEST_F(BpfModuleTest, ARingIsNotUsedInTheSchedulerWhereItsLockSleeps) {
  EXPECT_EQ(Inspect({.realtime = false}).ring_lock_may_sleep, 0);
  EXPECT_EQ(Inspect({.realtime = true}).ring_lock_may_sleep, 1);
  EXPECT_EQ(Inspect({.realtime = true, .ring_lock = "raw_spinlock_t"}).ring_lock_may_sleep, 0);
}

TEST_F(BpfModuleTest, DamagedTypeInformationIsAnError) {
  const std::string bytes = Kernel().Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    offcpu_bpf_kernel found{};
    offcpu_bpf_error error{};
    EXPECT_NE(functions_->inspect(bytes.data(), size, &found, &error), 0) << size;
    EXPECT_NE(error.number, 0);
  }
}

TEST(BpfLoadModuleTest, AMissingModuleIsSaidWithThePlacesLookedAt) {
  const auto module = LoadModule({"/nonexistent/a.so", "/nonexistent/b.so"});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(module.error().message.find("/nonexistent/a.so, /nonexistent/b.so"), std::string::npos);
  EXPECT_FALSE(module.error().hint.empty());
}

TEST(BpfLoadModuleTest, AFileThatIsNoModuleIsAnError) {
  const auto module = LoadModule({"/proc/self/status"});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace offcpu::source::bpf
