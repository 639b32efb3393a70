-- Shows the ticket counter and raises it to the highest ticket that is known to be drawn: starting over below the tickets of
-- entries would let copies of them through.
-- KEYS[1]  counter
-- ARGV[1]  highest ticket that is known to be drawn; 0: none is known
-- ARGV[2]  seconds until the key expires
-- Output: the counter before, 0 if there was none.
local held = redis.call('INCRBY', KEYS[1], 0)
local lacks = tonumber(ARGV[1]) - held
if lacks > 0 then redis.call('INCRBY', KEYS[1], string.format('%.0f', lacks)) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return held
