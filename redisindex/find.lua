-- Prepended to every script. An entry starts with its length (2 bytes, big-endian), the length of its head
-- (2 bytes), its ticket (6 bytes) and its digest (16 bytes); the rest up to the head's end and the verdict
-- behind it are the client's business.

-- find returns where in value the entry with this digest starts, its length, and how many entries came before it.
-- Without such an entry it returns nil, nil and the number of all entries.
local function find(value, digest)
  local pos, count = 1, 0
  while pos + 25 <= #value do
    local hi, lo = string.byte(value, pos, pos + 1)
    local len = hi * 256 + lo
    if len < 26 then break end
    if string.sub(value, pos + 10, pos + 25) == digest then return pos, len, count end
    pos, count = pos + len, count + 1
  end
  return nil, nil, count
end

-- locate finds an entry in the field of its fingerprint or, of a crowded fingerprint, in a field of its own. It
-- returns the field's name, its value, and the entry's place as find does.
local function locate(key, fingerprint, digest)
  for _, field in ipairs({fingerprint, fingerprint .. digest}) do
    local value = redis.call('HGET', key, field)
    if not value then return nil end -- a field of its own comes only after a full field of the fingerprint
    local pos, len = find(value, digest)
    if pos then return field, value, pos, len end
  end
end
