-- Replaces the value of a damaged field by the whole entries at its beginning, unless the value has changed since it was read. If
-- there are no whole entries, the field stays with an empty value: deleting it would need one more right.
-- KEYS[1]  hash of entries
-- ARGV[1]  field
-- ARGV[2]  value as it was read
-- ARGV[3]  the whole entries at its beginning
-- Output: 1 if the value was replaced; otherwise 0.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
