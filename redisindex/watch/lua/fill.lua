-- Raises the offsets below which an index lacks nothing, in one step: several processes may fill it.
-- KEYS[1]: the hand-over of a group. ARGV: the field, seconds until the key expires, and pairs of
-- "topic/partition" and an offset. The field is a JSON object, which names need no escapes in.
local read, filled = pcall(cjson.decode, redis.call('HGET', KEYS[1], ARGV[1]) or '{}')
if not read or type(filled) ~= 'table' then -- what another program has written counts as nothing
  filled = {}
end
for i = 3, #ARGV, 2 do
  local offset = tonumber(ARGV[i + 1])
  filled[ARGV[i]] = math.max(tonumber(filled[ARGV[i]]) or 0, offset)
end
local items = {}
for partition, offset in pairs(filled) do
  items[#items + 1] = string.format('"%s":%.0f', partition, offset)
end
redis.call('HSET', KEYS[1], ARGV[1], '{' .. table.concat(items, ',') .. '}')
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 'OK'
