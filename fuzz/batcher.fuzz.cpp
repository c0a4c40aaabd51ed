// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as frees, flushes, drains and the end of the pool of a batcher, beside an oracle.
#include <cstddef>
#include <cstdint>
#include <memory>

#include <ashlar/detail/remote_free/batcher.hpp>

#include "fuzz/support.hpp"
#include "tests/support/batcher_model.hpp"

namespace {

using ashlar_fuzz::expect;
using ashlar_fuzz::input;

template <ashlar::detail::batch_shape Shape>
void run(input bytes) {
  using model_type = ashlar_test::batcher_model<Shape>;
  const auto model = std::make_unique<model_type>(1u + bytes.next());
  while (!bytes.empty()) {
    const std::uint8_t operation = bytes.next();
    const std::size_t cell = (bytes.next() * 256u + bytes.next()) % model_type::cells;
    switch (operation % 16) {
      case 0: expect(model->flush()); break;
      case 1: expect(model->hand_over()); break;
      case 2: expect(model->drain()); break;
      case 3: expect(operation < 240 || model->close()); break;
      case 4: expect(model->add(cell)); break;
      default: expect(model->add_whatever_it_takes(cell, operation >= 128)); break;
    }
  }
  expect(model->finish());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input bytes(data, size);
  switch (bytes.next() % 3) {
    case 0: run<ashlar::detail::batch_shape{.packets = 1, .words = 1, .slot_count = 2}>(bytes); break;
    case 1: run<ashlar::detail::batch_shape{.packets = 2, .words = 3, .slot_count = 4}>(bytes); break;
    default: run<ashlar::detail::batch_shape{}>(bytes); break;
  }
  return 0;
}
