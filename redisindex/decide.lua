-- Step 6: writes an entry's verdict unless it has one.
-- KEYS[1]  hash of the shard
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  digest, 16 bytes
-- ARGV[3]  verdict
-- Output: the verdict that the entry has now, or nil: no such entry (any more).
local field, value, pos, len = locate(KEYS[1], ARGV[1], ARGV[2])
if not field then return false end
local hi, lo = string.byte(value, pos + 2, pos + 3)
local head = hi * 256 + lo
if len > head then return string.sub(value, pos + head, pos + len - 1) end
len = len + #ARGV[3]
redis.call('HSET', KEYS[1], field, string.sub(value, 1, pos - 1)
  .. string.char(math.floor(len / 256), len % 256)
  .. string.sub(value, pos + 2, pos + head - 1) .. ARGV[3] .. string.sub(value, pos + head))
return ARGV[3]
