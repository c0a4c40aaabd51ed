// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests huge pages on a simulated system, with pages set aside and without.
#include <ashlar/os/huge_pages.hpp>

#include <cerrno>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>

#include "tests/os/model_calls.hpp"

namespace {

using ashlar_test::model_calls;

constexpr std::size_t huge = std::size_t{2} << 20;

// Huge pages set aside on the simulated system: their mappings are aligned.
struct model_reserved {
  static constexpr std::size_t page_bytes = huge;
  static inline std::size_t left = 0;

  static void* map(std::size_t bytes) noexcept {
    errno = ENOMEM;
    if (left < bytes / page_bytes) return nullptr;
    left -= bytes / page_bytes;
    auto& next = model_calls::system->next_address;
    next = (next + huge - 1) / huge * huge;
    return model_calls::map(bytes, true);
  }
};

using huge_pages =
    ashlar::os::basic_pages<ashlar::os::huge_page_calls<ashlar::os::basic_pages<model_calls>, model_reserved>>;

class huge_pages_on_a_model : public ashlar_test::on_a_model {
protected:
  huge_pages_on_a_model() { model_reserved::left = 0; }
  ~huge_pages_on_a_model() override { EXPECT_EQ(system_.mapped_bytes(), 0u); }
};

TEST_F(huge_pages_on_a_model, a_size_is_rounded_up_to_whole_huge_pages) {
  EXPECT_EQ(huge_pages::page_bytes(), huge);
  EXPECT_EQ(huge_pages::round_up(1), huge);
  EXPECT_EQ(huge_pages::round_up(huge + 1), 2 * huge);
  EXPECT_EQ(huge_pages::round_up(ashlar::max_size), 0u);
}

TEST_F(huge_pages_on_a_model, pages_set_aside_come_first_and_others_then) {
  model_reserved::left = 3;
  void* const first = huge_pages::map(2 * huge, 64);
  EXPECT_EQ(model_reserved::left, 1u);
  EXPECT_EQ(system_.calls, "m") << "nobody is asked for transparent ones";
  void* const second = huge_pages::map(2 * huge, 64);
  EXPECT_EQ(model_reserved::left, 1u);
  EXPECT_NE(system_.calls.find('a'), std::string::npos);
  for (void* const p : {first, second}) {
    EXPECT_TRUE(ashlar::is_aligned(p, huge));
    EXPECT_TRUE(huge_pages::release(p, 2 * huge));
  }
}

TEST_F(huge_pages_on_a_model, a_larger_alignment_needs_more_set_aside_for_a_moment) {
  model_reserved::left = 7;
  for (const bool enough : {true, false}) {
    system_.calls.clear();
    void* const p = huge_pages::map(huge, 4 * huge);
    EXPECT_TRUE(ashlar::is_aligned(p, 4 * huge));
    EXPECT_EQ(model_reserved::left, 3u) << "the model takes none back";
    EXPECT_EQ(system_.mapped_bytes(), huge);
    EXPECT_EQ(system_.calls.find('a') == std::string::npos, enough) << "or transparent ones";
    EXPECT_TRUE(huge_pages::release(p, huge));
  }
}

TEST_F(huge_pages_on_a_model, an_alignment_beyond_the_address_space_is_refused) {
  model_reserved::left = 3;
  EXPECT_EQ(huge_pages::map(ashlar::align_down(ashlar::max_size, huge), 4 * huge), nullptr);
  EXPECT_EQ(model_reserved::left, 3u);
}

TEST_F(huge_pages_on_a_model, reserved_address_space_is_usable_between_commit_and_decommit) {
  model_reserved::left = 3;
  void* const p = huge_pages::reserve(2 * huge, huge);
  EXPECT_EQ(system_.usable_bytes(), 0u);
  EXPECT_TRUE(huge_pages::commit(p, huge));
  EXPECT_EQ(system_.usable_bytes(), huge);
  EXPECT_TRUE(huge_pages::decommit(p, huge));
  EXPECT_EQ(system_.usable_bytes(), 0u);
  EXPECT_EQ(model_reserved::left, 3u);
  EXPECT_TRUE(huge_pages::release(p, 2 * huge));
}

TEST_F(huge_pages_on_a_model, what_fails_is_null_or_false) {
  fail_all('m');
  EXPECT_EQ(huge_pages::map(huge, 64), nullptr);
  EXPECT_EQ(huge_pages::reserve(huge, 64), nullptr);
  fail_all('p');
  void* const p = huge_pages::reserve(huge, 64);
  EXPECT_FALSE(huge_pages::commit(p, huge));
  EXPECT_TRUE(huge_pages::release(p, huge));
}

}  // namespace
