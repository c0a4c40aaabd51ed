// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with the C++ library in it.
#include <memory>
#include <utility>

namespace {

struct reading {
  double celsius = 0;
  std::unique_ptr<reading> earlier;
};

}  // namespace

int main() {
  std::unique_ptr<reading> last;
  for (int hour = 0; hour < 100; ++hour) {
    auto now = std::make_unique<reading>();
    now->celsius = hour;
    now->earlier = std::move(last);
    last = std::move(now);
  }
  return last->celsius > 0 ? 0 : 1;
}
