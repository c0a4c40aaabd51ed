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
