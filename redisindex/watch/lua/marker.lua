-- Reads and raises the marker of a node, a number that only grows. If the marker is lower than a number that was read before,
-- Redis has forgotten a write.
-- KEYS[1]  the marker, a hash: seen is the number, lost its last loss, cured the number up to which a refill has cured losses
-- ARGV[1]  the highest number that the marker is known to have held; 0: unknown
-- ARGV[2]  number to raise it to; 0: only read
-- ARGV[3]  seconds until the key expires
-- ARGV[4]  kind of a loss that the caller has noticed elsewhere; empty: none
-- Output: the number before, the last loss ("<number> <kind>"), and the number up to which losses are cured; nil: there was none.
local key, write, kind = KEYS[1], tonumber(ARGV[2]), ARGV[4]
local held = redis.call('HGET', key, 'seen')
local number = tonumber(held or 0)
if number < tonumber(ARGV[1]) then
  kind = held and 'rollback' or 'missing'
end
if kind ~= '' then redis.call('HSET', key, 'lost', ARGV[2] .. ' ' .. kind) end
if number < write then redis.call('HSET', key, 'seen', ARGV[2]) end
if write > 0 then redis.call('EXPIRE', key, ARGV[3]) end
return {held, redis.call('HGET', key, 'lost'), redis.call('HGET', key, 'cured')}
