// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <span>
#include <utility>

namespace offcpu {

// Owns a memory mapping.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, size_t size) : address_(address), size_(size) {}
  Mapping(Mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    if (this != &other) {
      Unmap();
      address_ = std::exchange(other.address_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { Unmap(); }

  explicit operator bool() const { return address_ != nullptr; }
  std::byte* data() const { return static_cast<std::byte*>(address_); }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }

 private:
  void Unmap() {
    if (address_ != nullptr) ::munmap(address_, size_);
    address_ = nullptr;
    size_ = 0;
  }

  void* address_ = nullptr;
  size_t size_ = 0;
};

}  // namespace offcpu
