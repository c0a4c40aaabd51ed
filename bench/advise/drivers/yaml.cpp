// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a YAML file with yaml-cpp, and prints how much it holds.
#include <cstdio>
#include <string>

#include <yaml-cpp/yaml.h>

namespace {

std::size_t count(const YAML::Node& node) {
  std::size_t all = 1;
  if (node.IsSequence())
    for (const YAML::Node& item : node) all += count(item);
  if (node.IsMap())
    for (const auto& item : node) all += count(item.first) + count(item.second);
  return all;
}

}  // namespace

int main(int argc, char** argv) { std::printf("%zu\n", count(YAML::LoadFile(argc > 1 ? argv[1] : ""))); }
