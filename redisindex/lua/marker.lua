-- The marker of a node: shows the number that it holds, and raises it. A number below one that was seen before means that
-- Redis has forgotten a write.
-- KEYS[1]  hash
-- ARGV[1]  the highest number that it is known to have held; 0: none is known
-- ARGV[2]  number to raise it to; 0: only look
-- ARGV[3]  seconds until the key expires
-- ARGV[4]  kind of a loss that the caller has noticed elsewhere, or empty
-- Output: the number that it held, or nil, and its last loss ("<number> <kind>"), or nil.
local key, write, kind = KEYS[1], tonumber(ARGV[2]), ARGV[4]
local held = redis.call('HGET', key, 'seen')
local number = tonumber(held or 0)
if number < tonumber(ARGV[1]) then
  kind = held and 'rollback' or 'missing'
end
if kind ~= '' then redis.call('HSET', key, 'lost', ARGV[2] .. ' ' .. kind) end
if number < write then redis.call('HSET', key, 'seen', ARGV[2]) end
if write > 0 then redis.call('EXPIRE', key, ARGV[3]) end
return {held, redis.call('HGET', key, 'lost')}
