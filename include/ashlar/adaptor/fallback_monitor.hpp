// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor for a fallback that should rarely serve: it counts every request and allows, reports, refuses or aborts.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/thread/work_scope.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

namespace spill {

/// The treatment of a request after it has been counted.
enum class action {
  allow,   ///< Serves it.
  notify,  ///< Calls the callback, then serves it.
  refuse,  ///< Fails it: null, or `std::bad_alloc`.
  end      ///< Writes one line that names it, and aborts.
};

/// One request, as a callback sees it.
struct request {
  std::size_t bytes = 0;
  std::size_t alignment = 0;
  const void* monitor = nullptr;
};

/// Called for every spill while `spill::action::notify` is chosen. It may use the monitor: its own requests are counted
/// and served without a callback.
using callback = void (*)(void* context, const request& seen) noexcept;

/// Spills of a monitor since its construction or last reset. Requests that the monitor or its upstream refused are
/// counted.
struct counters {
  std::uint64_t spills = 0;  ///< requests
  std::uint64_t bytes = 0;   ///< bytes of all requests
  std::size_t largest = 0;   ///< bytes of the largest request

  [[nodiscard]] friend bool operator==(const counters&, const counters&) noexcept = default;
};

}  // namespace spill

/// Owns an `R`, made from the arguments. Every request for memory is a spill: counted, then treated as chosen. Growing
/// a block in place is a request for the difference. Frees are not counted. Has exactly the refinements of `R`, thread
/// safety and divisibility included:
///
///     using spilling = ashlar::fallback_monitor<ashlar::new_delete_resource>;
///     ashlar::fallback<ashlar::inline_buffer<4096>, spilling> scratch;
///     scratch.second().choose(ashlar::spill::action::refuse);
///
/// Spills are allowed until another treatment is chosen. Two are equal if their upstreams are: they have no state of
/// any block. Thread safety: as `R`; any thread may use the counters and choices. Neither copies nor moves.
template <resource R>
class fallback_monitor : public forwarding<R> {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<R>;
  static constexpr std::size_t least_part_bytes = least_part<R>;

  using forwarding<R>::forwarding;
  using forwarding<R>::upstream_resource;

  fallback_monitor() = default;
  fallback_monitor(const fallback_monitor&) = delete;
  fallback_monitor& operator=(const fallback_monitor&) = delete;

  /// As `R::allocate`. Throws: `std::bad_alloc` also if spills are refused.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    if (!passes(bytes, alignment)) throw_bad_alloc(bytes, alignment);
    return upstream_resource().allocate(bytes, alignment);
  }

  /// As `R::try_allocate`. Returns: null also if spills are refused.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    return passes(bytes, alignment) ? upstream_resource().try_allocate(bytes, alignment) : nullptr;
  }

  /// As `R::allocate_at_least`. Throws: as `allocate`.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<R>
  {
    if (!passes(bytes, alignment)) throw_bad_alloc(bytes, alignment);
    return upstream_resource().allocate_at_least(bytes, alignment);
  }

  /// As `R::deallocate`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream_resource().deallocate(p, bytes, alignment);
  }

  /// As `R::deallocate`.
  void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    upstream_resource().deallocate(p);
  }

  /// As `R::try_expand`. Returns: false also if the block would grow and spills are refused.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    if (new_bytes > bytes && !passes(new_bytes - bytes, alignment)) return false;
    return upstream_resource().try_expand(p, bytes, new_bytes, alignment);
  }

  /// Effects: sets the treatment of later requests. `spill::action::notify` uses the callback set last.
  void choose(spill::action what) noexcept { what_.store(what); }

  /// Effects: chooses `spill::action::notify`, or `spill::action::allow` if `callback` is null.
  /// Thread safety: only while no request is under way.
  void call(spill::callback callback, void* context = nullptr) noexcept {
    callback_ = callback;
    context_ = context;
    choose(callback != nullptr ? spill::action::notify : spill::action::allow);
  }

  [[nodiscard]] spill::action chosen() const noexcept { return what_.load(); }

  /// Returns: the counters. While other threads spill, they may be of different moments.
  [[nodiscard]] spill::counters counters() const noexcept { return {spills_.load(), bytes_.load(), largest_.load()}; }

  /// Effects: sets the counters to zero.
  void reset_counters() noexcept {
    spills_.store(0);
    bytes_.store(0);
    largest_.store(0);
  }

  [[nodiscard]] friend bool operator==(const fallback_monitor& a, const fallback_monitor& b) noexcept {
    return a.upstream_resource() == b.upstream_resource();
  }

private:
  using callback_scope = detail::work_scope<fallback_monitor>;

  // Counted before any callback runs. Relaxed suffices: the counters order no other memory.
  ASHLAR_COLD bool passes(std::size_t bytes, std::size_t alignment) noexcept {
    count(bytes);
    const spill::action what = chosen();
    if (what == spill::action::refuse) return false;
    if (what == spill::action::end) end(bytes, alignment);
    if (what == spill::action::notify) notify(bytes, alignment);
    return true;
  }

  void count(std::size_t bytes) noexcept {
    spills_.fetch_add(1);
    bytes_.fetch_add(bytes);
    largest_.raise_to(bytes);
  }

  void notify(std::size_t bytes, std::size_t alignment) noexcept {
    if (callback_ == nullptr || callback_scope::is_within(this)) return;
    const callback_scope scope(this);
    callback_(context_, {bytes, alignment, this});
  }

  [[noreturn]] void end(std::size_t bytes, std::size_t alignment) const noexcept {
    panic_line line;
    line.text("ashlar: spill: ").number(bytes).text(" bytes at alignment ").number(alignment);
    line.text(" were requested through a closed fallback_monitor at ").address(this).write_and_abort();
  }

  detail::relaxed_atomic<std::uint64_t> spills_ = 0;
  detail::relaxed_atomic<std::uint64_t> bytes_ = 0;
  detail::relaxed_atomic<std::size_t> largest_ = 0;
  detail::relaxed_atomic<spill::action> what_ = spill::action::allow;
  spill::callback callback_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI
