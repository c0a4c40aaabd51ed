// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The worlds of the containers in typed tests: two places of memory, an allocator to each, and a balance of all live
// memory.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <scoped_allocator>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/stateless_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/test/checking_allocator.hpp>
#include <ashlar/test/ledger.hpp>

#include "tests/support/counting_resource.hpp"

namespace ashlar_test {

// A world has
//     template <class T> using allocator    the allocator under test
//     template <class T> using nesting      an allocator that passes itself on to the elements
//     first<T>(), second<T>()               allocators of the two places; `apart`: whether they are unequal
//     balance()                             live memory of all places: zero at the end of a test
//     fail_at(k), refusals()                if allocations can be made to fail

inline holdings operator+(const holdings& a, const holdings& b) { return {a.blocks + b.blocks, a.bytes + b.bytes}; }

/// A place is a resource over an upstream that counts, and fails on demand.
struct counted_place {
  counting_resource<> resource;

  [[nodiscard]] counting_resource<>& upstream() { return resource; }
  [[nodiscard]] holdings balance() const { return resource.balance(); }
};

struct pool_place {
  using counted = ashlar::resource_ref<counting_resource<>>;
  counting_resource<> below;
  ashlar::block_pool<counted> resource{{.cell_bytes = 64, .cell_alignment = 16, .slab_bytes = 4096}, below};

  [[nodiscard]] counting_resource<>& upstream() { return below; }
  // Cells by count; larger blocks by bytes.
  [[nodiscard]] holdings balance() const {
    const std::size_t slabs = resource.slabs();
    return {resource.live() + below.balance().blocks - slabs, below.balance().bytes - slabs * resource.slab_bytes()};
  }
};

template <class Place>
struct resource_world {
  template <class T>
  using allocator = ashlar::allocator<T, decltype(Place::resource)>;
  template <class T>
  using nesting = std::scoped_allocator_adaptor<allocator<T>>;
  static constexpr bool apart = true;

  template <class T>
  [[nodiscard]] allocator<T> first() {
    return here_.resource;
  }
  template <class T>
  [[nodiscard]] allocator<T> second() {
    return there_.resource;
  }
  [[nodiscard]] holdings balance() const { return here_.balance() + there_.balance(); }
  void fail_at(std::size_t k) { here_.upstream().fail_at(k), there_.upstream().fail_at(k); }
  [[nodiscard]] std::size_t refusals() { return here_.upstream().refusals() + there_.upstream().refusals(); }

private:
  Place here_;
  Place there_;
};

/// Operator new for the whole process, with its live blocks.
struct counted_process {
  static constexpr bool is_process_wide = true;
  static inline holdings out;
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = ashlar::new_delete_resource().allocate(bytes, alignment);
    out = {out.blocks + 1, out.bytes + bytes};
    return p;
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    out = {out.blocks - 1, out.bytes - bytes};
    ashlar::new_delete_resource().deallocate(p, bytes, alignment);
  }
  friend bool operator==(counted_process, counted_process) noexcept { return true; }
};

/// The world of an allocator of which all are equal.
template <template <class> class Allocator>
struct one_place {
  template <class T>
  using allocator = Allocator<T>;
  template <class T>
  using nesting = std::scoped_allocator_adaptor<allocator<T>>;
  static constexpr bool apart = false;

  template <class T>
  [[nodiscard]] allocator<T> first() const {
    return {};
  }
  template <class T>
  [[nodiscard]] allocator<T> second() const {
    return {};
  }
};

template <class T>
using stateless = ashlar::stateless_allocator<T, counted_process>;
struct stateless_world : one_place<stateless> {
  [[nodiscard]] holdings balance() const { return counted_process::out; }
};

/// Copies of a container go to the default resource, which is a third place.
struct pmr_world {
  template <class T>
  using allocator = std::pmr::polymorphic_allocator<T>;
  template <class T>
  using nesting = allocator<T>;
  static constexpr bool apart = true;

  pmr_world() = default;
  pmr_world(const pmr_world&) = delete;
  pmr_world& operator=(const pmr_world&) = delete;
  ~pmr_world() { std::pmr::set_default_resource(before_); }

