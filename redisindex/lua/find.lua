-- Prepended to every script that works on entries. An entry starts with its length (2 bytes, big-endian), the length of its
-- head (2 bytes), its ticket (6 bytes) and its digest (16 bytes); only the client reads the rest of the head and
-- the verdict behind it.

-- find returns where in value the entry with this digest starts, its length, the length of its head, and the number of all entries.
-- Without such an entry the first three are nil. A value that is not a sequence of whole entries is damaged, and must be told from one
-- without the entry: a caller that appended to it would do so without end. The script ends with an error then, and the client sets the
-- field aside.
local function find(value, digest)
  local size, pos, count = #value, 1, 0
  local at, length, head
  while pos <= size do
    local len, h = 0, 0
    if size - pos >= 26 then
      local a, b, c, d = string.byte(value, pos, pos + 3)
      len, h = a * 256 + b, c * 256 + d
    end
    if h < 27 or h > len or len > size - pos + 1 then error('ECHOSIEVE_DAMAGED', 0) end
    if not at and string.sub(value, pos + 10, pos + 25) == digest then at, length, head = pos, len, h end
    pos, count = pos + len, count + 1
  end
  return at, length, head, count
end

-- locate finds an entry in the field of its fingerprint or, of a crowded fingerprint, in a field of its own. It
-- returns the field's name, its value, and the first three results of find.
local function locate(key, fingerprint, digest)
  local field = fingerprint
  repeat
    local value = redis.call('HGET', key, field)
    if not value then return nil end -- a field of its own comes only after a full field of the fingerprint
    local pos, len, head = find(value, digest)
    if pos then return field, value, pos, len, head end
    field = field .. digest
  until #field > 24
end
