-- Stores the entry of an article with its ticket and its verdict, which are known already (see Index.Restore).
-- KEYS[1]  hash of entries
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  digest, 16 bytes
-- ARGV[3]  entry, with ticket and verdict
-- ARGV[4]  number of entries that the field of a fingerprint may hold
-- ARGV[5]  seconds until the key expires
-- ARGV[6]  digest of the article's entry if that is hidden, 16 bytes
-- ARGV[7]  size of the coordinates in an entry, in bytes
-- Output: 0 if the entry was stored in the field of its fingerprint; 1 if it was stored as an overflow entry; 2 if the article's own
-- entry was there without a verdict, and has got the verdict; or the entry that was found instead: the article's own with a verdict, or
-- that of another article with the same digest.
local key, fingerprint, digest, entry, hidden = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[6]
local field, value = fingerprint, redis.call('HGET', key, fingerprint) or ''
local pos, len, head, count = find(value, digest, hidden)
local reply
if count >= tonumber(ARGV[4]) then
  local own = redis.call('HGET', key, fingerprint .. hidden)
  if own then
    field, value = fingerprint .. hidden, own
    pos, len, head = find(value, hidden)
  elseif not pos then
    field = fingerprint .. digest
    value = redis.call('HGET', key, field) or ''
    pos, len, head = find(value, digest)
  end
end
if not pos then
  redis.call('HSET', key, field, value .. entry)
  reply = field == fingerprint and 0 or 1
elseif len == head and string.sub(value, pos + 27, pos + 26 + ARGV[7]) == string.sub(entry, 28, 27 + ARGV[7]) then
  local verdict = string.sub(entry, 1 + string.byte(entry, 3) * 256 + string.byte(entry, 4))
  local ticket = string.sub(value, pos + 4, pos + 9)
  if not has_ticket(number(ticket)) then ticket = string.sub(entry, 5, 10) end
  len = len + #verdict
  redis.call('HSET', key, field, string.sub(value, 1, pos - 1) .. string.char(math.floor(len / 256), len % 256)
    .. string.sub(value, pos + 2, pos + 3) .. ticket .. string.sub(value, pos + 10, pos + head - 1) .. verdict
    .. string.sub(value, pos + head))
  reply = 2
else
  reply = string.sub(value, pos, pos + len - 1)
end
redis.call('EXPIRE', key, ARGV[5])
return reply
