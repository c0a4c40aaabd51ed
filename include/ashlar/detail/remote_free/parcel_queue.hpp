// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parcels on their way to a heap: an inbox that any thread adds to, and those taken from it but not unpacked.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/remote_free/inbox.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// The writes of senders share no cache line with those of the heap. Thread safety: any thread, but one at a time calls
/// `take`.
template <class Atomics = default_atomics>
class parcel_queue {
public:
  using carrier = parcel_carrier<Atomics>;

  /// Effects: adds a parcel of `bytes` bytes. Lock-free. The sender does not touch it afterwards.
  void push(carrier* top, std::size_t bytes) noexcept {
    static_cast<void>(inbox_.push(top));
    bytes_.fetch_add(bytes, memory_order_relaxed);  // counts, and guards nothing
  }

  /// Returns: a parcel, or null. `twice(top)` is called for one that was taken before, which a double free has sent
  /// again: the links are a circle, and end there.
  template <class F>
  [[nodiscard]] carrier* take(F twice) noexcept {
    carrier* top = pending_.load(memory_order_relaxed);
    if (top == nullptr) {
      bytes_.store(0, memory_order_relaxed);
      top = inbox_.take_all();
      if (top == nullptr) return nullptr;
    }
    carrier* next = top->next;
    if (ASHLAR_UNLIKELY(next == carrier::taken())) next = nullptr, twice(top);
    top->next = carrier::taken();
    if (next != nullptr) next->fetch_ahead();
    pending_.store(next, memory_order_relaxed);
    return top;
  }

  /// Returns: whether there was none at the call.
  [[nodiscard]] bool is_empty() const noexcept {
    return pending_.load(memory_order_relaxed) == nullptr && inbox_.is_empty();
  }

  /// Returns: bytes of the cells in the inbox, approximately: a parcel that is being added may be missing.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(memory_order_relaxed); }

private:
  alignas(64) inbox<carrier, Atomics> inbox_;
  typename Atomics::template atomic<std::size_t> bytes_ = 0;
  alignas(64) typename Atomics::template atomic<carrier*> pending_ = nullptr;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
