-- Steps 4 and 5 of a claim, lookUp and fetchEntries: gives an entry a ticket, unless it has one. If a ticket of the entry was withdrawn, only a higher one is
-- taken: articles have been decided as if this one were later than the withdrawn ticket.
-- KEYS[1]  hash of entries
-- ARGV[1]  fingerprint, 8 bytes
-- ARGV[2]  digest, 16 bytes
-- ARGV[3]  ticket, 6 bytes
-- Output: the ticket that the entry has now; the withdrawn one, if ARGV[3] is not higher; nil if there is no such entry (any more). The ticket of an overflow entry is the
-- highest there is, and is not stored. Other articles do not find an overflow entry, so it must be the later one of any two.
local field, value, pos = locate(KEYS[1], ARGV[1], ARGV[2])
if not field then return false end
if field ~= ARGV[1] then return string.rep(string.char(255), 6) end
local ticket = string.sub(value, pos + 4, pos + 9)
local held = number(ticket)
if has_ticket(held) or held > 0 and number(ARGV[3]) <= held - withdrawn then return ticket end
redis.call('HSET', KEYS[1], field, string.sub(value, 1, pos + 3) .. ARGV[3] .. string.sub(value, pos + 10))
return ARGV[3]
