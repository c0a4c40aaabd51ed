// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of upstreams and signal handlers that call the calling pool again: served, or reported as a deadlock.
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/adaptor/tracking.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/counted_pool.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::any_thread;
using ashlar::synchronized;

constexpr const char* reentry = "ashlar: reentry: a signal handler or a callback used the resource that it interrupted";

/// Pages; calls `on_allocate` once, before it allocates.
struct calling_pages : ashlar::page_resource {
  static constexpr bool is_thread_safe = true;
  static inline void (*on_allocate)() = nullptr;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    if (const auto call = std::exchange(on_allocate, nullptr)) call();
    return ashlar::page_resource::allocate(bytes, alignment);
  }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (const auto call = std::exchange(on_allocate, nullptr)) call();
    return ashlar::page_resource::try_allocate(bytes, alignment);
  }
};

// Each kind has a `use()` that needs memory of the upstream at the first call, and declares whether it calls the
// upstream under a lock.

template <class Pool>
struct counted {
  static constexpr bool waits_for_itself = true;
  Pool pool;
  void use() { static_cast<void>(pool.make()); }
};

struct object {
  std::byte bytes[40];
};

template <std::size_t Capacity>
struct objects {
  static constexpr bool waits_for_itself = true;
  using pool_type =
      ashlar::object_pool<object,
                          ashlar_test::object_traits<Capacity, ashlar::construct_on_acquire,
                                                     ashlar::throw_when_exhausted, any_thread<>, calling_pages>>;
  pool_type pool = make();
  void use() { pool.release(pool.acquire()); }

  static pool_type make() {
    if constexpr (Capacity == ashlar::growing) return pool_type();
    else return pool_type(100);
  }
};

template <class R, bool WaitsForItself>
struct resource {
  static constexpr bool waits_for_itself = WaitsForItself;
  R all{};
  void use() { all.deallocate(all.allocate(40, 8), 40, 8); }
};

struct cells {
  static constexpr bool waits_for_itself = true;
  synchronized<ashlar::block_pool<calling_pages>> pool{ashlar::block_pool_options{.cell_bytes = 40}};
  void use() { pool.deallocate(pool.allocate(40, 8), 40, 8); }
};

struct cached_cells {
  static constexpr bool waits_for_itself = false;
  ashlar::shared_block_pool<calling_pages> pool{{.cell_bytes = 40}};
  void use() { pool.deallocate(pool.allocate()); }
};

struct counters {
  static constexpr bool waits_for_itself = true;
  ashlar::counted_pool<ashlar::spin_lock, ashlar::detail::atomic_counter, calling_pages> pool;
  void use() { static_cast<void>(pool.drop(pool.make())); }
};

// Memory for the record is requested under the lock.
using tracked =
    resource<ashlar::tracking<ashlar::page_resource, ashlar::site::none, calling_pages, ashlar::spin_lock>, true>;

// The upstream is called without the locks of the heap.
struct huge_blocks {
  static constexpr bool waits_for_itself = false;
  static constexpr std::size_t bytes = std::size_t{5} << 20;
  ashlar::heap<calling_pages> all;
  huge_blocks() { all.deallocate(all.allocate(40)); }
  void use() { all.deallocate(all.allocate(bytes), bytes, 16); }
};

template <class Kind>
struct reentry_of : ::testing::Test {
  static constexpr bool waits_for_itself = Kind::waits_for_itself;
  static Kind& shared() {
    static Kind kind;
    return kind;
  }
  static void use_shared() { shared().use(); }
};

using kinds = ::testing::Types<
    counted<ashlar::ref_pool<object, any_thread<>, ashlar::count::by_padding, calling_pages>>,
    counted<ashlar::intrusive_pool<
        object, ashlar_test::intrusive_traits<ashlar::construct_on_acquire, ashlar::throw_when_exhausted, any_thread<>,
                                              ashlar::count::by_padding, calling_pages>>>,
    objects<ashlar::growing>, objects<ashlar::dynamic_capacity>, cells, resource<synchronized<calling_pages>, true>,
    resource<synchronized<ashlar::tlsf_resource<calling_pages>>, true>, counters, tracked, cached_cells,
    resource<ashlar::shared_pool_set<calling_pages>, false>, huge_blocks>;
TYPED_TEST_SUITE(reentry_of, kinds);

// A served call ends the child normally; one that would wait for itself is not tried at `fast`, which does not report
// it.
template <class Test>
void expect_told(void (*on_allocate)()) {
  const auto begin = [on_allocate] {
    ::alarm(60);
    static_cast<void>(Test::shared());
    calling_pages::on_allocate = on_allocate;
    Test::use_shared();
    std::_Exit(calling_pages::on_allocate == nullptr ? 0 : 1);
  };
  if constexpr (!Test::waits_for_itself) EXPECT_EXIT(begin(), ::testing::ExitedWithCode(0), "");
  else if constexpr (ashlar_test::is_checked) ASHLAR_EXPECT_DEATH(begin(), reentry);
}

TYPED_TEST(reentry_of, an_upstream) { expect_told<reentry_of<TypeParam>>(&reentry_of<TypeParam>::use_shared); }

TYPED_TEST(reentry_of, a_signal_handler) {
  expect_told<reentry_of<TypeParam>>([] {
    std::signal(SIGUSR1, [](int) { reentry_of<TypeParam>::use_shared(); });
    static_cast<void>(std::raise(SIGUSR1));
  });
}

// A fork waits for all locks, so no fork happens inside one.
TYPED_TEST(reentry_of, a_fork) {
  if constexpr (TypeParam::waits_for_itself && ashlar_test::is_checked)
    ASHLAR_EXPECT_DEATH(
        {
          ::alarm(60);
          static_cast<void>(this->shared());
          calling_pages::on_allocate = [] { static_cast<void>(::fork()); };
          this->use_shared();
        },
        "ashlar: reentry: a signal handler or a callback forked within a call that holds a lock");
}

}  // namespace
