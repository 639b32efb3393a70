-- Runs the scripts of the index in a plain Lua, as a server with another Lua than Redis' own would. Requests come on standard input, as
-- Redis' protocol frames them: source, number of keys, keys, arguments. A command of a script goes to standard output as an array, and
-- its reply is read; the result of the script follows as {'done', result} or {'failed', message}.
local function write(v)
  if type(v) == 'number' then
    io.write(':', string.format('%d', v), '\n')
  elseif type(v) == 'string' then
    io.write('$', #v, '\n', v, '\n')
  elseif type(v) == 'table' then
    io.write('*', #v, '\n')
    for _, x in ipairs(v) do write(x) end
  else
    io.write('_\n')
  end
end

local function read()
  local line = io.read('l')
  if not line then os.exit(0) end
  local kind, rest = line:sub(1, 1), line:sub(2)
  if kind == ':' then return math.tointeger(tonumber(rest)) end
  if kind == '$' then
    local text = rest == '0' and '' or io.read(tonumber(rest))
    io.read('l')
    return text
  end
  if kind == '-' then return nil, rest end
  if kind == '*' then
    local list = {}
    for n = 1, tonumber(rest) do list[n] = read() end
    return list
  end
  return false -- as Redis gives a missing value to scripts
end

redis = {call = function(...)
  local command = {'call', ...}
  for n, v in ipairs(command) do
    if type(v) == 'number' then command[n] = string.format(math.type(v) == 'integer' and '%d' or '%.17g', v) end
  end
  write(command)
  io.flush()
  local reply, failed = read()
  if failed then error(failed, 0) end
  return reply
end}

while true do
  local request = read()
  local keys = tonumber(request[2])
  KEYS, ARGV = {table.unpack(request, 3, 2 + keys)}, {table.unpack(request, 3 + keys)}
  local ok, result = pcall(assert(load(request[1])))
  if ok then write({'done', result == nil and false or result}) else write({'failed', tostring(result)}) end
  io.flush()
end
