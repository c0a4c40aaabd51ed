// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forks while other threads are inside each type for several threads: the child continues to use it.
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <span>
#include <thread>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/adaptor/trace_log.hpp>
#include <ashlar/adaptor/tracing.hpp>
#include <ashlar/adaptor/tracking.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/counted_pool.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/pool_traits.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::any_thread;
using ashlar::resource_ref;
using ashlar::spin_lock;
using ashlar::synchronized;

struct object {
  std::array<std::byte, 40> bytes;
};

// Each kind has a `use()` for any thread at any time: it allocates, and frees everything.

template <class R>
void use_resource(R& resource, std::size_t bytes = 40) {
  std::array<void*, 8> blocks;
  for (void*& each : blocks) each = resource.allocate(bytes, 8);
  for (void* const each : blocks) resource.deallocate(each, bytes, 8);
}

template <class Pool>
struct counted {
  Pool pool;
  void use() {
    std::array<typename Pool::pointer, 8> taken;
    for (auto& each : taken) each = pool.make();
  }
};

template <class Pool>
struct objects {
  Pool pool{};
  void use() {
    std::array<object*, 8> taken;
    for (object*& each : taken) each = pool.acquire();
    for (object* const each : taken) pool.release(each);
  }
};

template <std::size_t Capacity>
using shared_objects =
    ashlar::object_pool<object, ashlar_test::object_traits<Capacity, ashlar::construct_on_acquire,
                                                           ashlar::throw_when_exhausted, any_thread<>>>;

struct objects_in_a_block {
  shared_objects<ashlar::dynamic_capacity> pool{1000};
  void use() {
    object* const one = pool.acquire();
    static_cast<void>(pool.live());
    pool.release(one);
  }
};

template <class Lock>
struct by_allocator {
  static void use() {
    ashlar::pool_allocator<object, Lock> allocator;
    std::array<object*, 8> taken;
    for (object*& each : taken) each = allocator.allocate(1);
    for (object* const each : taken) allocator.deallocate(each, 1);
  }
};

template <class Lock>
struct locked_pool {
  synchronized<ashlar::block_pool<>, Lock> pool{ashlar::block_pool_options{.cell_bytes = 40}};
  void use() { use_resource(pool); }
};

// A user's lock without `try_lock`.
struct blocking_lock {
  std::mutex mutex;
  void lock() { mutex.lock(); }
  void unlock() { mutex.unlock(); }
};

// An inner lock that is also used alone, so that a fork meets it held with and without the outer one.
struct lock_on_lock {
  synchronized<ashlar::tlsf_resource<>> inner;
  synchronized<resource_ref<synchronized<ashlar::tlsf_resource<>>>> outer{inner};
  std::atomic<unsigned> turn = 0;
  void use() {
    if (turn.fetch_add(1, std::memory_order_relaxed) % 2 == 0) use_resource(outer);
    else use_resource(inner);
  }
};

struct objects_on_a_lock {
  synchronized<ashlar::page_resource> pages;
  ashlar::ref_pool<object, any_thread<>, ashlar::count::by_padding, resource_ref<synchronized<ashlar::page_resource>>>
      pool{resource_ref(pages)};
  void use() {
    static_cast<void>(pool.make());
    use_resource(pages, 4096);
    static_cast<void>(pool.trim());
  }
};

