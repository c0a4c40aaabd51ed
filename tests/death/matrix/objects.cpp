// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of the fault matrix: pools of objects, counted objects, and objects behind handles.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/face/slot_map.hpp>

#include "tests/death/matrix/subjects.hpp"
#include "tests/support/pool_traits.hpp"

namespace fault_matrix {
namespace {

using namespace ashlar;

// A stale handle refers to no object, and may be looked up. So may one of another map, from `checked` on.
constexpr misuses stale_handles = misuse::double_free | misuse::double_free_later | misuse::null_pointer |
                                  (detail::maps_differ ? misuses(misuse::other_instance) : misuses());
// Objects end with their pool, or outlive it.
constexpr misuses ended = misuse::leak;

// Objects of one byte, over-aligned, with room for a count beside them, with a destructor, with a count of their own.
struct tiny final {
  unsigned char byte = 0;
};
struct alignas(64) wide final {
  std::byte bytes[64];
};
struct padded final {
  std::uint64_t number = 0;
  std::uint32_t more = 0;
};
struct destroyed final {
  std::uint64_t words[6] = {};
  ~destroyed() { words[0] = 0; }
};
struct counts_itself final {
  std::uint64_t words[6] = {};
  std::uint32_t count = 0;
};

template <std::size_t Capacity, class Threads = one_thread, class T = cargo, class Lifetime = construct_on_acquire>
using bounded = object_pool<T, ashlar_test::object_traits<Capacity, Lifetime, throw_when_exhausted, Threads>>;
template <class T, class Threads = one_thread, class Placement = count::by_padding,
          class Lifetime = construct_on_acquire>
using intrusive = intrusive_pool<T, ashlar_test::intrusive_traits<Lifetime, throw_when_exhausted, Threads, Placement>>;
using own_count = count::in_member<&counts_itself::count>;

// References are dropped without a call of the pool.
template <class Pool, class Threads, class Placement>
struct counted : owning_subject<Pool> {
  void* take(std::size_t) override { return this->resource_.make().release(); }
  void give(void* p, std::size_t, std::size_t) override {
    drop_reference<Threads, Placement>(static_cast<typename Pool::value_type*>(p));
  }
};

// Handles are known by their original object, in any map.
struct by_handle : owning_subject<slot_map<cargo>> {
  void* take(std::size_t) override {
    const slot_handle<cargo> made = resource_.emplace();
    cargo* const object = resource_.get(made);
    handles[object] = made;
    return object;
  }
  void give(void* p, std::size_t, std::size_t) override {
    static_cast<void>(resource_.erase(handles[static_cast<cargo*>(p)]));
  }

  static inline std::map<cargo*, slot_handle<cargo>> handles;
};

template <class Pool, class... Args>
[[nodiscard]] interface acquired_row(const char* name, Args... args) {
  return {.name = std::string("object_pool, ") + name,
          .make = maker<acquired<Pool>>(args...),
          .exact = sizeof(typename Pool::value_type),
          .cannot_express = no_sizes,
          .allows = ended};
}

template <class Pool>
[[nodiscard]] interface kept_row(const char* name) {
  interface row = acquired_row<Pool>(name);
  row.allows = ended | misuse::dead_first_word | misuse::dead_middle | misuse::dead_last_byte;
  return row;
}

template <class Pool, class Threads = one_thread, class Placement = count::by_padding>
[[nodiscard]] interface counted_row(const char* name) {
  return {.name = name,
          .make = maker<counted<Pool, Threads, Placement>>(),
          .exact = sizeof(typename Pool::value_type),
          .cannot_express = no_sizes | misuse::other_instance,
          .allows = ended};
}

}  // namespace

std::span<const interface> objects() {
  constexpr std::size_t most = 1024;
  using kept = keep_constructed<>;
  static const std::vector<interface> rows = {
      acquired_row<bounded<most>>("in itself"),
      acquired_row<bounded<most, one_thread, tiny>>("in itself, 1 byte"),
      acquired_row<bounded<most, one_thread, wide>>("in itself, at 64"),
      acquired_row<bounded<most, one_thread, destroyed>>("in itself, with a destructor"),
      acquired_row<bounded<dynamic_capacity>>("one block", most),
      acquired_row<bounded<dynamic_capacity, any_thread<>, destroyed>>("one block, any_thread", most),
      acquired_row<bounded<growing>>("growing"),
      acquired_row<bounded<growing, one_thread, wide>>("growing, at 64"),
      acquired_row<bounded<most, any_thread<>>>("any_thread"),
      acquired_row<bounded<growing, any_thread<>>>("growing, any_thread"),
      kept_row<bounded<growing, one_thread, cargo, kept>>("growing, kept"),
      kept_row<bounded<most, any_thread<>, destroyed, kept>>("any_thread, kept"),
      counted_row<ref_pool<cargo>>("ref_pool"),
      counted_row<ref_pool<tiny>>("ref_pool, 1 byte"),
      counted_row<ref_pool<padded>>("ref_pool, with padding"),
      counted_row<ref_pool<cargo, any_thread<>>, any_thread<>>("ref_pool, any_thread"),
      counted_row<ref_pool<destroyed, any_thread<>>, any_thread<>>("ref_pool, any_thread, with a destructor"),
      counted_row<intrusive<cargo>>("intrusive_pool"),
      counted_row<intrusive<wide>>("intrusive_pool, at 64"),
      counted_row<intrusive<counts_itself, one_thread, own_count>, one_thread, own_count>("intrusive_pool, own count"),
      counted_row<intrusive<cargo, any_thread<>>, any_thread<>>("intrusive_pool, any_thread"),
      {.name = "slot_map",
       .make = maker<by_handle>(),
       .cannot_express = no_sizes | misuse::interior | misuse::foreign | misuse::stack_address,
       .allows = ended | stale_handles},
  };
  return rows;
}

}  // namespace fault_matrix
