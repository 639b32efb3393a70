-- Step 1 of a claim, storeLists: adds fingerprints to the ends of block lists in one hash, unless they are in their list. A list that is too long loses
-- its oldest fingerprints.
-- Redis cannot append to a field, so a list is written as a whole, and goes as a whole to the log and to replicas. All lists are
-- written with one command.
-- KEYS[1]  hash of block lists; each field is a list: fingerprints, one after another
-- ARGV[1]  seconds until the key expires, at least
-- ARGV[2]  size of a fingerprint in bytes: the bits that the block value holds are left out
-- ARGV[3]  largest number of fingerprints in a list
-- ARGV[4]  and following: the fields of the lists; then, for each list, the fingerprints to add to it, one after another
-- Output: two numbers: of fingerprints that lists have lost, and of lists that were damaged. Of a damaged list the whole
-- fingerprints are kept.
local unpack = table.unpack or unpack -- Lua 5.4 has the first, Redis' Lua 5.1 the second
local key = KEYS[1]
local is_new = prolong(key, ARGV[1])
local size = tonumber(ARGV[2])
local most, lost, damaged = size * ARGV[3], 0, 0
local count, writes = (#ARGV - 3) / 2, {}
for n, before in ipairs(redis.call('HMGET', key, unpack(ARGV, 4, count + 3))) do
  local list, members = before or '', ARGV[count + n + 3]
  if #list % size ~= 0 then
    list, damaged = string.sub(list, 1, #list - #list % size), damaged + 1
  end
  local new = {} -- joined at the end: Lua hashes each string that it makes, byte by byte
  for from = 1, #members, size do
    local fingerprint = string.sub(members, from, from + size - 1)
    local at = string.find(list, fingerprint, 1, true)
    while at and (at - 1) % size ~= 0 do -- these bytes are the end of one fingerprint and the start of the next
      at = string.find(list, fingerprint, at + 1, true)
    end
    if not at and not new[fingerprint] then new[fingerprint], new[#new + 1] = true, fingerprint end
  end
  if #new > 0 then list = list .. table.concat(new) end
  if #list > most then
    lost = lost + (#list - most) / size
    list = string.sub(list, #list - most + 1)
  end
  if list ~= before then writes[#writes + 1], writes[#writes + 2] = ARGV[n + 3], list end
end
if is_new then
  -- Redis keeps a small hash as a listpack, and each look-up searches a listpack from the front. A value that is longer than
  -- hash-max-listpack-value makes the hash a hash table, which it stays. The first list takes the place of the value.
  redis.call('HSET', key, writes[1], string.rep(' ', TABLE_BYTES))
end
if #writes > 0 then redis.call('HSET', key, unpack(writes)) end
if is_new then prolong(key, ARGV[1]) end
return {lost, damaged}
