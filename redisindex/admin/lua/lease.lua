-- Takes a part of a refill for a process, unless another process has it.
-- KEYS[1]  the lease, a hash
-- ARGV[1]  name of the process
-- ARGV[2]  seconds until the lease ends
-- Output: 1 if the process has the part now; otherwise 0.
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
