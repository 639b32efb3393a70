-- Takes away the ticket of an entry that has no verdict, unless it has a verdict or another ticket by now.
-- KEYS[1]  hash of entries
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  digest, 16 bytes
-- ARGV[3]  ticket to take away, 6 bytes
-- Output: 1 if the ticket was taken away; otherwise 0.
local field, value, pos, len, head = locate(KEYS[1], ARGV[1], ARGV[2])
if not field or len > head or string.sub(value, pos + 4, pos + 9) ~= ARGV[3] then return 0 end
local first = string.char(string.byte(ARGV[3]) + 128) -- adds withdrawn (find.lua) to the ticket
redis.call('HSET', KEYS[1], field, string.sub(value, 1, pos + 3) .. first .. string.sub(ARGV[3], 2) .. string.sub(value, pos + 10))
return 1
