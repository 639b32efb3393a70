-- Step 1 of a batch: adds fingerprints to block lists in one hash, unless they are in their list or the list is full.
-- Redis cannot append to a field, so a list is written as a whole, and goes as a whole to the log and to replicas. All lists are
-- written with one command.
-- KEYS[1]  hash of block lists; each field is a list: fingerprints of 8 bytes, one after another
-- ARGV[1]  seconds until the key expires, at least
-- ARGV[2]  largest size of a list in bytes
-- ARGV[3]  and following: the fields of the lists; then, for each list, the fingerprints to add to it, one after another
-- Output: two numbers: of fingerprints that found their list full, and of lists that were damaged. Of a damaged list the whole
-- fingerprints are kept.
local unpack = table.unpack or unpack -- Lua 5.4 has the first, Redis' Lua 5.1 the second
local key = KEYS[1]
if prolong(key, ARGV[1]) then
  -- The hash is new. Redis keeps a small hash as a listpack, and each look-up searches a listpack from the front. A value that is
  -- longer than hash-max-listpack-value makes the hash a hash table from the start. It is in the field without a name.
  redis.call('HSET', key, '', string.rep(' ', TABLE_BYTES))
  prolong(key, ARGV[1])
end
local most, refused, damaged = tonumber(ARGV[2]), 0, 0
local count, writes = (#ARGV - 2) / 2, {}
for n, before in ipairs(redis.call('HMGET', key, unpack(ARGV, 3, count + 2))) do
  local list, members = before or '', ARGV[count + n + 2]
  if #list % 8 ~= 0 then
    list, damaged = string.sub(list, 1, #list - #list % 8), damaged + 1
  end
  for from = 1, #members, 8 do
    local fingerprint = string.sub(members, from, from + 7)
    local at = string.find(list, fingerprint, 1, true)
    while at and at % 8 ~= 1 do -- these 8 bytes are the end of one fingerprint and the start of the next
      at = string.find(list, fingerprint, at + 1, true)
    end
    if not at then
      if #list < most then list = list .. fingerprint else refused = refused + 1 end
    end
  end
  if list ~= before then writes[#writes + 1], writes[#writes + 2] = ARGV[n + 2], list end
end
if #writes > 0 then redis.call('HSET', key, unpack(writes)) end
return {refused, damaged}
