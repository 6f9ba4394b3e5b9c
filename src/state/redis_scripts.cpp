#include "state/redis_scripts.hpp"

#include <array>

namespace sluice::state::scripts {

namespace {

// Pieces that several scripts begin with.
const std::string key = "local k = KEYS[1]\n";
const std::string numbers = "local function id(n) return string.format('%.0f', n) end\n";
// Fields are ARGV[from], ARGV[from + 1], … up to `to`.
const std::string put_fields = R"lua(
local function put_fields(from, to)
  local fresh = ''
  for i = from, to, 2 do
    if redis.call('HSET', k, 'r:' .. ARGV[i], ARGV[i + 1]) == 1 then
      fresh = fresh .. ARGV[i] .. '\n'
    end
  end
  if fresh ~= '' then
    redis.call('HSET', k, 'names', (redis.call('HGET', k, 'names') or '') .. fresh)
  end
end
)lua";
const std::string take_field = R"lua(
local function take_field(name)
  if redis.call('HDEL', k, 'r:' .. name) == 0 then return 0 end
  local left = ''
  for other in string.gmatch(redis.call('HGET', k, 'names') or '', '([^\n]*)\n') do
    if other ~= name then left = left .. other .. '\n' end
  end
  redis.call('HSET', k, 'names', left)
  return 1
end
)lua";
const std::string get_fields = R"lua(
local function get_fields()
  local all = {}
  for name in string.gmatch(redis.call('HGET', k, 'names') or '', '([^\n]*)\n') do
    all[#all + 1] = name
    all[#all + 1] = redis.call('HGET', k, 'r:' .. name)
  end
  return all
end
)lua";
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
// By the clock of the server: the replicas' own may differ.
const std::string now = R"lua(
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
)lua";

} // namespace

// value, ttl
const redis_script put_new{
    key + R"lua(
local there = redis.call('GET', k)
if there then return there end
redis.call('SET', k, ARGV[1], 'PX', ARGV[2])
return false
)lua",
    0
};

// expected, value, ttl
const redis_script replace{
    key + R"lua(
if redis.call('GET', k) ~= ARGV[1] then return 0 end
redis.call('SET', k, ARGV[2], 'PX', ARGV[3])
return 1
)lua",
    1
};

// ttl, kind, owner, name, value …
const redis_script create{
    key + put_fields + R"lua(
if redis.call('EXISTS', k) == 1 then return 0 end
redis.call('HSET', k, '.', ARGV[2])
if ARGV[2] == 'l' then
  redis.call('HSET', k, 'epoch', 1, 'owner', ARGV[3])
end
put_fields(4, #ARGV)
redis.call('PEXPIRE', k, ARGV[1])
return 1
)lua",
    2
};

const redis_script read{
    key + get_fields + R"lua(
if redis.call('HEXISTS', k, '.') == 0 then return false end
return get_fields()
)lua",
    3
};

// name, value …
const redis_script set{
    key + put_fields + R"lua(
if redis.call('HEXISTS', k, '.') == 0 then return 0 end
put_fields(1, #ARGV)
return 1
)lua",
    4
};

// name, value
const redis_script set_new{
    key + put_fields + R"lua(
if redis.call('HEXISTS', k, '.') == 0 then return 0 end
local there = redis.call('HGET', k, 'r:' .. ARGV[1])
if there then return there end
put_fields(1, 2)
return false
)lua",
    5
};

// name, expected, value
const redis_script set_if{
    key + take_field + R"lua(
if redis.call('HGET', k, 'r:' .. ARGV[1]) ~= ARGV[2] then return 0 end
if ARGV[3] == '' then return take_field(ARGV[1]) end
redis.call('HSET', k, 'r:' .. ARGV[1], ARGV[3])
return 1
)lua",
    6
};

// name
const redis_script unset{
    key + take_field + R"lua(
return take_field(ARGV[1])
)lua",
    7
};

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

// member, ttl, cap
const redis_script enlist{
    key + now + R"lua(
redis.call('ZREMRANGEBYSCORE', k, '-inf', now)
local cap, ttl = tonumber(ARGV[3]), tonumber(ARGV[2])
if cap > 0 and not redis.call('ZSCORE', k, ARGV[1])
    and redis.call('ZCARD', k) >= cap then return 0 end
redis.call('ZADD', k, now + ttl, ARGV[1])
if redis.call('PTTL', k) < ttl then redis.call('PEXPIRE', k, ttl) end
return 1
)lua",
    11
};

// member
const redis_script leave{
    key + now + R"lua(
local till = redis.call('ZSCORE', k, ARGV[1])
if not till then return 0 end
redis.call('ZREM', k, ARGV[1])
if tonumber(till) > now then return 1 end
return 0
)lua",
    12
};

const redis_script members{
    key + now + R"lua(
return redis.call('ZRANGEBYSCORE', k, '(' .. string.format('%.0f', now), '+inf')
)lua",
    13
};

const redis_script& at(int number) {
    static const std::array<const redis_script*, count> all = {
        &put_new,
        &replace,
        &create,
        &read,
        &set,
        &set_new,
        &set_if,
        &unset,
        &append,
        &read_log,
        &adopt_log,
        &enlist,
        &leave,
        &members,
    };
    return *all[static_cast<std::size_t>(number)];
}

} // namespace sluice::state::scripts
