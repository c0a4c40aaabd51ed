// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of the fault matrix: pools of objects, counted objects, and objects behind handles.
#include <map>
#include <new>
#include <utility>
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

constexpr misuses no_sizes = sizes_and_alignment | loose_writes;
// A stale handle refers to no object, and may be looked up. So may one of another map, from `checked` on.
constexpr misuses stale_handles = misuse::double_free | misuse::double_free_later | misuse::null_pointer |
                                  (detail::maps_differ ? misuses(misuse::other_instance) : misuses());
// Objects end with their pool, or outlive it.
constexpr misuses ended = misuse::leak;

template <std::size_t Capacity, class Threads, class Lifetime = construct_on_acquire>
using bounded = object_pool<cargo, ashlar_test::object_traits<Capacity, Lifetime, throw_when_exhausted, Threads>>;

// References are dropped without a call of the pool.
template <class Pool, class Threads>
struct counted : owning_subject<Pool> {
  void* take(std::size_t) override { return this->resource_.make().release(); }
  void give(void* p, std::size_t, std::size_t) override { drop_reference<Threads>(static_cast<cargo*>(p)); }
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

template <class Pool, class Threads>
[[nodiscard]] interface counted_row(const char* name) {
  return {.name = name,
          .make = maker<counted<Pool, Threads>>(),
          .cannot_express = no_sizes | misuse::other_instance,
          .allows = ended};
}

}  // namespace

std::span<const interface> objects() {
  static const std::vector<interface> rows = {
      {.name = "object_pool, in itself",
       .make = maker<acquired<bounded<1024, one_thread>>>(),
       .cannot_express = no_sizes,
       .allows = ended},
      {.name = "object_pool, one block",
       .make = maker<acquired<bounded<dynamic_capacity, one_thread>>>(std::size_t{1024}),
       .cannot_express = no_sizes,
       .allows = ended},
      {.name = "object_pool, growing",
       .make = maker<acquired<bounded<growing, one_thread>>>(),
       .cannot_express = no_sizes,
       .allows = ended},
      {.name = "object_pool, any_thread",
       .make = maker<acquired<bounded<1024, any_thread<>>>>(),
       .cannot_express = no_sizes,
       .allows = ended},
      {.name = "object_pool, growing, any_thread",
       .make = maker<acquired<bounded<growing, any_thread<>>>>(),
       .cannot_express = no_sizes,
       .allows = ended},
      {.name = "object_pool, growing, kept",
       .make = maker<acquired<bounded<growing, one_thread, keep_constructed<>>>>(),
       .cannot_express = no_sizes,
       .allows = ended | misuse::dead_first_word | misuse::dead_middle | misuse::dead_last_byte},
      counted_row<ref_pool<cargo>, one_thread>("ref_pool"),
      counted_row<ref_pool<cargo, any_thread<>>, any_thread<>>("ref_pool, any_thread"),
      counted_row<intrusive_pool<cargo>, one_thread>("intrusive_pool"),
      counted_row<intrusive_pool<
                      cargo, ashlar_test::intrusive_traits<construct_on_acquire, throw_when_exhausted, any_thread<>>>,
                  any_thread<>>("intrusive_pool, any_thread"),
      {.name = "slot_map",
       .make = maker<by_handle>(),
       .cannot_express = no_sizes | misuse::interior | misuse::foreign | misuse::stack_address,
       .allows = ended | stale_handles},
  };
  return rows;
}

}  // namespace fault_matrix
