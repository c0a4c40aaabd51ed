// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to be advised on: each call of a request builds and frees a batch by a deep recursion. Its argument names
// the request.
#include "cli/tests/advise/planted.hpp"

namespace {

using namespace planted;

constexpr int requests = 300, deep = 40;

struct leaf {
  leaf* next = nullptr;
  std::uint64_t key = 0;
};

PLANTED leaf* new_leaf() {
  auto* const made = new leaf;
  return use(made), made;
}

/// Builds leaves level by level, by one function that calls itself, or by two in turn.
template <bool ByTwo, bool IsSecond = false>
PLANTED leaf* grow(int levels) {
  leaf* const made = new_leaf();
  if (levels > 0) made->next = grow < ByTwo, ByTwo && !IsSecond > (levels - 1);
  return made;
}

/// Frees the oldest first, and goes on without a tail call, which leaves no frame.
template <bool ByTwo, bool IsSecond = false>
PLANTED void drop(leaf* all) {
  leaf* const next = all->next;
  delete all;
  if (next != nullptr) drop<ByTwo, ByTwo && !IsSecond>(next);
  use(next);
}

PLANTED void direct_request() { drop<false>(grow<false>(deep)), use(nullptr); }
PLANTED void mutual_request() { drop<true>(grow<true>(deep)), use(nullptr); }
[[gnu::always_inline]] inline void inlined_request() { drop<false>(grow<false>(deep)), use(nullptr); }

template <void (*Request)()>
int repeat() {
  for (int i = 0; i < requests; ++i) Request();
  return 0;
}

constexpr mode modes[] = {
    {"direct", repeat<direct_request>}, {"mutual", repeat<mutual_request>}, {"inlined", repeat<inlined_request>}};

}  // namespace

int main(int argc, char** argv) { return run_mode(modes, argc, argv); }
