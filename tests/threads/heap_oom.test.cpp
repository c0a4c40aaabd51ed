// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exhausted memory under heaps for several threads: each request to the upstream is refused in turn, as are the records
// of threads.
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/heap/remote_freer.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/fail_each_allocation.hpp"
#include "tests/support/serialised_ref.hpp"
#include "tests/support/stamped_block.hpp"

namespace {

using ashlar_test::counting_resource;
using ashlar_test::fail_each_allocation;
using ashlar_test::stamped_block;

// Cells of some classes, spans, huge blocks, and more segments than the first table holds.
constexpr std::size_t sizes[] = {16, 48, 2'000, 33'000, 3'900'000, 4'300'000, 3'800'000, 3'700'000, 100'000};

/// The blocks of a scenario, of any thread.
class holdings {
public:
  /// Effects: calls `allocate(bytes)` for each size. Returns: whether all succeed.
  template <class Allocate>
  bool fill(Allocate allocate) {
    bool all = true;
    for (const std::size_t bytes : sizes) {
      const stamped_block block{allocate(bytes), bytes, blocks_.size()};
      all = all && block.p != nullptr;
      if (block.p == nullptr) continue;
      block.write();
      blocks_.push_back(block);
    }
    return all;
  }

  template <class Free>
  void empty(Free free) {
    for (const stamped_block& each : std::exchange(blocks_, {})) {
      EXPECT_TRUE(each.is_intact());
      free(each.p);
    }
  }

private:
  std::vector<stamped_block> blocks_;
};

// The upstream of an `owner_heap` and its freer.
struct arena_with_freer {
  using upstream = ashlar::resource_ref<counting_resource<>>;

  ashlar::owner_heap<upstream> blocks;
  ashlar::remote_freer<upstream> freer;

  explicit arena_with_freer(counting_resource<>& from) : blocks({.retain_bytes = 0}, from) {}
  [[nodiscard]] bool invariant() const { return blocks.invariant() && freer.invariant(); }
};

TEST(heap_oom_threads, every_refusal_leaves_an_owner_and_a_freer_usable) {
  fail_each_allocation([](counting_resource<>& upstream) { return arena_with_freer(upstream); },
                       [](arena_with_freer& arena) {
                         holdings held;
                         const bool all =
                             held.fill([&](std::size_t bytes) { return arena.blocks.try_allocate(bytes); });
                         held.empty([&](void* p) { arena.freer.defer_free(arena.blocks, p); });
                         arena.freer.flush();
                         static_cast<void>(arena.blocks.trim());
                         EXPECT_EQ(arena.blocks.held_bytes(), 0u);
                         return all;
                       });
}

struct heap_of_all {
  using type = ashlar::heap<ashlar_test::serialised_ref<>>;
  std::unique_ptr<type> blocks;

  explicit heap_of_all(counting_resource<>& from)
      : blocks(std::make_unique<type>(ashlar::heap_options{.retain_bytes = 0}, from)) {}
  [[nodiscard]] bool invariant() const { return blocks->invariant(); }
};

// One thread allocates, another one without blocks frees; an ending thread leaves its heap to this one.
bool hands_blocks_over(heap_of_all& all) {
  holdings held;
  bool good = false;
  std::thread([&] {
    good = held.fill([&](std::size_t bytes) { return all.blocks->try_allocate(bytes); });
    std::thread([&] { held.empty([&](void* p) { all.blocks->deallocate(p); }); }).join();
    good = held.fill([&](std::size_t bytes) { return all.blocks->try_allocate(bytes); }) && good;
  }).join();
  good = held.fill([&](std::size_t bytes) { return all.blocks->try_reallocate(nullptr, bytes); }) && good;
  held.empty([&](void* p) {
    const std::size_t bytes = all.blocks->usable_size(p);
    void* const moved = bytes < 1'000'000 ? all.blocks->try_reallocate(p, bytes + 1000) : nullptr;
    all.blocks->deallocate(moved != nullptr ? moved : p);
  });
  static_cast<void>(all.blocks->trim());
  EXPECT_EQ(all.blocks->held_bytes(), 0u);
  return good;
}

TEST(heap_oom_threads, every_refusal_leaves_a_heap_of_all_usable) {
  fail_each_allocation([](counting_resource<>& upstream) { return heap_of_all(upstream); }, hands_blocks_over);
}

// Destroyed when the thread no longer has a record and can have none: it was made before the first use.
struct last_act {
  const std::function<void()>* act = nullptr;
  ~last_act() {
    if (act != nullptr) (*act)();
  }
};

// Calls `act` in a thread that has used `all` and ends.
void in_a_thread_that_ends(ashlar::heap<>& all, const std::function<void()>& act) {
  std::thread([&] {
    thread_local last_act last;
    last.act = &act;
    all.deallocate(all.allocate(64));  // from now on the end of the thread runs code
  }).join();
}

// The common heap serves threads without a heap, and takes remote frees: also without even the link to the records.
TEST(heap_oom_threads, serves_threads_that_cannot_be_known) {
  for (const bool is_linked : {true, false}) {
    ashlar::heap<> other, all;
    holdings held, of_known;
    EXPECT_TRUE(of_known.fill([&](std::size_t bytes) { return all.try_allocate(bytes); }));
    in_a_thread_that_ends(is_linked ? all : other, [&] {
      EXPECT_TRUE(held.fill([&](std::size_t bytes) { return all.try_allocate(bytes); }));
      of_known.empty([&](void* p) { all.deallocate(p); });
      held.empty([&](void* p) { all.deallocate(p); });
      EXPECT_TRUE(held.fill([&](std::size_t bytes) { return all.try_allocate(bytes); }));
      all.flush();
      static_cast<void>(all.detach());
    });
    std::thread([&] { held.empty([&](void* p) { all.deallocate(p); }); }).join();
    EXPECT_TRUE(all.invariant());
    static_cast<void>(all.trim());
    EXPECT_EQ(all.held_bytes(), 0u);
  }
}

}  // namespace
