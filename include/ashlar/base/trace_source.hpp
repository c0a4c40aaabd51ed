// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The source of a trace: a file of any length, or bytes in memory; the codecs of its chunks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <string>
#include <system_error>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::trace {

/// The codec of a chunk, as the file records it. Numbers from 128 on are free for private use.
enum class codec_id : std::uint8_t { raw = 0, zstd = 1 };

/// `bound(n)` is the largest size of `n` packed bytes; `pack` returns the bytes used, 0 on failure.
template <class C>
concept packer = requires(C c, std::span<const std::byte> from, std::span<std::byte> to, std::size_t n) {
  { C::id } -> std::convertible_to<codec_id>;
  { C::bound(n) } noexcept -> std::same_as<std::size_t>;
  { c.pack(from, to) } noexcept -> std::same_as<std::size_t>;
};

/// `unpack` returns whether the input was sound and gave exactly `to.size()` bytes.
template <class C>
concept codec = packer<C> && std::default_initializable<C> &&
                requires(C c, std::span<const std::byte> from, std::span<std::byte> to) {
                  { c.unpack(from, to) } noexcept -> std::same_as<bool>;
                };

/// Stores the bytes unchanged.
struct raw_codec {
  static constexpr codec_id id = codec_id::raw;

  [[nodiscard]] static constexpr std::size_t bound(std::size_t n) noexcept { return n; }

  [[nodiscard]] std::size_t pack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    if (to.size() < from.size()) return 0;
    std::copy(from.begin(), from.end(), to.begin());
    return from.size();
  }

  [[nodiscard]] bool unpack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    return from.size() == to.size() && pack(from, to) == from.size();
  }
};

static_assert(codec<raw_codec>);

/// Random access to bytes at 64-bit offsets.
class byte_source {
public:
  explicit byte_source(std::span<const std::byte> image) noexcept : image_(image), bytes_(image.size()) {}

  explicit byte_source(const std::string& path) : refusal_(refuse(path)) {
    if (refusal_ != nullptr) return;
    file_.rdbuf()->pubsetbuf(nullptr, 0);  // no buffer: every read requests exactly the bytes it needs
    file_.open(path, std::ios::binary);
    if (file_) bytes_ = static_cast<std::uint64_t>(file_.seekg(0, std::ios::end).tellg());
    if (!file_) refusal_ = "cannot be opened for reading";
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Returns: the reason why nothing can be read, or null.
  [[nodiscard]] const char* refusal() const noexcept { return refusal_; }

  /// Returns: whether `to` could be filled from `offset` on.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> to) {
    if (offset > bytes_ || to.size() > bytes_ - offset) return false;
    if (!file_.is_open()) {
      const auto from = image_.subspan(static_cast<std::size_t>(offset), to.size());
      std::copy(from.begin(), from.end(), to.begin());
      return true;
    }
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    return static_cast<bool>(file_);
  }

private:
  [[nodiscard]] static const char* refuse(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (error == std::errc::permission_denied) return "permission denied";
    if (!std::filesystem::exists(status)) return "no such file";
    if (std::filesystem::is_directory(status)) return "is a directory";
    return std::filesystem::is_regular_file(status) ? nullptr : "is not a regular file";
  }

  std::span<const std::byte> image_;
  std::ifstream file_;
  std::uint64_t bytes_ = 0;
  const char* refusal_ = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI::trace
