-- Replaces a damaged value by the whole entries at its beginning, unless the value has changed since it was read. A field without
-- entries stays, empty: to delete it would take one more right.
-- KEYS[1]  hash of the shard
-- ARGV[1]  field
-- ARGV[2]  value as it was read
-- ARGV[3]  the whole entries at its beginning
-- Output: 1 if the value was replaced, else 0.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
