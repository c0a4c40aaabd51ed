// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three threads give one slot each while the owner takes twice.
#include "slots.hpp"

void model() {
  using namespace models;
  slots<3> all;
  slot_inbox in;
  const auto giver = [&](std::uint32_t number) {
    return [&all, &in, number] { (void)all.write_and_push(in, number, static_cast<int>(number)); };
  };
  checker::run_threads(giver(0), giver(1), giver(2), [&] {
    all.take(in.take_all());
    all.take(in.take_all());
  });
  all.take(in.take_all());
  all.check_taken(1);
}
