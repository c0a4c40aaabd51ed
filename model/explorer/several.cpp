// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The model of a program that has several: the one that ASHLAR_MODEL names.
#include "several.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

void model();

namespace {

/// Effects: ends the program if there is no such model.
auto chosen() -> void (*)() {
  const char* const name = std::getenv("ASHLAR_MODEL");
  for (const several::named_model& each : several::models())
    if (name != nullptr && std::strcmp(each.name, name) == 0) return each.run;
  std::fputs("ASHLAR_MODEL names no model of this program\n", stderr);
  std::exit(2);
}

}  // namespace

void model() {
  static const auto run = chosen();
  run();
}
