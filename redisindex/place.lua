-- Step 1: puts a fingerprint into the list of a block value, unless it is there.
-- KEYS[1]  list of the block value: fingerprints of 8 bytes, one after another
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  seconds until the key expires
-- Output: 1 added, 0 there already.
local key, fingerprint, lifetime = KEYS[1], ARGV[1], ARGV[2]
local list = redis.call('GET', key) or ''
local at = string.find(list, fingerprint, 1, true)
while at do
  if at % 8 == 1 then -- else it straddles two others
    redis.call('EXPIRE', key, lifetime)
    return 0
  end
  at = string.find(list, fingerprint, at + 1, true)
end
if #list < 1024 then -- SET takes just the memory needed; APPEND up to twice as much, but replicas and the log get 8 bytes
  redis.call('SET', key, list .. fingerprint, 'EX', lifetime)
else
  redis.call('APPEND', key, fingerprint)
  redis.call('EXPIRE', key, lifetime)
end
return 1
