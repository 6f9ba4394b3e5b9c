#include "state/redis_script_pieces.hpp"
#include "state/redis_scripts.hpp"

namespace sluice::state::scripts {

namespace {

const std::string numbers = "local function id(n) return string.format('%.0f', n) end\n";
// What steers a loop is taken for what a log can have reached, whoever wrote it; and no loop over
// positions is longer than there are entries, but for gaps of an ordinary size.
const std::string positions = R"lua(
local function place(text, default)
  local n = tonumber(text or default)
  if not n or not (n >= 0 and n <= 4503599627370496) then return default end
  return math.floor(n)
end
local function each(from, to, f)
  if to - from <= 2 * redis.call('HLEN', k) + 1000 then
    for p = from, to do
      if not f(p) then return end
    end
    return
  end
  local all = {}
  for _, field in ipairs(redis.call('HKEYS', k)) do
    local p = tonumber(string.match(field, '^e:(%d+)$') or '-1')
    if p >= from and p <= to then all[#all + 1] = p end
  end
  table.sort(all)
  for _, p in ipairs(all) do
    if not f(p) then return end
  end
end
)lua";

} // namespace

// epoch, ttl, ttl of a new one, most entries, most bytes, kept kinds, channel, word,
// number of names and values, names and values …, position, kind, bytes …
const redis_script append{
    key + numbers + positions + put_fields + R"lua(
local head = redis.call('HMGET', k, '.', 'epoch', 'owner', 'last', 'first', 'count',
  'bytes', 'kept')
local ttl = tonumber(ARGV[2])
if not head[1] then
  if ARGV[1] ~= '0' then return -1 end
  redis.call('HSET', k, '.', 'l', 'epoch', 1, 'owner', '')
  if ttl == 0 then ttl = tonumber(ARGV[3]) end
elseif ARGV[1] == '0' then
  if (head[3] or '') ~= '' then return -2 end
elseif ARGV[1] ~= (head[2] or '0') then return -2 end
local last, first = place(head[4], 0), place(head[5], 1)
local count, bytes = place(head[6], 0), place(head[7], 0)
local kept = head[8] or ''
local function is_kept(kind) return string.find(ARGV[6], kind, 1, true) ~= nil end
local entries = 10 + tonumber(ARGV[9])
local new = {}
local function write_new()
  if #new > 0 then redis.call('HSET', k, unpack(new)) end
  new = {}
end
for i = entries, #ARGV, 3 do
  local p = tonumber(ARGV[i])
  if p == 0 then p = last + 1 end
  if p > last then
    last = p
    new[#new + 1] = 'e:' .. id(p)
    new[#new + 1] = ARGV[i + 1] .. ARGV[i + 2]
    if #new >= 1000 then write_new() end
    if not is_kept(ARGV[i + 1]) then
      count = count + 1
      bytes = bytes + #ARGV[i + 2]
    end
  end
end
write_new()
local function is_full() return count > tonumber(ARGV[4]) or bytes > tonumber(ARGV[5]) end
if is_full() and first < last then
  each(first, last - 1, function(p)
    if not is_full() then return false end
    local field = 'e:' .. id(p)
    local entry = redis.call('HGET', k, field)
    if entry and is_kept(string.sub(entry, 1, 1)) then
      kept = kept .. id(p) .. ','
    elseif entry then
      redis.call('HDEL', k, field)
      count = count - 1
      bytes = bytes - #entry + 1
    end
    first = p + 1
    return true
  end)
  if is_full() then first = last end
end
redis.call('HSET', k, 'last', id(last), 'first', id(first), 'count', id(count),
  'bytes', id(bytes), 'kept', kept)
put_fields(10, entries - 1)
if ttl > 0 then redis.call('PEXPIRE', k, ttl) end
if ARGV[7] ~= '' then redis.call('PUBLISH', ARGV[7], ARGV[8]) end
return last
)lua",
    8
};

// after, most bytes → epoch, owner, last, more, fields, positions, entries
const redis_script read_log{
    key + numbers + positions + get_fields + R"lua(
local head = redis.call('HMGET', k, '.', 'epoch', 'owner', 'last', 'first', 'kept')
if not head[1] then return false end
local after, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local last, first = place(head[4], 0), place(head[5], 1)
local positions, entries, size, more = {}, {}, 0, 0
local function take(p)
  local entry = redis.call('HGET', k, 'e:' .. id(p))
  if not entry then return true end
  size = size + #entry - 1
  if #entries > 0 and size > most then more = 1 return false end
  positions[#positions + 1] = id(p)
  entries[#entries + 1] = entry
  return true
end
for p in string.gmatch(head[6] or '', '(%d+),') do
  if more == 0 and tonumber(p) > after then take(tonumber(p)) end
end
if more == 0 then each(math.max(first, after + 1), last, take) end
return {head[2] or '0', head[3] or '', id(last), more, get_fields(), positions, entries}
)lua",
    9
};

// epoch, owner
const redis_script adopt_log{
    key + numbers + R"lua(
local head = redis.call('HMGET', k, '.', 'epoch')
if not head[1] then return -1 end
if (head[2] or '0') ~= ARGV[1] then return -2 end
redis.call('HSET', k, 'owner', ARGV[2])
return redis.call('HINCRBY', k, 'epoch', 1)
)lua",
    10
};

} // namespace sluice::state::scripts
