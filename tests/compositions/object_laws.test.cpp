// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws of every way to make objects in pools: bounds, memory that fails, constructors that throw or use the pool.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/face/slot_map.hpp>
#include <ashlar/face/unique.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/face/witness.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/fail_each_allocation.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using namespace ashlar_test;
using ashlar::any_thread;
using ashlar::construct_on_acquire;
using ashlar::one_thread;
using ashlar::throw_when_exhausted;
using counted = ashlar::resource_ref<counting_resource<>>;

// An object of any kind, or null; its end is the end of the object.
using held = std::shared_ptr<void>;

template <class Holder>
[[nodiscard]] held hold(Holder holder) {
  if (!holder) return nullptr;
  return std::make_shared<Holder>(std::move(holder));
}

// A subject is made from `(upstream, bound)`, and holds pools whose objects may only be a few. `reserve` is optional.
template <class Pool>
struct of_pool {
  template <class... Args>
  explicit of_pool(Args&&... args) : pool(std::forward<Args>(args)...) {}
  template <class... Args>
  [[nodiscard]] held make(Args&&... args) {
    return hold(pool.make(std::forward<Args>(args)...));
  }
  template <class... Args>
  [[nodiscard]] held try_make(Args&&... args) {
    return hold(pool.try_make(std::forward<Args>(args)...));
  }
  void reserve(std::size_t count) {
    if constexpr (requires { pool.reserve(count); }) pool.reserve(count);
    else pool.reserve();
  }
  [[nodiscard]] std::size_t live() const { return pool.live(); }
  [[nodiscard]] bool invariant() const { return pool.invariant(); }
  Pool pool;
};

template <class Threads>
struct in_slabs {
  template <class T>
  struct of : of_pool<ashlar::object_pool<
                  T, object_traits<ashlar::growing, construct_on_acquire, throw_when_exhausted, Threads, counted>>> {
    of(counting_resource<>& upstream, std::size_t bound)
        : of::of_pool(ashlar::object_pool_options{.max_count = bound, .growth_count = 8}, construct_on_acquire(),
                      counted(upstream)) {}
  };
};

template <class Threads>
struct in_a_block {
  template <class T>
  struct of
      : of_pool<ashlar::object_pool<
            T, object_traits<ashlar::dynamic_capacity, construct_on_acquire, throw_when_exhausted, Threads, counted>>> {
    of(counting_resource<>& upstream, std::size_t bound)
        : of::of_pool(bound, construct_on_acquire(), counted(upstream)) {}
  };
};

template <class Threads>
struct intrusive {
  template <class T>
  struct of : of_pool<ashlar::intrusive_pool<T, intrusive_traits<construct_on_acquire, throw_when_exhausted, Threads,
                                                                 ashlar::count::by_padding, counted>>> {
    of(counting_resource<>& upstream, std::size_t bound)
        : of::of_pool(ashlar::intrusive_pool_options{.max_count = bound, .growth_count = 8}, counted(upstream)) {}
  };
};

template <class Threads, class Placement>
struct references {
  static constexpr bool has_no_bound = true;
  template <class T>
  struct of : of_pool<ashlar::ref_pool<T, Threads, Placement, counted>> {
    of(counting_resource<>& upstream, std::size_t) : of::of_pool(counted(upstream)) {}
  };
};

struct handles {
  template <class T>
  struct of {
    using map_type = ashlar::slot_map<T, counted>;
    struct erased {
      erased(map_type& m, ashlar::slot_handle<T> h) : map(&m), at(std::make_unique<ashlar::slot_handle<T>>(h)) {}
      explicit operator bool() const { return map->contains(*at); }
      erased(erased&&) noexcept = default;
      ~erased() {
        if (at) map->erase(*at);
      }
      map_type* map;
      std::unique_ptr<ashlar::slot_handle<T>> at;
    };
    of(counting_resource<>& upstream, std::size_t bound) : map({.max_count = bound}, counted(upstream)) {}
    template <class... Args>
    [[nodiscard]] held make(Args&&... args) {
      return hold(erased(map, map.emplace(std::forward<Args>(args)...)));
    }
    template <class... Args>
    [[nodiscard]] held try_make(Args&&... args) {
      return hold(erased(map, map.try_emplace(std::forward<Args>(args)...)));
    }
    void reserve(std::size_t count) { map.reserve(count); }
    [[nodiscard]] std::size_t live() const { return map.size(); }
    [[nodiscard]] bool invariant() const { return map.invariant(); }
    map_type map;
  };
};

// Pointers that know their pool of cells.
using cells = ashlar::block_pool<counted>;
[[nodiscard]] ashlar::block_pool_options bounded(ashlar::block_pool_options options, std::size_t bound) {
  options.slab_bytes = 4096;
  options.max_count = bound;
  return options;
}

struct of_cells {
  of_cells(counting_resource<>& upstream, const ashlar::block_pool_options& options)
      : pool(options, counted(upstream)) {}
  void reserve(std::size_t count) { pool.reserve(count); }
  [[nodiscard]] std::size_t live() const { return pool.live(); }
  [[nodiscard]] bool invariant() const { return pool.invariant(); }
  cells pool;
};

struct unique_pointers {
  template <class T>
  struct of : of_cells {
    of(counting_resource<>& upstream, std::size_t bound)
        : of_cells(upstream, bounded({.cell_bytes = sizeof(T)}, bound)) {}
    template <class... Args>
    [[nodiscard]] held make(Args&&... args) {
      return hold(ashlar::allocate_unique<T>(this->pool, std::forward<Args>(args)...));
    }
    template <class... Args>
    [[nodiscard]] held try_make(Args&&... args) {
      return hold(ashlar::try_allocate_unique<T>(this->pool, std::forward<Args>(args)...));
    }
  };
};

