-- Replaces the state of a story, unless somebody else has changed it since it was read.
-- KEYS[1]  state of a story
-- ARGV[1]  the state that was read; empty: there was none
-- ARGV[2]  the new state
-- ARGV[3]  lifetime in milliseconds
-- Output: 1, or 0 if the state has changed
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
