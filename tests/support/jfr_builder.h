// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace offcpu::test {

// Writes the values of a JFR chunk, integers compressed or big-endian.
class JfrValues {
 public:
  explicit JfrValues(bool compressed = true) : compressed_(compressed) {}

  JfrValues& Byte(unsigned value) {
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  JfrValues& Long(int64_t value) { return Integer(static_cast<uint64_t>(value), 8); }
  JfrValues& Int(int32_t value) { return Integer(static_cast<uint32_t>(value), 4); }
  JfrValues& Short(int16_t value) { return Integer(static_cast<uint16_t>(value), 2); }
  JfrValues& Key(uint64_t key) { return Integer(key, 8); }
  JfrValues& Fixed(uint64_t value, int width) {
    for (int i = width - 1; i >= 0; --i) Byte(value >> (8 * i) & 0xff);
    return *this;
  }
  JfrValues& Utf8(std::string_view text) { return Sized(3, text); }
  JfrValues& Latin1(std::string_view text) { return Sized(5, text); }
  JfrValues& Utf16(std::u16string_view text) {
    Byte(4).Int(static_cast<int32_t>(text.size()));
    for (const char16_t unit : text) Short(static_cast<int16_t>(unit));
    return *this;
  }
  JfrValues& PooledText(uint64_t key) { return Byte(2).Key(key); }
  JfrValues& Raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  bool compressed() const { return compressed_; }

 private:
  JfrValues& Integer(uint64_t value, int width) {
    if (!compressed_) return Fixed(value, width);
    for (int i = 0; i < 8; ++i, value >>= 7) {
      if (value < 0x80) return Byte(value);
      Byte((value & 0x7f) | 0x80);
    }
    return Byte(value);  // the ninth holds eight bits
  }
  JfrValues& Sized(unsigned form, std::string_view text) {
    return Byte(form).Int(static_cast<int32_t>(text.size())).Raw(text);
  }

  bool compressed_;
  std::string bytes_;
};

// An element of the metadata's tree.
struct JfrElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<JfrElement> children;

  static JfrElement Class(uint64_t id, std::string name, std::vector<JfrElement> fields = {},
                          std::string super = {}) {
    JfrElement element{"class", {{"id", std::to_string(id)}, {"name", std::move(name)}}, {}};
    if (!super.empty()) element.attributes.emplace_back("superType", std::move(super));
    element.children = std::move(fields);
    return element;
  }
  static JfrElement Event(uint64_t id, std::string name, std::vector<JfrElement> fields) {
    return Class(id, std::move(name), std::move(fields), "jdk.jfr.Event");
  }
  static JfrElement Field(std::string name, uint64_t type,
                          std::vector<JfrElement> annotations = {}) {
    JfrElement element{"field", {{"name", std::move(name)}, {"class", std::to_string(type)}}, {}};
    element.children = std::move(annotations);
    return element;
  }
  static JfrElement Annotation(uint64_t type, std::string value) {
    return {"annotation", {{"class", std::to_string(type)}, {"value", std::move(value)}}, {}};
  }
  JfrElement With(std::string key, std::string value) && {
    attributes.emplace_back(std::move(key), std::move(value));
    return std::move(*this);
  }
  JfrElement Pooled() && { return std::move(*this).With("constantPool", "true"); }
  JfrElement Array() && { return std::move(*this).With("dimension", "1"); }
  JfrElement Simple() && { return std::move(*this).With("simpleType", "true"); }
};

// Builds one chunk, well-formed unless told otherwise.
class JfrChunk {
 public:
  explicit JfrChunk(bool compressed = true) : compressed_(compressed) {}

  JfrValues Values() const { return JfrValues(compressed_); }

  // Each returns where the event begins in the chunk.
  uint64_t Event(uint64_t type, const JfrValues& payload) {
    return Append(JfrValues(compressed_).Key(type).Raw(payload.bytes()));
  }
  uint64_t Metadata(std::vector<JfrElement> classes) {
    return MetadataOf({"root", {}, {{"metadata", {}, std::move(classes)}}});
  }
  uint64_t MetadataOf(const JfrElement& root) {
    std::vector<std::string> strings;
    JfrValues tree(compressed_);
    Write(root, &strings, &tree);
    JfrValues payload(compressed_);
    payload.Long(0).Long(0).Long(1).Int(static_cast<int32_t>(strings.size()));
    for (const std::string& text : strings) payload.Utf8(text);
    metadata_ = Event(0, payload.Raw(tree.bytes()));
    return metadata_;
  }

