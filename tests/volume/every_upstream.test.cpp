// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every resource that grows over every upstream, at volume: live blocks stay, and each block of the upstream's comes
// back as it was taken, or in parts that the upstream takes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/slot_map.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/frame_arena.hpp>
#include <ashlar/resource/huge_page_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/divisible_resource.hpp"
#include "tests/support/invariant_of.hpp"
#include "tests/support/serialised_ref.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"
#include "tests/support/subject.hpp"

namespace {

using namespace ashlar_test;

/// A resource under test, or a pool of objects, whose blocks are its objects. `Over` has an upstream for one thread,
/// `one()`, or for any, `any()`.
template <class Over, class R>
struct growing_resource : conformance_defaults {
  Over over;
  R resource;

  template <class... Options>
  explicit growing_resource(const Options&... options) : resource(options..., upstream_of_resource()) {}

  [[nodiscard]] auto upstream_of_resource() {
    if constexpr (ashlar::thread_safe_resource<R>) return over.any();
    else return over.one();
  }
};

/// An interface of the standard's shape.
template <class Face, class Upstream>
class pmr_over {
public:
  explicit pmr_over(Upstream upstream) : bridge_(std::move(upstream)), face_(&bridge_) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return face_.allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept { face_.deallocate(p, bytes, alignment); }
  [[nodiscard]] friend bool operator==(const pmr_over& a, const pmr_over& b) noexcept { return &a == &b; }

private:
  ashlar::pmr_resource<Upstream> bridge_;
  Face face_;
};

/// An object that a walk fills.
struct volume_object {
  std::array<std::byte, 4000> bytes;
};

/// @{ The pools of objects: `make` returns the object and what ends it.
template <class Upstream>
struct objects_of_pool {
  struct traits : ashlar::with_capacity<ashlar::growing> {
    using upstream = Upstream;
  };
  ashlar::object_pool<volume_object, traits> pool;

  explicit objects_of_pool(Upstream upstream) : pool(ashlar::object_pool_options{}, std::move(upstream)) {}
  [[nodiscard]] auto make() {
    volume_object* const made = pool.try_acquire();
    return std::pair(made, made);
  }
  void end(volume_object* made) noexcept { pool.release(made); }
};

template <class Upstream>
struct counted_objects_of {
  ashlar::ref_pool<volume_object, ashlar::one_thread, ashlar::count::by_padding, Upstream> pool;

  explicit counted_objects_of(Upstream upstream) : pool(std::move(upstream)) {}
  [[nodiscard]] auto make() {
    auto made = pool.try_make();
    volume_object* const at = made.get();
    return std::pair(at, std::move(made));
  }
  template <class Ref>
  void end(const Ref&) noexcept {}
};

template <class Upstream>
struct mapped_objects {
  ashlar::slot_map<volume_object, Upstream> pool;

  explicit mapped_objects(Upstream upstream) : pool(std::move(upstream)) {}
  [[nodiscard]] auto make() {
    const auto made = pool.try_emplace();
    return std::pair(pool.get(made), made);
  }
  template <class Handle>
  void end(Handle made) noexcept {
    pool.erase(made);
  }
};
/// @}

/// Pools of objects as a resource of blocks of one size.
template <class Objects>
class blocks_of_objects {
public:
  template <class Upstream>
  explicit blocks_of_objects(Upstream upstream) : objects_(std::move(upstream)) {}

  [[nodiscard]] void* try_allocate(std::size_t, std::size_t) noexcept {
    auto made = objects_.make();
    if (made.first != nullptr) ends_.emplace(made.first, std::move(made.second));
    return made.first;
  }
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return try_allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t, std::size_t) noexcept {
    const auto found = ends_.find(static_cast<volume_object*>(p));
    objects_.end(found->second);
    ends_.erase(found);
  }
  [[nodiscard]] bool invariant() const noexcept { return invariant_of(objects_.pool); }
  [[nodiscard]] friend bool operator==(const blocks_of_objects& a, const blocks_of_objects& b) noexcept {
    return &a == &b;
  }

private:
  using ending = decltype(std::declval<Objects&>().make().second);

  Objects objects_;
  std::unordered_map<volume_object*, ending> ends_;
};

/// The sizes and the order of a walk through a resource.
struct growing_traits {
  std::size_t small_bytes = 2000;    ///< most blocks have up to that, as its cells
  std::size_t larger_one_of = 1000;  ///< blocks; one of ten times as many is huge. 0: all have `small_bytes`
  std::size_t share = 1;             ///< it holds a part of the bytes of the walk: of small blocks there are many
  bool any_order = true;             ///< false: the last block is freed first
  bool reuses = true;                ///< false: a freed block does not make room for another
};

struct growing_row {
  std::string name;
  growing_traits traits;
  std::unique_ptr<any_subject> (*make)();
  std::size_t megabytes = 64;  ///< live at once
};

