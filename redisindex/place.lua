-- Step 1: puts a fingerprint into the lists of its block values, unless it is there.
-- KEYS     lists: fingerprints of 8 bytes, one after another
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  seconds until the keys expire
local fingerprint = ARGV[1]
for _, key in ipairs(KEYS) do
  local list = redis.call('GET', key) or ''
  local at = string.find(list, fingerprint, 1, true)
  while at and at % 8 ~= 1 do -- it straddles two others
    at = string.find(list, fingerprint, at + 1, true)
  end
  redis.call('APPEND', key, at and '' or fingerprint) -- always called, so that a check notices a missing right
  redis.call('EXPIRE', key, ARGV[2])
end
