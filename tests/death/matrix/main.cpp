// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints the fault matrix of its checking level, an entry for each line: interface, misuse, outcome.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/death/matrix/misuse.hpp"
#include "tests/death/matrix/subject.hpp"
#include "tests/death/matrix/trial.hpp"

namespace {

using namespace fault_matrix;

template <class F>
void for_each_entry(F f) {
  for (const auto& rows : {pools(), pool_sets(), objects(), stacks_and_arenas(), heaps(), adaptors()})
    for (const interface& row : rows)
      for (std::uint32_t i = 0; i < misuse_count; ++i) f(row, static_cast<misuse>(i));
}

void print(const interface& row, misuse kind) {
  const entry made = entry_of(row, kind);
  std::printf("%s\t%s\t%s", row.name.c_str(), name_of(kind), made.outcome.c_str());
  for (const std::string& each : made.sentences) std::printf("\t%s", each.c_str());
  std::printf("\n");
  std::fflush(stdout);  // otherwise each child has a copy of unwritten output
}

}  // namespace

//     matrix                                  all entries, each with the sentences of its variants
//     matrix INTERFACE MISUSE [VARIANT]       that misuse in this process, to read its report
int main(int argc, char** argv) {
  if (argc < 3) {
    for_each_entry(print);
    return 0;
  }
  for_each_entry([&](const interface& row, misuse kind) {
    if (row.name == argv[1] && std::strcmp(name_of(kind), argv[2]) == 0)
      commit(row, kind, argc > 3 ? std::atoi(argv[3]) : 0);
  });
}
