-- Step 1: puts fingerprints into the lists of their block values, unless they are there or the list is full.
-- Redis cannot append to a field: a list goes whole to the log and to replicas. All lists go with one command.
-- KEYS[1]  hash of lists: fingerprints of 8 bytes, one after another
-- ARGV[1]  seconds until the key expires
-- ARGV[2]  bytes that a list may hold
-- ARGV[3]  field of a list, ARGV[4] fingerprints for it, one after another, and so on
-- Output: how many fingerprints found a full list, and how many lists were damaged: of those the whole fingerprints stay.
local key = KEYS[1]
if redis.call('EXPIRE', key, ARGV[1]) == 0 then
  -- A new hash. Redis keeps small ones as listpacks, in which every look-up searches from the front. One value longer
  -- than hash-max-listpack-value makes it a hash table from the start.
  redis.call('HSET', key, '', string.rep(' ', TABLE_BYTES))
  redis.call('EXPIRE', key, ARGV[1])
end
local most, refused, damaged = tonumber(ARGV[2]), 0, 0
local fields, writes = {}, {}
for i = 3, #ARGV, 2 do fields[#fields + 1] = ARGV[i] end
for n, before in ipairs(redis.call('HMGET', key, unpack(fields))) do
  local list, members = before or '', ARGV[2 * n + 2]
  if #list % 8 ~= 0 then
    list, damaged = string.sub(list, 1, #list - #list % 8), damaged + 1
  end
  for from = 1, #members, 8 do
    local fingerprint = string.sub(members, from, from + 7)
    local at = string.find(list, fingerprint, 1, true)
    while at and at % 8 ~= 1 do -- it straddles two others
      at = string.find(list, fingerprint, at + 1, true)
    end
    if not at then
      if #list < most then list = list .. fingerprint else refused = refused + 1 end
    end
  end
  if list ~= before then writes[#writes + 1], writes[#writes + 2] = fields[n], list end
end
if #writes > 0 then redis.call('HSET', key, unpack(writes)) end
return {refused, damaged}
