// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every resource of the library over memory that counts and fails, behind one interface, for the torture tests.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/growth.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/heap/bounded_heap.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/frame_arena.hpp>
#include <ashlar/resource/inline_arena.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/compositions/adaptors.hpp"
#include "tests/compositions/composition.hpp"
#include "tests/support/able_resource.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/serialised_ref.hpp"

namespace ashlar_test {

using plain_upstream = ashlar::resource_ref<counting_resource<>>;

inline constexpr ashlar::block_pool_options torture_cells{.cell_bytes = 48, .slab_bytes = 4096};
inline constexpr ashlar::arena_options torture_chunks{.initial_bytes = 1024,
                                                      .max_growth_bytes = std::size_t{16} * 1024};
inline constexpr ashlar::heap_options torture_heap{.retain_bytes = 0};
inline constexpr ashlar::pool_set_options torture_classes{};
inline constexpr ashlar::tlsf_resource_options torture_regions{
    .growth = {.smallest = 4096, .largest = std::size_t{64} * 1024, .divisor = 2}};
inline constexpr ashlar::stack_resource_options torture_growth{.initial_bytes = 1024, .max_growth_bytes = 8192};
inline constexpr ashlar::fixed_block_pool_options torture_limits{};

/// `R` with these options over the counting memory.
template <class R, const auto& Options>
struct made_of : R {
  explicit made_of(counting_resource<>& below) : R(Options, below) {}
};

using block_pool_below = made_of<ashlar::block_pool<plain_upstream>, torture_cells>;

/// A `bounded_heap` takes its region in the constructor. Here its first block makes it, so that a refusal is reported.
class bounded_heap_below {
public:
  explicit bounded_heap_below(counting_resource<>& below) : below_(&below) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    begin();
    return heap_->allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    heap_->deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool owns(const void* p) const noexcept { return heap_ != nullptr && heap_->owns(p); }
  [[nodiscard]] bool invariant() const noexcept { return heap_ == nullptr || heap_->invariant(); }
  friend bool operator==(const bounded_heap_below& a, const bounded_heap_below& b) noexcept { return &a == &b; }

private:
  using heap_type = ashlar::bounded_heap<plain_upstream>;
  void begin() {
    if (heap_ == nullptr) heap_ = std::make_unique<heap_type>(std::size_t{512} * 1024, *below_);
  }

  counting_resource<>* below_;
  std::unique_ptr<heap_type> heap_;
};

/// An interface of the standard's shape over the counting memory, as a resource.
template <class Face>
class pmr_below {
public:
  explicit pmr_below(counting_resource<>& below) : bridge_(below), face_(&bridge_) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return face_.allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept { face_.deallocate(p, bytes, alignment); }
  void release() noexcept { face_.release(); }
  [[nodiscard]] bool invariant() const noexcept {
    if constexpr (requires { face_.pools(); }) return face_.pools().invariant();
    else return face_.invariant();
  }
  friend bool operator==(const pmr_below& a, const pmr_below& b) noexcept { return &a == &b; }

private:
  ashlar::pmr_resource<plain_upstream> bridge_;
  Face face_;
};

/// A pool in front of the counting memory; a heap for small blocks beside it for larger ones; arenas in a chain.
using torture_fallback = ashlar::fallback<block_pool_below, plain_upstream>;
struct pool_with_fallback : torture_fallback {
  explicit pool_with_fallback(counting_resource<>& below) : torture_fallback(below, below) {}
};

using local_heap_below = made_of<ashlar::local_heap<plain_upstream>, torture_heap>;
using torture_segregator = ashlar::segregator<local_heap_below, plain_upstream>;
struct heap_with_segregator : torture_segregator {
  explicit heap_with_segregator(counting_resource<>& below)
      : torture_segregator(ashlar::threshold{1000, 64}, below, below) {}
};

struct tortured {
  const char* name;
  composition_maker make;
  bool any_order = true;  ///< false: the last block is freed first
  bool reuses = true;     ///< false: a freed block does not make room for another
};

#define ASHLAR_TORTURED_ADAPTOR(label, ...) {#label, &make_composition<adaptor_named::label<able_resource<true>>>},
/// Each resource of the library, and the usual compositions of its adaptors.
[[nodiscard]] inline std::vector<tortured> every_resource() {
  using serialised = serialised_ref<>;
  return {
      {"arena", &make_composition<made_of<ashlar::arena<plain_upstream>, torture_chunks>>, true, false},
      {"block_pool", &make_composition<block_pool_below>},
      {"bounded_heap", &make_composition<bounded_heap_below>},
      {"fixed_block_pool",
       &make_composition<made_of<ashlar::fixed_block_pool<48, 16, plain_upstream>, torture_limits>>},
      {"frame_arena", &make_composition<made_of<ashlar::frame_arena<plain_upstream>, torture_chunks>>, true, false},
      {"heap", &make_composition<made_of<ashlar::heap<serialised>, torture_heap>>},
      {"inline_arena", &make_composition<made_of<ashlar::inline_arena<256, plain_upstream>, torture_chunks>>, true,
       false},
      {"local_heap", &make_composition<local_heap_below>},
      {"owner_heap", &make_composition<made_of<ashlar::owner_heap<plain_upstream>, torture_heap>>},
      {"pool_set", &make_composition<made_of<ashlar::pool_set<plain_upstream>, torture_classes>>},
      {"shared_block_pool", &make_composition<made_of<ashlar::shared_block_pool<serialised>, torture_cells>>},
      {"shared_pool_set", &make_composition<made_of<ashlar::shared_pool_set<serialised>, torture_classes>>},
      {"stack_resource", &make_composition<made_of<ashlar::stack_resource<plain_upstream>, torture_growth>>, false},
      {"tlsf_resource", &make_composition<made_of<ashlar::tlsf_resource<plain_upstream>, torture_regions>>},
      {"pmr_monotonic", &make_composition<pmr_below<ashlar::pmr::monotonic_buffer_resource>>, true, false},
      {"pmr_synchronized", &make_composition<pmr_below<ashlar::pmr::synchronized_pool_resource>>},
      {"pmr_unsynchronized", &make_composition<pmr_below<ashlar::pmr::unsynchronized_pool_resource>>},
      {"pool_with_fallback", &make_composition<pool_with_fallback>},
      {"heap_with_segregator", &make_composition<heap_with_segregator>},
  };
}

/// Each adaptor over memory with all abilities of a resource; `tests/compositions` stacks them on each other.
[[nodiscard]] inline std::vector<tortured> every_adaptor() { return {ASHLAR_EACH_ADAPTOR(ASHLAR_TORTURED_ADAPTOR)}; }
#undef ASHLAR_TORTURED_ADAPTOR

[[nodiscard]] inline std::string name_of_tortured(const ::testing::TestParamInfo<tortured>& info) {
  return info.param.name;
}

}  // namespace ashlar_test