  struct Pool {
    uint64_t type = 0;
    std::vector<std::pair<uint64_t, JfrValues>> entries;
  };
  uint64_t Checkpoint(const std::vector<Pool>& pools) {
    JfrValues payload(compressed_);
    const auto at = static_cast<int64_t>(kHeaderBytes + events_.size());
    payload.Long(0).Long(0).Long(checkpoint_ == 0 ? 0 : static_cast<int64_t>(checkpoint_) - at);
    payload.Byte(0).Int(static_cast<int32_t>(pools.size()));
    for (const Pool& pool : pools) {
      payload.Key(pool.type).Int(static_cast<int32_t>(pool.entries.size()));
      for (const auto& [key, value] : pool.entries) payload.Key(key).Raw(value.bytes());
    }
    checkpoint_ = Event(1, payload);
    return checkpoint_;
  }
  void Raw(std::string_view bytes) { events_ += bytes; }

  // What the header says; set before Bytes().
  uint16_t major = 2;
  uint16_t minor = 1;
  int64_t start_nanos = 1'000'000'000'000;
  int64_t start_ticks = 5'000;
  uint64_t ticks_per_second = 1'000'000'000;
  uint8_t state = 0;
  uint64_t size = 0;  // 0: what it is

  std::string Bytes() const {
    JfrValues header(/*compressed=*/false);
    header.Raw(std::string_view("FLR\0", 4)).Fixed(major, 2).Fixed(minor, 2);
    header.Fixed(size != 0 ? size : kHeaderBytes + events_.size(), 8);
    header.Fixed(checkpoint_, 8).Fixed(metadata_, 8);
    header.Fixed(static_cast<uint64_t>(start_nanos), 8).Fixed(0, 8);
    header.Fixed(static_cast<uint64_t>(start_ticks), 8).Fixed(ticks_per_second, 8);
    header.Byte(state).Byte(0).Fixed(compressed_ ? 1 : 0, 2);
    return header.bytes() + events_;
  }

 private:
  static constexpr size_t kHeaderBytes = 68;

  uint64_t Append(const JfrValues& event) {
    const uint64_t at = kHeaderBytes + events_.size();
    JfrValues front(compressed_);
    if (compressed_) {
      // Four bytes with padding, as the JDK reserves them.
      const size_t total = event.bytes().size() + 4;
      for (int i = 0; i < 4; ++i) front.Byte((total >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
    } else {
      front.Fixed(event.bytes().size() + 4, 4);
    }
    events_ += front.bytes() + event.bytes();
    return at;
  }
  static int32_t IndexOf(const std::string& text, std::vector<std::string>* strings) {
    for (size_t i = 0; i < strings->size(); ++i) {
      if ((*strings)[i] == text) return static_cast<int32_t>(i);
    }
    strings->push_back(text);
    return static_cast<int32_t>(strings->size() - 1);
  }
  static void Write(const JfrElement& element, std::vector<std::string>* strings, JfrValues* out) {
    out->Int(IndexOf(element.name, strings)).Int(static_cast<int32_t>(element.attributes.size()));
    for (const auto& [key, value] : element.attributes) {
      out->Int(IndexOf(key, strings)).Int(IndexOf(value, strings));
    }
    out->Int(static_cast<int32_t>(element.children.size()));
    for (const JfrElement& child : element.children) Write(child, strings, out);
  }

  bool compressed_;
  std::string events_;
  uint64_t metadata_ = 0;
  uint64_t checkpoint_ = 0;
};

// A chunk with an event of each kind of field, threads, and a stack of two frames; the first event
// is "test.Park" (type 100). See jfr/chunk_test.cc for what is in it.
JfrChunk SampleJfrChunk(bool compressed);

}  // namespace offcpu::test
