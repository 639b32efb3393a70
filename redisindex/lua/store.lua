-- Step 2 of a batch: stores the entry of an article, unless there is an entry with its digest.
-- KEYS[1]  hash of entries
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  digest, 16 bytes
-- ARGV[3]  entry, without ticket and verdict
-- ARGV[4]  number of entries that the field of a fingerprint may hold
-- ARGV[5]  seconds until the key expires
-- Output: 0 if the entry was stored in the field of its fingerprint; 1 if it was stored as an overflow entry, in a separate
-- field; or the entry with the digest that was found instead.
local key, fingerprint, digest = KEYS[1], ARGV[1], ARGV[2]
local reply = 0
local value = redis.call('HGET', key, fingerprint)
if not value then
  redis.call('HSET', key, fingerprint, ARGV[3])
else
  local pos, len, _, count = find(value, digest)
  if pos then
    reply = string.sub(value, pos, pos + len - 1)
  elseif count < tonumber(ARGV[4]) then
    redis.call('HSET', key, fingerprint, value .. ARGV[3])
  else
    reply = redis.call('HGET', key, fingerprint .. digest)
    if not reply then
      redis.call('HSET', key, fingerprint .. digest, ARGV[3])
      reply = 1
    end
  end
end
redis.call('EXPIRE', key, ARGV[5])
return reply
