-- Takes the ticket from an entry whose verdict did not come, unless it has a verdict by now or another ticket.
-- KEYS[1]  hash of the shard
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  digest, 16 bytes
-- ARGV[3]  ticket, 6 bytes
-- Output: 1 if the ticket was taken, else 0.
local field, value, pos, len, head = locate(KEYS[1], ARGV[1], ARGV[2])
if not field or len > head or string.sub(value, pos + 4, pos + 9) ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], field, string.sub(value, 1, pos + 3) .. string.rep(string.char(0), 6) .. string.sub(value, pos + 10))
return 1
