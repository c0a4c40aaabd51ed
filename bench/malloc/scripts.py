# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts for interpreters, each of which allocates in its own way."""

LUA = """
local function tree(depth)
  if depth == 0 then return {} end
  return {tree(depth - 1), tree(depth - 1)}
end
local function count(node)
  if not node[1] then return 1 end
  return 1 + count(node[1]) + count(node[2])
end
local sum = 0
for round = 1, 24 do
  sum = sum + count(tree(14))
  local words = {}
  for i = 1, 40000 do
    local key = "key" .. (i * 7919 % 10007)
    local entry = words[key] or {key = key, seen = {}, text = ""}
    entry.seen[#entry.seen + 1] = i
    if #entry.text < 60 then entry.text = entry.text .. string.rep("x", i % 9) end
    words[key] = entry
  end
  for key, entry in pairs(words) do sum = sum + #entry.seen + #entry.text end
end
print(sum)
"""

PERL = r"""
use strict; use warnings;
my (%count, %follows, @lines);
open(my $in, '<', $ARGV[0]) or die;
while (my $line = <$in>) {
  my @words = split ' ', $line;
  $count{$_}++ for @words;
  push @{$follows{$words[$_]}}, $words[$_ + 1] for 0 .. $#words - 1;
  (my $changed = $line) =~ s/([aeiou])(\w)/<$1>$2/g;
  push @lines, $changed;
}
my @often = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_} ", join(',', sort(@{$follows{$_} || []})), "\n" for @often[0 .. 99];
print length(join '', reverse @lines), "\n";
"""

NODE = """
const records = [];
for (let i = 0; i < 60000; ++i)
  records.push({id: i, name: 'name-' + (i * 7919 % 20011), tags: ['a' + i % 7, 'b' + i % 11], cents: i * 31 % 997});
let length = 0;
for (let round = 0; round < 4; ++round) {
  const text = JSON.stringify(records);
  const again = JSON.parse(text);
  const groups = new Map();
  for (const record of again) {
    if (!groups.has(record.name)) groups.set(record.name, []);
    groups.get(record.name).push(record);
  }
  again.sort((a, b) => a.cents - b.cents || a.id - b.id);
  length += text.length + groups.size + Buffer.from(text).toString('base64').length + again[round].id;
}
console.log(length);
"""

SHELL = """
for i in $(seq 150); do
  mawk -v n="$i" '{ for (j = 1; j <= NF; ++j) seen[$j] += n } END { for (word in seen) print seen[word], word }' "$1" |
    sort -k1,1nr -k2 | head -n 3
  word=$(echo "$i" | tr 0-9 a-j)
  echo "${word}${word}"
done
"""

GAWK = r"""
{
  for (i = 1; i <= NF; ++i) {
    count[$i]++
    if (length(text[$i]) < 200) text[$i] = text[$i] "," NR
    if (i > 1) pairs[$(i - 1), $i]++
  }
  line = $0
  gsub(/[aeiou]/, "<&>", line)
  total += length(line)
}
END {
  n = asorti(count, words)
  for (i = 1; i <= n; i += 97) print words[i], count[words[i]], text[words[i]]
  print total, length(pairs)
}
"""

RUBY = """
require 'json'
texts, lock = {}, Mutex.new
serve = lambda do |number|
  (0...300).sum do |round|
    rows = Array.new(60) { |i| {id: i, name: "user #{number} #{i * 7919 % 1009}", tags: ['a' * (i % 40), 'b' * (i % 90)]} }
    text = JSON.generate(rows).gsub('user', 'person')
    lock.synchronize { texts["#{number} #{round % 50}"] = text }
    JSON.parse(text).sum { |row| row['name'].size }
  end
end
puts Array.new(5) { |number| Thread.new { serve.call(number) } }.sum(&:value)
"""

PYTHON_THREADS = """
import json, threading
sums = []
def serve(number):
    kept, size = {}, 0
    for turn in range(40):
        rows = [{"id": i, "name": f"user {number} {i * 7919 % 1009}", "tags": ["a" * (i % 40)] * (i % 5)} for i in range(300)]
        kept[turn % 8] = json.dumps(rows)
        size += len(json.loads(kept[turn % 8])) + len(kept[turn % 8])
    sums.append(size)
threads = [threading.Thread(target=serve, args=(number,)) for number in range(16)]
for each in threads: each.start()
for each in threads: each.join()
print(sum(sums))
"""

JAVA = """
import java.nio.ByteBuffer;
import java.util.zip.Deflater;
public class Main {
  static long serve(int number) {
    long sum = 0;
    byte[] packed = new byte[300000];
    for (int round = 0; round < 60; ++round) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(1000 + (number * 61 + round) * 7919 % 250000);
      for (int i = 0; i < buffer.capacity(); ++i) buffer.put(i, (byte) (i * 31 % (round + 7)));
      Deflater deflater = new Deflater(1);
      deflater.setInput(buffer);
      deflater.finish();
      sum += deflater.deflate(packed);
      deflater.end();
    }
    return sum;
  }
  public static void main(String[] words) throws Exception {
    Thread[] threads = new Thread[24];
    long[] sums = new long[threads.length];
    for (int i = 0; i < threads.length; ++i) {
      final int number = i;
      (threads[i] = new Thread(() -> sums[number] = serve(number))).start();
    }
    long sum = 0;
    for (int i = 0; i < threads.length; ++i) { threads[i].join(); sum += sums[i]; }
    System.out.println(sum);
  }
}
"""

POSTSCRIPT = """
/Times-Roman findfont 9 scalefont setfont
1 1 12 {
  /page exch def
  0 1 5000 {
    /i exch def
    i 13 mul 500 mod 50 add i 29 mul 700 mod 50 add moveto i 7 mul 90 mod i 11 mul 70 mod rlineto stroke
    i 37 mul 500 mod 50 add i 17 mul 700 mod 50 add moveto page i mul 20 string cvs show
    i 100 mod 0 eq { 1 1 300 { dup string exch array pop pop } for } if
  } for
  showpage
} for
"""

SMT = """
(declare-const x (_ BitVec 9))
(declare-const y (_ BitVec 9))
(declare-const z (_ BitVec 9))
(assert (not (= (bvmul x (bvadd y z)) (bvadd (bvmul x y) (bvmul x z)))))
(check-sat-using (then simplify bit-blast sat))
"""

CMAKE = """
set(all "")
foreach(i RANGE 20000)
  math(EXPR n "${i} * 7919 % 1009")
  string(REGEX REPLACE "([0-9])" "<\\\\1>" text "name ${n} ${i}")
  set(of_${n} "${of_${n}};${text}")
  list(APPEND all ${n})
endforeach()
list(SORT all)
list(REMOVE_DUPLICATES all)
string(LENGTH "${all} ${of_7} ${of_900}" length)
message(STATUS "${length}")
"""
