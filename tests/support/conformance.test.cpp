// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the suite accepts a good resource with every refinement, and that broken ones fail it.
#include "tests/support/conformance.hpp"

#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/able_resource.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/failures_of.hpp"

namespace ashlar_test {
namespace {

struct complete : conformance_defaults {
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  able_resource<> resource{upstream};
};

struct counting : conformance_defaults {
  static constexpr bool exhaustible = false;
  counting_resource<> resource;
};

struct counting_shared : conformance_defaults {
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  ashlar::resource_ref<counting_resource<>> resource{upstream};
};

/// Makes a fault: bytes to leave out, an offset to add to an address, a size that triggers it.
template <class Wrong>
struct broken : conformance_defaults {
  static constexpr std::size_t churn_steps = 200;
  static constexpr int most_served = 1000;
  struct resource_type {
    counting_resource<>* upstream = nullptr;
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
      return Wrong::allocate(*upstream, bytes, alignment);
    }
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
      return allocate(bytes, alignment);
    }
    void deallocate(void*, std::size_t, std::size_t) noexcept {}
    [[nodiscard]] bool owns(const void*) const noexcept { return true; }
    void release() noexcept {}
    friend bool operator==(const resource_type& a, const resource_type& b) { return &a != &b; }
  };
  counting_resource<> upstream;
  resource_type resource{&upstream};
};

alignas(4096) char one_place[8192];

struct always_the_same {
  static void* allocate(counting_resource<>&, std::size_t, std::size_t) { return one_place; }
};
struct not_aligned {
  static void* allocate(counting_resource<>&, std::size_t, std::size_t) { return one_place + 1; }
};

template <class Subject, class Law>
bool breaks(Law law) {
  return !failures_of([&] {
            subject_of<Subject> subject;
            law(subject);
          }).empty();
}

TEST(conformance_suite, a_resource_that_hands_out_one_place_twice_fails) {
  using subject = broken<always_the_same>;
  EXPECT_TRUE(breaks<subject>([](auto& s) { keeps_blocks_apart(s, 1); }));
  EXPECT_TRUE(breaks<subject>([](auto& s) { keeps_empty_blocks_apart(s); }));
  EXPECT_TRUE(breaks<subject>([](auto& s) { refuses_absurd_sizes(s); }));
  EXPECT_TRUE(breaks<subject>([](auto& s) { recovers_from_exhaustion(s); }));
}

TEST(conformance_suite, a_resource_that_ignores_alignment_fails) {
  EXPECT_TRUE(breaks<broken<not_aligned>>([](auto& s) { aligns_blocks(s); }));
  EXPECT_TRUE(breaks<broken<not_aligned>>([](auto& s) { refuses_bad_alignments(s); }));
}

TEST(conformance_suite, a_resource_that_owns_all_or_is_not_itself_fails) {
  using subject = broken<always_the_same>;
  EXPECT_TRUE(breaks<subject>([](auto& s) { owns_its_blocks_only(s); }));
  EXPECT_TRUE(breaks<subject>([](auto& s) { equals_itself(s, s); }));
}

struct from_upstream {
  static void* allocate(counting_resource<>& upstream, std::size_t bytes, std::size_t alignment) {
    return upstream.try_allocate(bytes, alignment);
  }
};

TEST(conformance_suite, a_resource_that_keeps_what_it_should_release_fails) {
  EXPECT_TRUE(breaks<broken<from_upstream>>([](auto& s) { releases_everything(s); }));
}

}  // namespace

const bool tested = conforms("support", ::testing::Types<complete, counting, counting_shared>{});

}  // namespace ashlar_test
