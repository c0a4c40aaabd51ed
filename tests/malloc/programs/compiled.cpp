// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work for a compiler: templates of the standard library, several at once.
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
#if !defined(SHORT)
#include <regex>
#endif

namespace {

template <int N>
struct step {
  std::map<std::string, std::vector<std::variant<int, std::string, std::array<int, N % 7 + 1>>>> values;

  std::size_t run(int seed) {
    for (int i = 0; i < N; ++i) values[std::to_string(i * seed % 13)].emplace_back(std::to_string(i + N));
    std::size_t sum = 0;
    for (const auto& [name, list] : values) sum += name.size() * list.size();
    return sum + step<N - 1>{}.run(seed + 1);
  }
};

template <>
struct step<0> {
  std::size_t run(int) { return 0; }
};

}  // namespace

int main() {
#if !defined(SHORT)
  const std::regex pattern{"(a|b)+c{1,3}"};
  std::cout << std::regex_match("ababcc", pattern) << ' ';
#endif
  std::unordered_map<std::string, std::function<int(int)>> functions;
  for (int i = 0; i < 10; ++i) functions[std::to_string(i)] = [i](int x) { return x * i; };
  std::cout << step<8>{}.run(3) << ' ' << functions["7"](6) << '\n';
}
