// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "jfr/chunk.h"
#include "jfr/layout.h"

namespace offcpu::jfr {

struct Thread {
  int64_t os_id = 0;    // as the JVM saw it, in its pid namespace; 0 or -1: none (virtual threads)
  int64_t java_id = 0;  // 0: not a Java thread
  std::string os_name;
  std::string java_name;
  std::string group;
  bool is_virtual = false;

  const std::string& name() const { return java_name.empty() ? os_name : java_name; }
};

struct Method {
  std::string type_name;   // "java/lang/Thread"; a library's file name for native frames
  std::string name;        // empty only where the recording does not say
  std::string descriptor;  // "(JI)V"; empty likewise, and for native frames
};

struct Frame {
  const Method* method = nullptr;     // never null
  const std::string* kind = nullptr;  // never null; "Interpreted", "JIT compiled", "Native", ...
  int32_t line = 0;                   // -1 and 0: unknown
  int32_t bytecode_index = 0;
};

struct StackTrace {
  bool truncated = false;     // deeper than the recording, or than kMaxFrames
  std::vector<Frame> frames;  // innermost first
};

// Looks up what the events of one chunk refer to: threads, stacks, texts. Every answer is kept, so
// that asking again costs one look-up, until kKeptBytes are full; all of it is dropped then.
class Names {
 public:
  static constexpr size_t kMaxFrames = 4096;
  static constexpr size_t kKeptBytes = 24U << 20;

  // `chunk` outlives the names.
  explicit Names(const Chunk* chunk);

  // Null for null and for a key that is in no pool. Valid until the next call of the same function.
  const Thread* ThreadAt(const Value& value);
  const StackTrace* StackAt(const Value& value);

  // The text of a string, of a value with a name or with one field that stands for it (a class, a
  // symbol, a thread state, a GC name), and of a thread. None for null.
  std::optional<std::string> TextOf(const Value& value);

  // What `path` (such as "name", or "classLoader.type.name") leads to from the pool's value at
  // `key`; absent where it leads nowhere. An empty path is `key` itself. At most 16 keys deep.
  Value Follow(const Value& key, std::string_view path);

  // Keys other than 0 that were asked for and are in no pool.
  uint64_t missing_keys() const { return missing_keys_; }

 private:
  // What is read of a value of some type. Types are known by the fields that lead to them, not by
  // their names, which changed with JDK 9's successors.
  enum class Role : uint8_t { kThread, kGroup, kStack, kFrame, kMethod, kText, kStep };
  struct Entry {
    TypeIndex type = kNoType;
    uint64_t key = 0;
    bool operator==(const Entry&) const = default;
  };
  struct EntryHash {
    size_t operator()(const Entry& entry) const;
  };
  template <class T>
  using Kept = std::unordered_map<Entry, T, EntryHash>;

  // Reads chosen fields of one type.
  class Reader {
   public:
    Reader() = default;  // of nothing
    Reader(const Metadata& metadata, TypeIndex type, std::span<const std::string> paths);
    // The values of the paths, in their order, all absent where the type can't be read.
    void Read(Wire* wire, std::span<Value> values);
    // What of the first path lies behind the key that was read for it.
    std::string_view rest() const {
      return layout_ ? std::string_view(layout_->wanted()[0].rest) : std::string_view();
    }

   private:
    std::optional<Layout> layout_;
    std::vector<Value> slots_;
  };

  Reader& ReaderOf(Role role, TypeIndex type, std::string_view step = {});
  bool ReadEntry(Role role, const Value& key, std::span<Value> values, std::string_view step = {});
  std::optional<Wire> Find(const Value& key);
  std::optional<std::string> Text(const Value& value, size_t limit, int depth);
  std::optional<std::string> TextAtKey(const Value& key, size_t limit, int depth);
  std::string Name(const Value& value);
  Thread ReadThread(std::span<const Value> fields);
  StackTrace ReadStack(const Value& frames);
  const Method* MethodAt(const Value& key);
  const std::string* KindAt(const Value& key);

  const Chunk& chunk_;
  TypeIndex text_type_;
  std::map<std::tuple<Role, TypeIndex, std::string>, Reader> readers_;
  Reader no_reader_;
  Kept<Thread> threads_;
  Kept<StackTrace> stacks_;
  Kept<Method> methods_;
  Kept<std::string> kinds_;
  size_t thread_bytes_ = 0;  // in threads_
  size_t stack_bytes_ = 0;   // in stacks_, methods_ and kinds_
  uint64_t missing_keys_ = 0;
};

}  // namespace offcpu::jfr
