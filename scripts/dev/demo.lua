-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- The program of the demo: an index of made-up documents, its best words, and trees of tables that come and go.
local function document(number)
  local words = {}
  for i = 1, 60 do words[i] = "word" .. (number * 7919 + i * i * 31) % 20011 end
  return words
end

local index = {}
for number = 1, 1100 do
  for position, word in ipairs(document(number)) do
    local places = index[word]
    if not places then places = {}; index[word] = places end
    places[#places + 1] = {document = number, position = position}
  end
end

local sorted = {}
for word, places in pairs(index) do sorted[#sorted + 1] = {word = word, count = #places} end
table.sort(sorted, function(a, b) return a.count > b.count or a.count == b.count and a.word < b.word end)

local function tree(depth) return depth == 0 and {} or {tree(depth - 1), tree(depth - 1)} end
local function leaves(node) return #node == 0 and 1 or leaves(node[1]) + leaves(node[2]) end
local sum = 0
for _ = 1, 4 do sum = sum + leaves(tree(12)) end
print(#sorted, sorted[1].word, sorted[1].count, sum)
