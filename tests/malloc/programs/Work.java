// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work for a Java machine: maps, text, compression and direct buffers in threads.
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;

public class Work {
  static long work(int seed) throws Exception {
    Map<String, List<String>> table = new TreeMap<>();
    for (int i = 0; i < 200_000; ++i) table.computeIfAbsent("k" + (i * 7919L + seed) % 5003, k -> new ArrayList<>()).add("v" + i);
    CRC32 sum = new CRC32();
    for (var e : table.entrySet()) sum.update((e.getKey() + e.getValue()).getBytes());
    Deflater deflater = new Deflater(9);
    byte[] out = new byte[1 << 20];
    for (int i = 0; i < 30; ++i) {
      ByteBuffer direct = ByteBuffer.allocateDirect(200_000 + i);
      while (direct.remaining() > 8) direct.putLong(i * 31L);
      direct.flip();
      deflater.reset();
      deflater.setInput(direct);
      deflater.finish();
      sum.update(out, 0, deflater.deflate(out));
    }
    return sum.getValue();
  }

  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    List<Future<Long>> sums = new ArrayList<>();
    for (int t = 0; t < 8; ++t) {
      int seed = t;
      sums.add(pool.submit(() -> work(seed)));
    }
    for (var sum : sums) System.out.println(sum.get());
    pool.shutdown();
  }
}
