-- Prepended to every script that works on entries. An entry starts with its length (2 bytes, big-endian), the length of its
-- head (2 bytes), its ticket (6 bytes) and its digest (16 bytes); only the client reads the rest of the head and
-- the verdict behind it.

-- number reads two bytes, big-endian.
local function number(value, pos)
  local high, low = string.byte(value, pos, pos + 1)
  return high * 256 + low
end

-- head returns the length of the head of the entry that starts at pos.
local function head(value, pos) return number(value, pos + 2) end

-- find returns where in value the entry with this digest starts, its length, and how many entries came before it.
-- Without such an entry it returns nil, nil and the number of all entries. A value that is not a sequence of whole
-- entries is damaged, and must be told from one without the entry: a caller that appended to it would do so without end.
-- The script ends with an error then, and the client sets the field aside.
local function find(value, digest)
  local pos, count = 1, 0
  local at, length, before
  while pos <= #value do
    local len = pos + 26 <= #value and number(value, pos) or 0
    if len < 27 or pos + len - 1 > #value or head(value, pos) < 27 or head(value, pos) > len then
      error('ECHOSIEVE_DAMAGED', 0)
    end
    if not at and string.sub(value, pos + 10, pos + 25) == digest then at, length, before = pos, len, count end
    pos, count = pos + len, count + 1
  end
  return at, length, before or count
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
