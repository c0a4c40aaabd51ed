// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Planted functions whose blocks are freed by a call that frees others too.
#pragma once

#include <array>
#include <cstdlib>

#include "cli/tests/advise/background.hpp"

namespace {

/// A value whose text is of one site or the other, and whose destructor frees both alike.
struct text_value {
  char* text = nullptr;
  PLANTED void set(char* to) {
    free(text);
    text = to;
    use(text);
  }
  ~text_value() { set(nullptr); }
};

PLANTED char* short_text() {
  auto* p = static_cast<char*>(malloc(24));  // here: shared_free
  use(p);
  return p;
}

PLANTED char* long_text() {
  auto* p = static_cast<char*>(malloc(40 + random_below(900)));
  use(p);
  return p;
}

PLANTED char* short_text_too() {
  auto* p = static_cast<char*>(malloc(40));
  use(p);
  return p;
}

/// Too rare for a remedy of its own.
PLANTED char* rare_text() {
  auto* p = static_cast<char*>(malloc(40));  // here: rare_text
  use(p);
  return p;
}

/// Not by a tail call, which leaves no frame.
PLANTED void checked_free(void* p) {
  free(p);
  use(p);
}

/// A half of the texts is `first`, the other half `second`.
int values_mode(char* (*first)(), char* (*second)()) {
  static std::array<text_value, 600> values;
  return repeat(30'000, [&] {
    const bool is_first = random_below(2) == 0;
    values[random_below(values.size())].set(is_first ? first() : second());
  });
}

int shared_free_mode() { return values_mode(short_text, long_text); }
int one_pool_mode() { return values_mode(short_text, short_text_too); }

char* short_or_rare_text() {
  static int texts = 0;
  return ++texts <= 5 ? rare_text() : short_text_too();
}
int rare_text_mode() { return values_mode(short_text, short_or_rare_text); }

/// The same sites, told apart by the callers of one function that frees both.
int free_wrapper_mode() {
  std::array<char*, 300> shorts{}, longs{};
  return repeat(20'000, [&] {
    char*& one = shorts[random_below(shorts.size())];
    checked_free(one);
    one = short_text();
    char*& other = longs[random_below(longs.size())];
    checked_free(other);
    other = long_text();
  });
}

}  // namespace
