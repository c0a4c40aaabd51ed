// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every resource that grows over every upstream, at volume: live blocks stay, and each block of the upstream's comes
// back as it was taken, or in parts that the upstream takes.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/huge_page_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/divisible_resource.hpp"
#include "tests/support/serialised_ref.hpp"
#include "tests/support/stress.hpp"
#include "tests/volume/growing_memory.hpp"
#include "tests/volume/walk.hpp"

namespace {

using namespace ashlar_test;

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
  add_rows<over_all<ashlar::huge_page_resource>>(rows, "huge_pages", 64);
  add_rows<over_one<counting_resource<>>>(rows, "whole_blocks", 16);
  add_rows<over_one<resource_of_parts<megabyte>>>(rows, "parts_of_a_megabyte", 16);
  add_rows<over_one<resource_of_parts<3 * 4096>>>(rows, "parts_of_three_pages", 16);
  add_rows<over_one<buffer_of_pages>>(rows, "a_buffer", 16);
  return rows;
}

class every_upstream : public ::testing::TestWithParam<growing_row> {};

TEST_P(every_upstream, keeps_live_blocks_while_others_go_back) {
  const growing_row& row = GetParam();
  const std::size_t bytes = stress_rounds(row.megabytes) * megabyte;
  const std::unique_ptr<growing_memory> memory = row.make();
  volume_walk walk(*memory, row.traits, bytes);
  walk.fill();
  if (!row.traits.reuses) return;
  walk.free_down_to(walk.live_bytes() * 3 / 8);
  walk.fill();
}

INSTANTIATE_TEST_SUITE_P(volume, every_upstream, ::testing::ValuesIn(every_row()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
