-- Step 2 of a claim, storeEntries, for an article whose fingerprint has a field already: stores its entry, unless there is an entry with its digest.
-- KEYS[1]  hash of entries
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  digest, 16 bytes
-- ARGV[3]  entry, without ticket and verdict
-- ARGV[4]  number of entries that the field of a fingerprint may hold
-- ARGV[5]  seconds until the key expires, at least
-- ARGV[6]  digest of the article's entry if that is hidden, 16 bytes
-- Output: 0 if the entry was stored in the field of its fingerprint; 1 if it was stored as an overflow entry, in a separate
-- field; or the entry with the digest that was found instead.
local key, fingerprint, digest, hidden = KEYS[1], ARGV[1], ARGV[2], ARGV[6]
local reply = 0
local value = redis.call('HGET', key, fingerprint)
if not value then -- it was there a moment ago, but Redis has lost it
  redis.call('HSET', key, fingerprint, ARGV[3])
else
  local pos, len, _, count = find(value, digest, hidden)
  local full = count >= tonumber(ARGV[4])
  local own = full and redis.call('HGET', key, fingerprint .. hidden)
  if own and own ~= '' then -- empty: damage was removed
    reply = own
  elseif pos then
    reply = string.sub(value, pos, pos + len - 1)
  elseif not full then
    redis.call('HSET', key, fingerprint, value .. ARGV[3])
  else
    reply = redis.call('HGET', key, fingerprint .. digest)
    if not reply or reply == '' then -- empty: the entry is hidden now
      redis.call('HSET', key, fingerprint .. digest, ARGV[3])
      reply = 1
    end
  end
end
prolong(key, ARGV[5])
return reply
