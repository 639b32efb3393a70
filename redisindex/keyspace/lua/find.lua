-- Functions that are put in front of every script for entries. An entry starts with its length (2 bytes, big-endian), the length of
-- its head (2 bytes), its ticket (6 bytes) and its digest (16 bytes). Only the client decodes the rest of the head, and the verdict
-- behind the head.

-- find returns where in value the entry with this digest starts, the entry's length, the length of its head, and the number of all
-- entries. An entry with the digest hidden, if that is given, is preferred. If there is no such entry, the first three are nil. If the
-- value is not a sequence of whole entries, it is damaged, and the script ends with an error; the client then sets the field aside. If
-- find returned nil instead, the caller would append an entry with each attempt and never find it.
local function find(value, digest, hidden)
  local size, pos, count = #value, 1, 0
  local at, length, head
  while pos <= size do
    local len, h = 0, 0
    if size - pos >= 26 then
      local a, b, c, d = string.byte(value, pos, pos + 3)
      len, h = a * 256 + b, c * 256 + d
    end
    if h < 27 or h > len or len > size - pos + 1 then error('ECHOSIEVE_DAMAGED', 0) end
    local d = string.sub(value, pos + 10, pos + 25)
    if not at and d == digest or d == hidden then at, length, head = pos, len, h end
    pos, count = pos + len, count + 1
  end
  return at, length, head, count
end

-- number decodes a ticket of 6 bytes.
local function number(ticket)
  local n = 0
  for i = 1, 6 do n = n * 256 + string.byte(ticket, i) end
  return n
end

-- The entry of an article without a ticket has the ticket 0 or, if its ticket n was withdrawn, the ticket n + withdrawn. The highest ticket
-- of all is that of hidden entries.
local withdrawn, highest = 2 ^ 47, 2 ^ 48 - 1
local function has_ticket(n) return n == highest or n > 0 and n < withdrawn end

-- locate finds an entry in the field of its fingerprint, or an overflow entry in a separate field. It returns the name of the
-- field, its value, and the first three results of find.
local function locate(key, fingerprint, digest)
  local field = fingerprint
  repeat
    local value = redis.call('HGET', key, field)
    if not value then return nil end -- overflow entries exist only if the fingerprint has a field
    local pos, len, head = find(value, digest)
    if pos then return field, value, pos, len, head end
    field = field .. digest
  until #field > 24
end
