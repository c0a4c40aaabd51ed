// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to be advised on: each call of a request builds and frees a batch by a deep recursion. Its argument names
// the request.
#include <cstdint>
#include <cstring>

namespace {

#define PLANTED [[gnu::noinline]]

constexpr int requests = 300, deep = 40;

volatile std::uint64_t sink;

void use(const void* p) { sink = sink + reinterpret_cast<std::uintptr_t>(p); }

struct leaf {
  leaf* next = nullptr;
  std::uint64_t key = 0;
};

PLANTED leaf* new_leaf() {
  auto* const made = new leaf;
  use(made);
  return made;
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int i = 0; i < requests; ++i) {
    if (std::strcmp(argv[1], "direct") == 0) direct_request();
    if (std::strcmp(argv[1], "mutual") == 0) mutual_request();
    if (std::strcmp(argv[1], "inlined") == 0) inlined_request();
  }
}
