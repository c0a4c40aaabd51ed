// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counted buffers of bytes from a pool, and views of their parts that keep them alive.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// Uninitialised bytes, aligned for any scalar type.
template <std::size_t Bytes>
struct byte_buffer final {
  static_assert(Bytes != 0 && Bytes <= std::numeric_limits<std::uint32_t>::max());
  static constexpr std::size_t capacity = Bytes;

  alignas(std::max_align_t) std::byte bytes[Bytes];
};

/// A counted handle of one word to a buffer.
template <std::size_t Bytes, policy::threads Threads = one_thread>
using buffer_ptr = ref_ptr<byte_buffer<Bytes>, Threads>;

/// A part of a buffer, which it keeps alive: handle, offset and length, 16 bytes. Views share the buffer: a cut changes
/// two numbers and copies no byte, and a write is visible through every view of the same bytes.
///
///     | room_in_front() | size()            | room_behind() |
///     0                 offset: data()      offset + size   Bytes
///
/// Invariant: `offset + size() <= Bytes`; an empty view without buffer has offset and size 0.
template <std::size_t Bytes, policy::threads Threads = one_thread>
class buffer_view {
public:
  using pointer = buffer_ptr<Bytes, Threads>;

  buffer_view() noexcept = default;
  /// The whole buffer, or an empty view of a null handle.
  explicit buffer_view(pointer buffer) noexcept
      : buffer_(std::move(buffer)), size_(buffer_ ? static_cast<std::uint32_t>(Bytes) : 0) {}
  /// Expects: `offset + size <= Bytes`; for a null handle both are 0.
  buffer_view(pointer buffer, std::size_t offset, std::size_t size) noexcept
      : buffer_view(buffer_view(std::move(buffer)).slice(offset, size)) {}

  [[nodiscard]] std::byte* data() const noexcept { return buffer_ ? buffer_->bytes + offset_ : nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data(), size_}; }
  [[nodiscard]] std::byte& operator[](std::size_t i) const noexcept {
    ASHLAR_EXPECTS(i < size_, "indexed a buffer view past its end");
    return data()[i];
  }
  [[nodiscard]] std::byte* begin() const noexcept { return data(); }
  [[nodiscard]] std::byte* end() const noexcept { return data() + size_; }

  /// Returns: `size` bytes of this view from `offset` on. Expects: it has them.
  [[nodiscard]] buffer_view slice(std::size_t offset, std::size_t size) const& noexcept {
    return buffer_view(*this).cut(offset, size);
  }
  [[nodiscard]] buffer_view slice(std::size_t offset, std::size_t size) && noexcept {
    return std::move(cut(offset, size));
  }
  [[nodiscard]] buffer_view first(std::size_t size) const noexcept { return slice(0, size); }
  [[nodiscard]] buffer_view last(std::size_t size) const noexcept {
    return slice(size_ - std::min<std::size_t>(size, size_), size);
  }

  /// Effects: removes `size` bytes from the front. Returns: these. Expects: the view has them.
  [[nodiscard]] buffer_view take_front(std::size_t size) noexcept {
    buffer_view front = first(size);
    cut(size, size_ - size);
    return front;
  }

  /// Returns: the bytes of the buffer in front of the view, for headers, and after it, for further data.
  [[nodiscard]] std::size_t room_in_front() const noexcept { return offset_; }
  [[nodiscard]] std::size_t room_behind() const noexcept { return buffer_ ? Bytes - offset_ - size_ : 0; }

  /// Effects: extends the view by `front` bytes in front and `behind` bytes at its end. Expects: there is room.
  void extend(std::size_t front, std::size_t behind) noexcept {
    ASHLAR_REQUIRE(front <= room_in_front() && behind <= room_behind(), "extended a buffer view past its buffer");
    offset_ -= static_cast<std::uint32_t>(front);
    size_ += static_cast<std::uint32_t>(front + behind);
  }

  /// Effects: copies as many of `more` after the view as there is room for, and extends it. Returns: their number.
  std::size_t append(std::span<const std::byte> more) noexcept {
    const std::size_t count = std::min(more.size(), room_behind());
    if (count != 0) std::memcpy(data() + size_, more.data(), count);
    size_ += static_cast<std::uint32_t>(count);
    return count;
  }

  /// Returns: the buffer, or null.
  [[nodiscard]] const pointer& buffer() const noexcept { return buffer_; }

  /// Returns: whether both have the same bytes, in any buffer.
  [[nodiscard]] friend bool operator==(const buffer_view& a, const buffer_view& b) noexcept {
    return std::ranges::equal(a.bytes(), b.bytes());
  }

private:
  // A missing part is never handed out: writes to it would change foreign bytes.
  buffer_view& cut(std::size_t offset, std::size_t size) noexcept {
    ASHLAR_REQUIRE(offset <= size_ && size <= size_ - offset,
                   "cut a part out of a buffer view that lies beyond the view");
    offset_ += static_cast<std::uint32_t>(offset);
    size_ = static_cast<std::uint32_t>(size);
    return *this;
  }

  pointer buffer_;
  std::uint32_t offset_ = 0;
  std::uint32_t size_ = 0;
};

namespace detail {
template <class Threads, class Exhausted, class Upstream>
struct buffer_pool_traits : intrusive_pool_traits {
  using threads = Threads;
  using exhausted = Exhausted;
  using upstream = Upstream;
};
}  // namespace detail

/// A pool of buffers of `Bytes` bytes each. As `intrusive_pool`, bounded or growing; the buffers outlive it.
///
///     ashlar::buffer_pool<1500> packets({.max_count = 4096});
///     ashlar::buffer_view<1500> packet = packets.view();         // no byte is touched
///     packet = packet.first(receive(packet.bytes()));
///     const auto header = packet.take_front(20);                 // two views of one buffer
///
/// Thread safety: by `Threads`, as in `ref_pool`: a view belongs to one thread, the buffer to all.
template <std::size_t Bytes, policy::threads Threads, class Exhausted, resource Upstream>
class buffer_pool
    : public intrusive_pool<byte_buffer<Bytes>, detail::buffer_pool_traits<Threads, Exhausted, Upstream>> {
public:
  using buffer_pool::intrusive_pool::intrusive_pool;

  /// Returns: a buffer with uninitialised bytes. When the pool is exhausted: as `Exhausted` defines.
  [[nodiscard]] buffer_ptr<Bytes, Threads> make() { return this->make_for_overwrite(); }

  /// Returns: a view of a whole new buffer; empty if `make` returns null.
  [[nodiscard]] buffer_view<Bytes, Threads> view() { return buffer_view<Bytes, Threads>(make()); }

  /// Returns: a view of a new buffer with a copy of `bytes`. Expects: at most `Bytes` of them.
  [[nodiscard]] buffer_view<Bytes, Threads> copy(std::span<const std::byte> bytes) {
    ASHLAR_REQUIRE(bytes.size() <= Bytes, "copied more bytes than a buffer has");
    buffer_view<Bytes, Threads> made = view();
    if (made.buffer()) {
      made = std::move(made).slice(0, 0);
      made.append(bytes);
    }
    return made;
  }
};

}  // namespace ashlar::ASHLAR_ABI