// The heap takes the lock under its own locks; the other order holds the lock first.
struct heap_on_a_lock {
  synchronized<ashlar::page_resource> pages;
  ashlar::heap<resource_ref<synchronized<ashlar::page_resource>>> all{{}, resource_ref(pages)};
  void use() {
    use_resource(all);
    use_resource(pages, 4096);
    all.deallocate(all.allocate(std::size_t{5} << 20));
  }
};
struct lock_on_a_heap {
  ashlar::heap<> all;
  synchronized<resource_ref<ashlar::heap<>>> locked{all};
  void use() {
    use_resource(locked);
    use_resource(locked, 40'000);
    use_resource(all);
  }
};

struct tracked {
  synchronized<ashlar::block_pool<>> pool{ashlar::block_pool_options{.cell_bytes = 40}};
  ashlar::tracking<resource_ref<synchronized<ashlar::block_pool<>>>, ashlar::site::none, ashlar::page_resource,
                   spin_lock>
      resource{resource_ref(pool)};
  void use() { use_resource(resource); }
};

struct nowhere {
  static bool write(std::span<const std::byte>) { return true; }
  static bool flush() { return true; }
};

struct traced {
  using log_type = ashlar::trace_log<ashlar::trace::raw_codec, nowhere, spin_lock>;
  log_type log{nowhere{}};
  ashlar::shared_block_pool<> pool{{.cell_bytes = 40}};
  ashlar::tracing<resource_ref<ashlar::shared_block_pool<>>, log_type> resource{log, resource_ref(pool)};
  void use() {
    use_resource(resource);
    log.add_modules();
  }
};

struct counters {
  ashlar::counted_pool<spin_lock> pool;
  void use() { static_cast<void>(pool.drop(pool.make())); }
};

struct cached_cells {
  ashlar::shared_block_pool<> pool{{.cell_bytes = 40}};
  void use() { use_resource(pool); }
};

template <class R>
struct any_size {
  R resource{};
  void use() {
    use_resource(resource, 40);
    use_resource(resource, 3000);
    use_resource(resource, 200'000);
  }
};

struct limited {
  ashlar::shared_budget budget{std::size_t{1} << 30};
  ashlar::limiting<ashlar::page_resource, ashlar::shared_budget> resource{budget};
  void use() { use_resource(resource, 4096); }
};

template <class Kind>
class fork_of_each : public ::testing::Test {};

using kinds = ::testing::Types<
    counted<ashlar::ref_pool<object, any_thread<>>>,
    counted<ashlar::intrusive_pool<object, ashlar_test::intrusive_traits<ashlar::construct_on_acquire,
                                                                         ashlar::throw_when_exhausted, any_thread<>>>>,
    counted<ashlar::ref_pool<object, any_thread<std::mutex>>>, objects<shared_objects<1000>>,
    objects<shared_objects<ashlar::growing>>, objects_in_a_block, by_allocator<spin_lock>, by_allocator<std::mutex>,
    by_allocator<ashlar::thread_cached>, locked_pool<spin_lock>, locked_pool<std::mutex>, locked_pool<blocking_lock>,
    lock_on_lock, objects_on_a_lock, heap_on_a_lock, lock_on_a_heap, tracked, traced, counters, cached_cells,
    any_size<ashlar::shared_pool_set<>>, any_size<ashlar::pmr::synchronized_pool_resource>, any_size<ashlar::heap<>>,
    limited>;
TYPED_TEST_SUITE(fork_of_each, kinds);

TYPED_TEST(fork_of_each, leaves_the_child_what_it_can_use) {
  const ashlar_test::deadline hang;
  TypeParam shared;
  std::atomic<bool> stop = false;
  std::atomic<int> begun = 0;
  std::array<std::thread, 2> team;
  for (std::thread& each : team)
    each = std::thread([&] {
      for (++begun; !stop.load(std::memory_order_relaxed);) shared.use();
    });
  while (begun != 2) std::this_thread::yield();
  for (std::size_t round = 0; round < ashlar_test::stress_rounds(8) && !this->HasFailure(); ++round)
    EXPECT_TRUE(ashlar_test::child_does([&] {
      shared.use();
      return true;
    })) << "in round "
        << round;
  stop = true;
  for (std::thread& each : team) each.join();
}

// A thread with an object on its stack.
template <class T>
class thread_with {
public:
  thread_with() {
    while (!made_) std::this_thread::yield();
  }
  ~thread_with() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] T& object() const { return *made_; }

private:
  void work() {
    const volatile std::size_t bytes = sizeof(T) + alignof(T);  // AddressSanitizer moves what has a known size
    void* const room = __builtin_alloca(bytes);
    T* const made = ::new (ashlar::align_up(room, alignof(T))) T;
    for (made_ = made; !stop_;) std::this_thread::yield();
    made->~T();
  }

  std::atomic<T*> made_ = nullptr;
  std::atomic<bool> stop_ = false;
  std::thread thread_{[this] { work(); }};
};

// What the next thread of a child may do with a stack.
template <class T>
void overwrite(T& gone) {
  ashlar::detail::mark_live(&gone, sizeof gone);
  for (std::size_t i = 0; i < sizeof gone; ++i) reinterpret_cast<volatile unsigned char*>(&gone)[i] = 0xA5;
}

// Reads every entry.
bool are_registries_whole() {
  const int other = 0;
  return ashlar::detail::process_slabs.invariant() &&
         ashlar::detail::process_heaps.find(ashlar::detail::extent_at{&other}) == nullptr;
}

// Ends a forked child after what else the end of its thread does.
struct end_of_child {
  int status = -1;  // of the parent
  ~end_of_child() {
    if (status != -1) ::syscall(SYS_exit_group, status);
  }
};

template <class T>
void fork_without_thread_of(T& gone) {
  thread_local end_of_child last;
  last.status = -1;
  gone.use();
  const pid_t child = ::fork();
  if (child != 0) {
    int status = -1;
    EXPECT_TRUE(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return;
  }
  ::alarm(120);
  overwrite(gone);
  const bool are_whole = are_registries_whole();
  auto* const next = ::new (&gone) T;
  next->use();
  const bool forks_again = ashlar_test::child_does([&] { return next->use(), true; });
  next->~T();
  last.status = are_whole && forks_again && are_registries_whole() ? 0 : 1;
}

TYPED_TEST(fork_of_each, leads_the_child_to_no_stack_of_a_thread_that_it_lacks) {
  const ashlar_test::deadline hang;
  const thread_with<TypeParam> other;
  std::thread([&other] { fork_without_thread_of(other.object()); }).join();
}

}  // namespace
