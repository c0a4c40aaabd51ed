// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program over one of the single headers, which the command line includes.
#include <list>
#include <map>

int main() {
  std::list<int, ashlar::pool_allocator<int>> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  ashlar::arena<> memory;
  std::map<int, int, std::less<>, ashlar::allocator<std::pair<const int, int>, ashlar::arena<>>> squares{
      ashlar::allocator<std::pair<const int, int>, ashlar::arena<>>(memory)};
  for (const int each : numbers) squares.emplace(each, each * each);
  return squares.size() == 1000 && squares.at(31) == 961 ? 0 : 1;
}
