// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers in one large block of device memory, which the host cannot access: only offsets are managed.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <ashlar/resource/tlsf_offsets.hpp>

namespace {

// Stands for a VkDeviceMemory, an ID3D12Heap or an MTLHeap: the program has a handle and no pointer.
struct device_memory {
  std::uint64_t size;
};

struct buffer {
  ashlar::tlsf_offsets<std::uint64_t>::range where;
  std::uint64_t size;
};

class buffer_heap {
public:
  explicit buffer_heap(const device_memory& memory)
      : offsets_(memory.size, {.granule = 256}) {  // for example minUniformBufferOffsetAlignment
    offsets_.reserve(4096);                        // no allocation while frames are drawn
  }

  [[nodiscard]] buffer make(std::uint64_t size, std::uint64_t alignment) {
    return {offsets_.try_allocate(size, alignment), size};
  }
  void destroy(const buffer& b) { offsets_.deallocate(b.where); }
  // A ring that proves too small, before it is moved.
  [[nodiscard]] bool grow(buffer& b, std::uint64_t size) {
    if (!offsets_.try_expand(b.where.handle, size)) return false;
    b.size = size;
    return true;
  }
  [[nodiscard]] auto report() const { return offsets_.report_storage(); }

private:
  ashlar::tlsf_offsets<std::uint64_t> offsets_;
};

}  // namespace

int main() {
  buffer_heap heap(device_memory{std::uint64_t{6} << 30});  // 6 GiB: offsets of 64 bits
  std::vector<buffer> meshes;
  for (std::uint64_t i = 0; i < 1000; ++i) meshes.push_back(heap.make(50'000 + i * 1000, 256));
  buffer ring = heap.make(1 << 20, 65536);
  for (std::size_t i = 0; i < meshes.size(); i += 2) heap.destroy(meshes[i]);
  const bool grew = heap.grow(ring, 4 << 20);

  const auto report = heap.report();
  std::printf("%zu buffers in %llu MiB, %zu free blocks, the largest %llu MiB; the ring is at offset %llu\n",
              report.live_blocks, static_cast<unsigned long long>(report.used >> 20), report.free_blocks,
              static_cast<unsigned long long>(report.largest_free >> 20),
              static_cast<unsigned long long>(ring.where.offset));
  return grew && report.live_blocks == 501 && ring.where.offset % 65536 == 0 ? 0 : 1;
}
