-- Step 1: puts a fingerprint into the list of a block value, unless it is there.
-- KEYS[1]  list of the block value: fingerprints of 8 bytes, one after another
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  seconds until the key expires
-- Output: 1 added, 0 there already.
local key, fingerprint = KEYS[1], ARGV[1]
local list = redis.call('GET', key) or ''
local at = string.find(list, fingerprint, 1, true)
while at and at % 8 ~= 1 do -- it straddles two others
  at = string.find(list, fingerprint, at + 1, true)
end
redis.call('APPEND', key, at and '' or fingerprint) -- always called, so that a check notices a missing right
redis.call('EXPIRE', key, ARGV[2])
return at and 0 or 1
