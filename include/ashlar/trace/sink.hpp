// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The destination of a trace: a file, or bytes in memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <fstream>
#include <ios>
#include <span>
#include <string>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::trace {

/// `write` appends all bytes or returns false.
template <class S>
concept byte_sink = requires(S s, std::span<const std::byte> bytes) {
  { s.write(bytes) } -> std::same_as<bool>;
};

/// A new file, or an existing one that is truncated first.
class file_sink {
public:
  explicit file_sink(const std::string& path) : file_(path, std::ios::binary | std::ios::trunc) {}

  [[nodiscard]] bool write(std::span<const std::byte> bytes) {
    file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return static_cast<bool>(file_.flush());
  }

private:
  std::ofstream file_;
};

/// A vector, which its owner reads afterwards.
class memory_sink {
public:
  explicit memory_sink(std::vector<std::byte>& bytes) noexcept : bytes_(&bytes) {}

  [[nodiscard]] bool write(std::span<const std::byte> bytes) {
    bytes_->insert(bytes_->end(), bytes.begin(), bytes.end());
    return true;
  }

private:
  std::vector<std::byte>* bytes_;
};

static_assert(byte_sink<file_sink> && byte_sink<memory_sink>);

}  // namespace ashlar::ASHLAR_ABI::trace
