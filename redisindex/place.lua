-- Step 1: puts fingerprints into the lists of their block values, unless they are there.
-- KEYS[1]  hash of lists: fingerprints of 8 bytes, one after another
-- ARGV[1]  seconds until the key expires
-- ARGV[2]  field of a list, ARGV[3] the fingerprint for it, and so on
local key = KEYS[1]
if redis.call('EXPIRE', key, ARGV[1]) == 0 then
  -- A new hash. Redis keeps small ones as listpacks, in which every look-up searches from the front. One value longer
  -- than hash-max-listpack-value makes it a hash table from the start.
  redis.call('HSET', key, '', string.rep(' ', 2048))
  redis.call('EXPIRE', key, ARGV[1])
end
for i = 2, #ARGV, 2 do
  local field, fingerprint = ARGV[i], ARGV[i + 1]
  local list = redis.call('HGET', key, field) or ''
  local at = string.find(list, fingerprint, 1, true)
  while at and at % 8 ~= 1 do -- it straddles two others
    at = string.find(list, fingerprint, at + 1, true)
  end
  if not at then redis.call('HSET', key, field, list .. fingerprint) end
end
