-- Step 6 of a claim, decide: writes the verdict of an entry, unless it has one.
-- KEYS[1]  hash of entries
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  digest, 16 bytes
-- ARGV[3]  ticket with which the verdict was reached, 6 bytes
-- ARGV[4]  verdict
-- Output: the verdict that the entry has now; nil if there is no such entry (any more); 1 if the entry has no verdict and another
-- ticket. Then its ticket was withdrawn, and articles that count as earlier now may have been stored since.
local field, value, pos, len, head = locate(KEYS[1], ARGV[1], ARGV[2])
if not field then return false end
if len > head then return string.sub(value, pos + head, pos + len - 1) end
-- The ticket of an overflow entry is not stored, and is never withdrawn (ticket.lua).
if field == ARGV[1] and string.sub(value, pos + 4, pos + 9) ~= ARGV[3] then return 1 end
len = len + #ARGV[4]
redis.call('HSET', KEYS[1], field, string.sub(value, 1, pos - 1)
  .. string.char(math.floor(len / 256), len % 256)
  .. string.sub(value, pos + 2, pos + head - 1) .. ARGV[4] .. string.sub(value, pos + head))
return ARGV[4]
