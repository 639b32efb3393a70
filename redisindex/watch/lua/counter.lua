-- Reads the ticket counter, and raises it to the highest ticket that is known. Otherwise a counter that was lost would start over
-- below the tickets of existing entries, and copies of their articles would pass as unique.
-- KEYS[1]  ticket counter
-- ARGV[1]  highest ticket that is known to have been drawn; 0: unknown
-- ARGV[2]  seconds until the key expires
-- Output: the counter before; 0 if there was none.
local held = redis.call('INCRBY', KEYS[1], 0)
local lacks = tonumber(ARGV[1]) - held
if lacks > 0 then redis.call('INCRBY', KEYS[1], string.format('%.0f', lacks)) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return held