// They refuse by throwing alone.
struct shared_pointers {
  template <class T>
  struct of : of_cells {
    of(counting_resource<>& upstream, std::size_t bound)
        : of_cells(upstream, bounded(ashlar::shared_cell_options<T>(), bound)) {}
    template <class... Args>
    [[nodiscard]] held make(Args&&... args) {
      return hold(ashlar::allocate_shared_pooled<T>(this->pool, std::forward<Args>(args)...));
    }
  };
};

template <class Kind>
class objects : public ::testing::Test {
protected:
  template <class T>
  using of = typename Kind::template of<T>;
  static constexpr bool has_bound = !requires { Kind::has_no_bound; };
  static constexpr bool says_null = requires(of<int>& objects) { objects.try_make(1); };
  counting_resource<> upstream;
};
using kinds =
    ::testing::Types<in_slabs<one_thread>, in_slabs<any_thread<>>, in_a_block<one_thread>, in_a_block<any_thread<>>,
                     intrusive<one_thread>, intrusive<any_thread<>>, references<one_thread, ashlar::count::by_padding>,
                     references<any_thread<>, ashlar::count::in_slab>,
                     references<any_thread<ashlar::null_lock>, ashlar::count::beside>, handles, unique_pointers,
                     shared_pointers>;
TYPED_TEST_SUITE(objects, kinds);

constexpr std::size_t bound = 20;

TYPED_TEST(objects, are_refused_at_the_bound_and_one_more_is_made_after_one_has_ended) {
  if constexpr (TestFixture::has_bound) {
    typename TestFixture::template of<int> numbers(this->upstream, bound);
    std::vector<held> all;
    for (std::size_t i = 0; i < bound; ++i) all.push_back(numbers.make(static_cast<int>(i)));
    for (int again = 0; again < 100; ++again) {
      if constexpr (TestFixture::says_null) ASSERT_EQ(numbers.try_make(1), nullptr);
#if defined(__cpp_exceptions)
      ASSERT_THROW(static_cast<void>(numbers.make(1)), std::bad_alloc);
#endif
    }
    EXPECT_EQ(numbers.live(), bound);
    all[7].reset();
    all[7] = numbers.make(1);
    EXPECT_NE(all[7], nullptr);
    EXPECT_TRUE(numbers.invariant());
  }
}

TYPED_TEST(objects, survive_each_failure_of_their_upstream) {
  using text = typename TestFixture::template of<std::string>;
  const auto make = [](counting_resource<>& from) { return std::make_unique<text>(from, std::size_t{400}); };
  if constexpr (TestFixture::says_null)
    fail_each_allocation(make, [](std::unique_ptr<text>& texts) {
      std::vector<held> all;
      for (int i = 0; i < 300; ++i) {
        all.push_back(texts->try_make("a string that is too long to lie in itself"));
        if (all.back() == nullptr) return false;
      }
      EXPECT_TRUE(texts->invariant());
      return true;
    });
  if constexpr (has_exceptions)
    fail_each_allocation(make, [](std::unique_ptr<text>& texts) {
      std::vector<held> all;
      for (int i = 0; i < 300; ++i) all.push_back(texts->make("a string that is too long to lie in itself"));
    });
}

TYPED_TEST(objects, need_no_more_memory_once_it_is_reserved) {
  typename TestFixture::template of<std::uint64_t> numbers(this->upstream, 1000);
  EXPECT_EQ(this->upstream.allocations(), 0u);
  numbers.reserve(1000);
  this->upstream.fail_from(0);
  for (int round = 0; round < 3; ++round) {
    std::vector<held> all;
    for (std::uint64_t i = 0; i < 1000; ++i) all.push_back(numbers.make(i));
    EXPECT_EQ(numbers.live(), 1000u);
  }
  EXPECT_EQ(numbers.live(), 0u);
}

#if defined(__cpp_exceptions)
TYPED_TEST(objects, with_constructors_that_throw_lose_nothing) {
  typename TestFixture::template of<witness> witnesses(this->upstream, bound);
  for (std::size_t i = 0; i < 10 * bound; ++i) {
    witness::start(i % 3);
    std::vector<held> all;
    for (std::size_t made = 0; made < i % 3; ++made) all.push_back(witnesses.make(1));
    EXPECT_THROW(static_cast<void>(witnesses.make(1)), refused_to_be);
    if constexpr (TestFixture::says_null) {
      witness::start(0);
      EXPECT_THROW(static_cast<void>(witnesses.try_make(1)), refused_to_be);
    }
    EXPECT_EQ(witnesses.live(), all.size());
    EXPECT_TRUE(witnesses.invariant());
  }
  witness::start();
  std::vector<held> all;
  for (std::size_t i = 0; i < bound; ++i) all.push_back(witnesses.make(1));
  EXPECT_EQ(witness::live(), bound);
  all.clear();
  EXPECT_EQ(witness::live(), 0u);
}
#endif

// Each makes the next in its constructor and ends it in its destructor.
template <class Kind>
struct nested {
  using maker = typename Kind::template of<nested>;
  nested(maker& from, int deeper) {
    if (deeper != 0) child = from.make(from, deeper - 1);
  }
  held child;
};

TYPED_TEST(objects, may_make_and_end_others_in_constructors_and_destructors) {
  typename nested<TypeParam>::maker makes(this->upstream, 101);
  held outermost = makes.make(makes, 100);
  EXPECT_EQ(makes.live(), 101u);
  outermost.reset();
  EXPECT_EQ(makes.live(), 0u);
  EXPECT_TRUE(makes.invariant());
}

}  // namespace
