// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that writes a trace of its calls for `ashlar replay` and `ashlar report`.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/adaptor/trace_log.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/site.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an `R`, made from the arguments after the log, and behaves as it does. Has exactly the refinements of `R`,
/// except that it is not divisible. Thread-safe if `R` is and the log has a lock.
///
///     ashlar::trace_log<> log("pool.trace");
///     ashlar::tracing<ashlar::block_pool<>> pool(log, ashlar::block_pool_options{.cell_bytes = 64});
///
/// An allocation is recorded as `new`, a free as `delete`, a successful `try_expand` as a `realloc` in place. Under the
/// log's lock, frees are recorded before they happen and allocations afterwards. So in the trace every address is freed
/// before it is handed out again, with any number of threads.
///
/// If `R` has `release()`, the adaptor keeps the set of live addresses (on the global heap) and records them as freed.
/// Blocks that `R` takes back without a call of this adaptor (a rewound arena) are recorded as freed when their address
/// is handed out again. Lifetime: the log outlives the adaptor. Complexity: as `R`, one clock reading, and O(1).
template <resource R, class Log, class Site>
class tracing : public forwarding<R> {
  static_assert(policy::site<Site>, "a site has capture, describe, frames and operator==");

  using lock_type = typename Log::lock_type;

public:
  static constexpr bool is_thread_safe = thread_safe_resource<R> && !std::same_as<lock_type, null_lock>;

  using forwarding<R>::upstream_resource;

  template <class... Args>
    requires std::constructible_from<R, Args...>
  explicit tracing(Log& log, Args&&... args) : forwarding<R>(std::forward<Args>(args)...), log_(std::addressof(log)) {}
  tracing(const tracing&) = delete;
  tracing& operator=(const tracing&) = delete;
  ~tracing() = default;

  /// As `R::allocate`.
  [[nodiscard]] ASHLAR_NOINLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    note_at_end end{*this, bytes, alignment, Site::capture(ASHLAR_RETURN_ADDRESS())};
    return end.p = upstream_resource().allocate(bytes, alignment);
  }

  /// As `R::try_allocate`.
  [[nodiscard]] ASHLAR_NOINLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    note_at_end end{*this, bytes, alignment, Site::capture(ASHLAR_RETURN_ADDRESS())};
    return end.p = upstream_resource().try_allocate(bytes, alignment);
  }

  /// As `R::allocate_at_least`. The trace records the bytes requested.
  [[nodiscard]] ASHLAR_NOINLINE block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<R>
  {
    note_at_end end{*this, bytes, alignment, Site::capture(ASHLAR_RETURN_ADDRESS())};
    const block got = upstream_resource().allocate_at_least(bytes, alignment);
    end.p = got.data;
    return got;
  }

  /// As `R::deallocate`.
  ASHLAR_NOINLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    note_free(p, bytes, alignment, Site::capture(ASHLAR_RETURN_ADDRESS()));
    upstream_resource().deallocate(p, bytes, alignment);
  }

  /// As `R::deallocate`; null is not an event.
  ASHLAR_NOINLINE void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    if (p == nullptr) return;
    note_free(p, 0, 0, Site::capture(ASHLAR_RETURN_ADDRESS()));
    upstream_resource().deallocate(p);
  }

  /// As `R::try_expand`.
  [[nodiscard]] ASHLAR_NOINLINE bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes,
                                                std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    if (!upstream_resource().try_expand(p, bytes, new_bytes, alignment)) return false;
    log_->resized(p, new_bytes, alignment, Site::capture(ASHLAR_RETURN_ADDRESS()).frames());
    return true;
  }

  /// As `R::release`; the trace records every live block as freed.
  ASHLAR_NOINLINE void release() noexcept
    requires releasable_resource<R>
  {
    const Site here = Site::capture(ASHLAR_RETURN_ADDRESS());
    live_.take_all([&](const void* p) { log_->freed(p, 0, 0, here.frames()); });
    upstream_resource().release();
  }

  [[nodiscard]] Log& log() const noexcept { return *log_; }

  [[nodiscard]] friend bool operator==(const tracing& a, const tracing& b) noexcept {
    if (&a == &b) return true;
    if constexpr (releasable_resource<R>) return false;  // each has its own set of live addresses
    return a.log_ == b.log_ && a.upstream_resource() == b.upstream_resource();
  }

private:
  // The live addresses, for a resource that can release all blocks at once. An address without memory for its entry is
  // not kept: it is recorded as freed when it is handed out again.
  class live_addresses {
  public:
    void add(const void* p) noexcept {
      const scope held(lock_);
      ASHLAR_TRY { addresses_.insert(p); }
      ASHLAR_CATCH_ALL {}
    }
    void take(const void* p) noexcept {
      const scope held(lock_);
      addresses_.erase(p);
    }
    template <class F>
    void take_all(F f) noexcept {
      const scope held(lock_);
      for (const void* const each : addresses_) f(each);
      addresses_.clear();
    }

  private:
    using scope = check_scope<detail::fork_safe<lock_type>>;

    std::unordered_set<const void*> addresses_;
    detail::fork_safe<lock_type> lock_ = {};
  };

  struct no_addresses {
    static void add(const void*) noexcept {}
    static void take(const void*) noexcept {}
  };

  // Records an allocation at the end of the call, with null if an exception leaves it.
  struct note_at_end {
    tracing& owner;
    std::size_t bytes;
    std::size_t alignment;
    Site where;
    void* p = nullptr;

    ~note_at_end() {
      owner.log_->allocated(p, bytes, alignment, where.frames());
      if (p != nullptr) owner.live_.add(p);
    }
  };

  void note_free(void* p, std::size_t bytes, std::size_t alignment, const Site& where) noexcept {
    live_.take(p);
    log_->freed(p, bytes, alignment, where.frames());
  }

  Log* log_;
  ASHLAR_NO_UNIQUE_ADDRESS std::conditional_t<releasable_resource<R>, live_addresses, no_addresses> live_;
};

}  // namespace ashlar::ASHLAR_ABI
