// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects that refer to each other and end in any order: a handle detects that its object has ended.
#include <cstdio>

#include <ashlar/face/slot_map.hpp>

struct ship {
  const char* name;
  ashlar::slot_handle<ship> target = {};
};

int main() {
  ashlar::slot_map<ship> fleet;
  const auto hunter = fleet.emplace("hunter");
  const auto prey = fleet.emplace("prey");
  fleet[hunter].target = prey;

  fleet.erase(prey);
  const auto newcomer = fleet.emplace("newcomer");  // takes the slot of the prey, with another generation
  const bool mistaken = fleet.contains(fleet[hunter].target);
  std::printf("slot %u: generation %u, then %u; the hunter's target is %s\n", prey.index(), prey.generation(),
              newcomer.generation(), mistaken ? "mistaken" : "gone");

  fleet.for_each_live([](const ship& each) { std::printf("%s\n", each.name); });
  return mistaken ? 1 : 0;
}
