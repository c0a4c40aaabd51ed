// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library of 4,096 functions of one unit, each with an inlined call of a function that has no symbol.
extern "C" {

static volatile int sink;
__attribute__((always_inline)) static inline void inner(int value) { sink = value; }

// clang-format off
#define ONE(name) void name(int value); void name(int value) { inner(value); }
#define EACH_16(name) \
  ONE(name##0) ONE(name##1) ONE(name##2) ONE(name##3) \
  ONE(name##4) ONE(name##5) ONE(name##6) ONE(name##7) \
  ONE(name##8) ONE(name##9) ONE(name##a) ONE(name##b) \
  ONE(name##c) ONE(name##d) ONE(name##e) ONE(name##f)
#define EACH_256(name) \
  EACH_16(name##0) EACH_16(name##1) EACH_16(name##2) EACH_16(name##3) \
  EACH_16(name##4) EACH_16(name##5) EACH_16(name##6) EACH_16(name##7) \
  EACH_16(name##8) EACH_16(name##9) EACH_16(name##a) EACH_16(name##b) \
  EACH_16(name##c) EACH_16(name##d) EACH_16(name##e) EACH_16(name##f)
#define EACH_4096(name) \
  EACH_256(name##0) EACH_256(name##1) EACH_256(name##2) EACH_256(name##3) \
  EACH_256(name##4) EACH_256(name##5) EACH_256(name##6) EACH_256(name##7) \
  EACH_256(name##8) EACH_256(name##9) EACH_256(name##a) EACH_256(name##b) \
  EACH_256(name##c) EACH_256(name##d) EACH_256(name##e) EACH_256(name##f)
EACH_4096(calls_)
// clang-format on
}
