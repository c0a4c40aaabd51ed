// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scope in which the thread must not use the heap: it reports every malloc and every new.
#pragma once

#include <cstddef>
#include <cstdlib>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/platform.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// One use of the heap inside a `no_heap_scope`.
struct heap_use {
  const char* function = "";     ///< the called function; under a sanitizer "malloc or new"
  std::size_t bytes = 0;         ///< the requested size
  const void* caller = nullptr;  ///< the calling code; null under a sanitizer
};

/// The hooks' report of this thread's uses: an interface between the hooks and the scopes only.
struct heap_watch {
  void (*on_use)(heap_watch& self, const heap_use& use) noexcept = nullptr;
};

#if defined(__ELF__)
// Returns: the slot of this thread's watch, null in it without one. malloc/no_heap_hooks.cpp defines the function; the
// declaration is weak, since the hooks are optional. The number in the name changes with the layout of the structs.
extern "C" __attribute__((weak)) heap_watch** ashlar_heap_watch_1() noexcept;

[[nodiscard]] inline heap_watch** heap_watch_slot() noexcept {
  return &ashlar_heap_watch_1 != nullptr ? ashlar_heap_watch_1() : nullptr;
}
#else
[[nodiscard]] inline heap_watch** heap_watch_slot() noexcept { return nullptr; }
#endif

// Replaces the thread's watch, by another one or by none, for its lifetime.
class watch_scope {
public:
  explicit watch_scope(heap_watch* watch) noexcept : slot_(heap_watch_slot()), outer_(slot_ ? *slot_ : nullptr) {
    if (slot_ != nullptr) *slot_ = watch;
    order_memory();
  }
  watch_scope(const watch_scope&) = delete;
  watch_scope& operator=(const watch_scope&) = delete;
  ~watch_scope() {
    order_memory();
    if (slot_ != nullptr) *slot_ = outer_;
    order_memory();
  }

  // Compilers know that malloc neither reads nor writes the program's data: g++ would drop stores that the hooks read
  // and would not reload data that they wrote. The fence prevents both.
  static void order_memory() noexcept { atomic_signal_fence(); }

  // Returns: whether the hooks see one malloc.
  [[nodiscard]] static bool sees_a_malloc() noexcept {
    struct probe : heap_watch {
      bool is_seen = false;
    };
    probe watch;
    watch.on_use = [](heap_watch& self, const heap_use&) noexcept { static_cast<probe&>(self).is_seen = true; };
    const watch_scope inside(&watch);
    void* (*volatile allocate)(std::size_t) = &std::malloc;  // else the compiler may remove the unused block
    std::free(allocate(1));
    return watch.is_seen;
  }

  [[nodiscard]] heap_watch* outer() const noexcept { return outer_; }
  [[nodiscard]] bool holds(const heap_watch* watch) const noexcept { return slot_ != nullptr && *slot_ == watch; }

private:
  heap_watch** slot_;
  heap_watch* outer_;
};

}  // namespace detail

/// Reports every `malloc`, `calloc`, `realloc`, `aligned_alloc` and similar call and every `operator new` of its thread
/// to the handler, in the program and in its libraries. It reports neither frees nor other threads. Scopes nest: only
/// the innermost handler is called, and all enclosing scopes count the use too.
///
///     const ashlar::no_heap_scope quiet;                                // a use writes one line and aborts
///     ashlar::no_heap_scope counted(&ashlar::no_heap_scope::count_use); // counted.uses()
///     ashlar::no_heap_scope told(&on_use, &log);                        // on_use(use, &log)
///
/// Without the hooks it would see nothing, so it ends the process at every level.
/// Cost: without an open scope, one load and one branch for each use of the heap. Thread safety: one thread for each
/// scope.
class no_heap_scope : private detail::heap_watch {
public:
  using use = detail::heap_use;

  /// Called on each use of the heap by the using thread, before the memory is handed out. Its own uses of the heap are
  /// not reported. `context` is the argument of the scope's constructor.
  using handler = void (*)(const use& seen, void* context) noexcept;

  /// Handler: writes one line to the error stream and aborts.
  [[noreturn]] ASHLAR_COLD static void abort_on_use(const use& seen, void* /*context*/) noexcept {
    panic_line line;
    line.text("ashlar: heap use: ").text(seen.function).text(" of ").number(seen.bytes);
    line.text(" bytes in a no_heap_scope");
    if (seen.caller != nullptr) line.text(", caller ").address(seen.caller);
    line.write_and_abort();
  }

  /// Handler: does nothing, since the scope counts all uses.
  static void count_use(const use& /*seen*/, void* /*context*/) noexcept {}

  /// Returns: whether this program is linked with the hooks (`ashlar::no_heap_hooks`, malloc/no_heap_hooks.cpp) and
  /// they really see calls of malloc. The first call tests this by one malloc.
  [[nodiscard]] static bool hooks_work() noexcept {
    static const bool do_work = detail::watch_scope::sees_a_malloc();
    return do_work;
  }

  no_heap_scope() noexcept : no_heap_scope(&abort_on_use) {}

  explicit no_heap_scope(handler called, void* context = nullptr) noexcept
      : heap_watch{&tell}, handler_((expect_hooks(), called)), context_(context), scope_(this) {}

  no_heap_scope(const no_heap_scope&) = delete;
  no_heap_scope& operator=(const no_heap_scope&) = delete;
  ~no_heap_scope() { ASHLAR_EXPECTS(scope_.holds(this), "ended a no_heap_scope inside another, or in another thread"); }

  /// Returns: the number of heap uses so far in this scope and in its inner scopes.
  [[nodiscard]] std::size_t uses() const noexcept {
    detail::watch_scope::order_memory();
    return uses_;
  }

private:
  static void expect_hooks() noexcept {
    ASHLAR_REQUIRE(hooks_work(), "made a no_heap_scope in a program whose heap has no hooks: link "
                                 "ashlar::no_heap_hooks, or compile malloc/no_heap_hooks.cpp into it");
  }

  static void tell(heap_watch& innermost, const use& seen) noexcept {
    const detail::watch_scope unwatched(nullptr);
    auto& told = static_cast<no_heap_scope&>(innermost);
    for (auto* each = &told; each != nullptr; each = static_cast<no_heap_scope*>(each->scope_.outer())) ++each->uses_;
    told.handler_(seen, told.context_);
  }

  handler handler_;
  void* context_;
  std::size_t uses_ = 0;
  detail::watch_scope scope_;
};

/// Permits its thread to use the heap inside any `no_heap_scope`, for known exceptions. Does nothing in a program
/// without the hooks.
class allow_heap_scope {
public:
  allow_heap_scope() noexcept = default;
  allow_heap_scope(const allow_heap_scope&) = delete;
  allow_heap_scope& operator=(const allow_heap_scope&) = delete;

private:
  detail::watch_scope scope_{nullptr};
};

}  // namespace ashlar::ASHLAR_ABI
