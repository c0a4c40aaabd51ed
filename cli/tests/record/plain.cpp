// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program in C's part of C++, built in the ways that the recorder meets: as usual, static, with its own malloc,
// with another C library. Its argument is the number of blocks to allocate.
#include <stdlib.h>

#ifdef RECORD_OWN_MALLOC

namespace {

alignas(16) char arena[1 << 20];
size_t used = 0;
bool has_begun = false;

}  // namespace

extern "C" {

void* malloc(size_t bytes) {
  const size_t room = (bytes + 15) / 16 * 16;
  if (room > sizeof arena - used) return nullptr;
  used += room;
  return arena + used - room;
}

// An interpreter that reads its heap from a file in main cannot free before.
void free(void* p) {
  if (p != nullptr && !has_begun) abort();
}

}  // extern "C"

#endif

int main(int argc, char** argv) {
#ifdef RECORD_OWN_MALLOC
  has_begun = true;
#endif
  for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; --i) {
    void* volatile p = malloc(77);
    free(p);
  }
  return 0;
}
