-- Step 1: puts fingerprints into the lists of their block values, unless they are there or the list is full.
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
for i = 3, #ARGV, 2 do
  local field, list = ARGV[i], redis.call('HGET', key, ARGV[i]) or ''
  local before = #list
  if before % 8 ~= 0 then
    list, damaged = string.sub(list, 1, before - before % 8), damaged + 1
  end
  for from = 1, #ARGV[i + 1], 8 do
    local fingerprint = string.sub(ARGV[i + 1], from, from + 7)
    local at = string.find(list, fingerprint, 1, true)
    while at and at % 8 ~= 1 do -- it straddles two others
      at = string.find(list, fingerprint, at + 1, true)
    end
    if not at then
      if #list < most then list = list .. fingerprint else refused = refused + 1 end
    end
  end
  if #list ~= before then redis.call('HSET', key, field, list) end
end
return {refused, damaged}