  template <class T>
  [[nodiscard]] allocator<T> first() {
    return &here_.bridge;
  }
  template <class T>
  [[nodiscard]] allocator<T> second() {
    return &there_.bridge;
  }
  [[nodiscard]] holdings balance() const {
    return here_.place.balance() + there_.place.balance() + copies_.place.balance();
  }
  void fail_at(std::size_t k) {
    for (bridged* each : {&here_, &there_, &copies_}) each->place.upstream().fail_at(k);
  }
  [[nodiscard]] std::size_t refusals() {
    std::size_t sum = 0;
    for (bridged* each : {&here_, &there_, &copies_}) sum += each->place.upstream().refusals();
    return sum;
  }

private:
  struct bridged {
    pool_place place;
    ashlar::pmr_resource<ashlar::resource_ref<decltype(pool_place::resource)>> bridge{place.resource};
  };
  bridged here_;
  bridged there_;
  bridged copies_;
  std::pmr::memory_resource* before_ = std::pmr::set_default_resource(&copies_.bridge);
};

template <ashlar::test::checking_allocator_options Options>
struct checking_world {
  template <class T>
  using allocator = ashlar::test::checking_allocator<T, Options>;
  template <class T>
  using nesting = std::scoped_allocator_adaptor<allocator<T>>;
  static constexpr bool apart = !Options.always_equal;

  checking_world() = default;
  checking_world(const checking_world&) = delete;
  checking_world& operator=(const checking_world&) = delete;
  ~checking_world() {
    for (const auto& each : book_.finish()) ADD_FAILURE() << each;
  }

  template <class T>
  [[nodiscard]] allocator<T> first() const {
    return first_;
  }
  template <class T>
  [[nodiscard]] allocator<T> second() const {
    return second_;
  }
  [[nodiscard]] holdings balance() const { return book_.balance(); }
  void fail_at(std::size_t k) { book_.fail_at(k); }
  [[nodiscard]] std::size_t refusals() const { return book_.refusals(); }

private:
  ashlar::test::ledger book_;
  allocator<char> first_{book_};
  allocator<char> second_{book_};
};

inline constexpr ashlar::test::checking_allocator_options nothing_propagates{};
inline constexpr ashlar::test::checking_allocator_options alike{.always_equal = true};
inline constexpr ashlar::test::checking_allocator_options fresh{.fresh_on_copy = true, .default_constructible = false};
inline constexpr ashlar::test::checking_allocator_options all_propagate{
    .propagate_on_copy_assignment = true, .propagate_on_move_assignment = true, .propagate_on_swap = true};

/// The balance of the stateless allocators of one lock, and the pools that they have ever used.
template <class Lock>
struct pool_watch {
  static inline holdings out;
  static inline std::vector<std::size_t (*)()> pools;

  template <class T>
  static bool watch() {
    pools.push_back(live_cells<T>);
    return true;
  }

  // The pool counts cells of a thread cache as taken, so they go back first.
  template <class T>
  static std::size_t live_cells() {
    using pooled = ashlar::pool_allocator<T, Lock>;
    if constexpr (requires { pooled::flush(); }) pooled::flush();
    return pooled::with_pool([](auto& pool) { return pool.live(); });
  }
};

/// An observed `pool_allocator`: the live cells of its pools cannot be counted without the node's type.
template <class T, class Lock>
class watched_pool_allocator : public ashlar::pool_allocator<T, Lock> {
  using base = ashlar::pool_allocator<T, Lock>;
  using watch = pool_watch<Lock>;

public:
  template <class U>
  struct rebind {
    using other = watched_pool_allocator<U, Lock>;
  };

  watched_pool_allocator() = default;
  template <class U>
  watched_pool_allocator(const watched_pool_allocator<U, Lock>& other) noexcept : base(other) {}

  [[nodiscard]] T* allocate(std::size_t n) {
    [[maybe_unused]] static const bool known = watch::template watch<T>();
    T* const p = base::allocate(n);
    watch::out = {watch::out.blocks + 1, watch::out.bytes + n * sizeof(T)};
    return p;
  }
  void deallocate(T* p, std::size_t n) noexcept {
    watch::out = {watch::out.blocks - 1, watch::out.bytes - n * sizeof(T)};
    base::deallocate(p, n);
  }
};

template <class Lock>
struct watched {
  template <class T>
  using allocator = watched_pool_allocator<T, Lock>;
};
template <class Lock>
struct pool_world : one_place<watched<Lock>::template allocator> {
  static constexpr bool is_of_one_thread = std::is_same_v<Lock, ashlar::one_thread>;

  [[nodiscard]] holdings balance() const {
    holdings sum = pool_watch<Lock>::out;
    for (const auto live : pool_watch<Lock>::pools) sum.blocks += live();
    return sum;
  }
};

}  // namespace ashlar_test