constexpr ashlar::block_pool_options volume_nodes{.cell_bytes = 24};
constexpr ashlar::block_pool_options volume_cells{.cell_bytes = 1000, .retain_slabs = ashlar::release_now};
constexpr ashlar::block_pool_options volume_small_slabs{.cell_bytes = 200, .slab_bytes = std::size_t{64} << 10};
constexpr ashlar::fixed_block_pool_options volume_limits{};
constexpr ashlar::tlsf_resource_options volume_regions{};
constexpr ashlar::heap_options volume_heap{};
constexpr ashlar::pool_set_options volume_classes{};
constexpr ashlar::pool_set_options volume_bounded_classes{.max_growth_count = 500, .retain_slabs = 0};

template <class Over, class R, const auto&... Options>
[[nodiscard]] std::unique_ptr<any_subject> grow_over() {
  return std::make_unique<subject_of<growing_resource<Over, R>>>(Options...);
}

/// Each of them over one upstream.
template <class Over>
[[nodiscard]] std::vector<growing_row> rows_over() {
  using one = decltype(std::declval<Over&>().one());
  using any = decltype(std::declval<Over&>().any());
  constexpr growing_traits objects{.small_bytes = sizeof(volume_object), .larger_one_of = 0};
  constexpr growing_traits nodes{.small_bytes = 24, .larger_one_of = 20'000, .share = 6};
  constexpr growing_traits cells{.small_bytes = 1000};
  constexpr growing_traits never_reuses{.reuses = false};
  return {
      {"block_pool_of_nodes", nodes, &grow_over<Over, ashlar::block_pool<one>, volume_nodes>},
      {"block_pool", cells, &grow_over<Over, ashlar::block_pool<one>, volume_cells>},
      {"block_pool_of_small_slabs",
       {.small_bytes = 200},
       &grow_over<Over, ashlar::block_pool<one>, volume_small_slabs>},
      {"fixed_block_pool", cells, &grow_over<Over, ashlar::fixed_block_pool<1000, 8, one>, volume_limits>},
      {"shared_block_pool", cells, &grow_over<Over, ashlar::shared_block_pool<any>, volume_cells>},
      {"shared_block_pool_of_nodes", nodes, &grow_over<Over, ashlar::shared_block_pool<any>, volume_nodes>},
      {"pool_set", {}, &grow_over<Over, ashlar::pool_set<one>, volume_classes>},
      {"pool_set_of_small_steps", {}, &grow_over<Over, ashlar::pool_set<one>, volume_bounded_classes>},
      {"shared_pool_set", {}, &grow_over<Over, ashlar::shared_pool_set<any>, volume_classes>},
      {"shared_pool_set_of_small_steps", {}, &grow_over<Over, ashlar::shared_pool_set<any>, volume_bounded_classes>},
      {"arena", never_reuses, &grow_over<Over, ashlar::arena<one>>},
      {"frame_arena", never_reuses, &grow_over<Over, ashlar::frame_arena<one>>},
      {"stack_resource", {.any_order = false}, &grow_over<Over, ashlar::stack_resource<one>>},
      {"tlsf_resource", {}, &grow_over<Over, ashlar::tlsf_resource<one>, volume_regions>},
      {"local_heap", {}, &grow_over<Over, ashlar::local_heap<one>, volume_heap>},
      {"owner_heap", {}, &grow_over<Over, ashlar::owner_heap<one>, volume_heap>},
      {"heap", {}, &grow_over<Over, ashlar::heap<any>, volume_heap>},
      {"pmr_monotonic", never_reuses, &grow_over<Over, pmr_over<ashlar::pmr::monotonic_buffer_resource, one>>},
      {"pmr_unsynchronized", {}, &grow_over<Over, pmr_over<ashlar::pmr::unsynchronized_pool_resource, one>>},
      {"object_pool", objects, &grow_over<Over, blocks_of_objects<objects_of_pool<one>>>},
      {"ref_pool", objects, &grow_over<Over, blocks_of_objects<counted_objects_of<one>>>},
      {"slot_map", objects, &grow_over<Over, blocks_of_objects<mapped_objects<one>>>},
  };
}

/// Blocks with a stamp in each page, so that a page that went away too early shows.
class volume_walk {
public:
  volume_walk(any_subject& through, const growing_traits& traits, std::size_t bytes)
      : memory_(through), traits_(traits), most_bytes_(bytes / traits.share) {}
  volume_walk(const volume_walk&) = delete;
  volume_walk& operator=(const volume_walk&) = delete;
  ~volume_walk() { free_down_to(0); }

  /// Effects: allocates blocks until they have all bytes, or memory is refused.
  void fill() {
    while (live_bytes_ < most_bytes_ && add(next_bytes())) {
    }
    EXPECT_TRUE(memory_.invariant());
  }

  /// Effects: frees blocks at random until they have at most `bytes`.
  void free_down_to(std::size_t bytes) {
    while (!blocks_.empty() && live_bytes_ > bytes) free(traits_.any_order ? any() : blocks_.size() - 1);
    EXPECT_TRUE(memory_.invariant());
  }

  [[nodiscard]] std::size_t live_bytes() const { return live_bytes_; }

private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t alignment = 8;

  [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }
  [[nodiscard]] std::size_t any() { return below(blocks_.size()); }

  [[nodiscard]] std::size_t next_bytes() {
    if (traits_.larger_one_of == 0) return traits_.small_bytes;
    if (below(10 * traits_.larger_one_of) == 0) return 1 + below(std::size_t{12} << 20);
    if (below(traits_.larger_one_of) == 0) return 1 + below(std::size_t{256} << 10);
    return 1 + below(traits_.small_bytes);
  }

  bool add(std::size_t bytes) {
    void* const p = memory_.try_allocate(bytes, alignment);
    if (p == nullptr) return false;
    const stamped_block made{p, bytes, ++stamp_};
    each_page(made, [](const stamped_block& part) { part.write(); });
    blocks_.push_back(made);
    live_bytes_ += bytes;
    return true;
  }

  void free(std::size_t index) {
    std::swap(blocks_[index], blocks_.back());
    const stamped_block leaving = blocks_.back();
    blocks_.pop_back();
    bool is_intact = true;
    each_page(leaving, [&](const stamped_block& part) { is_intact = is_intact && part.is_intact(); });
    ASSERT_TRUE(is_intact) << leaving.bytes << " bytes at " << leaving.p;
    live_bytes_ -= leaving.bytes;
    memory_.deallocate(leaving.p, leaving.bytes, alignment);
  }

  template <class F>
  static void each_page(const stamped_block& of, F f) {
    for (std::size_t at = 0; at < of.bytes; at += page)
      f(stamped_block{static_cast<std::byte*>(of.p) + at, std::min(page, of.bytes - at), of.stamp});
  }

  any_subject& memory_;
  growing_traits traits_;
  std::size_t most_bytes_;
  std::size_t live_bytes_ = 0;
  std::uint64_t stamp_ = 0;
  std::vector<stamped_block> blocks_;
  std::minstd_rand random_;
};

constexpr std::size_t megabyte = std::size_t{1} << 20;

/// An upstream of the library without data.
template <class R>
struct over_all {
  [[nodiscard]] R one() const { return {}; }
  [[nodiscard]] R any() const { return {}; }
};

/// An upstream with data, which reports blocks that come back wrongly or never.
template <class R>
struct over_one {
  R memory;

  [[nodiscard]] ashlar::resource_ref<R> one() { return memory; }
  [[nodiscard]] serialised_ref<R> any() { return memory; }
};

/// Memory that takes back its last block alone.
class buffer_of_pages : public ashlar::buffer_resource {
public:
  buffer_of_pages() : buffer_of_pages(ashlar::os::pages::map(bytes, megabyte)) {}
  buffer_of_pages(const buffer_of_pages&) = delete;
  buffer_of_pages& operator=(const buffer_of_pages&) = delete;
  ~buffer_of_pages() { ashlar::os::pages::release(start_, bytes); }

private:
  static constexpr std::size_t bytes = 256 * megabyte;
  explicit buffer_of_pages(void* start)
      : buffer_resource(std::span(static_cast<std::byte*>(start), bytes)), start_(start) {}

  void* start_;
};

template <class Over>
void add_rows(std::vector<growing_row>& to, const std::string& upstream, std::size_t megabytes) {
  for (growing_row& each : rows_over<Over>()) {
    if (!has_exceptions && each.name.starts_with("pmr")) continue;  // it refuses by throwing alone
    each.name += "_over_" + upstream;
    each.megabytes = megabytes;
    to.push_back(std::move(each));
  }
}

std::vector<growing_row> every_row() {
  std::vector<growing_row> rows;
  add_rows<over_all<ashlar::page_resource>>(rows, "pages", 64);
  add_rows<over_one<resource_of_parts<3 * 4096>>>(rows, "parts_of_three_pages", 16);
  if constexpr (!has_fewer_cases) {
    add_rows<over_all<ashlar::huge_page_resource>>(rows, "huge_pages", 64);
    add_rows<over_one<counting_resource<>>>(rows, "whole_blocks", 16);
    add_rows<over_one<resource_of_parts<megabyte>>>(rows, "parts_of_a_megabyte", 16);
    add_rows<over_one<buffer_of_pages>>(rows, "a_buffer", 16);
  }
  return rows;
}

class every_upstream : public ::testing::TestWithParam<growing_row> {};

TEST_P(every_upstream, keeps_live_blocks_while_others_go_back) {
  const growing_row& row = GetParam();
  const std::size_t bytes = stress_rounds(row.megabytes) * megabyte;
  const std::unique_ptr<any_subject> memory = row.make();
  volume_walk walk(*memory, row.traits, bytes);
  walk.fill();
  if (!row.traits.reuses) return;
  walk.free_down_to(walk.live_bytes() * 3 / 8);
  walk.fill();
}

INSTANTIATE_TEST_SUITE_P(volume, every_upstream, ::testing::ValuesIn(every_row()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
