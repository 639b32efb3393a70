-- Put in front of the scripts that store.

-- prolong makes a key live for at least so many seconds from now. An EXPIRE goes to the log and to replicas, so a key gets a 64th more, and
-- none until that is used up. The result says whether there is no such key.
local function prolong(key, seconds)
  local left = redis.call('TTL', key)
  if left >= 0 and left < tonumber(seconds) or left == -1 then
    redis.call('EXPIRE', key, math.floor(seconds * 65 / 64))
  end
  return left == -2
end
